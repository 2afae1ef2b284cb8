"""Headers and names of files at the border of what a broker writes, seen without their content (--quick)."""

import struct
from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from store_bytes import BEGIN, Entry, index_file, overwrite, put, record, unit

SIZE = len(record(0))
NAME = "index/20231114221320000"
Found = list[tuple[str, str, int | None]]


def quick(store: Path, part: str) -> Found:
    return [(one.code, one.file, one.offset) for one in audit(store, "quick") if one.code.startswith(part)]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two records in one queue."""
    log = record(0) + record(SIZE, queue_offset=1)
    put(tmp_path, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", (unit(0, SIZE) + unit(SIZE, SIZE)).ljust(100, b"\0"))
    return tmp_path


@pytest.mark.parametrize(
    ("last", "count", "found"),
    [
        (SIZE, 2, []),
        (2 * SIZE, 2, [("index.ahead_of_log", NAME, 24)]),
        (2 * SIZE, 1, [("index.empty", NAME, None)]),
        (SIZE, 8, []),
        (SIZE, 13, []),
        (SIZE, 14, [("index.header_count", NAME, 36)]),
        (SIZE, -1, [("index.header_count", NAME, 36)]),
    ],
)
def test_an_index_file_with_an_end_and_a_count(store: Path, last: int, count: int, found: Found) -> None:
    """The log ends at 2 * SIZE; with an unknown number of slots, one at least, 308 bytes have room for 13 entries."""
    put(store, "index/20231114221319000", index_file(16, 10, [Entry(3, 0, 0)]))
    path = put(store, NAME, index_file(16, 10, [Entry(3, last, 0)]))
    assert path.stat().st_size == 40 + 4 * 16 + 20 * 10 == 40 + 4 + 20 * 13
    overwrite(path, 36, struct.pack(">i", count))
    assert quick(store, "index.") == found


@pytest.mark.parametrize(
    ("slots", "code"), [(0, "index.empty"), (1, "index.empty"), (2, "index.header_count")]
)
def test_a_first_put_that_a_kill_interrupted_counts_one_slot(store: Path, slots: int, code: str) -> None:
    """IDX-PUT-11: `IndexFile.putKey` counts the slot before the entry; two slots are those of entries that are not counted."""
    path = put(store, NAME, index_file(16, 10, []))
    overwrite(path, 32, struct.pack(">ii", slots, 1))
    assert [name for name, *_ in quick(store, "index.")] == [code]


@pytest.mark.parametrize(
    ("second", "third", "found"),
    [
        (0, 0, []),
        (100, 200, []),
        (200, 300, [("queue.gap", f"consumequeue/T/0/{100:020}", None)]),
        (100, 300, [("queue.gap", f"consumequeue/T/0/{200:020}", None)]),
        (100, 220, [("queue.order", f"consumequeue/T/0/{220:020}", 0), ("queue.gap", f"consumequeue/T/0/{200:020}", None)]),
    ],
)  # fmt: skip
def test_files_of_a_queue_follow_one_another(store: Path, second: int, third: int, found: Found) -> None:
    for base in filter(None, (second, third)):
        put(store, f"consumequeue/T/0/{base:020}", unit(SIZE, SIZE).ljust(100, b"\0"))
    assert quick(store, "queue.") == found
    texts = [one.message for one in audit(store, "quick") if one.code == "queue.gap"]
    if (second, third) == (200, 300):
        assert "begins at logical offset 10 instead of 5" in texts[0]


def two_files(store: Path, first: tuple[int, int], second: tuple[int, int], *, later: int = 0) -> Found:
    """Index files in the order of their names, with physical offsets of their first and last entries."""
    for number, (begin, end) in enumerate((first, second)):
        data = bytearray(index_file(16, 10, [Entry(3, begin, 0), Entry(4, end, 0)]))
        data[8:16] = (BEGIN + number * later).to_bytes(8)
        put(store, f"index/2023111422132000{number}", bytes(data))
    return quick(store, "index.name_order")


@pytest.mark.parametrize(
    ("first", "second", "out_of_order"),
    [
        ((10, 20), (20, 30), False),
        ((30, 40), (10, 20), True),
        ((30, 40), (10, 50), False),
        ((30, 40), (10, 40), True),
        ((30, 40), (30, 35), False),
    ],
)
def test_both_ends_of_a_file_show_its_place(
    store: Path, first: tuple[int, int], second: tuple[int, int], out_of_order: bool
) -> None:
    """One of the two may be damaged."""
    assert bool(two_files(store, first, second)) == out_of_order


@pytest.mark.parametrize(("later", "said"), [(1, True), (0, False), (-1, False)])
def test_a_clock_that_was_ahead_is_named(store: Path, later: int, said: bool) -> None:
    """The names follow the clock: an older file whose times are later was written while it was ahead."""
    two_files(store, (30, 40), (10, 20), later=later)
    (found,) = (one for one in audit(store, "quick") if one.code == "index.name_order")
    assert ("the clock was ahead" in found.message) == said
