"""Which keys are in the index files, in which order, against the records of the log."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Final

from rocket_reference import java

from rocket_conformance.store_verdict.index_bytes import Entry, StoredIndex
from rocket_conformance.store_verdict.misread import ERRORS, readings
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.record_table import ROLLBACK, StoredRecord
from rocket_conformance.store_verdict.stored_log import StoredLog

_ABOUT_KEYS: Final = ("IDX-SVC-1", "IDX-SVC-2", "IDX-SVC-10", "IDX-HASH-1", "IDX-HASH-2")


@dataclass(frozen=True, slots=True)
class Put:
    """One entry and where it is."""

    file: StoredIndex
    number: int
    entry: Entry

    def place(
        self, field: str, found: object, expected: object, record: object = "", *, rule: str = ""
    ) -> Place:
        """Where a field of it is, with what was found and expected."""
        at = {"key_hash": 0, "phy_offset": 4, "time_diff": 12, "prev_entry": 16}.get(field, 0)
        offset = self.file.geometry.entries_offset + 20 * self.number + at
        return Place(
            self.file.name, offset, f"entry {self.number} {field}", found, expected, str(record), rule
        )


def wrong_keys(run: Sequence[Put], stored: StoredRecord) -> tuple[str, Place]:
    """The clause that entries of a record break, and the first entry that is wrong.

    Args:
        run: the entries, of which at least one is wrong, missing or too many.
        stored: the record.
    """
    found = [put.entry.key_hash for put in run]
    expected = list(zip(stored.keys, stored.hashes, strict=True))
    at = next(
        number
        for number, (one, other) in enumerate(zip_longest(found, stored.hashes))
        if one != other or number + 1 == max(len(found), len(stored.hashes))
    )
    put = run[min(at, len(run) - 1)]
    key, hashed = expected[at] if at < len(expected) else ("", None)
    wanted: object = "no further key" if hashed is None else hashed
    hit: object = found[at] if at < len(found) else "no further entry"
    about = f"{stored}, key {key.partition('#')[2]!r}" if key else str(stored)
    for reading in readings(_ABOUT_KEYS, stored.rules):
        with suppress(*ERRORS):
            library = reading.library()
            if [
                library.key_hash(text) for text in library.index_keys(stored.request, reading.rules)
            ] == found:
                return reading.clause, put.place("key_hash", hit, wanted, about, rule=reading.rule)
    place = put.place("key_hash", hit, wanted, about)
    if at < len(found) and found[:at] + list(stored.hashes[at : at + 1]) + found[at:] == list(stored.hashes):
        return ("IDX-SVC-3" if put.number == 1 else "IDX-SVC-2"), place
    if len(found) != len(expected) or hit in stored.hashes:
        return "IDX-SVC-2", place
    return ("IDX-HASH-2" if java.string_hash(key) == java.I32_MIN else "IDX-HASH-1"), place


TORN: Final = "an entry that a kill cut off, or its slot (IDX-PUT-11)"
_LOST: Final = "keys lost to an unclean restart, which deleted an index file (IDX-SVC-6, STORE-11)"
_DELETED: Final = "keys lost to an unclean restart in DLedger mode, which deleted an index file (DLG-13)"
_LAG: Final = "messages at the log's end that are not indexed yet"
_TWICE: Final = "the last message before a restart is indexed twice (IDX-SVC-8)"


def judge_sequence(puts: Iterator[Put], log: StoredLog, seen: Observations) -> None:
    """Judges the entries of all files.

    Args:
        puts: every entry, in the order of files and numbers.
        log: what was stored.
        seen: takes what is observed.
    """
    following: int | None = None  # end of the last record that was indexed
    before = -1
    last: Put | None = None
    repeated: set[str] = set()
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
        _hold_rolled_back(following, stored, log, seen)
        _judge_gap(following, stored, first, log, seen)
        following = offset + stored.request.msg_size
        cut = not log.stopped if next_run is None else log.dledger and next_run[1][0].number == 1
        _judge_keys(run, stored, seen, repeated, last=cut)
    _judge_end(last, following, log, seen)


_Run = tuple[int, list[Put]]


def _with_next(puts: Iterator[Put]) -> Iterator[tuple[_Run, _Run | None]]:
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


def _hold_rolled_back(
    following: int | None, stored: StoredRecord, log: StoredLog, seen: Observations
) -> None:
    """Rolled-back records between two that are indexed have no entry (IDX-SVC-9)."""
    if following is not None and following != stored.position:
        for skipped in log.records.between(following, stored.position):
            if skipped.transaction == ROLLBACK and skipped.hashes:
                seen.hold("IDX-SVC-9")


def _judge_gap(
    following: int | None, stored: StoredRecord, first: Put, log: StoredLog, seen: Observations
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
    if len(lost.hashes) == 1 and "\1" in (lost.request.keys or ""):
        return "LOG-PROP-3"
    return "IDX-SVC-10" if lost.request.uniq_key == "" and len(lost.hashes) == 1 else "IDX-SVC-2"


def _judge_end(put: Put | None, following: int | None, log: StoredLog, seen: Observations) -> None:
    """Judges that the records after the last entry's are not to be indexed, unless the broker may have been on its way."""
    if not log.whole:
        return
    lost = _missing(log, following, log.end)
    if lost is None:
        return
    if not log.stopped or put is None or log.dledger:
        seen.note(_DELETED if log.stopped and log.dledger else _LAG)
        return
    seen.breaks(_clause_of_missing(lost), put.place("phy_offset", put.entry.phy_offset, lost.position, lost))


