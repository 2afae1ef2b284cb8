"""Checks one index file by itself: header, slots and chains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.deviations import Deviation
from rocket_spec.layout import INDEX_HEADER, Geometry

from rocket_columnar.audit.file_check import empty_file
from rocket_columnar.audit.ranges import MOST, runs_of
from rocket_columnar.findings import Finding, finding
from rocket_columnar.index import EntryWindows, IndexState, entry_position, slot_position
from rocket_columnar.store import StoreFile, read_at

# Walks the chains of slots of an index file, and finds what was not reached.
#
# An entry belongs to the slot that its key hash names. A pointer is a slot, or an entry's prev field; each leads
# to the newest older entry of its slot. Damage is reported at the field that has it: at the pointer if that
# is wrong, at the key hash if the entry no longer fits the chain that leads to it.


class ChainProblem(NamedTuple):
    """A field of a file, and what is wrong with it: `number` is a slot's, or an entry's, the first of `places`."""

    code: str
    place: Literal["slot", "prev", "hash"]
    number: int
    message: str
    places: int = 1


class _Walk:
    """The state of a walk over all chains."""

    def __init__(self, slot_of: NDArray[np.int32], previous: NDArray[np.int32], slots: int) -> None:
        self.slot_of = slot_of
        self.previous = previous
        self.owner = np.full(slot_of.size, -1, np.int32)
        self.problems: list[ChainProblem] = []
        self.counts: Counter[str] = Counter()
        self.first_more: dict[str, tuple[Literal["slot", "prev", "hash"], int]] = {}
        self.bad_slot = np.zeros(slots, np.bool_)
        self.bad_entry = np.zeros(slot_of.size, np.bool_)
        self.strays: list[tuple[int, int, int]] = []

    def problem(self, code: str, source: int, message: str) -> None:
        if source < 0:
            self.bad_slot[-1 - source] = True
            self.add(code, "slot", -1 - source, message)
        else:
            self.bad_entry[source] = True
            self.add(code, "prev", source, message)

    def add(self, code: str, place: Literal["slot", "prev", "hash"], number: int, message: str) -> None:
        """Keeps a problem, or only counts it if there are many."""
        self.counts[code] += 1
        if self.counts[code] < MOST:
            self.problems.append(ChainProblem(code, place, number, message))
        elif self.counts[code] == MOST:
            self.first_more[code] = place, number

    def more(self) -> Iterator[ChainProblem]:
        """One problem for each code that stands for all that were not kept."""
        for code, (place, number) in self.first_more.items():
            count = self.counts[code] - MOST + 1
            yield ChainProblem(
                code, place, number, f"{count:,} more of this kind in this file from here on", count
            )

    def follow(self, source: int, slot: int, target: int) -> None:
        """Walks on from a pointer of a slot's chain: the field of an entry, or for -1 - slot that of the slot."""
        owner, slot_of, previous = self.owner.data, self.slot_of.data, self.previous.data
        while target:
            if not 0 < target < len(owner):
                code = "index.slot_range" if source < 0 else "index.prev_range"
                self.problem(
                    code, source, f"found {target:,}, expected 0 to {len(owner) - 1:,}, the newest entry"
                )
                return
            if owner[target] >= 0:
                self._met(source, slot, target)
                return
            if slot_of[target] != slot:
                self.strays.append((source, slot, target))
                return
            owner[target] = slot
            if 0 < source <= target:
                self.problem("index.prev_range", source, f"found {target:,}, expected an older entry")
            source, target = target, previous[target]

    def _met(self, source: int, slot: int, target: int) -> None:
        """A pointer to an entry that the walk has already reached."""
        if self.owner[target] != slot:
            self.problem(
                "index.slot_hash", source, f"found {target:,}, an entry of slot {self.owner[target]:,}"
            )
        elif target == source:
            self.problem("index.prev_range", source, f"found {target:,}, the entry itself")
        else:
            self.problem(
                "index.chain_cycle", source, f"found {target:,}, from which the chain leads back here"
            )

    def settle_strays(self) -> None:
        """Pointers to entries of other slots: the pointer is wrong if the entry is in a chain of its own, otherwise its hash is."""

        def is_at_home(entry: int) -> bool:
            """Whether two links from an entry on are of its own slot, which the hashes of other chains hardly are."""
            older = int(self.previous[entry])
            oldest = int(self.previous[older]) if 0 < older < entry else 0
            if not 0 < oldest < older:
                return False
            slots = self.slot_of[[entry, older, oldest]]
            return bool((slots == slots[0]).all())

        few = 4 * len(self.strays) < self.bad_slot.size  # else it is how slots are chosen
        while self.strays:
            strays, self.strays = self.strays, []
            for source, slot, target in strays:
                if self.owner[target] >= 0:
                    if self.owner[target] != slot:
                        self._met(source, slot, target)
                    continue
                if few and self.slot_of[target] >= 0 and is_at_home(target):
                    text = f"found {target:,}, an entry of slot {self.slot_of[target]:,}"
                    self.problem("index.slot_hash", source, text)
                    continue
                self.add(
                    "index.slot_hash",
                    "hash",
                    target,
                    f"found a hash of slot {self.slot_of[target]:,}, expected one of slot {slot:,}, whose chain leads here",
                )
                self.owner[target] = slot
                self.follow(target, slot, int(self.previous[target]))

    def unreached(self, written: NDArray[np.bool_]) -> None:
        """Entries that no chain leads to, reported at the pointer that should lead there."""
        lost = np.flatnonzero(written & (self.owner < 0))
        lost = lost[self.slot_of[lost] >= 0]
        if not lost.size:
            return
        wanted = np.zeros(self.bad_slot.size, np.bool_)
        wanted[self.slot_of[lost]] = True
        beside = np.flatnonzero(written & (self.owner >= 0) & wanted[self.owner])
        numbers = np.sort(np.concatenate([lost.astype(np.int32), beside.astype(np.int32)]))
        del lost, beside
        slots = np.where(self.owner[numbers] < 0, self.slot_of[numbers], self.owner[numbers])
        order = np.argsort(slots, kind="stable").astype(np.int32)
        numbers, slots = numbers[order], slots[order]
        del order
        is_lost = self.owner[numbers] < 0
        followed = np.zeros(numbers.size, np.bool_)
        followed[:-1] = slots[:-1] == slots[1:]
        newest = is_lost & ~(followed & np.append(is_lost[1:], False))
        for place in np.flatnonzero(newest).tolist():
            number, slot = int(numbers[place]), int(slots[place])
            source = int(numbers[place + 1]) if followed[place] else -1 - slot
            if self.bad_entry[source] if source >= 0 else self.bad_slot[slot]:
                continue
            self.problem(
                "index.missing_key",
                source,
                f"expected {number:,}: no chain leads to that entry, so queries do not find its message",
            )


