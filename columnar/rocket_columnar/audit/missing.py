"""Records of a range without a unit, and keys without an entry."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.audit.fault_runs import MOST, runs_of
from rocket_columnar.audit.range_result import AFTER, BEFORE, NEWEST, Frames, KeyRun, RangeResult, UnitRun
from rocket_columnar.facts import Store
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.log import Requests, life_begins, of_earlier_life
from rocket_columnar.store import StoreFile, by_queue, find_files, is_safe

_HASHES: Final = 1 << 16


def check_missing(
    store: Store, frames: Frames, queued: NDArray[np.uint8], seen: NDArray[np.uint8], result: RangeResult
) -> NDArray[np.int8]:
    """Records without a unit and keys without an entry; where each record is: BEFORE, NEWEST or AFTER."""
    every = frames.all
    batched = [frames.names.numbers.get(file.topic or "", -1) for file in store.batches]
    has_unit, has_key = (queued != 0) | np.isin(every.topic, batched), every.key_count > 0
    has_entry = has_key
    absent = np.empty(0, np.int64)
    if not seen.all():
        absent = np.flatnonzero(seen == 0)
        key_frame = np.repeat(np.arange(every.phy_offset.size), every.key_count)
        has_entry = np.zeros_like(has_key)
        has_entry[key_frame[seen != 0]] = True
    where = np.zeros(every.phy_offset.size, np.int8)
    indexed = _behind_last(has_entry)
    result.indexed = indexed > 0
    where[max(indexed - 1, 0) :] = NEWEST  # its last keys may be on their way
    behind = max(indexed, _behind_last(has_unit))
    if behind:
        result.dispatched = int(every.phy_offset[behind - 1])
    where[behind:] = AFTER
    wanted = every.queued
    due = np.flatnonzero((wanted | has_key)[behind:])
    if due.size:
        result.due = int(due.size), int(every.phy_offset[behind + due[0]])
    result.lives = life_begins(every, frames.names)
    lacking = wanted & ~has_unit
    if lacking.any():
        earlier = of_earlier_life(every) & lacking
        names = np.unique(every.topic[earlier & (where != AFTER)])
        result.earlier = {frames.names.names[number] for number in names}
        lacking &= ~earlier
    if lacking.any():
        _missing_units(store, frames, np.flatnonzero(lacking), where, result)
    if absent.size:
        _missing_keys(every, key_frame, absent, where, result)
    return where


def _behind_last(flags: NDArray[np.bool_]) -> int:
    """One more than the place of the last that is set; 0 if none is."""
    return flags.size - int(np.argmax(flags[::-1])) if flags.any() else 0


def _missing_keys(
    every: Requests,
    key_frame: NDArray[np.int64],
    absent: NDArray[np.int64],
    where: NDArray[np.int8],
    result: RangeResult,
) -> None:
    result.hashes = frozenset(np.unique(every.key_hash[absent[:_HASHES]]).tolist())
    kinds = where[key_frame[absent]]
    starts = np.flatnonzero(
        (np.diff(absent, prepend=absent[0] - 2) != 1) | (np.diff(kinds, prepend=kinds[0]) != 0)
    )
    stops = np.append(starts[1:], absent.size)
    result.dropped += max(starts.size - MOST, 0)
    offsets = every.phy_offset[key_frame[absent]]
    result.key_runs = [
        KeyRun(
            int(absent[start]),
            stop - start,
            int(offsets[start]),
            int(offsets[stop - 1]),
            int(every.store_timestamp[key_frame[absent[start]]]),
            int(kinds[start]),
        )
        for start, stop in zip(starts[:MOST].tolist(), stops[:MOST].tolist(), strict=True)
    ]


def _missing_units(
    store: Store, frames: Frames, lacking: NDArray[np.int64], where: NDArray[np.int8], result: RangeResult
) -> None:
    """Runs of logical offsets of one queue, less those that have a unit, sound or not."""
    every = frames.all
    topic, queue_id, offset = every.topic[lacking], every.queue_id[lacking], every.queue_offset[lacking]
    order = np.lexsort((offset, queue_id, topic))
    lacking, topic, queue_id, offset = lacking[order], topic[order], queue_id[order], offset[order]
    changes = np.flatnonzero((np.diff(topic) != 0) | (np.diff(queue_id) != 0)) + 1
    files = by_queue(store.queues)
    for part in np.split(np.arange(lacking.size), changes):
        name, number = frames.names.names[topic[part[0]]], int(queue_id[part[0]])
        taken = _taken(store, files.get((name, number), ()), name, number, offset[part])
        chosen = part[~taken]
        for kind in (BEFORE, NEWEST, AFTER):
            some = chosen[where[lacking[chosen]] == kind]
            found = runs_of(offset[some])
            result.dropped += max(len(found) - MOST, 0)
            for first, length in found[:MOST]:
                begin, last = int(some[first]), int(some[first + length - 1])
                phy_offset = int(every.phy_offset[lacking[begin]])
                result.units.append(
                    UnitRun(name, number, int(offset[begin]), int(offset[last]), length, phy_offset, kind)
                )


def files_now(
    store: Store, files: Sequence[StoreFile], topic: str, queue_id: int, *, part: str = "consumequeue"
) -> Sequence[StoreFile]:
    """A queue's files, or its ext files, those of now where a broker may have rolled since."""
    if not store.live or store.path is None:
        return files
    directory = store.path / part / topic / str(queue_id)
    try:
        return find_files(directory) if is_safe(topic) and directory.is_dir() else []
    except UsageError:
        return []  # a broker makes the directory before the first file


def _taken(
    store: Store, files: Sequence[StoreFile], topic: str, queue_id: int, logical: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """A mask of the ascending logical offsets that have a unit now, sound or not; without expired ones and pre-blanks."""
    taken = np.zeros(logical.size, np.bool_)
    for file in files_now(store, files, topic, queue_id):
        try:
            with file.open() as reader:
                first = file.base_offset // QUEUE_UNIT.size
                inside = np.flatnonzero(
                    (logical >= first) & (logical < first + reader.size // QUEUE_UNIT.size)
                )
                for start, length in runs_of(logical[inside]):
                    places = inside[start : start + length]
                    begin, end = int(logical[places[0]]), int(logical[places[-1]]) + 1
                    size = QUEUE_UNIT.size
                    raw = reader.read((begin - first) * size, (end - begin) * size).view(UNIT_DTYPE)
                    offset = raw["phy_offset"].astype(np.int64)
                    empty = (
                        (offset == 0)
                        & ((raw["size"] == 0) | (raw["size"] == 0x7FFFFFFF))
                        & (raw["tags_code"] == 0)
                    )
                    expired = (offset >= 0) & (raw["size"] > 0) & (offset < store.begin)
                    taken[places] = ~(empty | expired)[logical[places] - begin]
        except FileNotFoundError:
            continue
    return taken
