"""The bytes of an index file as values: header, slots, entries.

Reading only, and of the bytes alone: nothing is corrected as `IndexHeader.load` corrects it. A count that
exceeds what the file can hold is cut to that, and this is the only judgement made here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from rocket_spec.errors import MalformedError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_reference._mapping import ReadableBuffer
from rocket_reference.index_header import IndexHeader
from rocket_reference.java import rem, to_i64

_HEADER: Final = Struct(INDEX_HEADER.struct_format)
_SLOT: Final = Struct(INDEX_SLOT.struct_format)
_ENTRY: Final = Struct(INDEX_ENTRY.struct_format)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One entry, with what follows from it."""

    entry: int  # its number, from 1 (IDX-ENT-1)
    slot: int  # key_hash mod S: the slot whose chain it belongs to (IDX-HASH-3)
    key_hash: int  # the key hash as stored; below 0 only where damaged
    phy_offset: int  # physical offset of the record, bytes
    time_diff: int  # whole seconds from the header's begin at the moment of the put
    prev_entry: int  # number of the entry before it in the chain; 0 ends it
    # begin_timestamp + 1000 * time_diff, ms: what a select takes it for (IDX-SEL-4), too early by less than a second, and for
    # entry 1 of a seeded file too late (IDX-PUT-8)
    store_timestamp: int


def index_header(data: ReadableBuffer) -> IndexHeader:
    """The header's six fields as the bytes have them (IDX-HDR-1); a fresh file's count is 0 (IDX-HDR-5).

    Raises MalformedError for fewer than 40 bytes.
    """
    if len(data) < _HEADER.size:
        raise MalformedError(
            found=f"{len(data)} bytes", expected=f"a header of {_HEADER.size} bytes", clause="IDX-HDR-1"
        )
    return IndexHeader(*_HEADER.unpack_from(data))


def index_slots(data: ReadableBuffer, geometry: Geometry) -> Iterator[tuple[int, int]]:
    """The slots in use, as pairs of slot number and the number of its newest entry (IDX-SLOT-1).

    Raises MalformedError when the data is shorter than the geometry asks for.
    """
    _check_length(data, geometry)
    slots = memoryview(data)[_HEADER.size : geometry.entries_offset]
    for slot, (entry,) in enumerate(_SLOT.iter_unpack(slots)):
        if entry:
            yield slot, entry


def index_entries(
    data: ReadableBuffer, geometry: Geometry, *, all_entries: bool = False
) -> Iterator[IndexEntry]:
    """The entries 1 .. index_count - 1 of the header, in their order; none when index_count is below 2.

    Args:
        data: the file.
        geometry: S and N, which the file does not record.
        all_entries: instead, every entry from 1 to N-1 that is not all zeros, whatever the header's count is.

    Raises:
        MalformedError: when the data is shorter than the geometry asks for.
    """
    _check_length(data, geometry)
    header = index_header(data)
    stop = geometry.index_num if all_entries else min(header.index_count, geometry.index_num)
    for number in range(1, stop):
        values = _ENTRY.unpack_from(data, geometry.entries_offset + number * _ENTRY.size)
        if all_entries and not any(values):
            continue
        key_hash, phy_offset, time_diff, prev_entry = values
        yield IndexEntry(
            entry=number,
            slot=rem(key_hash, geometry.hash_slot_num),
            key_hash=key_hash,
            phy_offset=phy_offset,
            time_diff=time_diff,
            prev_entry=prev_entry,
            store_timestamp=to_i64(header.begin_timestamp + 1000 * time_diff),
        )


def _check_length(data: ReadableBuffer, geometry: Geometry) -> None:
    if len(data) < geometry.file_size:
        raise MalformedError(
            found=f"{len(data)} bytes",
            expected=f"{geometry.file_size} bytes for {geometry.hash_slot_num} slots "
            f"and {geometry.index_num} entries",
            clause="IDX-FILE-1",
        )
