"""Files that are no files, and ranges of a log: the same rows as the whole from the disk."""

from pathlib import Path

import pytest
from rocket_columnar.index import resolve_each
from rocket_columnar.store import Source, StoreFile, find_files, placed_file
from rocket_golden import open_store
from store_bytes import BEGIN, Entry, blank, index_file, record
from table_rows import decoded, rows_of

LOG = "commitlog/00000000000000000000"


@pytest.fixture(scope="module", params=["ext", "lmq"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(request.param, tmp_path_factory.mktemp("golden"))


def in_memory(name: str, data: bytes) -> StoreFile:
    file = placed_file(name, source=Source.of_bytes(f"memory:{name}", data))
    assert file is not None
    return file


def piecewise(name: str, data: bytes, at_once: int) -> Source:
    """A source that gives at most the given number of bytes at a time."""
    return Source(name, len(data), lambda at, size: data[at : at + min(size, at_once)])


@pytest.mark.parametrize("at_once", [1 << 40, 1000], ids=["whole", "short answers"])
def test_a_store_in_memory(store: Path, at_once: int) -> None:
    files = find_files(store)
    sizes = {file: file.path.stat().st_size for file in files}
    if any(size > 8 << 20 for size in sizes.values()):
        files = [file for file in files if sizes[file] <= 8 << 20]
    copies = []
    for file in files:
        copy = placed_file(file.name, source=piecewise(file.name, file.path.read_bytes(), at_once))
        assert copy is not None
        assert (copy.kind, copy.topic, copy.queue_id, copy.base_offset) == (
            file.kind,
            file.topic,
            file.queue_id,
            file.base_offset,
        )
        copies.append(copy)
    geometries = [guess.geometry for guess in resolve_each(copies).values()]
    assert geometries == [guess.geometry for guess in resolve_each(files).values()]
    assert decoded(copies) == decoded(files)


@pytest.mark.parametrize(
    "name",
    ["index/abc", "index", "commitlog/1/2", "consumequeue/T/0", "consumequeue/T/x/0", "lock", "config/1", ""],
)
def test_what_is_no_file_of_a_store_has_no_place(name: str) -> None:
    assert placed_file(name) is None


def test_rows_passed_over_are_not_fetched() -> None:
    data = index_file(7, 1000, [Entry(number, 100 * number, 0) for number in range(900)])
    asked: list[tuple[int, int]] = []

    def read(offset: int, length: int) -> bytes:
        asked.append((offset, length))
        return data[offset : offset + length]

    file = placed_file("index/20260101000000000", source=Source("far", len(data), read))
    assert file is not None
    known = resolve_each([file])
    asked.clear()
    found = rows_of([file], tables=["index_entries"], geometry=known, skip=100, limit=50, batch_rows=50)
    assert [row["entry"] for row in found] == list(range(101, 151))
    assert asked == [(0, 40), (40 + 4 * 7 + 20 * 101, 20 * 50)]


def damaged_log() -> bytes:
    """Records, three gaps (one of zeros, one of noise, one of a torn record), a blank."""
    made = bytearray()
    for number in range(60):
        if number in (9, 30):
            made += bytes(200) if number == 9 else b"\xda\xa3\x20\xa7" * 30
        if number == 45:
            made += record(len(made), body=b"torn" * 20)[:70]
        made += record(
            len(made),
            body=b"b" * (number * 7 % 50),
            properties=b"KEYS\1k%d\2" % number,
            store_timestamp=BEGIN + number,
        )
    return bytes(made + blank(40))


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize("step", [97, 1000, 3000, 1 << 20])
def test_ranges_of_a_log_are_together_the_whole(step: int) -> None:
    data = damaged_log()
    every, every_gap = decoded([in_memory(LOG, data)])
    assert len(every) == 60
    assert len(every_gap) == 3
    found, gaps = [], []
    for begin in range(0, len(data), step):
        part, part_gaps = decoded([in_memory(LOG, data)], log_range=(begin, begin + step))
        assert all(begin <= row["phy_offset"] < begin + step for row in part)
        found += part
        gaps += part_gaps
    assert (found, gaps) == (every, every_gap)


def test_nothing_before_a_range_is_fetched() -> None:
    size = len(record(0, body=b"1"))
    data = b"".join(record(size * number, body=b"1") for number in range(100_000))
    asked: list[int] = []

    def read(offset: int, length: int) -> bytes:
        asked.append(offset)
        return data[offset : offset + length]

    file = placed_file(LOG, source=Source("far", len(data), read))
    assert file is not None
    begin = 90_000 * size
    found, _ = decoded([file], columns=["phy_offset"], log_range=(begin, begin + 10 * size))
    assert [row["phy_offset"] for row in found] == [begin + number * size for number in range(10)]
    assert min(asked) == begin


@pytest.mark.usefixtures("_form")
def test_large_bodies_are_read_only_where_they_are_asked_for() -> None:
    made = bytearray()
    for number in range(40):
        if number == 20:
            made += b"noise" * 100
        size = 5 if number % 7 == 0 else (1 << 19) + 1000 * number
        flags = 48 if number % 2 else 0
        made += record(
            len(made),
            body=bytes([number]) * size,
            sys_flag=flags,
            born=bytes(16 if flags else 4),
            store=bytes(16 if flags else 4),
            properties=b"KEYS\1k%d\2" % number + b"x\1" + b"y" * 1000 * (number % 3) + b"\2",
        )
    data = bytes(made)
    fetched = 0

    def read(offset: int, length: int) -> bytes:
        nonlocal fetched
        fetched += length
        return data[offset : offset + length]

    file = placed_file(LOG, source=Source("far", len(data), read))
    assert file is not None
    every, every_gap = decoded([file])
    assert len(every) == 40
    assert len(every_gap) == 1
    columns = ["phy_offset", "size", "keys", "born_host", "properties", "topic"]
    fetched = 0
    some, gaps = decoded([file], columns=columns)
    assert some == [{name: row[name] for name in columns} for row in every]
    assert gaps == every_gap
    assert fetched < 14 << 20  # the first windows, the place of the gap, and little of each large record
    last = every[21]["phy_offset"]
    fetched = 0
    decoded([file], columns=columns, log_range=(last, len(data)))
    assert fetched < 14 << 20  # the same