def chain_problems(
    slot_of: NDArray[np.int32],
    previous: NDArray[np.int32],
    slots: NDArray[np.int32],
    written: NDArray[np.bool_],
) -> list[ChainProblem]:
    """The faults of the slots and chains of a file.

    Slots whose chains are known to be sound may be left out, with all their entries, if nothing leads into them: then `slot_of`, the slot
    of each entry's hash from entry 0 on, is -1, and `slots` is 0. `written` are the entries that must be found; the others may be.
    """
    walk = _Walk(slot_of, previous, slots.size)
    for slot in np.flatnonzero(slots).tolist():
        walk.follow(-1 - slot, slot, int(slots[slot]))
    walk.settle_strays()
    walk.unreached(written)
    return [*walk.problems, *walk.more()]


def unreached(windows: EntryWindows, *, ended: bool) -> tuple[tuple[int, int], ...]:
    """Runs (number of the first, length) of entries at which no walk arrives that begins at their slot.

    A walk over a sound chain ends early for two reasons alone: the slot names an entry beyond the count in the header, or
    an entry has a negative time diff (IDX-SEL-1, IDX-SEL-5). All entries from there on are older.
    """
    state, slots = windows.state, windows.slots()
    count = max(state.header.index_count, 1)
    heads = slots[slots > count]
    if not (heads.size or ended):
        return ()
    previous = np.zeros(state.written, np.int32)
    stops: list[NDArray[np.int64]] = [heads.astype(np.int64)]
    for start, raw in windows.each(state.written, 1):
        previous[start : start + raw.size] = raw["prev_entry"]
        stops.append(np.flatnonzero(raw["time_diff"] < 0) + start)
    lost = np.zeros(previous.size, np.bool_)
    for entry in np.concatenate(stops).tolist():
        while 0 < entry < lost.size and not lost[entry]:
            lost[entry] = True
            entry = int(previous[entry])  # noqa: PLW2901 - the walk goes on
    numbers = np.flatnonzero(lost[: min(count, state.written)])
    return tuple((int(numbers[place]), length) for place, length in runs_of(numbers)[:MOST])


