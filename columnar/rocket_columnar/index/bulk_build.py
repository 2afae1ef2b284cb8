"""Builds index files in bulk, byte for byte as single puts would have made them, rolls included.

Keys go from UTF-8 to hashes without becoming Python strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, Geometry

from rocket_columnar.fast import hash_keys
from rocket_columnar.formats import ENTRY_DTYPE, parse_long, to_i32
from rocket_columnar.index.geometry import HEADER, IndexHeader
from rocket_columnar.index.index_file import RejectedError

# A new index file: its slots are in memory until it is closed, its entries are written one after the other.
#
# Writing entries in runs costs a fraction of the page faults of a mapping, and slots in memory are fast.


_RUN: Final = 1 << 16  # entries written at once: few enough to stay near, many enough for few calls
_SLOTS: Final = 1 << 14  # slots of a range, which is not written if all are empty
_INT_MAX: Final = 0x7FFFFFFF


def plain(geometry: Geometry) -> bool:
    """Whether header, slots and entries follow one another without an int overflow (IDX-FILE-3)."""
    return geometry.hash_slot_num > 0 and geometry.index_num >= 0 and geometry.file_size <= _INT_MAX


class HashedPuts(NamedTuple):
    """Entries to put: key hashes, physical offsets in bytes, store timestamps in ms, of equal length."""

    hashes: NDArray[np.int32]
    phy_offsets: NDArray[np.int64]
    store_timestamps: NDArray[np.int64]

    def part(self, start: int, stop: int) -> HashedPuts:
        """Those from number `start` up to `stop`."""
        return HashedPuts(
            self.hashes[start:stop], self.phy_offsets[start:stop], self.store_timestamps[start:stop]
        )


class NewIndex:
    """One file under construction, with the bytes of 4.9.3's puts (IDX-PUT-1 .. IDX-PUT-8); `close` completes it."""

    def __init__(self, path: Path, geometry: Geometry, *, end_phy_offset: int, end_timestamp: int) -> None:
        """Creates the file, seeded with the end of the one before (IDX-FILE-2); RejectedError if its name is not a Java long, OSError if it exists."""
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

    def put(self, puts: HashedPuts) -> int:
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
        self._write(0, np.frombuffer(HEADER.pack(*values), np.uint8))

    def _write(self, position: int, data: NDArray[np.uint32] | NDArray[np.uint8]) -> None:
        """Writes all of `data`."""
        view = data.view(np.uint8).data
        self._file.seek(position)
        while view:
            view = view[self._file.write(view) :]


