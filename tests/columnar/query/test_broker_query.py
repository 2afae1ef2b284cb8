"""Queries of stores that change, that have damaged or many index files, and by IDs; `cases/query.md` has the rules of the answers."""

import errno
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from rocket_columnar.formats import OffsetId
from rocket_columnar.index import IndexFile
from rocket_columnar.query import (
    OpenStore,
    QueryAnswer,
    Row,
    find_all,
    find_by_offset_id,
    find_by_unique_key,
    query,
    scan,
)
from rocket_columnar.store import Reader, StoreFile
from rocket_spec.errors import MalformedError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN as T
from store_bytes import overwrite, put
from store_cases import Case

GEOMETRY = Geometry(16, 200)
FIRST, SECOND, THIRD = (f"2026010100000000{number}" for number in range(3))
FOREVER = (1 << 63) - 1
SIZE = 103
"""Bytes of a record with the key k."""


def made(folder: Path, *steps: str) -> Path:
    case = Case(folder)
    case.run("\n".join(steps))
    return case.root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Five messages of 5 s distance, in two index files: three of key k, two of key j."""
    return made(
        tmp_path,
        *(f"record keys={key} time=T+{5000 * number}" for number, key in enumerate("kjkkj")),
        f"puts {FIRST} 16,200: T#k@0 T#j@#1+5000 T#k@#2+10000",
        f"puts {SECOND} 16,200: T#k@#3+15000 T#j@#4+20000",
    )


def with_a_third(root: Path) -> None:
    """An index file of other keys, after which the geometry is known from two files of one length."""
    with IndexFile(root / "index" / THIRD, *GEOMETRY) as index:
        for number in range(100):
            assert index.put(f"T#{number}", 0, T + 30_000)


def offsets(rows: list[Row]) -> list[int]:
    return [row["phy_offset"] for row in rows]


def messages(answer: QueryAnswer) -> list[int]:
    return [row["phy_offset"] for row in answer.messages]


def test_a_broker_sends_no_more_than_64_and_all_are_found_without_its_limit(tmp_path: Path) -> None:
    """A hundred messages of one key, 10 s apart, the last ones put twice, in two files."""
    numbers = range(100)
    entries = [f"T#k@#{number}+{10_000 * number}" for number in numbers]
    root = made(
        tmp_path,
        "log 0 16384",
        *(f"record keys=k time=T+{10_000 * number}" for number in numbers),
        f"puts {FIRST} 16,200: {' '.join(entries)}",
        f"puts {SECOND} 16,200: {' '.join(entries[90:])}",
    )
    every = [SIZE * number for number in numbers]
    with OpenStore(root, GEOMETRY) as store:
        assert offsets(find_all(store, "T", "k")) == every
        answer = query(store.store, "T", "k", max_num=None, geometry=GEOMETRY)
        assert (messages(answer), answer.truncated, list(answer.offsets)) == (every, False, every)
        assert (
            len(query(store.store, "T", "k", max_num=None, end=T + 20_000, geometry=GEOMETRY).messages) == 3
        )
    for exact, hits in ((False, [*every[46:90], *every[90:], *every[90:]]), (True, every[36:])):
        limited = query(root, "T", "k", max_num=1000, exact=exact, geometry=GEOMETRY)
        assert (messages(limited), limited.truncated) == (sorted(hits), True)


def test_scan_finds_a_key_across_two_reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocket_columnar.query.broker_query._BYTES_AT_ONCE", 1)
    with OpenStore(root, GEOMETRY) as store:
        assert offsets(scan(store, "T", "k")) == [0, 2 * SIZE, 3 * SIZE]


def test_names_that_are_no_number_are_skipped_and_a_directory_ends_the_loading(root: Path) -> None:
    names = [f"index/{name}" for name in (".DS_Store", f"{FIRST}.bak", f"{FIRST}x")]
    put(root, names[0], b"x")
    put(root, names[1], b"x")
    (root / names[2]).mkdir()
    with OpenStore(root, GEOMETRY) as store:
        assert len(store.indexes.files) == 2
        assert [name for name, _ in store.indexes.skipped] == names
    (root / "index" / "202601010000000005").mkdir()  # sorts between the two
    with OpenStore(root, GEOMETRY) as store:
        assert [name for name, _ in store.indexes.files] == [f"index/{FIRST}"]


def test_an_empty_index_file_counts_as_zeros(root: Path) -> None:
    put(root, f"index/{THIRD}", b"")
    answer = query(root, "T", "k", geometry=GEOMETRY)
    assert messages(answer) == [0, 2 * SIZE, 3 * SIZE]
    assert (answer.last_update_timestamp, answer.last_update_phy_offset) == (0, 0)
    assert (root / "index" / THIRD).read_bytes() == b""


def test_the_default_window_ends_now(root: Path) -> None:
    with IndexFile(root / "index" / THIRD, *GEOMETRY) as index:
        assert index.put("T#k", 0, FOREVER // 2)
    assert query(root, "T", "k", geometry=GEOMETRY).offsets == (3 * SIZE, 2 * SIZE, 0)


@pytest.mark.parametrize("length", [1, 39, 40, 1000])
@pytest.mark.parametrize("given", [GEOMETRY, None])
def test_an_index_file_cut_short_answers_as_far_as_it_goes(
    root: Path, length: int, given: Geometry | None
) -> None:
    """Its first entries are before byte 1000."""
    with_a_third(root)
    os.truncate(root / "index" / SECOND, length)
    with OpenStore(root, given) as store:
        found = [0, 2 * SIZE, 3 * SIZE][: 3 if length == 1000 else 2]
        assert messages(store.query("T", "k", max_num=9, begin=0, end=FOREVER)) == found
        problem = f"cut short: found {length:,} bytes, expected {GEOMETRY.file_size:,}"
        assert store.indexes.damaged == ((f"index/{SECOND}", problem),)


def test_a_damaged_count_is_named_and_the_others_answer(root: Path) -> None:
    with_a_third(root)
    overwrite(root / "index" / SECOND, 36, (1 << 30).to_bytes(4))
    with OpenStore(root) as store:
        answer = store.query("T", "k", max_num=9, begin=0, end=FOREVER)
        assert messages(answer) == [0, 2 * SIZE, 3 * SIZE]
        ((name, problem),) = store.indexes.damaged
        assert name == f"index/{SECOND}"
        assert "found an index count of 1,073,741,824" in problem


def test_no_sound_index_file_is_an_error(root: Path) -> None:
    for name in (FIRST, SECOND):
        os.truncate(root / "index" / name, 30)
    for given in (GEOMETRY, None):
        with pytest.raises(MalformedError, match="30 bytes"):
            OpenStore(root, given)


def test_an_index_file_that_cannot_be_read_is_skipped(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_for_reading = StoreFile.open

    def refuse(file: StoreFile) -> AbstractContextManager[Reader]:
        if file.path.name == SECOND:
            raise PermissionError(errno.EACCES, "Permission denied", str(file.path))
        return opened_for_reading(file)

    monkeypatch.setattr(StoreFile, "open", refuse)
    with OpenStore(root, GEOMETRY) as store:
        assert messages(store.query("T", "k", max_num=9, begin=0, end=FOREVER)) == [0, 2 * SIZE]
        assert store.indexes.skipped == ((f"index/{SECOND}", "it cannot be read: permission denied"),)


def test_entries_and_log_files_that_come_after_the_store_was_opened(tmp_path: Path) -> None:
    """More puts into the slot than the count that was read knows of, of a record in a log file that is new."""
    case = Case(tmp_path)
    case.run(f"record keys=k\nputs {FIRST} 16,200: T#k@0")
    with OpenStore(case.root, GEOMETRY) as store:
        case.run("log 4096\nrecord keys=k")
        with IndexFile(case.root / "index" / FIRST, *GEOMETRY) as index:
            index.load()
            for _ in range(3):
                assert index.put("T#k", 4096, T + 20_000)
        assert messages(store.query("T", "k", max_num=2, begin=0, end=FOREVER)) == [4096, 4096]


def test_a_unique_key_of_some_topic(tmp_path: Path) -> None:
    """Sent again under one id, and once with that id as a key of its own."""
    root = made(
        tmp_path,
        r"record properties='KEYS\1k\2UNIQ_KEY\1u\2'",
        r"record properties='KEYS\1u\2UNIQ_KEY\1v\2'",
        r"record properties='KEYS\1k\2UNIQ_KEY\1u\2'",
        f"puts {FIRST} 16,200: T#u@0 T#u@#1 T#u@#2",
        "queue Other/0 20: -",
        "queue T/0 20: -",
    )
    with OpenStore(root, GEOMETRY) as store:
        assert store.store.has_queue == {"Other", "T"}
        assert offsets(find_by_unique_key(store, "u", store.store.has_queue)) == [0, 228]
        assert find_by_unique_key(store, "u", ["Other"]) == []


def test_a_unique_key_among_many_topics_on_damaged_chains(tmp_path: Path) -> None:
    """Negative time diffs, at which a broker's walk ends, and an entry that leads to itself."""
    topics = [f"T{number}" for number in range(40)]
    root = made(
        tmp_path,
        "log 0 8192",
        *(rf"record topic={topic} properties='UNIQ_KEY\1u\2'" for topic in topics),
        f"puts {FIRST} 16,200: {' '.join(f'{topic}#u@#{number}' for number, topic in enumerate(topics))}",
        *(f"set index[0] {104 + 20 * number + 12} i -1" for number in range(1, 41, 3)),
        f"set index[0] {104 + 20 * 2 + 16} i 2",
    )
    with OpenStore(root, GEOMETRY) as store:
        expected = [row for topic in topics for row in find_all(store, topic, "u")]
        assert find_by_unique_key(store, "u", topics) == expected
    assert len(expected) == 40


def test_more_index_files_than_the_limit_on_open_files(tmp_path: Path) -> None:
    root = made(tmp_path, "record keys=k", *(f"puts 20260101{at:09} 16,200: T#k@0" for at in range(100)))
    script = (
        "import resource, sys; from rocket_columnar.query import OpenStore; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); "
        "store = OpenStore(sys.argv[1]); print(len(store.indexes.files))"
    )
    command = [sys.executable, "-c", script, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("100\n", "")


def test_an_offset_id(tmp_path: Path) -> None:
    with OpenStore(made(tmp_path, "record keys=k offset=0,1"), GEOMETRY) as store:
        (row,) = find_by_offset_id(store, OffsetId("10.0.0.2:2222", SIZE))
        assert (row["phy_offset"], row["keys"]) == (SIZE, "k")
        for offset in (1, 2 * SIZE, 1 << 40, -1):
            assert find_by_offset_id(store, OffsetId("10.0.0.2:2222", offset)) == []
        assert not store.store.has_queue