_MANY: Final = 1 << 16  # entries outside the chosen slots from which all slots are read

_PLACES: Final = {
    "slot": ("slot", "IDX-PUT-7"),
    "prev": ("prev_entry of entry", "IDX-PUT-6"),
    "hash": ("key_hash of entry", "IDX-HASH-3"),
}
"""Name and clause of each field of a chain."""


def reached_count(state: IndexState, *, live: bool) -> int:
    """One more than the newest entry that slots and chains may lead to."""
    return min(used_count(state) + (state.moving or live), state.written)


def used_count(state: IndexState) -> int:
    """The count that follows from the entries: one more than the newest that is written."""
    if state.moving:
        return max(1, min(state.header.index_count, state.written))
    return state.written


@dataclass(frozen=True, slots=True)
class Replay:
    """All entries put again, and the slots for which the result differs from the file."""

    heads: NDArray[np.int32]  # newest entry of each slot so far
    # for each slot whether a prev field of its entries is not the newest entry before
    differs: NDArray[np.bool_]
    # what the prev fields should be that are not, by entry, at most `MOST`
    previous: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, geometry: Geometry) -> Replay:
        """Before the first put."""
        return cls(np.zeros(geometry.hash_slot_num, np.int32), np.zeros(geometry.hash_slot_num, np.bool_))

    def put(self, first: int, hashes: NDArray[np.int32], previous: NDArray[np.int32]) -> None:
        """Puts entries from number `first` on; those with a negative hash belong to no slot."""
        chosen = np.flatnonzero(hashes >= 0)
        slots = hashes[chosen] % self.heads.size
        order = np.argsort(slots, kind="stable")
        grouped = slots[order]
        numbers = (chosen[order] + first).astype(np.int32)
        follows = np.zeros(numbers.size, np.bool_)
        follows[1:] = grouped[1:] == grouped[:-1]
        expected = np.where(follows, np.roll(numbers, 1), self.heads[grouped])
        wrong = np.flatnonzero(expected != previous[chosen[order]])
        self.differs[grouped[wrong]] = True
        some = wrong[: max(MOST - len(self.previous), 0)]
        self.previous.update(zip(numbers[some].tolist(), expected[some].tolist(), strict=True))
        newest = np.append(~follows[1:], True)[: numbers.size]
        self.heads[grouped[newest]] = numbers[newest]


def check_content(
    file: StoreFile, windows: EntryWindows, replay: Replay, used: int, *, live: bool, last: bool
) -> tuple[list[Finding], bool]:
    """The findings on header, slots and chains of a file by themselves, and whether these are sound, so that walks over them end.

    `replay` is of all entries that slots and chains may lead to, and `used` the number of those that have no previous entry. In a file that
    a broker writes (`live`), or wrote when it died, one entry may be written before the count includes it (IDX-PUT-11). An empty file is
    where the next put goes if it is the `last`.
    """
    state = windows.state
    if state.written <= 1 and state.header.index_count <= 1:
        return [empty_file(file, state.header, last=last)], True
    count = used_count(state)
    put = live and not state.moving and count == max(state.header.index_count, 1) + 1
    found: list[Finding] = []
    if not state.moving and not put:
        found += _check_count(file, state)
    limit = reached_count(state, live=live)
    slots = windows.slots()
    differs = replay.differs | (replay.heads != slots)
    problems = []
    if differs.any():
        bound = state.first_count if state.moving else count - put
        problems = chain_problems(*_chains(windows, limit, bound, slots, differs))
    found += [_of_problem(file, windows.geometry, replay, problem) for problem in problems]
    if not state.moving and not problems and not (put and used == state.header.hash_slot_count + 1):
        found += _check_slot_count(file, state.header.hash_slot_count, used, count)
    return found, not problems


