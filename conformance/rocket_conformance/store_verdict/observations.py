"""What was observed of each clause in a store: how often it held, and where it was broken."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

_KEPT = 20
"""Broken places kept for each clause; the rest are only counted."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a store that breaks a clause.

    Attributes:
        file: path relative to the store.
        offset: byte in the file; None where the file as a whole is meant.
        field: what was compared.
        found: what the store holds.
        expected: what 4.9.3 would have written.
        record: its record and key, in words; empty if there is none.
    """

    file: str
    offset: int | None
    field: str
    found: object
    expected: object
    record: str = ""

    def __str__(self) -> str:
        where = self.file if self.offset is None else f"{self.file} at byte {self.offset:,}"
        record = f" ({self.record})" if self.record else ""
        return f"{where}, {self.field}: found {self.found}, expected {self.expected}{record}"


@dataclass
class Observations:
    """Counts of what held, and the places that are broken, by clause.

    Attributes:
        held: number of comparisons that agreed, by clause.
        broken: the first places that disagree, by clause, in the order they were found.
        broken_count: number of all of them.
        notes: what 4.9.3 leaves open and this store shows, in words.
    """

    held: Counter[str] = field(default_factory=Counter[str])
    broken: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    broken_count: Counter[str] = field(default_factory=Counter[str])
    notes: Counter[str] = field(default_factory=Counter[str])

    def hold(self, *clauses: str) -> None:
        """Counts one agreement with every clause of `clauses`."""
        self.held.update(clauses)

    def breaks(self, clause: str, place: Place) -> None:
        """Takes down a place that breaks a clause."""
        self.broken_count[clause] += 1
        places = self.broken.setdefault(clause, [])
        if len(places) < _KEPT:
            places.append(place)

    def compare(self, clause: str, place: Place) -> bool:
        """Counts an agreement where `place.found` equals `place.expected`, else takes the place down."""
        if place.found == place.expected:
            self.hold(clause)
            return True
        self.breaks(clause, place)
        return False

    def explain(self, clause: str, reading: str) -> None:
        """Counts every broken place of the index as one of the clause whose wrong reading makes them all.

        Args:
            clause: the clause.
            reading: in words, what it is read as.
        """
        index = [name for name in self.broken if name.startswith("IDX-")]
        places = self.broken.get(clause) or self.broken[index[0]]
        count = sum(self.broken_count.pop(name) for name in index)
        for name in index:
            del self.broken[name]
        self.broken[clause] = [replace(place, record=_also(place.record, reading)) for place in places]
        self.broken_count[clause] = count

    def leave_out(self, heads: tuple[str, ...], note: str) -> None:
        """Notes the broken places of the clauses that begin so, instead of counting them."""
        for clause in [clause for clause in self.broken if clause.startswith(heads)]:
            del self.broken[clause]
            self.notes[note] += self.broken_count.pop(clause)

    def add(self, other: Observations) -> None:
        """Adds what was observed elsewhere."""
        self.held += other.held
        self.notes += other.notes
        self.broken_count += other.broken_count
        for clause, places in other.broken.items():
            self.broken[clause] = [*self.broken.get(clause, []), *places][:_KEPT]

    def note(self, text: str) -> None:
        """Takes down something that 4.9.3 can leave in a store in more than one way."""
        self.notes[text] += 1


def _also(record: str, reading: str) -> str:
    return f"{record}; as with {reading}" if record else f"as with {reading}"
