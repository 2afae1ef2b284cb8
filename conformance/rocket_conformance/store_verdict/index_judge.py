"""Index files against what the reference makes of the log: which keys, in which order, in which bytes."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rocket_reference import IndexFile, IndexHeader, MappedFile, java
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_conformance.store_verdict.facts import StoreFacts
from rocket_conformance.store_verdict.index_bytes import ENTRY, Entry, StoredIndex, read_index
from rocket_conformance.store_verdict.index_sequence import TORN, EntryJudge, Put
from rocket_conformance.store_verdict.misread import reading_that_builds
from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.sparse import differing
from rocket_conformance.store_verdict.stored_log import StoredLog, numbered_files

_NAME_DIGITS: Final = 17

_OF_SLOTS: Final = {"IDX-HASH-3", "IDX-HDR-4", "IDX-PUT-6", "IDX-PUT-7"}
"""Clauses that entries in other slots seem to break."""

_OF_OFFSETS: Final = ("IDX-HDR-2", "IDX-HDR-3", "IDX-SVC-2")
"""Clauses that entries with other offsets seem to break."""

_HEADER: Final = {
    "begin_phy_offset": "IDX-HDR-2",
    "end_phy_offset": "IDX-HDR-3",
    "hash_slot_count": "IDX-HDR-4",
    "begin_timestamp": "IDX-HDR-2",
    "end_timestamp": "IDX-HDR-3",
}
"""The clauses of the header's fields; IDX-PUT-1 is about the count."""


def judge_indexes(
    facts: StoreFacts, log: StoredLog, seen: Observations, *, undisturbed_from: int | None = None
) -> list[StoredIndex]:
    """Judges the files of `index/`, whose geometry is inferred if none is given; the files in the order of their names.

    Raises:
        UsageError: when the geometry cannot be inferred.
        MalformedError: when a file is shorter than its slots.
    """
    paths = [path for _, path in numbered_files(log.store / "index")]
    enabled = facts.conf is None or facts.conf.index_enabled
    if not paths:
        if enabled:
            _judge_no_index(log, seen)
        return []
    geometry = known_geometry(facts)
    files = [read_index(path, f"index/{path.name}", geometry) for path in paths]
    for file in files:
        seen.compare("IDX-FILE-1", Place(file.name, None, "length", file.size, geometry.file_size))
        digits = len(file.name.removeprefix("index/"))
        seen.compare("IDX-SVC-4", Place(file.name, None, "digits of the name", digits, _NAME_DIGITS))
    own = Observations(profile=seen.profile)
    _compare_files(files, log, own)
    puts = (Put(file, number, entry) for file in files for number, entry in enumerate(file.entries, 1))
    EntryJudge(log, own, enabled, undisturbed_from).judge(puts)
    is_wrong = any(clause.startswith("IDX-") for clause in own.broken)
    reading = reading_that_builds(files, log, own.broken) if is_wrong else None
    if reading is not None:
        own.explain(reading.clause, reading.rule)
    elif "IDX-HASH-3" in own.broken and own.broken.keys() <= _OF_SLOTS:
        own.explain("IDX-HASH-3", "another slot for a key hash")
    elif any(place.field.endswith("phy_offset") for place in own.broken.get("IDX-PUT-6", ())):
        own.leave_out(
            _OF_OFFSETS, "header values and missing keys, which may follow from wrong offsets of entries"
        )
    seen.add(own)
    return files


def known_geometry(facts: StoreFacts) -> Geometry:
    """The geometry of index files, if there are any, or the reason why it is not known."""
    if facts.geometry is None and facts.geometry_fault is not None:
        raise facts.geometry_fault
    return facts.geometry or DEFAULT_GEOMETRY


def _judge_no_index(log: StoredLog, seen: Observations) -> None:
    """Any record that is dispatched makes an index file, one without keys too (IDX-SVC-7)."""
    first = next(iter(log.records), None)
    if first is None:
        return
    if not log.stopped or log.dledger:
        seen.note(
            "no index file: the records are not indexed yet, or an unclean restart deleted it (IDX-SVC-6)"
        )
        return
    seen.breaks("IDX-SVC-7", Place("index", None, "index files", "none", "at least one", first))


