"""Compares units and entries with the records that they point to."""

import struct
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT, RECORD_MAGICS

from rocket_columnar.audit.range_result import Frames
from rocket_columnar.audit.ranges import Range
from rocket_columnar.audit.rows import Rows
from rocket_columnar.facts import Store
from rocket_columnar.log import Requests

OUTSIDE: Final = 128
"""Flag: points outside the range, or is not a unit that 4.9.3 accepts; not checked."""
LOST: Final = 1
"""Flag: no record begins at that offset."""

# Flags of units: the record belongs to another queue, has another size, logical offset or tags code.
NOT_OWN: Final = 2
SIZE: Final = 4
MOVED: Final = 8
TAGS: Final = 16

# Flags of entries: no key of the record has the hash; indexed before; the time diff is not the record's.
WRONG: Final = 2
DOUBLE: Final = 4
TIME: Final = 8

_INT_MAX: Final = 0x7FFFFFFF


def match_units(units: Rows, frames: Frames, range_: Range, queued: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The flags of units, compared with their records; `queued` gets 1 for each record to which a unit of its queue points."""
    records = frames.all
    offset, size, tags = (units.columns[name] for name in ("phy_offset", "size", "tags_code"))
    judged = units.within((range_.begin, range_.last)) & (size > 0)
    judged &= ~((offset == 0) & (size == PRE_BLANK_SIZE) & (tags == 0))
    flags = np.where(judged, np.where(units.record < 0, LOST, 0), OUTSIDE).astype(np.uint8)
    rows = np.flatnonzero(judged & (units.record >= 0))
    of = units.record[rows]
    logical = units.of_runs([file.base_offset // QUEUE_UNIT.size for file in units.files]) + units.numbers
    topics = units.of_runs([frames.names.numbers.get(file.topic or "", -1) for file in units.files])
    own = records.topic[of] == topics[rows]
    own &= records.queue_id[of] == units.of_runs([file.queue_id or 0 for file in units.files])[rows]
    queued[of[own]] = 1
    found = np.where(own, np.where(records.queue_offset[of] != logical[rows], MOVED, 0), NOT_OWN)
    found |= np.where(records.size[of] != size[rows], SIZE, 0)
    found |= np.where(records.tags_code[of] != tags[rows], TAGS, 0)
    flags[rows] = found
    return flags


def match_entries(
    entries: Rows, begins: NDArray[np.int64], records: Requests, range_: Range, seen: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """The flags of entries, compared with the keys of their records.

    A record may have one key twice: of its entries with one hash each takes the next key with that hash.

    Args:
        entries: the entries.
        begins: of each entry, the begin timestamp in its file's header, ms.
        records: of the range.
        range_: the range.
        seen: gets 1 for each key that has an entry.
    """
    hashes, diffs = entries.columns["key_hash"], entries.columns["time_diff"]
    zeros = np.logical_and.reduce([column == 0 for column in entries.columns.values()])
    judged = entries.within((range_.begin, range_.last)) & ~zeros
    flags = np.where(judged, np.where(entries.record < 0, LOST, 0), OUTSIDE).astype(np.uint8)
    rows = np.flatnonzero(judged & (entries.record >= 0))
    of = entries.record[rows]
    found = _matched(of, hashes[rows], records, seen)
    expected = seconds_since(begins[rows], records.store_timestamp[of])
    late = (diffs[rows] >= 0) & (entries.numbers[rows] > 1) & (diffs[rows] != expected)
    flags[rows] = found | np.where(late, TIME, 0).astype(np.uint8)
    return flags


def seconds_since(begins: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
    """The time diffs that puts write, s, by the begin in the header and the record's store timestamp, ms (IDX-PUT-2)."""
    return np.where(begins > 0, np.clip((times - begins) // 1000, 0, _INT_MAX), 0)


def _matched(
    of: NDArray[np.int64], hashes: NDArray[np.int32], records: Requests, seen: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """WRONG for entries with a hash that no key of their record has, DOUBLE for those whose keys all have entries before."""
    owner = np.repeat(np.arange(records.key_count.size), records.key_count)
    keys = (owner << 32) | records.key_hash
    wanted = (of << 32) | hashes.view(np.uint32)  # a negative hash is no key's
    if np.array_equal(keys, wanted):  # in the order of the log, as nearly always
        seen[:] = 1
        return np.zeros(wanted.size, np.uint8)
    key_order = np.argsort(keys, kind="stable")
    ordered = keys[key_order]
    first = np.searchsorted(ordered, wanted)
    count = np.searchsorted(ordered, wanted, side="right") - first
    order = np.argsort(wanted, kind="stable")
    starts = np.flatnonzero(np.diff(wanted[order], prepend=-1) != 0)
    rank = np.empty(wanted.size, np.int64)
    rank[order] = np.arange(wanted.size) - np.repeat(starts, np.diff(np.append(starts, wanted.size)))
    fits = rank < count
    seen[key_order[(first + rank)[fits]]] = 1
    return np.where(fits, 0, np.where(count > 0, DOUBLE, WRONG)).astype(np.uint8)


_HEAD: Final = struct.Struct(">ii20xq")


def without_appended(store: Store, flags: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The flags of units or entries that are to be judged: not OUTSIDE, nor LOST if the record was appended meanwhile."""
    flags = np.where(flags == OUTSIDE, 0, flags).astype(np.uint8)
    beyond = np.flatnonzero((flags & LOST != 0) & (offsets >= store.end))
    if beyond.size and _appended_meanwhile(store, int(offsets[beyond[0]])):
        flags[beyond] &= ~np.uint8(LOST)
    return flags


def _appended_meanwhile(store: Store, phy_offset: int) -> bool:
    """Whether there is now a record at an offset after the end that was read."""
    if phy_offset < store.end or not store.logs:
        return False
    size = max(store.log_sizes)
    files = {file.base_offset: file for file in store.logs}
    rolled = phy_offset // size * size if size else 0
    if rolled not in files and store.logs[0].source is None:
        path = store.logs[0].path.with_name(f"{rolled:020}")
        files[rolled] = replace(store.logs[0], path=path, base_offset=rolled)
    for base, file in files.items():
        if not base <= phy_offset < base + size:
            continue
        try:
            with file.open() as reader:
                if phy_offset - base + _HEAD.size <= reader.size:
                    _, magic, recorded = _HEAD.unpack(reader.read(phy_offset - base, _HEAD.size).tobytes())
                    return bool(magic in RECORD_MAGICS and recorded == phy_offset)
        except FileNotFoundError:
            continue
    return False
