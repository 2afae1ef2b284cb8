"""Walks the chains of slots of an index file, and finds what was not reached.

An entry belongs to the slot that its key hash names. A pointer is a slot, or an entry's prev field; each leads
to the newest older entry of its slot. Damage is reported at the field that has it: at the pointer if that
is wrong, at the key hash if the entry no longer fits the chain that leads to it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.audit.fault_runs import MOST, runs_of
from rocket_columnar.index import EntryWindows


class ChainProblem(NamedTuple):
    """A field of a file, and what is wrong with it: `number` is a slot's, or an entry's."""

    code: str
    place: Literal["slot", "prev", "hash"]
    number: int
    message: str


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
            text = f"{self.counts[code] - MOST + 1:,} more of this kind in this file from here on"
            yield ChainProblem(code, place, number, text)

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
        """Pointers to entries of other slots: the pointer is wrong if the entry is in its own chain, otherwise its hash is."""
        while self.strays:
            strays, self.strays = self.strays, []
            for source, slot, target in strays:
                if self.owner[target] >= 0:
                    if self.owner[target] != slot:
                        self._met(source, slot, target)
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

    Slots whose chains are known to be sound may be left out, with all their entries, if nothing leads into them.

    Args:
        slot_of: slot of each entry's hash, from entry 0 on; -1 if there is none, or it is left out.
        previous: prev field of each entry.
        slots: value of each slot; 0 if empty or left out.
        written: which entries must be found; the others may be.
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

    Args:
        windows: of a file whose slots and chains are sound.
        ended: whether any entry has a negative time diff.
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
