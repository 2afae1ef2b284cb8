"""Index files against what 4.9.3 makes of the log: which keys, in which order, in which bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, tee
from typing import TYPE_CHECKING, Final

from rocket_reference import java

from rocket_conformance.store_verdict.index_bytes import (
    Entry,
    StoredIndex,
    agreement_with,
    geometry_of,
    read_index,
)
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import numbered_files
from rocket_conformance.store_verdict.stored_record import ROLLBACK

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocket_spec.layout import Geometry

    from rocket_conformance.store_verdict.stored_log import StoredLog
    from rocket_conformance.store_verdict.stored_record import StoredRecord

__all__ = ["judge_indexes"]

_NAME_DIGITS: Final = 17
_TORN: Final = "an entry that a kill cut off, or its slot (IDX-PUT-11)"
_LOST: Final = "keys lost to an unclean restart, which deleted an index file (IDX-SVC-6, STORE-11)"
_DELETED: Final = "keys lost to an unclean restart in DLedger mode, which deleted an index file (DLG-13)"
_LAG: Final = "messages at the log's end that are not indexed yet"
_TWICE: Final = "the last message before a restart is indexed twice (IDX-SVC-8)"


@dataclass(frozen=True, slots=True)
class _Put:
    """One entry and where it is."""

    file: StoredIndex
    geometry: Geometry
    number: int
    entry: Entry

    def place(self, field: str, found: object, expected: object, record: object = "") -> Place:
        at = {"key_hash": 0, "phy_offset": 4, "time_diff": 12, "prev_entry": 16}.get(field, 0)
        offset = self.geometry.entries_offset + 20 * self.number + at
        return Place(self.file.name, offset, f"entry {self.number} {field}", found, expected, str(record))


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
        return []
    geometry = geometry or geometry_of(paths, agreement_with(log))
    files = [read_index(path, f"index/{path.name}", geometry) for path in paths]
    for file in files:
        seen.compare("IDX-FILE-1", Place(file.name, None, "length", file.size, geometry.file_size))
        digits = len(file.name.removeprefix("index/"))
        seen.compare("IDX-SVC-4", Place(file.name, None, "digits of the name", digits, _NAME_DIGITS))
    for before, file in zip([None, *files], files, strict=False):
        _judge_file(file, before, geometry, log, seen, stopped=stopped)
    puts = (
        _Put(file, geometry, number, entry) for file in files for number, entry in enumerate(file.entries, 1)
    )
    _judge_sequence(puts, log, seen, stopped=stopped)
    return files


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
        seen.note(_TORN)
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
        put = _Put(file, geometry, number, entry)
        if entry.key_hash < 0:
            seen.breaks("IDX-HASH-2", put.place("key_hash", entry.key_hash, "0 or more"))
            continue
        slot = entry.key_hash % geometry.hash_slot_num
        expected = heads[slot]
        heads[slot] = number
        if entry.prev_entry == number and not expected:
            seen.note(_TORN)
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
            seen.note(_TORN)
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


# --- which keys, in which order ---------------------------------------------------------------------------


def _judge_sequence(puts: Iterator[_Put], log: StoredLog, seen: Observations, *, stopped: bool) -> None:
    following: int | None = None  # end of the last record that was indexed
    before = -1
    last: _Put | None = None
    for (offset, run), next_run in _with_next(puts):
        first, last = run[0], run[-1]
        if offset < before:
            seen.breaks(
                "IDX-SVC-8",
                first.place("phy_offset", offset, f"{before:,} or more, that of the entry before"),
            )
            continue
        before = offset
        if offset < log.begin:
            continue
        stored = log.at(offset)
        if stored is None:
            if offset >= log.end:
                seen.note("entries of records after the log's end, which a recovery cut off")
            elif log.whole:
                seen.breaks("IDX-PUT-6", first.place("phy_offset", offset, "the offset of a record"))
            continue
        _judge_gap(following, stored, first, log, seen)
        following = offset + stored.request.msg_size
        cut = not stopped if next_run is None else log.dledger and next_run[1][0].number == 1
        _judge_keys(run, stored, seen, last=cut)
    _judge_end(last, following, log, seen, stopped=stopped)


_Run = tuple[int, list[_Put]]


def _with_next(puts: Iterator[_Put]) -> Iterator[tuple[_Run, _Run | None]]:
    """The entries of one offset after another, each time with those of the next offset, None after the last ones."""
    before: _Run | None = None
    for offset, run in groupby(puts, key=lambda put: put.entry.phy_offset):
        here = offset, list(run)
        if before is not None:
            yield before, here
        before = here
    if before is not None:
        yield before, None


def _missing(log: StoredLog, begin: int | None, end: int) -> StoredRecord | None:
    """The first record between two positions, bytes, that has entries; None as the beginning is that of the log."""
    if begin == end:
        return None
    start = log.begin if begin is None else begin
    return next((stored for stored in log.records.between(start, end) if stored.indexed), None)


def _judge_gap(
    following: int | None, stored: StoredRecord, first: _Put, log: StoredLog, seen: Observations
) -> None:
    """Judges that nothing is missing between two indexed records, or before the first one."""
    lost = _missing(log, following, stored.position)
    if lost is None:
        return
    if log.dledger and first.number == 1:
        seen.hold("DLG-13")
        seen.note(_DELETED)
        return
    restarted = first.number == 1 and _recovers_at(log, stored.position)
    if restarted or (following is None and log.begin > 0 and first.number == 1):
        seen.note(_LOST)
        return
    seen.breaks(
        _clause_of_missing(lost), first.place("phy_offset", first.entry.phy_offset, lost.position, lost)
    )


def _recovers_at(log: StoredLog, position: int) -> bool:
    """Whether a recovery can begin at a record: it is the first indexed one of its log file."""
    return _missing(log, log.file_of(position).base, position) is None


def _clause_of_missing(lost: StoredRecord) -> str:
    if lost.transaction:
        return "IDX-SVC-9"
    return "IDX-SVC-10" if lost.request.uniq_key == "" and len(lost.hashes) == 1 else "IDX-SVC-2"


def _judge_end(
    put: _Put | None, following: int | None, log: StoredLog, seen: Observations, *, stopped: bool
) -> None:
    """Judges that the records after the last entry's are not to be indexed, unless the broker may have been on its way."""
    if not log.whole:
        return
    lost = _missing(log, following, log.end)
    if lost is None:
        return
    if not stopped or put is None or log.dledger:
        seen.note(_DELETED if stopped and log.dledger else _LAG)
        return
    seen.breaks(_clause_of_missing(lost), put.place("phy_offset", put.entry.phy_offset, lost.position, lost))