def _judge_keys(
    run: list[Put], stored: StoredRecord, seen: Observations, repeated: set[str], *, last: bool
) -> None:
    """Judges the entries of one record: its keys in their order, once or, around a restart, again from the first.

    Args:
        run: the entries.
        stored: the record.
        seen: takes what is observed.
        repeated: the files in which a message was indexed twice within the file: a restart explains one, no more.
        last: whether the last of them may be missing.
    """
    if stored.transaction == ROLLBACK:
        seen.breaks("IDX-SVC-9", run[0].place("phy_offset", run[0].entry.phy_offset, "no entry", stored))
        return
    found, expected = [put.entry.key_hash for put in run], list(stored.hashes)
    at = 0
    while at < len(found):
        rest = found[at:]
        if at and not _may_repeat(run[at], repeated):
            place = run[at].place("key_hash", rest[0], "no entry: the message is indexed already", stored)
            seen.breaks("IDX-SVC-2", place)
            return
        if rest[: len(expected)] == expected and expected:
            if at:
                seen.note(_TWICE)
                seen.hold("LOG-DSP-13")
            _hold_keys(stored, seen)
            at += len(expected)
            continue
        cut = _cut(rest, expected)
        if cut and (at + cut < len(found) or last):
            seen.note(TORN)
            at += cut
            continue
        if at == 0 and run[0].number == 1 and rest and rest == expected[-len(rest) :]:
            seen.note("the first index file begins in the middle of a message; the one before it is gone")
            return
        seen.breaks(*wrong_keys(run, stored))
        return


def _may_repeat(put: Put, repeated: set[str]) -> bool:
    """Whether a restart explains that a message begins again here: at the start of a file, else once in a file."""
    if put.number == 1:
        return True
    is_first = put.file.name not in repeated
    repeated.add(put.file.name)
    return is_first


def _cut(rest: list[int], expected: list[int]) -> int:
    """How many of the first keys are there before they begin again, or before the end."""
    for length in range(len(expected) - 1, 0, -1):
        if rest[:length] == expected[:length] and rest[length : 2 * length] in ([], expected[:length]):
            return length
    return 0


def _hold_keys(stored: StoredRecord, seen: Observations) -> None:
    seen.hold("IDX-HASH-1", "IDX-SVC-1", "IDX-SVC-8", "LOG-DSP-2", "LOG-DSP-3", "LOG-DSP-12")
    if len(stored.hashes) > 1:
        seen.hold("IDX-SVC-2")
    if any(java.string_hash(key) == java.I32_MIN for key in stored.keys):
        seen.hold("IDX-HASH-2")
    if stored.request.uniq_key == "":
        seen.hold("IDX-SVC-10")
