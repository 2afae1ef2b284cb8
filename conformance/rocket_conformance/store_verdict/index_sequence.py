"""Compares the keys in the index files, and their order, with the records of the log."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise, zip_longest
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
        """The place of one of its fields, with what was found and expected."""
        at = {"key_hash": 0, "phy_offset": 4, "time_diff": 12, "prev_entry": 16}.get(field, 0)
        offset = self.file.geometry.entries_offset + 20 * self.number + at
        return Place(self.file.name, offset, f"entry {self.number} {field}", found, expected, record, rule)


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
    about = f"{stored}, key {key.partition('#')[2]!r}" if key else stored
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
_BEGUN_BEFORE: Final = "the first index file begins in the middle of a message; the one before it is gone"
_TWICE: Final = "the last message before a restart is indexed twice (IDX-SVC-8)"


@dataclass
class EntryJudge:
    """Judges the entries of all files, record by record.

    Attributes:
        log: what was stored.
        seen: takes what is observed.
        enabled: whether the broker still makes an index.
        undisturbed_from: offset of the first record since which the broker has not been restarted; None if unknown.
        following: end of the last record that was indexed, bytes; None before the first.
        repeated: files in which a message was indexed twice within the file: a restart explains one, no more.
    """

    log: StoredLog
    seen: Observations
    enabled: bool = True
    undisturbed_from: int | None = None
    following: int | None = None
    repeated: set[str] = field(default_factory=set[str])

    def judge(self, puts: Iterator[Put]) -> None:
        """Judges every entry, in the order of files and numbers."""
        log, seen, before = self.log, self.seen, -1
        last: Put | None = None
        runs = (list(run) for _, run in groupby(puts, key=lambda put: put.entry.phy_offset))
        for run, next_run in pairwise(chain(runs, ([],))):
            first, last = run[0], run[-1]
            offset = first.entry.phy_offset
            if offset < before:
                wanted = f"{before:,} or more, that of the entry before"
                seen.breaks("IDX-SVC-8", first.place("phy_offset", offset, wanted))
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
            self._judge_gap(stored, first)
            self.following = offset + stored.request.msg_size
            cut = log.dledger and next_run[0].number == 1 if next_run else not log.stopped
            self._judge_keys(run, stored, last=cut)
        self._judge_end(last)

    def _missing(self, begin: int | None, end: int) -> StoredRecord | None:
        """The first record between two positions, bytes, that has entries; None as the beginning is that of the log."""
        start = self.log.begin if begin is None else begin
        return next((stored for stored in self.log.records.between(start, end) if stored.indexed), None)

    def _judge_gap(self, stored: StoredRecord, first: Put) -> None:
        """Judges that nothing is missing between two indexed records, or before the first one."""
        log, seen, begin = self.log, self.seen, self.following
        for skipped in log.records.between(stored.position if begin is None else begin, stored.position):
            if skipped.transaction == ROLLBACK and skipped.hashes:
                seen.hold("IDX-SVC-9")
        lost = self._missing(begin, stored.position)
        if lost is None or not self.enabled:
            return
        if log.dledger and first.number == 1:
            seen.hold("DLG-13")
            seen.note(_DELETED)
            return
        # a recovery can begin at the first indexed record of a log file
        recovers = self._missing(log.file_of(stored.position).base, stored.position) is None
        if first.number == 1 and (recovers or (begin is None and log.begin > 0)):
            seen.note(_LOST)
            return
        place = first.place("phy_offset", first.entry.phy_offset, lost.position, lost)
        seen.breaks(_clause_of_missing(lost), place)

    def _judge_end(self, put: Put | None) -> None:
        """Judges that the records after the last entry's are not to be indexed, unless the broker may have been on its way."""
        log = self.log
        lost = self._missing(self.following, log.end) if log.whole else None
        if lost is None or not self.enabled:
            return
        if not log.stopped or put is None or log.dledger:
            self.seen.note(_DELETED if log.stopped and log.dledger else _LAG)
            return
        place = put.place("phy_offset", put.entry.phy_offset, lost.position, lost)
        self.seen.breaks(_clause_of_missing(lost), place)

    def _judge_keys(self, run: list[Put], stored: StoredRecord, *, last: bool) -> None:
        """Judges the entries of one record: its keys in their order, once or, around a restart, again from the first.

        Args:
            run: the entries.
            stored: the record.
            last: whether the last of them may be missing.
        """
        seen, at = self.seen, 0
        if stored.transaction == ROLLBACK:
            place = run[0].place("phy_offset", run[0].entry.phy_offset, "no entry", stored)
            seen.breaks("IDX-SVC-9", place)
            return
        found, expected = [put.entry.key_hash for put in run], list(stored.hashes)
        while at < len(found):
            rest = found[at:]
            if at and not self._may_repeat(run[at], stored):
                wanted = "no entry: the message is indexed already"
                clause = "IDX-SVC-3" if run[at].number == 1 else "IDX-SVC-2"
                seen.breaks(clause, run[at].place("key_hash", rest[0], wanted, stored))
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
                at += cut
                if at == len(found) or not self._is_undisturbed(stored):
                    seen.note(TORN)
                continue
            if at == 0 and run[0].number == 1 and rest == expected[-len(rest) :]:
                seen.note(_BEGUN_BEFORE)
                return
            seen.breaks(*wrong_keys(run, stored))
            return

    def _is_undisturbed(self, stored: StoredRecord) -> bool:
        """Whether the broker is known not to have been restarted since the record was stored."""
        return self.undisturbed_from is not None and stored.position >= self.undisturbed_from

    def _may_repeat(self, put: Put, stored: StoredRecord) -> bool:
        """Whether a restart explains that a message begins again here: at the start of a file, else once in a file."""
        if self._is_undisturbed(stored):
            return False
        if put.number == 1:
            return True
        is_first = put.file.name not in self.repeated
        self.repeated.add(put.file.name)
        return is_first


def _clause_of_missing(lost: StoredRecord) -> str:
    if lost.transaction:
        return "IDX-SVC-9"
    if len(lost.hashes) == 1 and "\1" in (lost.request.keys or ""):
        return "LOG-PROP-3"
    return "IDX-SVC-10" if lost.request.uniq_key == "" and len(lost.hashes) == 1 else "IDX-SVC-2"


def _cut(rest: list[int], expected: list[int]) -> int:
    """The number of first keys before they begin again, or before the end."""
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
