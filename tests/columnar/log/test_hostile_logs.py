"""Logs made to cost more than their length: the work is counted, at two sizes a factor of ten apart."""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, SupportsIndex

import pytest
from rocket_columnar import fast
from rocket_columnar.formats import Bad, Record
from rocket_columnar.log import Gap, RequestScan, TopicNames, Walk
from rocket_columnar.store import Source, open_reader
from store_bytes import put, record

MAGIC = bytes.fromhex("daa320a7")


class Work:
    """Bytes that were read of a file, and bytes that were searched for a magic."""

    def __init__(self, data: bytes) -> None:
        self.read = 0
        self.searched = 0
        self.reads = 0

        def read(offset: int, length: int) -> bytes:
            self.read += length
            self.reads += 1
            return data[offset : offset + length]

        self.source = Source("log", len(data), read)


class Searched(bytes):
    """A window that counts how much of it is searched."""

    work: ClassVar[Work]

    def find(self, sub: Any, start: SupportsIndex | None = None, end: SupportsIndex | None = None) -> int:
        first = 0 if start is None else int(start)
        found = super().find(sub, first, end)
        self.work.searched += (len(self) if found < 0 else found) - first
        return found


def magics(size: int) -> bytes:
    return MAGIC * (size // 4)


def records(size: int, change: Callable[[bytearray, int, int], None]) -> bytes:
    """Records one after the other, of each of which its bytes, position and number are given to be changed."""
    data = b""
    while len(data) < size:
        raw = bytearray(record(len(data), body=b"x"))
        change(raw, len(data), len(data) // len(raw))
        data += raw
    return data


def claims_of_one_byte_more(size: int) -> bytes:
    """Records that are sound but for a total size that is one too great."""

    def claim(raw: bytearray, _position: int, _number: int) -> None:
        raw[:4] = struct.pack(">i", len(raw) + 1)

    return records(size, claim)


def claims_to_the_end(size: int) -> bytes:
    """Records that each claim to reach the end of the file."""

    def claim(raw: bytearray, position: int, _number: int) -> None:
        raw[:4] = struct.pack(">i", size + 200 - position)

    return records(size, claim).ljust(size + 200, b"\1")


def every_other_one(size: int) -> bytes:
    """A sound record, a broken one, a sound one."""

    def break_odd(raw: bytearray, _position: int, number: int) -> None:
        raw[4] ^= number & 1

    return records(size, break_odd)


def erased_storage(size: int) -> bytes:
    return b"\xff" * size


INPUTS = [magics, erased_storage, claims_of_one_byte_more, claims_to_the_end, every_other_one]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("make", INPUTS, ids=lambda make: make.__name__)
def test_a_walk_reads_and_searches_each_byte_a_few_times(
    make: Callable[[int], bytes], *, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Walk, "searchable", Searched)
    costs = []
    for size in (30_000, 300_000):
        work = Work(make(size))
        Searched.work = work
        gaps: list[Gap] = []
        with open_reader("", work.source) as reader:
            with fast.forced(compiled=compiled):
                scan = RequestScan(reader, 0, TopicNames())
            for _ in scan.run(0, reader.size, exact=True, on_gap=gaps.append):
                pass
        costs.append((work.read / size, work.searched / size, work.reads))
    small, large = costs
    assert large[0] < 1.5 * small[0] + 10
    assert large[1] < 1.5 * small[1] + 10
    assert large[2] < 3 * 300_000 // 91  # three reads of each frame


@pytest.mark.parametrize("size", [1 << 30, (1 << 31) - 4096])
def test_a_record_that_claims_two_gigabytes_of_a_hole_takes_no_memory(size: int, tmp_path: Path) -> None:
    """Its inner lengths add up, too: a body to the end, no topic, no properties."""
    head = bytearray(record(0, body=b""))[:88]
    head[:4] = struct.pack(">i", size)
    head[84:88] = struct.pack(">i", size - 91)
    path = put(tmp_path, f"commitlog/{0:020}", bytes(head))
    os.truncate(path, size)
    with open_reader(path) as reader:
        walk = Walk(reader, 0)
        found = walk.record(0)
        assert isinstance(found, Bad)
        assert found.found == f"a record of {size:,} bytes"
        assert len(walk.window) <= 1 << 20


def test_a_large_record_that_the_disk_holds_is_one(tmp_path: Path) -> None:
    data = record(0, body=b"x" * (1 << 20))
    path = put(tmp_path, f"commitlog/{0:020}", data)
    with open_reader(path) as reader:
        for bodies in (False, True):
            assert isinstance(Walk(reader, 0, bodies=bodies).record(0), Record)


@pytest.mark.parametrize("filling", [b"\0", b"\x55", MAGIC])
def test_ranges_within_a_gap_read_their_own_bytes_and_not_the_rest_of_the_gap(filling: bytes) -> None:
    """A walk to the gap's end from each of 16 ranges would read more than seven times as much."""
    length, part = 1 << 20, 1 << 16
    work = Work(record(0) + filling * ((length - len(record(0))) // len(filling)))
    for begin in range(part, length, part):
        with open_reader("", work.source) as reader:
            scan = RequestScan(reader, 0, TopicNames())
            assert not [*scan.run(begin, begin + part, exact=False, on_gap=lambda gap: pytest.fail(str(gap)))]
    assert work.read < 2 * length
