"""A new index file: its slots are in memory until it is closed, its entries are written one after the other.

Writing entries in runs costs a fraction of the page faults of a mapping, and slots in memory are fast.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, Geometry

from rocket_columnar.formats import ENTRY_DTYPE, parse_long, to_i32
from rocket_columnar.index.header import IndexHeader
from rocket_columnar.index.mapping import RejectedError

_RUN: Final = 1 << 16  # entries written at once: few enough to stay near, many enough for few calls
_SLOTS: Final = 1 << 14  # slots of a range, which is not written if all are empty
_HEADER: Final = struct.Struct(INDEX_HEADER.struct_format)
_INT_MAX: Final = 0x7FFFFFFF


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


class NewIndex:
    """One file under construction; `close` completes it.

    The bytes are those of 4.9.3's puts (IDX-PUT-1 .. IDX-PUT-8).
    """

    def __init__(self, path: Path, geometry: Geometry, *, end_phy_offset: int, end_timestamp: int) -> None:
        """Creates the file, and its folder, seeded with the end of the one before (IDX-FILE-2).

        Raises:
            RejectedError: the name is not a Java long.
            OSError: the file already exists, or cannot be made.
        """
        if parse_long(path.name) is None:
            raise RejectedError(f"the file name {path.name!r} is not a Java long")
        offset, timestamp = max(end_phy_offset, 0), max(end_timestamp, 0)
        self.header = IndexHeader(timestamp, timestamp, offset, offset)
        self.geometry = geometry
        self._slots = np.zeros(geometry.hash_slot_num, np.uint32)
        self._changed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("xb", buffering=0)
        try:
            self._file.truncate(geometry.file_size)
            self._write_header(replace(self.header, index_count=0))  # a put or a flush writes the count
        except BaseException:
            self._file.close()
            raise

    def full(self) -> bool:
        """Whether no further put is accepted (IDX-FULL-1)."""
        return self.header.index_count >= self.geometry.index_num

    def put(self, puts: Puts) -> int:
        """Puts as many as fit, and returns their number."""
        accepted = min(len(puts.hashes), self.geometry.index_num - self.header.index_count)
        for start in range(0, accepted, _RUN):
            part = puts.part(start, min(start + _RUN, accepted))
            entries = np.empty(len(part.hashes) * INDEX_ENTRY.size // 4, np.uint32)
            header = self.header
            used = put_entries(self._slots, entries, part, header.index_count, header.begin_timestamp)
            position = self.geometry.entries_offset + INDEX_ENTRY.size * self.header.index_count
            self._write(position, entries)
            self.header = _after(self.header, part, used)
            self._changed = True
        return accepted

    def close(self) -> None:
        """Writes the slots and the header, and closes the file."""
        try:
            if self._changed:
                starts = range(0, len(self._slots), _SLOTS)
                filled = [self._slots[start : start + _SLOTS].any() for start in starts]
                edges = np.flatnonzero(np.diff(filled, prepend=False, append=False)) * _SLOTS
                for start, stop in edges.reshape(-1, 2).tolist():
                    self._write(INDEX_HEADER.size + 4 * start, self._slots[start:stop])
                self._write_header(self.header)
                self._changed = False
        finally:
            self._file.close()

    def _write_header(self, header: IndexHeader) -> None:
        values = [getattr(header, field.name) for field in INDEX_HEADER.fields]
        self._write(0, np.frombuffer(_HEADER.pack(*values), np.uint8))

    def _write(self, position: int, data: NDArray[np.uint32] | NDArray[np.uint8]) -> None:
        """Writes all of `data`."""
        view = data.view(np.uint8).data
        self._file.seek(position)
        while view:
            view = view[self._file.write(view) :]


def _after(header: IndexHeader, puts: Puts, used: int) -> IndexHeader:
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


def put_entries(
    slots: NDArray[np.uint32], entries: NDArray[np.uint32], puts: Puts, count: int, begin: int
) -> int:
    """Puts entries from number `count` on (IDX-PUT-2 .. IDX-PUT-8).

    Args:
        slots: big-endian words of the file.
        entries: big-endian words of the file; room for exactly these entries.
        puts: the entries.
        count: number of the first entry.
        begin: the header's begin timestamp, ms.

    Returns:
        How many of the slots were empty. The header is not changed.
    """
    hashes, phy_offsets, store_timestamps = puts
    rows = entries.view(ENTRY_DTYPE)
    numbers = np.arange(count, count + len(hashes), dtype=np.int32)
    previous = _link(hashes % np.int32(len(slots)), numbers, slots.view(">i4"))
    rows["key_hash"] = hashes
    rows["phy_offset"] = phy_offsets
    begins = np.full(len(hashes), begin, np.int64)
    if count <= 1:  # the first put into a file sets it (IDX-PUT-8)
        begins[1:] = store_timestamps[0]
    seconds = np.clip((store_timestamps - begins) // 1000, 0, _INT_MAX)  # the difference wraps as Java's
    rows["time_diff"] = np.where(begins > 0, seconds, 0)
    rows["prev_entry"] = previous
    return int(np.count_nonzero(previous == 0))


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