def _judge_keys(run: list[_Put], stored: StoredRecord, seen: Observations, *, last: bool) -> None:
    """Judges the entries of one record: its keys in their order, once or, around a restart, again from the first."""
    if stored.transaction == ROLLBACK:
        seen.breaks("IDX-SVC-9", run[0].place("phy_offset", run[0].entry.phy_offset, "no entry", stored))
        return
    found, expected = [put.entry.key_hash for put in run], list(stored.hashes)
    at = 0
    while at < len(found):
        rest = found[at:]
        if rest[: len(expected)] == expected and expected:
            if at:
                seen.note(_TWICE)
                seen.hold("LOG-DSP-13")
            _hold_keys(stored, seen)
            at += len(expected)
            continue
        cut = _cut(rest, expected)
        if cut and (at + cut < len(found) or last):
            seen.note(_TORN)
            at += cut
            continue
        if at == 0 and run[0].number == 1 and rest and rest == expected[-len(rest) :]:
            seen.note("the first index file begins in the middle of a message; the one before it is gone")
            return
        seen.breaks(*_wrong_key(run[at:], stored))
        return


def _cut(rest: list[int], expected: list[int]) -> int:
    """How many of the first keys are there before they begin again, or before the end."""
    for length in range(len(expected) - 1, 0, -1):
        if rest[:length] == expected[:length] and rest[length : 2 * length] in ([], expected[:length]):
            return length
    return 0


def _hold_keys(stored: StoredRecord, seen: Observations) -> None:
    seen.hold("IDX-HASH-1", "IDX-SVC-1", "IDX-SVC-2", "IDX-SVC-8", "LOG-DSP-2", "LOG-DSP-3", "LOG-DSP-12")
    if any(java.string_hash(key) == java.I32_MIN for key in stored.keys):
        seen.hold("IDX-HASH-2")
    if stored.transaction:
        seen.hold("IDX-SVC-9")
    if stored.request.uniq_key == "":
        seen.hold("IDX-SVC-10")


def _wrong_key(run: list[_Put], stored: StoredRecord) -> tuple[str, Place]:
    """The first entry that is wrong, and the clause that defines it."""
    for put, hashed, key in zip(run, stored.hashes, stored.keys, strict=False):
        found = put.entry.key_hash
        if found == hashed:
            continue
        place = put.place("key_hash", found, hashed, f"{stored}, key {key.partition('#')[2]!r}")
        bare = java.abs_i32(java.string_hash(key.partition("#")[2]))
        if found == bare:
            return "IDX-SVC-1", place
        if java.string_hash(key) == java.I32_MIN:
            return "IDX-HASH-2", place
        return ("IDX-SVC-2" if found in stored.hashes else "IDX-HASH-1"), place
    number = min(len(run), len(stored.hashes))
    if number < len(run):
        return "IDX-SVC-2", run[number].place(
            "key_hash", run[number].entry.key_hash, "no further key", stored
        )
    return "IDX-SVC-2", run[-1].place("key_hash", "the last key", f"{len(stored.hashes)} keys", stored)
