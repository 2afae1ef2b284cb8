"""Many puts at once into an index file of ordinary shape: by NumPy, and large batches by a compiled loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, Geometry

from rocket_columnar import hashing
from rocket_columnar._chains import ENTRY
from rocket_columnar._java import to_i32

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar._index_header import IndexHeader
    from rocket_columnar._mapping import Mapping

__all__ = ["Puts", "plain", "put_batch"]

_AT_ONCE = 1 << 20
_INT_MAX = 0x7FFFFFFF


def plain(geometry: Geometry) -> bool:
    """Whether header, slots and entries follow one another without an int overflow (IDX-FILE-3)."""
    return geometry.hash_slot_num > 0 and geometry.index_num >= 0 and geometry.file_size <= _INT_MAX


class Puts(NamedTuple):
    """What to put: key hashes, physical offsets in bytes, store timestamps in ms, of one length."""

    hashes: NDArray[np.int32]
    phy_offsets: NDArray[np.int64]
    store_timestamps: NDArray[np.int64]

    def part(self, start: int, stop: int) -> Puts:
        """Those from number `start` up to `stop`."""
        return Puts(self.hashes[start:stop], self.phy_offsets[start:stop], self.store_timestamps[start:stop])


def put_batch(
    mapping: Mapping, geometry: Geometry, header: IndexHeader, puts: Puts, *, compiled: bool = False
) -> tuple[IndexHeader, int]:
    """Puts as many as fit; returns the header after them, and how many those are.

    The geometry is `plain`, so every position lies inside the mapping and nothing overlaps. With `compiled`
    the compiled loop serves, however few they are.

    Source: IDX-PUT-1 .. IDX-PUT-8.
    """
    accepted = min(len(puts.hashes), max(0, geometry.index_num - header.index_count))
    if accepted and (compiled or accepted >= hashing.COMPILED_FROM):
        return _put_compiled(mapping, geometry, header, puts.part(0, accepted)), accepted
    for start in range(0, accepted, _AT_ONCE):
        header = _put_part(mapping, geometry, header, puts.part(start, min(start + _AT_ONCE, accepted)))
    return header, accepted


def _put_compiled(mapping: Mapping, geometry: Geometry, header: IndexHeader, puts: Puts) -> IndexHeader:
    from rocket_columnar import _compiled

    words = np.frombuffer(mapping, np.uint32, geometry.file_size // 4)
    where = (geometry.hash_slot_num, header.index_count, header.begin_timestamp)
    return _after(mapping, header, puts, _compiled.put_entries(words, *puts, *where))


def _put_part(mapping: Mapping, geometry: Geometry, header: IndexHeader, puts: Puts) -> IndexHeader:
    hashes, phy_offsets, store_timestamps = puts
    number = len(hashes)
    slots = np.frombuffer(mapping, ">i4", geometry.hash_slot_num, INDEX_HEADER.size)
    first = geometry.entries_offset + INDEX_ENTRY.size * header.index_count
    entries = np.frombuffer(mapping, ENTRY, number, first)
    slot = hashes % np.int32(geometry.hash_slot_num)
    entry = np.arange(header.index_count, header.index_count + number, dtype=np.int32)
    previous = _link(slot, entry, slots)

    entries["key_hash"] = hashes
    entries["phy_offset"] = phy_offsets
    entries["time_diff"] = _time_diffs(header, store_timestamps)
    entries["prev_entry"] = previous
    return _after(mapping, header, puts, int(np.count_nonzero(previous == 0)))


def _after(mapping: Mapping, header: IndexHeader, puts: Puts, used: int) -> IndexHeader:
    """The header after `puts`, of which `used` found an empty slot; written to the file too."""
    _, phy_offsets, store_timestamps = puts
    after = replace(
        header,
        hash_slot_count=to_i32(header.hash_slot_count + used),
        index_count=header.index_count + len(phy_offsets),
        end_phy_offset=int(phy_offsets[-1]),
        end_timestamp=int(store_timestamps[-1]),
    )
    if header.index_count <= 1:
        after = replace(after, begin_phy_offset=int(phy_offsets[0]), begin_timestamp=int(store_timestamps[0]))
    _write_header(mapping, header, after)
    return after


def _link(slot: NDArray[np.int32], entry: NDArray[np.int32], slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """The previous entry of each put, and the new value of each slot (IDX-PUT-5, IDX-PUT-7).

    The first put of a slot takes what the slot holds, where that is in range at that moment; a later
    one takes the put before it in the same slot.
    """
    order = np.argsort(slot, kind="stable")
    sorted_slot, sorted_entry = slot[order], entry[order]
    same = sorted_slot[1:] == sorted_slot[:-1]
    first = np.concatenate([[True], ~same])
    sorted_previous = np.zeros_like(sorted_entry)
    sorted_previous[1:][same] = sorted_entry[:-1][same]
    held = slots[sorted_slot[first]].astype(np.int32)
    sorted_previous[first] = np.where((held > 0) & (held <= sorted_entry[first]), held, 0)
    last = np.concatenate([~same, [True]])
    slots[sorted_slot[last]] = sorted_entry[last]
    previous = np.empty_like(sorted_previous)
    previous[order] = sorted_previous
    return previous


def _time_diffs(header: IndexHeader, store_timestamps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Seconds from the header's begin at each put; the first put into a file sets it (IDX-PUT-8)."""
    begin = np.full(len(store_timestamps), header.begin_timestamp, np.int64)
    if header.index_count <= 1:
        begin[1:] = store_timestamps[0]
    seconds: NDArray[np.int64] = np.clip(
        (store_timestamps - begin) // 1000, 0, _INT_MAX
    )  # the difference wraps as Java's
    seconds[begin <= 0] = 0
    return seconds


def _write_header(mapping: Mapping, before: IndexHeader, after: IndexHeader) -> None:
    """Writes the fields that puts write, and no other: the file may hold another header than memory."""
    values = {"index_count", "end_phy_offset", "end_timestamp"}
    if before.index_count <= 1:
        values |= {"begin_phy_offset", "begin_timestamp"}
    if before.hash_slot_count != after.hash_slot_count:
        values.add("hash_slot_count")
    for field in INDEX_HEADER.fields:
        if field.name in values and field.offset is not None and field.size is not None:
            raw = getattr(after, field.name).to_bytes(field.size, "big", signed=True)
            mapping[field.offset : field.offset + field.size] = raw
