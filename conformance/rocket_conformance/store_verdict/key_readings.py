"""Entries whose keys are not those of their record: the reading that gives the hashes that were found."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from rocket_reference import java

from rocket_conformance.store_verdict.index_bytes import Entry, StoredIndex
from rocket_conformance.store_verdict.misread import ERRORS, readings
from rocket_conformance.store_verdict.observations import Place
from rocket_conformance.store_verdict.record_table import StoredRecord

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