# --- bytes ------------------------------------------------------------------------------------------------


def _compare_files(files: Sequence[StoredIndex], log: StoredLog, seen: Observations) -> None:
    """Compares each file with one into which the reference puts the same hashes and physical offsets.

    Which hashes and offsets those have to be is not looked at here: `EntryJudge` does that.
    """
    for before, file in zip([None, *files], files, strict=False):
        if before is None:
            pass
        elif len(file.entries) and len(before.entries) + 1 < file.geometry.index_num:
            count, full = before.header.index_count, file.geometry.index_num
            seen.breaks("IDX-SVC-3", Place(before.name, 36, "index_count", count, full))
        else:
            seen.hold("IDX-SVC-3", "IDX-FULL-1", "IDX-PUT-1")
        with tempfile.TemporaryDirectory(prefix="rocketspec-") as folder:
            _Comparison(file, before, log, seen).run(Path(folder) / ("0" * 17))


def _text(hashed: int) -> str:
    """A text with a key hash of 0 or more."""
    units: list[str] = []
    while hashed:
        hashed, unit = divmod(hashed, 31)
        units.append(chr(unit))
    return "".join(reversed(units))


class _Comparison:
    """One file while it is compared; `before` is the file before it, None if it is the first."""

    def __init__(
        self, file: StoredIndex, before: StoredIndex | None, log: StoredLog, seen: Observations
    ) -> None:
        self._file = file
        self._before = before
        self._log = log
        self._seen = seen
        self._count = len(file.entries) + 1
        self._begins = 0, 0
        self._compared: Counter[str] = Counter({"IDX-ENT-1": 1, "IDX-PUT-6": len(file.entries)})
        self._wrong: Counter[str] = Counter()

    def run(self, path: Path) -> None:
        """Compares the file with one that is made at `path`."""
        geometry = self._file.geometry
        mapped = MappedFile(path, geometry.file_size)
        try:
            header = self._put_all(mapped.view)
        finally:
            mapped.close()
        entries = geometry.entries_offset
        end = entries + (min(geometry.file_size, self._file.size) - entries) // ENTRY.size * ENTRY.size
        with self._file.path.open("rb") as found, path.open("rb") as made:
            files = found.fileno(), made.fileno()
            for offset, one, other in differing(*files, entries, end, ENTRY.size):
                number = (offset - entries) // ENTRY.size
                self._judge_entry(number, Entry(*ENTRY.unpack(one)), Entry(*ENTRY.unpack(other)))
            for offset, one, other in differing(*files, INDEX_HEADER.size, entries, INDEX_SLOT.size):
                self._judge_slot(offset, *(int.from_bytes(data, signed=True) for data in (one, other)))
        self._judge_header(header)
        used = header.hash_slot_count
        self._compared.update({"IDX-PUT-7": used, "IDX-HASH-3": used, "IDX-SLOT-1": self._count - 1 - used})
        held = self._compared - self._wrong
        held["IDX-FILE-2"] += held["IDX-PUT-8"]
        self._seen.held += held

    def _put_all(self, view: memoryview) -> IndexHeader:
        """Puts what the file holds into one that is made; its header then."""
        file, geometry = self._file, self._file.geometry
        seed = self._before.header if self._before is not None and self._before.entries else None
        made = IndexFile(
            view,
            geometry.hash_slot_num,
            geometry.index_num,
            end_phy_offset=seed.end_phy_offset if seed else 0,
            end_timestamp=seed.end_timestamp if seed else 0,
        )
        self._begins = made.header().begin_timestamp, 0
        for number, entry in enumerate(file.entries, 1):
            stored = self._log.at(entry.phy_offset)
            time = file.header.begin_timestamp + (1000 * entry.time_diff if number > 1 else 0)
            if stored is not None:
                time = stored.request.store_timestamp
                if number > 1 or self._before is None or entry.time_diff:  # else it shows no seed
                    self._compared[self._time_clause(number, time)] += 1
            made.put(_text(max(0, entry.key_hash)), entry.phy_offset, time)
            if number == 1:
                self._begins = self._begins[0], time
        return made.header()

    def _time_clause(self, number: int, time: int) -> str:
        """The clause that gives the time diff of an entry whose record was stored at a time, ms."""
        begin = self._begins[number > 1]
        if begin <= 0:
            return "IDX-PUT-3"
        if not 0 <= java.div(java.to_i64(time - begin), 1000) <= java.I32_MAX:
            return "IDX-PUT-4"
        return "IDX-PUT-8" if number == 1 else "IDX-PUT-2"

    def _breaks(self, clause: str, place: Place) -> None:
        self._wrong[clause] += 1
        self._seen.breaks(clause, place)

    def _judge_entry(self, number: int, found: Entry, expected: Entry) -> None:
        """Judges an entry that differs."""
        put = Put(self._file, number, found)
        if number == 0:
            self._breaks("IDX-ENT-1", put.place("", found, expected))
        elif number == self._count and not self._log.stopped:
            self._seen.note(TORN)
        elif number >= self._count:
            self._breaks("IDX-PUT-6", put.place("", "an entry", f"zeros after entry {self._count - 1}"))
        elif found.key_hash < 0:
            self._breaks("IDX-HASH-2", put.place("key_hash", found.key_hash, "0 or more"))
        else:
            stored = self._log.at(found.phy_offset)
            if stored is not None and found.time_diff != expected.time_diff:
                clause = self._time_clause(number, stored.request.store_timestamp)
                if (
                    clause == "IDX-PUT-8" and found.time_diff
                ):  # counted from the seed, which 0 is not, and in another way
                    clause = "IDX-PUT-2"
                if number == 1 and self._before is None:
                    self._wrong[clause] += 1
                    self._seen.note("the first index file was seeded by one that is gone")
                else:
                    place = put.place("time_diff", found.time_diff, expected.time_diff, stored)
                    self._breaks(clause, place)
            if found.prev_entry == number and not expected.prev_entry:
                self._wrong["IDX-PUT-6"] += 1
                self._seen.note(TORN)
            elif found.prev_entry != expected.prev_entry:
                self._breaks("IDX-PUT-6", put.place("prev_entry", found.prev_entry, expected.prev_entry))

    def _judge_slot(self, offset: int, found: int, expected: int) -> None:
        """Judges a slot that differs."""
        if found == self._count and not self._log.stopped:
            self._seen.note(TORN)
            return
        slot = (offset - INDEX_HEADER.size) // INDEX_SLOT.size
        place = Place(self._file.name, offset, f"slot {slot}", found, expected)
        # an entry that 4.9.3 puts into another slot, or a wrong number
        clause = "IDX-HASH-3" if not expected and 0 < found < self._count else "IDX-PUT-7"
        self._breaks(clause, place)

    def _judge_header(self, expected: IndexHeader) -> None:
        found, file = self._file.header, self._file

        def compare(clause: str, field: str, wanted: int) -> bool:
            at = INDEX_HEADER.offset_of(field)
            return self._seen.compare(
                clause, Place(file.name, at, f"header {field}", getattr(found, field), wanted)
            )

        if not file.entries:
            if self._before is not None:
                compare("IDX-FILE-2", "begin_timestamp", self._before.header.end_timestamp)
                compare("IDX-FILE-2", "begin_phy_offset", self._before.header.end_phy_offset)
            return
        for field, clause in _HEADER.items():
            entry = file.entries[0 if field.startswith("begin") else -1]
            if not field.endswith("timestamp") or self._log.at(entry.phy_offset) is not None:
                compare(clause, field, getattr(expected, field))
        if compare("IDX-PUT-1", "index_count", expected.index_count) and not self._wrong["IDX-PUT-6"]:
            self._seen.hold("IDX-HDR-1", "IDX-HDR-5")
