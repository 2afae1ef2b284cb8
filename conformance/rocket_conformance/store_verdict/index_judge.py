"""Index files against what 4.9.3 makes of the log: which keys, in which order, in which bytes."""

from __future__ import annotations

from itertools import tee
from typing import TYPE_CHECKING, Final

from rocket_reference import java

from rocket_conformance.store_verdict.index_bytes import Entry, StoredIndex, read_index
from rocket_conformance.store_verdict.index_geometry import geometry_of
from rocket_conformance.store_verdict.index_sequence import TORN, judge_sequence
from rocket_conformance.store_verdict.key_readings import Put
from rocket_conformance.store_verdict.misread import reading_that_builds
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import numbered_files

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_spec.layout import Geometry

    from rocket_conformance.store_verdict.stored_log import StoredLog
    from rocket_conformance.store_verdict.stored_record import StoredRecord

__all__ = ["judge_indexes"]

_NAME_DIGITS: Final = 17
_OF_SLOTS: Final = {"IDX-HASH-3", "IDX-HDR-4", "IDX-PUT-6", "IDX-PUT-7"}
"""Clauses that entries in other slots seem to break."""


def judge_indexes(
    store: Path, log: StoredLog, seen: Observations, *, geometry: Geometry | None, stopped: bool
) -> list[StoredIndex]:
    """Judges the files of `index/`.

    Args:
        store: the store's directory.
        log: what was stored.
        seen: takes what is observed.
        geometry: of the files; None infers it.
        stopped: whether the broker stopped cleanly, so that nothing may be missing at the end.

    Returns:
        The files in the order of their names.

    Raises:
        UsageError: when the geometry cannot be inferred.
        MalformedError: when a file is shorter than its slots.
    """
    paths = [path for _, path in numbered_files(store / "index")]
    if not paths:
        _judge_no_index(log, seen, stopped=stopped)
        return []
    geometry = geometry or geometry_of(paths, log)
    files = [read_index(path, f"index/{path.name}", geometry) for path in paths]
    for file in files:
        seen.compare("IDX-FILE-1", Place(file.name, None, "length", file.size, geometry.file_size))
        digits = len(file.name.removeprefix("index/"))
        seen.compare("IDX-SVC-4", Place(file.name, None, "digits of the name", digits, _NAME_DIGITS))
    own = Observations()
    for before, file in zip([None, *files], files, strict=False):
        _judge_file(file, before, geometry, log, own, stopped=stopped)
    puts = (
        Put(file, geometry, number, entry) for file in files for number, entry in enumerate(file.entries, 1)
    )
    judge_sequence(puts, log, own, stopped=stopped)
    is_wrong = any(clause.startswith("IDX-") for clause in own.broken)
    reading = reading_that_builds(files, log, own.broken) if is_wrong else None
    if reading is not None:
        own.explain(reading.clause, reading.name.replace("-", " "))
    elif "IDX-HASH-3" in own.broken and own.broken.keys() <= _OF_SLOTS:
        own.explain("IDX-HASH-3", "another slot for a key hash")
    seen.add(own)
    return files


def _judge_no_index(log: StoredLog, seen: Observations, *, stopped: bool) -> None:
    """Any record that is dispatched makes an index file, one without keys too (IDX-SVC-7)."""
    first = next(iter(log.records), None)
    if first is None:
        return
    if not stopped or log.dledger:
        seen.note(
            "no index file: the records are not indexed yet, or an unclean restart deleted it (IDX-SVC-6)"
        )
        return
    seen.breaks("IDX-SVC-7", Place("index", None, "index files", "none", "at least one", str(first)))


# --- the bytes of one file --------------------------------------------------------------------------------


def _judge_file(
    file: StoredIndex,
    before: StoredIndex | None,
    geometry: Geometry,
    log: StoredLog,
    seen: Observations,
    *,
    stopped: bool,
) -> None:
    seen.compare(
        "IDX-ENT-1", Place(file.name, geometry.entries_offset, "entry 0", file.entry_zero, Entry(0, 0, 0, 0))
    )
    last = len(file.entries)
    if file.header.index_count > 1:
        place = Place(file.name, 36, "header index_count", file.header.index_count, last + 1)
        if seen.compare("IDX-PUT-1", place) and not file.beyond:
            seen.hold("IDX-HDR-1", "IDX-HDR-5")
    torn = len(file.beyond) == 1 and file.beyond[0] == last + 1 and not stopped
    if torn:
        seen.note(TORN)
    elif file.beyond:
        offset = geometry.entries_offset + 20 * file.beyond[0]
        seen.breaks(
            "IDX-PUT-6",
            Place(file.name, offset, f"entry {file.beyond[0]}", "an entry", f"zeros after entry {last}"),
        )
    if before is not None and last and len(before.entries) + 1 < geometry.index_num:
        place = Place(before.name, 36, "index_count", before.header.index_count, geometry.index_num)
        seen.breaks("IDX-SVC-3", place)
    elif before is not None:
        seen.hold("IDX-SVC-3", "IDX-FULL-1", "IDX-PUT-1")
    heads = _judge_chains(file, geometry, seen)
    used = _judge_slots(file, heads, seen, torn=torn or not stopped)
    _judge_header(file, before, used, log, seen)


