"""Explains a broker's wrong index files or answers: a misread clause, or another release."""

import itertools
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from rocket_reference import RULES_4_9_3, JavaError, JavaFatalError, Rules, UnspecifiedError, java
from rocket_spec.deviations import AuditFinding
from rocket_spec.layout import INDEX_HEADER
from rocket_spec.profiles import GROUND, differences

from rocket_conformance.misreadings import MISREADINGS, OF_STORES
from rocket_conformance.reference_adapter import REFERENCE, Library
from rocket_conformance.store_verdict.observations import ENTRY, Entry, Place, StoredIndex, as_releases_do
from rocket_conformance.store_verdict.stored_log import StoredLog, StoredRecord

_PUTS: Final = 4_000
"""Entries that are compared; of files that have more, none but those."""

_NEWEST: Final = 64
"""Entries that are compared after each message: more than its keys."""

_AFTER: Final = 20
"""Records after those of the compared entries."""

_LARGEST: Final = 1 << 22
"""Bytes of a file that is compared whole."""

_BUILDING: Final = (
    *("IDX-HASH-", "IDX-FILE-2", "IDX-HDR-", "IDX-SLOT-", "IDX-ENT-", "IDX-PUT-", "IDX-FULL-"),
    *(f"IDX-SVC-{number}" for number in (1, 2, 3, 7, 8, 9, 10)),
)
ABOUT_ANSWERS: Final = (*("IDX-SEL-", "IDX-TIME-"), *(f"IDX-SVC-{number}" for number in (11, 13, 14, 16)))
_ABOUT_KEYS: Final = ("IDX-SVC-1", "IDX-SVC-2", "IDX-SVC-10", "IDX-HASH-1", "IDX-HASH-2")
_STARTING: Final = ("CKP-3", "IDX-LOAD-1", "IDX-SVC-6", "STORE-11", "CQ-PUT-1", "CQ-REC-")

