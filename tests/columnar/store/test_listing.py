"""Which files of a path are a store's, of which kind, and in which order."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocket_columnar.store import StoreFile, find_files, placed_file
from rocket_spec.errors import UsageError
from store_bytes import BEGIN, Entry, blank, checkpoint, ext_unit, index_file, put, record, unit

INDEX = index_file(7, 12, [Entry(8, 0, 0), Entry(15, 100, 1)])
QUEUE = unit(0, 100, 7) + unit(100, 100, 7) + bytes(60)
EXT = ext_unit(1, BEGIN, b"abcd") + b"\xff\xff" + bytes(10)
LOG = record(0) + blank(40)
CHECKPOINT = checkpoint(BEGIN, BEGIN, 0)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A store with two files or queues of each kind, made in an order unlike the one they are listed in."""
    root = tmp_path / "store"
    put(root, "checkpoint", CHECKPOINT)
    put(root, "abort", b"")
    put(root, "commitlog/00000000000000001000", LOG)
    put(root, "commitlog/00000000000000000000", LOG)
    put(root, "consumequeue/T/10/00000000000000000000", QUEUE)
    put(root, "consumequeue/T/9/00000000000000000100", QUEUE)
    put(root, "consumequeue/T/9/00000000000000000000", QUEUE)
    put(root, "consumequeue/%RETRY%g/0/00000000000000000000", QUEUE)
    put(root, "consumequeue_ext/T/9/00000000000000000000", EXT)
    put(root, "index/20260101000000001", INDEX)
    put(root, "index/20260101000000000", INDEX)
    put(root, "config/topics.json", b"{}")
    return root


def names(files: list[StoreFile]) -> list[str]:
    return [file.name for file in files]


def test_store_lists_kinds_then_queues_by_number_then_offsets(whole: Path) -> None:
    assert names(find_files(whole)) == [
        "index/20260101000000000",
        "index/20260101000000001",
        "consumequeue/%RETRY%g/0/00000000000000000000",
        "consumequeue/T/9/00000000000000000000",
        "consumequeue/T/9/00000000000000000100",
        "consumequeue/T/10/00000000000000000000",
        "consumequeue_ext/T/9/00000000000000000000",
        "commitlog/00000000000000000000",
        "commitlog/00000000000000001000",
        "checkpoint",
    ]


def test_queue_file_of_a_store_knows_topic_queue_and_offset(whole: Path) -> None:
    file = find_files(whole, "queue")[2]
    path = whole / "consumequeue/T/9/00000000000000000100"
    assert file == StoreFile("queue", path, "consumequeue/T/9/00000000000000000100", "T", 9, 100)


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("index", ["index/20260101000000000", "index/20260101000000001"]),
        ("commitlog", ["commitlog/00000000000000000000", "commitlog/00000000000000001000"]),
        ("consumequeue/T/10", ["consumequeue/T/10/00000000000000000000"]),
        ("consumequeue/%RETRY%g", ["consumequeue/%RETRY%g/0/00000000000000000000"]),
        ("consumequeue_ext", ["consumequeue_ext/T/9/00000000000000000000"]),
    ],
)
def test_folder_of_a_store_has_names_relative_to_the_store(
    whole: Path, below: str, expected: list[str]
) -> None:
    assert names(find_files(whole / below)) == expected


