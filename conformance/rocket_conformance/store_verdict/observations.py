"""Observations of each clause in a store: the number of places where it held, and those where it was broken."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from rocket_reference import Rules
from rocket_spec.profiles import Profile, ReleaseDifference

_KEPT: Final = 20
"""Broken places kept for each clause and kind; the rest are only counted."""
_LONGEST_KIND: Final = 60
_RELEASES: Final = "as release"


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a store that breaks a clause.

    Attributes:
        file: path relative to the store.
        offset: byte in the file; None where the file as a whole is meant.
        field: what was compared.
        found: what the store holds.
        expected: what 4.9.3 would have written.
        record: its record, or record and key in words; empty if there is none.
        rule: in words, the wrong reading of the clause that gives the found bytes, or the releases that give them; empty where
            neither is known.
    """

    file: str
    offset: int | None
    field: str
    found: object
    expected: object
    record: object = ""
    rule: str = ""

    @property
    def kind(self) -> str:
        """The rule, or else the field without its numbers, as a part of a case's id: places of one kind have one."""
        if self.rule.startswith(_RELEASES):
            return "as-another-release"
        return "-".join(re.findall("[a-z_]+", (self.rule or self.field).lower()))[:_LONGEST_KIND]

    def __str__(self) -> str:
        where = self.file if self.offset is None else f"{self.file} at byte {self.offset:,}"
        rule = self.rule if self.rule.startswith(_RELEASES) else self.rule and f"as with {self.rule}"
        about = "; ".join(filter(None, (str(self.record), rule)))
        return f"{where}, {self.field}: found {self.found}, expected {self.expected}{about and f' ({about})'}"


def as_releases_do(found: Iterable[ReleaseDifference]) -> str:
    """The rule of places that these differences give; empty without one."""
    ranges = [one.first if one.first == one.last else f"{one.first} to {one.last}" for one in found]
    return f"{_RELEASES}s {' and '.join(ranges)} do" if ranges else ""


@dataclass
class Observations:
    """Counts of what held, and the places that are broken, by clause.

    Attributes:
        held: number of comparisons that agreed, by clause.
        broken: the first places of each kind that disagree, by clause, in the order they were found.
        kinds: number of all of them, by clause and kind.
        notes: what 4.9.3 leaves open and this store shows, in words.
        profile: of the release that the store is judged by.
    """

    held: Counter[str] = field(default_factory=Counter[str])
    broken: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict[str, Counter[str]](Counter))
    notes: Counter[str] = field(default_factory=Counter[str])
    profile: Profile = field(default_factory=Profile)

    @property
    def rules(self) -> Rules:
        """The parameters of the reference."""
        return Rules(**self.profile.rules)

    def is_open(self, clause: str) -> bool:
        """Whether the release does something else that is not judged here."""
        return any(not found.rules for found in self.profile.of(clause))

    def hold(self, *clauses: str, count: int = 1) -> None:
        """Counts an agreement with every clause of `clauses`, in one or more places."""
        self.held.update({clause: count for clause in clauses if not self.is_open(clause)})

    def breaks(self, clause: str, place: Place, *, count: int = 1) -> None:
        """Takes down a place, the first of `count` ones, that breaks a clause; of one that the release does not follow it is only noted."""
        if self.is_open(clause):
            self.note(f"not judged, as {self.profile.version} does not follow the clause: {clause}")
            return
        self.kinds[clause][place.kind] += count
        places = self.broken.setdefault(clause, [])
        if sum(other.kind == place.kind for other in places) < _KEPT:
            places.append(place)

    def compare(self, clause: str, place: Place) -> bool:
        """Counts an agreement where `place.found` equals `place.expected`, else takes the place down."""
        if place.found == place.expected:
            self.hold(clause)
            return True
        self.breaks(clause, place)
        return False

    def explain(self, clause: str, reading: str) -> None:
        """Counts every broken place as one of the clause whose wrong reading makes them all.

        Args:
            clause: the clause.
            reading: in words, what it is read as.
        """
        places = self.broken.get(clause) or next(iter(self.broken.values()))
        self.broken = {clause: [replace(place, rule=reading) for place in places]}
        count = sum(kinds.total() for kinds in self.kinds.values())
        self.kinds.clear()
        self.notes.clear()  # no restart has to explain what a reading does
        self.kinds[clause] = Counter({self.broken[clause][0].kind: count})

    def leave_out(self, heads: tuple[str, ...], note: str) -> None:
        """Notes the broken places of the clauses that begin so, instead of counting them."""
        for clause in [clause for clause in self.broken if clause.startswith(heads)]:
            del self.broken[clause]
            self.notes[note] += self.kinds.pop(clause).total()

    def add(self, other: Observations) -> None:
        """Adds what was observed elsewhere."""
        self.held += other.held
        self.notes += other.notes
        for clause, places in other.broken.items():
            self.kinds[clause] += other.kinds[clause]
            self.broken[clause] = [*self.broken.get(clause, []), *places]

    def note(self, text: str) -> None:
        """Takes down something that 4.9.3 can leave in a store in more than one way."""
        self.notes[text] += 1
