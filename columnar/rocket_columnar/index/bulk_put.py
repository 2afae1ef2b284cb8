"""Many puts at once into an ordinary index file: by NumPy, large batches by a compiled loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, Geometry

from rocket_columnar import fast
from rocket_columnar.formats import ENTRY_DTYPE, to_i32

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar.index.header import IndexHeader
    from rocket_columnar.index.mapping import Mapping

__all__ = ["Puts", "after", "plain", "put_batch", "put_words"]

_AT_ONCE = 1 << 20
_INT_MAX = 0x7FFFFFFF
_HEADER_WORDS, _ENTRY_WORDS = INDEX_HEADER.size // 4, INDEX_ENTRY.size // 4


def plain(geometry: Geometry) -> bool:
    """Whether header, slots and entries follow one another without an int overflow (IDX-FILE-3)."""
    return geometry.hash_slot_num > 0 and geometry.index_num >= 0 and geometry.file_size <= _INT_MAX


class Puts(NamedTuple):
    """Entries to put: key hashes, physical offsets in bytes, store timestamps in ms, of equal length."""

    hashes: NDArray[np.int32]
    phy_offsets: NDArray[np.int64]
    store_timestamps: NDArray[np.int64]

    def part(self, start: int, stop: int) -> Puts:
        """Those from number `start` up to `stop`."""
        return Puts(self.hashes[start:stop], self.phy_offsets[start:stop], self.store_timestamps[start:stop])


def put_batch(
    mapping: Mapping, geometry: Geometry, header: IndexHeader, puts: Puts
) -> tuple[IndexHeader, int]:
    """Puts as many as fit; returns the header after them, and their number.

    The geometry is `plain`, so every position is inside the mapping and nothing overlaps.

    Source: IDX-PUT-1 .. IDX-PUT-8.
    """
    accepted = min(len(puts.hashes), max(0, geometry.index_num - header.index_count))
    compiled = fast.pays(accepted * INDEX_ENTRY.size)
    words = np.frombuffer(mapping, np.uint32, geometry.file_size // 4)
    slots, entries = np.split(words[_HEADER_WORDS:], [geometry.hash_slot_num])
    for start in range(0, accepted, _AT_ONCE):
        part = puts.part(start, min(start + _AT_ONCE, accepted))
        first = _ENTRY_WORDS * header.index_count
        room = entries[first : first + _ENTRY_WORDS * len(part.hashes)]
        changed = after(header, part, put_words(slots, room, part, header, compiled=compiled))
        _write_header(mapping, header, changed)
        header = changed
    return header, accepted


def put_words(
    slots: NDArray[np.uint32], entries: NDArray[np.uint32], puts: Puts, header: IndexHeader, *, compiled: bool
) -> int:
    """Puts entries from number `header.index_count` on into `entries`, which has room for just these.

    Both are words as they are in a file. Returns how many slots were empty; the header is the caller's.
    """
    if compiled:
        from rocket_columnar.fast.compiled import index_chains

        return index_chains.put_entries(slots, entries, puts, header.index_count, header.begin_timestamp)
    hashes, phy_offsets, store_timestamps = puts
    rows = entries.view(ENTRY_DTYPE)
    numbers = np.arange(header.index_count, header.index_count + len(hashes), dtype=np.int32)
    previous = _link(hashes % np.int32(len(slots)), numbers, slots.view(">i4"))
    rows["key_hash"] = hashes
    rows["phy_offset"] = phy_offsets
    rows["time_diff"] = _time_diffs(header, store_timestamps)
    rows["prev_entry"] = previous
    return int(np.count_nonzero(previous == 0))


def after(header: IndexHeader, puts: Puts, used: int) -> IndexHeader:
    """The header after `puts`, of which `used` found their slot empty."""
    _, phy_offsets, store_timestamps = puts
    changed = replace(
        header,
        hash_slot_count=to_i32(header.hash_slot_count + used),
        index_count=header.index_count + len(phy_offsets),
        end_phy_offset=int(phy_offsets[-1]),
        end_timestamp=int(store_timestamps[-1]),
    )
    if header.index_count <= 1:
        begin = int(phy_offsets[0]), int(store_timestamps[0])
        changed = replace(changed, begin_phy_offset=begin[0], begin_timestamp=begin[1])
    return changed


def _link(slot: NDArray[np.int32], entry: NDArray[np.int32], slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """The previous entry of each put, and the new value of each slot (IDX-PUT-5, IDX-PUT-7).

    The first put of a slot takes the slot's value if that is in range at that moment; a later
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
    """Writes only the fields that puts write: the header in the file may differ from the one in memory."""
    values = {"index_count", "end_phy_offset", "end_timestamp"}
    if before.index_count <= 1:
        values |= {"begin_phy_offset", "begin_timestamp"}
    if before.hash_slot_count != after.hash_slot_count:
        values.add("hash_slot_count")
    for field in INDEX_HEADER.fields:
        if field.name in values and field.offset is not None and field.size is not None:
            raw = getattr(after, field.name).to_bytes(field.size, "big", signed=True)
            mapping[field.offset : field.offset + field.size] = raw
