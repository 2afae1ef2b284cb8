"""Counts of the places of a store where each clause held and where it was broken, and index files as they are on disk."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from struct import Struct
from typing import Any, Final, NamedTuple

from rocket_reference import IndexHeader, JavaError, Rules, base_offset, index_header
from rocket_spec.errors import MalformedError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, Geometry
from rocket_spec.profiles import Profile, ReleaseDifference

_KEPT: Final = 20
"""Broken places kept for each clause and kind; the rest are only counted."""
_LONGEST_KIND: Final = 60
_RELEASES: Final = "as release"


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a store that breaks a clause."""

    file: str  # path relative to the store
    offset: int | None  # byte in the file; None where the file as a whole is meant
    field: str  # what was compared
    found: object  # what the store holds
    expected: object  # what 4.9.3 would have written
    record: object = ""  # its record, or record and key in words; empty if there is none
    # in words, the wrong reading of the clause that gives the found bytes, or the releases that give them;
    # empty where neither is known
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
    """Counts of what held, and the places that are broken, by clause."""

    held: Counter[str] = field(default_factory=Counter[str])  # number of comparisons that agreed, by clause
    # the first places of each kind that disagree, by clause, in the order they were found
    broken: dict[str, list[Place]] = field(default_factory=dict[str, list[Place]])
    # number of all of them, by clause and kind
    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict[str, Counter[str]](Counter))
    # what 4.9.3 leaves open and this store shows, in words
    notes: Counter[str] = field(default_factory=Counter[str])
    profile: Profile = field(default_factory=Profile)  # of the release that the store is judged by

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
        """Counts every broken place as one of the clause whose wrong reading, given in words, makes them all."""
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


# --- index files ---------------------------------------------------------------------------------------

ENTRY: Final = Struct(INDEX_ENTRY.struct_format)
_ENTRIES_AT_ONCE: Final = 50_000

_LARGEST: Final = (1 << 31) - 1
"""Bytes of a file that a geometry can have without a wrap (IDX-FILE-3)."""


class Entry(NamedTuple):
    """One entry as stored."""

    key_hash: int
    phy_offset: int
    time_diff: int
    prev_entry: int


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a file in their order, read when they are asked for; the first is entry 1."""

    path: Path  # of the file
    begin: int  # where entry 1 begins, bytes
    count: int  # number of entries

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Entry]:
        with self.path.open("rb") as file:
            for first in range(0, self.count, _ENTRIES_AT_ONCE):
                wanted = min(_ENTRIES_AT_ONCE, self.count - first) * ENTRY.size
                data = os.pread(file.fileno(), wanted, self.begin + first * ENTRY.size)
                yield from (Entry(*values) for values in ENTRY.iter_unpack(data[: len(data) // 20 * 20]))

    def __getitem__(self, number: int) -> Entry:
        """The entry at a place, of which 0 is the first and -1 the last."""
        place = number + self.count if number < 0 else number
        if not 0 <= place < self.count:
            raise IndexError(number)
        with self.path.open("rb") as file:
            data = os.pread(file.fileno(), ENTRY.size, self.begin + place * ENTRY.size)
        return Entry(*ENTRY.unpack(data.ljust(ENTRY.size, b"\0")))  # zeros of a file that is cut meanwhile


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index file."""

    name: str  # relative to the store
    size: int  # length, bytes
    header: IndexHeader  # as the bytes have it
    entries: Entries  # entries 1 to index_count - 1
    geometry: Geometry  # numbers of slots and entries
    path: Path  # where the file is


def read_index(path: Path, name: str, geometry: Geometry) -> StoredIndex:
    """An index file of a known geometry.

    Raises MalformedError: when it is shorter than a header and its slots.
    Raises OSError: when it cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < geometry.entries_offset or geometry.file_size > _LARGEST:
            raise MalformedError(
                file=name,
                found=f"{size:,} bytes",
                expected=f"{geometry.file_size:,} bytes for {geometry.hash_slot_num:,} slots and "
                f"{geometry.index_num:,} entries",
                clause="IDX-FILE-1",
            )
        header = index_header(file.read(INDEX_HEADER.size))
    held = min(geometry.index_num, (size - geometry.entries_offset) // ENTRY.size)
    count = max(1, min(header.index_count, held)) - 1
    entries = Entries(path, geometry.entries_offset + ENTRY.size, count)
    return StoredIndex(name, size, header, entries, geometry, path)


def numbered_files(folder: Path) -> list[tuple[int, Path]]:
    """The regular files of a folder with the number that each is named by, in the order of their names.

    Files whose name is no Java long are left out.
    """
    found: list[tuple[int, Path]] = []
    for path in sorted(folder.iterdir(), key=lambda path: path.name) if folder.is_dir() else []:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            found.append((base_offset(path.name), path))
        except JavaError:
            continue
    return found


def known_geometry(facts: Any) -> Geometry:
    """The geometry of index files, if there are any, or the reason why it is not known."""
    if facts.geometry is None and facts.geometry_fault is not None:
        raise facts.geometry_fault
    return Geometry(*(facts.geometry or DEFAULT_GEOMETRY))


def read_indexes(facts: Any, store: Path) -> list[StoredIndex]:
    """The files of `index/`, in the order of their names.

    Raises UsageError: their geometry cannot be inferred.
    Raises MalformedError: a file is shorter than its slots.
    Raises OSError: a file cannot be read.
    """
    paths = [path for _, path in numbered_files(store / "index")]
    geometry = known_geometry(facts) if paths else DEFAULT_GEOMETRY
    return [read_index(path, f"index/{path.name}", geometry) for path in paths]
