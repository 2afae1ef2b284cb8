"""IDX-HDR-1, IDX-SLOT-1, IDX-ENT-1 read from bytes that were made by hand."""

import struct
from collections.abc import Callable, Iterator

import pytest
from rocket_reference import IndexEntry, IndexHeader, index_entries, index_header, index_slots
from rocket_spec import Geometry, MalformedError

T0 = 1700000000000
GEOMETRY = Geometry(2, 4)
ENTRIES = ((97, 500, 0, 0), (99, 600, 3, 1))


def data(count: int) -> bytes:
    return b"".join(
        (
            struct.pack(">qqqqii", T0, T0, 0, 0, 1, count),
            struct.pack(">ii", 0, 2),
            bytes(20),
            *(struct.pack(">iqii", *entry) for entry in ENTRIES),
            bytes(20),
        )
    )


FIRST = IndexEntry(1, 1, 97, 500, 0, 0, T0)
SECOND = IndexEntry(2, 1, 99, 600, 3, 1, T0 + 3000)


@pytest.mark.parametrize("count", [-3, 0, 3, 2147483647])
def test_idx_hdr_1_as_the_bytes_have_it(count: int) -> None:
    assert index_header(data(count)) == IndexHeader(T0, T0, 0, 0, 1, count)


def test_idx_hdr_1_too_short() -> None:
    with pytest.raises(MalformedError, match="found 39 bytes, expected a header of 40 bytes"):
        index_header(bytes(39))


@pytest.mark.parametrize(
    ("count", "entries"),
    [
        (-1, []),
        (0, []),
        (1, []),
        (2, [FIRST]),
        (3, [FIRST, SECOND]),
        (99, [FIRST, SECOND, IndexEntry(3, 0, 0, 0, 0, 0, T0)]),  # no more than the file holds
    ],
)
def test_idx_ent_1_entries_below_the_count(count: int, entries: list[IndexEntry]) -> None:
    assert list(index_entries(data(count), GEOMETRY)) == entries


def test_idx_ent_1_all_entries_that_are_not_zeros() -> None:
    assert list(index_entries(data(0), GEOMETRY, all_entries=True)) == [FIRST, SECOND]


def test_idx_ent_1_damaged_hash_and_time() -> None:
    damaged = bytearray(data(2))
    struct.pack_into(">q", damaged, 0, 9223372036854775807)
    struct.pack_into(">iqii", damaged, 68, -97, 1, 1, 0)
    (entry,) = index_entries(damaged, GEOMETRY)
    assert entry.slot == -1  # Java's -97 % 2
    assert entry.store_timestamp == -9223372036854774809  # wrapped


@pytest.mark.parametrize("read", [index_slots, index_entries])
def test_idx_file_1_too_short(read: Callable[[bytes, Geometry], Iterator[object]]) -> None:
    with pytest.raises(MalformedError, match="found 127 bytes, expected 128 bytes for 2 slots and 4 entries"):
        list(read(data(3)[:-1], GEOMETRY))