def test_folder_given_as_dot_is_known_by_its_whole_path(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(whole / "consumequeue" / "T" / "9")
    files = find_files(".")
    assert [(file.topic, file.queue_id) for file in files] == [("T", 9), ("T", 9)]


def test_single_file_has_its_base_name_and_the_topic_of_its_path(whole: Path) -> None:
    path = whole / "consumequeue/T/9/00000000000000000100"
    assert find_files(path) == [StoreFile("queue", path, "00000000000000000100", "T", 9, 100)]


@pytest.mark.parametrize(
    ("kind", "data"),
    [("index", INDEX), ("queue", QUEUE), ("ext", EXT), ("log", LOG), ("checkpoint", CHECKPOINT)],
)
def test_kind_of_a_file_without_a_place_is_told_by_its_bytes(tmp_path: Path, kind: str, data: bytes) -> None:
    (file,) = find_files(put(tmp_path, "copied.bin", data))
    assert (file.kind, file.name, file.topic, file.queue_id) == (kind, "copied.bin", None, None)


def test_log_file_of_another_name_begins_where_its_first_record_says(tmp_path: Path) -> None:
    (file,) = find_files(put(tmp_path, "part.log", record(1 << 30)))
    assert file.base_offset == 1 << 30


def test_directory_without_a_place_is_told_file_by_file(tmp_path: Path) -> None:
    put(tmp_path, "b", LOG)
    put(tmp_path, "a", INDEX)
    put(tmp_path, "readme", b"text, not a store\n")
    skipped: list[tuple[str, str]] = []
    files = find_files(tmp_path, on_skip=lambda name, reason: skipped.append((name, reason)))
    assert [(file.kind, file.name) for file in files] == [("index", "a"), ("log", "b")]
    assert skipped == [
        ("readme", "of no known kind (use --kind index|queue|ext|log|checkpoint|batch|timer_wheel|timer_log)")
    ]


def test_names_that_are_no_numbers_are_skipped_and_said(whole: Path) -> None:
    put(whole, "index/.DS_Store", b"x")
    put(whole, "index/-5", INDEX)  # Long.parseLong takes it, and so does 4.9.3
    put(whole, "consumequeue/T/notes/00000000000000000000", QUEUE)
    skipped: list[str] = []
    files = find_files(whole, on_skip=lambda name, _: skipped.append(name))
    assert names(files)[0] == "index/-5"
    assert skipped == ["index/.DS_Store"]
    assert not any("notes" in name for name in names(files))


def test_a_queue_folder_that_no_broker_reads(whole: Path) -> None:
    """STORE-4: `007` registers queue 7, whose files are those in `7`."""
    queue = min((whole / "consumequeue").glob("*/*"))
    queue.rename(queue.with_name("007"))
    skipped: list[tuple[str, str]] = []
    files = find_files(whole, on_skip=lambda *skip: skipped.append(skip))
    assert [name for name, _ in skipped] == [queue.with_name("007").relative_to(whole).as_posix()]
    assert {file.path.parent for file in files if file.kind == "queue"}.isdisjoint({queue.with_name("007")})
    assert placed_file(f"{skipped[0][0]}/{0:020}") is None


def test_symbolic_links_are_followed(whole: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk2"
    (whole / "commitlog").rename(elsewhere)
    (whole / "commitlog").symlink_to(elsewhere)
    assert names(find_files(whole, "log")) == [
        "commitlog/00000000000000000000",
        "commitlog/00000000000000001000",
    ]


def test_link_to_nothing_is_no_file(whole: Path) -> None:
    (whole / "index" / "20260101000000002").symlink_to(whole / "gone")
    assert len(find_files(whole, "index")) == 2


def test_folder_that_vanishes_while_a_store_is_listed_is_passed_over(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(path: Path) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("%RETRY%g"):
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert {file.topic for file in find_files(whole, "queue")} == {"T"}


def test_missing_path_is_an_os_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        find_files(tmp_path / "nowhere")
    assert caught.value.filename == str(tmp_path / "nowhere")


def test_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        find_files(pipe)


def test_unreadable_directory_is_an_os_error_with_its_name(
    whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def scandir(path: Path) -> Iterator[os.DirEntry[str]]:
        if path.name == "index":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(PermissionError) as caught:
        find_files(whole)
    assert caught.value.filename == str(whole / "index")


def test_directory_of_other_files_is_one_error_and_no_notes(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, f"page-{number}.html", b"<html>")
    skipped: list[str] = []
    with pytest.raises(UsageError) as caught:
        find_files(tmp_path, on_skip=lambda name, _: skipped.append(name))
    assert str(caught.value) == (
        f"{tmp_path}: contains no store among 3 files (or use --kind index|queue|ext|log|checkpoint|batch|timer_wheel|timer_log)"
    )
    assert skipped == []


@pytest.mark.parametrize(
    ("folder", "kind", "message"),
    [
        ("store/index", None, "contains no index file"),
        (
            "empty",
            None,
            "contains no store (or use --kind index|queue|ext|log|checkpoint|batch|timer_wheel|timer_log)",
        ),
        ("empty", "queue", "contains no consume-queue file"),
        ("empty", "checkpoint", "a directory; a checkpoint is one file"),
    ],
)
def test_directory_with_nothing_in_it_says_what_it_lacks(
    tmp_path: Path, folder: str, kind: str | None, message: str
) -> None:
    path = tmp_path / folder
    path.mkdir(parents=True)
    with pytest.raises(UsageError) as caught:
        find_files(path, kind)
    assert str(caught.value) == f"{path}: {message}"