def _judge_chains(file: StoredIndex, geometry: Geometry, seen: Observations) -> memoryview[int]:
    """Judges the previous entries; the last entry of each slot, 0 where there is none."""
    heads = memoryview(bytearray(4 * geometry.hash_slot_num)).cast("i")  # pages without an entry cost nothing
    for number, entry in enumerate(file.entries, 1):
        put = Put(file, geometry, number, entry)
        if entry.key_hash < 0:
            seen.breaks("IDX-HASH-2", put.place("key_hash", entry.key_hash, "0 or more"))
            continue
        slot = entry.key_hash % geometry.hash_slot_num
        expected = heads[slot]
        heads[slot] = number
        if entry.prev_entry == number and not expected:
            seen.note(TORN)
            continue
        seen.compare("IDX-PUT-6", put.place("prev_entry", entry.prev_entry, expected))
        if expected:
            seen.hold("IDX-SLOT-1", "IDX-PUT-7")
    return heads


def _judge_slots(file: StoredIndex, heads: memoryview[int], seen: Observations, *, torn: bool) -> int:
    """Judges the slots; the number of those that have entries."""
    following = len(file.entries) + 1

    def judge(slot: int, found: int) -> None:
        expected = heads[slot]
        if torn and found == following:
            seen.note(TORN)
            return
        place = Place(file.name, 40 + 4 * slot, f"slot {slot}", found, expected)
        if expected or found not in range(1, following):
            seen.compare("IDX-PUT-7", place)
        else:  # an entry that 4.9.3 puts into another slot
            seen.breaks("IDX-HASH-3", place)
        if expected and found == expected:
            seen.hold("IDX-HASH-3")

    used = 0
    newest = (
        entry.key_hash % len(heads)
        for number, entry in enumerate(file.entries, 1)
        if entry.key_hash >= 0 and heads[entry.key_hash % len(heads)] == number
    )
    ours, theirs = tee(newest)
    for slot, found in zip(ours, file.slots(theirs), strict=True):
        used += 1
        judge(slot, found)
    for slot, found in file.slots_in_use():
        if not heads[slot]:
            judge(slot, found)
    return used


def _judge_header(
    file: StoredIndex, before: StoredIndex | None, used: int, log: StoredLog, seen: Observations
) -> None:
    header, entries = file.header, file.entries

    def compare(clause: str, offset: int, field: str, found: object, expected: object) -> None:
        seen.compare(clause, Place(file.name, offset, f"header {field}", found, expected))

    if not entries:
        seed = (before.header.end_timestamp, before.header.end_phy_offset) if before else (0, 0)
        if before is not None:
            compare("IDX-FILE-2", 0, "begin_timestamp", header.begin_timestamp, seed[0])
            compare("IDX-FILE-2", 16, "begin_phy_offset", header.begin_phy_offset, seed[1])
        return
    compare("IDX-HDR-2", 16, "begin_phy_offset", header.begin_phy_offset, entries[0].phy_offset)
    compare("IDX-HDR-3", 24, "end_phy_offset", header.end_phy_offset, entries[-1].phy_offset)
    compare("IDX-HDR-4", 32, "hash_slot_count", header.hash_slot_count, used)
    first, last = log.at(entries[0].phy_offset), log.at(entries[-1].phy_offset)
    if first is not None:
        compare("IDX-HDR-2", 0, "begin_timestamp", header.begin_timestamp, first.request.store_timestamp)
    if last is not None:
        compare("IDX-HDR-3", 8, "end_timestamp", header.end_timestamp, last.request.store_timestamp)
    for number, entry in enumerate(entries, 1):
        stored = log.at(entry.phy_offset)
        if stored is not None:
            _judge_time(file, before, number, entry, stored, seen)


def _judge_time(
    file: StoredIndex,
    before: StoredIndex | None,
    number: int,
    entry: Entry,
    stored: StoredRecord,
    seen: Observations,
) -> None:
    begin = file.header.begin_timestamp
    if number == 1:
        if before is None and entry.time_diff:
            seen.note("the first index file was seeded by one that is gone")
            return
        begin = before.header.end_timestamp if before is not None and before.entries else 0
    seconds = java.div(java.to_i64(stored.request.store_timestamp - begin), 1000)
    clamped = max(0, min(seconds, java.I32_MAX))
    if begin <= 0:
        clause, expected = "IDX-PUT-3", 0
    elif clamped != seconds:
        clause, expected = "IDX-PUT-4", clamped
    else:
        clause, expected = "IDX-PUT-8" if number == 1 else "IDX-PUT-2", seconds
    if number == 1 and before is not None and entry.time_diff == expected == 0:
        return  # less than a second after the seed: a file without one would hold the same
    place = Place(file.name, None, f"entry {number} time_diff", entry.time_diff, expected, str(stored))
    if seen.compare(clause, place) and clause == "IDX-PUT-8":
        seen.hold("IDX-FILE-2")