def _of_problem(file: StoreFile, geometry: Geometry, replay: Replay, problem: ChainProblem) -> Finding:
    where, clause = _PLACES[problem.place]
    number = problem.number
    expected: object
    if problem.place == "slot":
        name, offset, expected = f"slot {number}", slot_position(number), int(replay.heads[number])
        if not expected:
            clause = "IDX-HASH-3"  # an entry that 4.9.3 puts into another slot
    else:
        field_name = "prev_entry" if problem.place == "prev" else "key_hash"
        name, offset = f"entry {number} {field_name}", entry_position(geometry, number, field_name)
        expected = "a hash of the slot whose chain leads here"
        if problem.place == "prev":
            expected = replay.previous.get(number, "the entry before in its slot")
    value = int.from_bytes(read_at(file, offset, 4), signed=True)
    text = f"{where} {number:,}: {problem.message}"
    values = Deviation(name, value, expected, count=problem.places)
    return finding(problem.code, file.name, offset, text, clause=clause, deviation=values)


def _chains(
    windows: EntryWindows, limit: int, bound: int, slots: NDArray[np.int32], chosen: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """The arguments of `chain_problems`: the chosen slots with their entries, and all slots that these lead into.

    Adds the latter to `chosen`. Entries before `bound` that are not all zeros must be found.
    """
    slot_of = np.full(limit, -1, np.int32)
    previous = np.zeros(limit, np.int32)
    written = np.zeros(limit, np.bool_)

    def beside(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Those of the entries that have not been read so far."""
        some = numbers[(numbers > 0) & (numbers < limit)]
        return some[slot_of[some] < 0]

    while True:
        leads = [slots[chosen]]
        for start, raw in windows.each(limit, 1):
            hashes = raw["key_hash"].astype(np.int32)
            slot = np.where(hashes >= 0, hashes % np.int32(slots.size), np.int32(-1))
            some = np.flatnonzero(chosen[slot] | (slot < 0))
            numbers = some + start
            slot_of[numbers], previous[numbers] = slot[some], raw["prev_entry"][some]
            written[numbers] = (numbers < bound) & raw[some].view((np.uint8, raw.itemsize)).any(axis=1)
            leads.append(beside(previous[numbers]))
        others = beside(np.concatenate(leads))
        if others.size > _MANY:
            chosen[:] = True
            continue
        hashes = windows.hashes(others)
        more = hashes[hashes >= 0] % slots.size
        if not more.size:
            return slot_of, previous, np.where(chosen, slots, 0), written
        chosen[more] = True


def _check_count(file: StoreFile, state: IndexState) -> list[Finding]:
    found, count = state.header.index_count, state.written
    if found == count or (count == 1 and found == 0):
        return []
    what = (
        "queries and puts rely on it: entries beyond it are not found, and are overwritten"
        if found < count
        else "a chain that leads to an empty entry ends there"
    )
    return [
        finding(
            "index.header_count",
            file.name,
            INDEX_HEADER.offset_of("index_count"),
            f"found an index count of {found:,}, expected {count:,}, one more than the newest entry; {what}",
            deviation=Deviation("header index_count", found, count),
        )
    ]


def _check_slot_count(file: StoreFile, found: int, used: int, count: int) -> list[Finding]:
    """Checks the header's count of slots in use; releases before 4.7.1 counted every put (IDX-HDR-4)."""
    if found == used:
        return []
    old = found == count - 1
    return [
        finding(
            "index.header_count",
            file.name,
            INDEX_HEADER.offset_of("hash_slot_count"),
            f"found a slot count of {found:,}, expected {used:,}, the slots in use; nothing reads it"
            + (" (releases before 4.7.1 counted every put)" if old else ""),
            severity="note" if old else None,
            clause="IDX-HDR-4",
            deviation=Deviation("header hash_slot_count", found, used),
        )
    ]