def _after(header: IndexHeader, puts: HashedPuts, used: int) -> IndexHeader:
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
    slots: NDArray[np.uint32], entries: NDArray[np.uint32], puts: HashedPuts, count: int, begin: int
) -> int:
    """Puts entries from number `count` on (IDX-PUT-2 .. IDX-PUT-8), and returns how many of the slots were empty.

    Slots and entries are big-endian words of the file, with room for exactly these entries; `begin` is the header's begin timestamp, ms,
    and the header is not changed.
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

    The first put of a slot takes the slot's value if that is in range at that moment; a later one takes the put before it in the same slot.
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


AT_ONCE: Final = 1 << 16


class IndexBuilder:
    """Puts entries into new index files, one after another; use it in a `with` block.

    A file is created when a put needs it: the first with the first put, the next when a put finds the file full. It then
    begins with the end of the file before, as IndexService rolls (IDX-FILE-2, IDX-PUT-8).
    """

    def __init__(
        self,
        paths: Iterable[Path],
        geometry: Geometry = DEFAULT_GEOMETRY,
        *,
        end_phy_offset: int = 0,
        end_timestamp: int = 0,
    ) -> None:
        """Creates no file yet; there may be more paths than are needed.

        The ends are those of the file before the first, in bytes and ms since the epoch; 0 without one.

        Raises UsageError: a geometry without room, or one whose positions overflow: puts would never end.
        """
        if not plain(geometry) or geometry.index_num < 2:
            raise UsageError(
                f"nothing can be put into geometry {geometry.hash_slot_num},{geometry.index_num}"
            )
        self.geometry = geometry
        self.made: list[Path] = []
        self._paths = iter(paths)
        self._file: NewIndex | None = None
        self._seed = end_phy_offset, end_timestamp

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Completes the last file. Entries are in a file once the next one is begun, or it is closed."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def begin(self) -> None:
        """Creates the first file, or the next one after a full file, before its first put; errors as in `put_many`."""
        if self._file is None or self._file.full():
            self._file = self._rolled()

    def put_many(
        self,
        keys: Sequence[str] | NDArray[np.int32] | Any,
        phy_offsets: Sequence[int] | NDArray[np.int64],
        store_timestamps: Sequence[int] | NDArray[np.int64],
        *,
        topic: str | None = None,
    ) -> None:
        """Puts all entries, in order; offsets are in bytes, times in ms since the epoch.

        The keys are those of the messages of `topic`, or index keys (`topic#key`) without it: a list, a pyarrow array of strings or of UTF-8 in
        binaries, or their hashes as an int32 array. ValueError if the three differ in length, or a key is null or not UTF-8; RejectedError for
        a file's name that is no Java long; UsageError if more files are needed than there are paths, with the entries before that put.
        """
        offsets = np.ascontiguousarray(phy_offsets, np.int64)
        times = np.ascontiguousarray(store_timestamps, np.int64)
        if not len(keys) == len(offsets) == len(times):
            raise ValueError(f"{len(keys)} keys, {len(offsets)} offsets, {len(times)} timestamps")
        done = 0
        for hashes in _hashed(keys, topic):
            stop = done + len(hashes)
            self._put(HashedPuts(hashes, offsets[done:stop], times[done:stop]))
            done = stop

    def _put(self, puts: HashedPuts) -> None:
        done, number = 0, len(puts.hashes)
        while done < number:
            if self._file is None or self._file.full():
                self._file = self._rolled()
            done += self._file.put(puts.part(done, number))

    def _rolled(self) -> NewIndex:
        """The next file, seeded with the end of the full one."""
        path = next(self._paths, None)
        if path is None:
            raise UsageError(f"the puts need more than {len(self.made)} files")
        if path.exists():
            raise FileExistsError(f"{path} already exists; index files are not overwritten")
        phy_offset, timestamp = self._seed
        if self._file is not None:
            phy_offset, timestamp = self._file.header.end_phy_offset, self._file.header.end_timestamp
            self.close()
        file = NewIndex(path, self.geometry, end_phy_offset=phy_offset, end_timestamp=timestamp)
        self.made.append(path)
        return file


def _hashed(keys: Any, topic: str | None) -> Iterator[NDArray[np.int32]]:
    """The hashes of the keys, a batch at a time."""
    if isinstance(keys, np.ndarray):
        yield np.ascontiguousarray(keys, np.int32)
    elif hasattr(getattr(keys, "type", None), "index_type"):  # a dictionary is hashed once
        yield hash_keys(keys, topic)
    else:
        for start in range(0, len(keys), AT_ONCE):
            yield hash_keys(keys[start : start + AT_ONCE], topic)


def build(
    paths: Iterable[Path],
    keys: Sequence[str] | NDArray[np.int32] | Any,
    phy_offsets: Sequence[int] | NDArray[np.int64],
    store_timestamps: Sequence[int] | NDArray[np.int64],
    *,
    topic: str | None = None,
    geometry: Geometry = DEFAULT_GEOMETRY,
) -> list[Path]:
    """Makes index files from these puts, and returns them. Arguments and errors as in `IndexBuilder`."""
    with IndexBuilder(paths, geometry) as builder:
        builder.put_many(keys, phy_offsets, store_timestamps, topic=topic)
    return builder.made
