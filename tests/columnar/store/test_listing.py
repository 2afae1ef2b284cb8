"""Folders of a store that are links, that vanish, and that cannot be read, and the working folder; `cases/listing.md` has the order."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocket_columnar.store import find_files
from store_cases import Case

STORE = """
log 1000
record
log 0
record
queue T/10 100:
queue T/9 100: 0
queue T/9@100 100: 0
queue %RETRY%g/0 100: 0
index 20260101000000001 7,12: 8@0
index 20260101000000000 7,12: 8@0
"""


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    case = Case(tmp_path)
    case.run(STORE)
    return case.root


def test_folder_given_as_dot_is_known_by_its_whole_path(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(whole / "consumequeue" / "T" / "9")
    files = find_files(".")
    assert [(file.topic, file.queue_id) for file in files] == [("T", 9), ("T", 9)]


def test_symbolic_links_are_followed(whole: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk2"
    (whole / "commitlog").rename(elsewhere)
    (whole / "commitlog").symlink_to(elsewhere)
    assert [file.name for file in find_files(whole, "log")] == [
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