ERRORS: Final = (
    JavaError,
    JavaFatalError,
    UnspecifiedError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""Exceptions that a wrong reading may raise."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One clause read in another way than the judge does: wrongly, or as another release has it."""

    clause: str
    rule: str  # what it does, in words
    rules: Rules  # the parameters of the reference
    library: Callable[[], Library]  # the reference with it


def reading_that_builds(
    files: Sequence[StoredIndex], log: StoredLog, broken: Collection[str]
) -> Reading | None:
    """The reading of a clause with which the reference makes the same index files of the log; readings of the broken clauses are tried first."""
    compared = _Compared(files, log)
    rules = log.records.rules
    if not files or compared.is_made_by(REFERENCE, rules):
        return None
    for reading in sorted(readings(_BUILDING, rules), key=lambda reading: reading.clause not in broken):
        with suppress(*ERRORS):
            if compared.is_made_by(reading.library(), reading.rules):
                return reading
    return None


def wrong_key(found: AuditFinding, files: Sequence[StoredIndex], log: StoredLog) -> tuple[str, Place]:
    """The clause that an entry with a wrong hash breaks, and its place, with the wrong reading in words if there is one."""
    deviation = found.deviation
    assert deviation is not None
    stored = None if deviation.record is None else log.at(deviation.record)
    number = next(number for number, file in enumerate(files) if file.name == found.file)
    first = ((found.offset or 0) - files[number].entries.begin) // ENTRY.size
    at = files[number].entries.begin + first * ENTRY.size
    place = Place(found.file, at, f"entry {first + 1} key_hash", deviation.found, deviation.expected)
    if stored is None:
        return found.clause or "", place
    earlier = _hashes(_before(files[: number + 1], first), stored)[::-1]
    hashes = earlier + _hashes(_after(files[number:], first), stored)
    begin = len(earlier)
    key, expected, clause = "", 0, "IDX-SVC-2"
    if begin < len(stored.hashes):
        key, expected = stored.keys[begin], stored.hashes[begin]
        if len(hashes) == len(stored.hashes) and sorted(hashes) != sorted(stored.hashes):
            clause = "IDX-HASH-2" if java.string_hash(key) == java.I32_MIN else "IDX-HASH-1"
    about = f"{stored}, key {key.partition('#')[2]!r}" if key else str(stored)
    place = replace(place, expected=expected if key else "no further key", record=about)
    for reading in readings(_ABOUT_KEYS, stored.rules):
        with suppress(*ERRORS):
            library = reading.library()
            texts = library.index_keys(stored.request, reading.rules)
            if [library.key_hash(text) for text in texts] == hashes:
                return reading.clause, replace(place, rule=reading.rule)
    return clause, place


def _hashes(entries: Iterator[Entry], stored: StoredRecord) -> list[int]:
    """The hashes of the first entries, as far as they are those of a record."""
    own = itertools.takewhile(lambda entry: entry.phy_offset == stored.position, entries)
    return [entry.key_hash for entry in own]


def _before(files: Sequence[StoredIndex], first: int) -> Iterator[Entry]:
    """The entries before a place of the last file, from there to the first one of all."""
    for file in reversed(files):
        end = first if file is files[-1] else len(file.entries)
        yield from (file.entries[place] for place in range(end - 1, -1, -1))


def _after(files: Sequence[StoredIndex], first: int) -> Iterator[Entry]:
    """The entries from a place of the first file on."""
    for file in files:
        yield from (file.entries[place] for place in range(first * (file is files[0]), len(file.entries)))


@cache
def readings(about: tuple[str, ...], rules: Rules) -> list[Reading]:
    """The readings of clauses, named whole or by a beginning that ends in a hyphen; those of other releases come first."""
    found: list[Reading] = []
    for difference in differences():
        clause, others = difference.clauses[0], replace(rules, **difference.rules)
        rule = as_releases_do([difference])
        if others == rules:
            ground = {name: getattr(RULES_4_9_3, name) for name in difference.rules}
            others, rule = replace(rules, **ground), f"as release {GROUND} does"
        if others != rules and _is_about(clause, about):
            found.append(Reading(clause, rule, others, lambda: REFERENCE))
    mutants = (one for one in (*MISREADINGS, *OF_STORES) if _is_about(one.clause, about))
    return [*found, *(Reading(one.clause, one.words, rules, cache(one.library)) for one in mutants)]


def reading_that_starts(is_same: Callable[[Library], bool]) -> Reading | None:
    """The wrong reading of a clause on starts with which the reference leaves the store that a broker left.

    What a start trusts and dispatches comes first: how it treats the ends of queues can come to the same units.
    """
    for about in _STARTING:
        for reading in readings((about,), RULES_4_9_3):
            with suppress(*ERRORS):
                if is_same(reading.library()):
                    return reading
    return None


def _is_about(clause: str, about: tuple[str, ...]) -> bool:
    return any(clause == name or (name.endswith("-") and clause.startswith(name)) for name in about)


def _bytes_of(file: StoredIndex, begin: int, end: int) -> bytes:
    with file.path.open("rb") as opened:
        return os.pread(opened.fileno(), end - begin, begin)


class _Compared:
    """The compared parts: the first files whole if they are small, else the first entries, and the header if those are all."""

    def __init__(self, files: Sequence[StoredIndex], log: StoredLog) -> None:
        counts = itertools.accumulate(len(file.entries) for file in files)
        small = [file.size <= _LARGEST and count <= _PUTS for file, count in zip(files, counts, strict=True)]
        whole = files[: small.index(False) if False in small else len(small)]
        self._files = files
        self._log = log
        parts = [(file, 0, max(file.size, file.geometry.file_size)) for file in whole]
        self._parts = parts or list(self._first_entries())
        self._found = [_bytes_of(*part) for part in self._parts]
        self._entries = [
            _bytes_of(file, file.geometry.entries_offset, file.geometry.entries_offset + ENTRY.size * _PUTS)
            for file in whole or files[:1]
        ]

    def _first_entries(self) -> Iterator[tuple[StoredIndex, int, int]]:
        for file in self._files[:1]:
            first = file.geometry.entries_offset + ENTRY.size
            count = len(file.entries)
            if count <= _PUTS and len(self._files) == 1:
                yield file, 0, INDEX_HEADER.size
            yield file, first, first + ENTRY.size * min(count, _PUTS)

    def is_made_by(self, library: Library, rules: Rules) -> bool:
        geometry = self._files[0].geometry
        names = (f"{number:017}" for number in itertools.count(20_000_000_000_000_000))
        with tempfile.TemporaryDirectory(prefix="rocketspec-") as folder:
            service = library.IndexService(folder, *geometry, new_name=lambda: next(names), rules=rules)
            try:
                for stored in self._records():
                    service.build(stored.request)
                    if not self._goes_on(service):
                        return False
                service.settle()
                views = dict(zip((file.name for file in self._files), service.files, strict=False))
                made = [
                    bytes(views[file.name].mapped.view[begin:end])
                    for file, begin, end in self._parts
                    if file.name in views
                ]
            finally:
                service.close()
        return made == self._found

    def _goes_on(self, service: Any) -> bool:
        """Whether the newest entries of a service, but for the last two, are those of the store: no later put changes them."""
        number = len(service.files) - 1
        if number >= len(self._entries):
            return True
        made, entries = service.files[-1], self._files[number].geometry.entries_offset
        count = min(made.index.header().index_count, _PUTS)
        begin, end = (ENTRY.size * entry for entry in (max(1, count - _NEWEST), max(1, count - 1)))
        return bytes(made.mapped.view[entries + begin : entries + end]) == self._entries[number][begin:end]

    def _records(self) -> Iterator[StoredRecord]:
        """The records that the compared entries can be of, and some more, which would go into a file that is not full."""
        last, _, _ = self._parts[-1]
        is_all = last == self._files[-1] and len(last.entries) <= _PUTS
        entries = itertools.islice(last.entries, _PUTS)
        end = max((entry.phy_offset for entry in entries), default=0)
        after = 0
        for stored in itertools.islice(self._log.records, 2 * _PUTS):
            after += stored.position > end
            if after > _AFTER and not is_all:
                return
            yield stored
