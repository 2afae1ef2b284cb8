"""Checks one index file by itself: header, slots and chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import INDEX_HEADER, Geometry

from rocket_columnar.audit.chain_check import chain_problems
from rocket_columnar.audit.file_check import empty_file
from rocket_columnar.findings import Finding, finding
from rocket_columnar.index import EntryWindows, IndexState, entry_position, slot_position
from rocket_columnar.store import StoreFile

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
    """All entries put again, one after the other, and the slots for which the result differs from the file.

    Attributes:
        heads: newest entry of each slot so far.
        differs: for each slot whether a prev field of its entries is not the newest entry before.
    """

    heads: NDArray[np.int32]
    differs: NDArray[np.bool_]

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
        self.differs[grouped[expected != previous[chosen[order]]]] = True
        newest = np.append(~follows[1:], True)[: numbers.size]
        self.heads[grouped[newest]] = numbers[newest]


def check_content(
    file: StoreFile,
    windows: EntryWindows,
    replay: Replay,
    used: int,
    *,
    live: bool,
    last: bool,
) -> tuple[list[Finding], bool]:
    """Checks header, slots and chains of a file by themselves.

    Args:
        file: the file.
        windows: its entries.
        replay: of all entries that slots and chains may lead to.
        used: number of entries that count and have no previous entry.
        live: whether this is the file that a broker writes, or wrote when it died: one entry may then be
            written before the count includes it (IDX-PUT-11).
        last: whether no other file follows: an empty file is then where the next put goes.

    Returns:
        The findings, and whether slots and chains are sound, so that walks over them end.
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
    for problem in problems:
        if problem.place == "slot":
            offset = slot_position(problem.number)
        else:
            field = "prev_entry" if problem.place == "prev" else "key_hash"
            offset = entry_position(windows.geometry, problem.number, field)
        where, clause = _PLACES[problem.place]
        if problem.place == "slot" and not replay.heads[problem.number]:
            clause = "IDX-HASH-3"  # an entry that 4.9.3 puts into another slot
        text = f"{where} {problem.number:,}: {problem.message}"
        found.append(finding(problem.code, file.name, offset, text, clause=clause))
    if not state.moving and not problems and not (put and used == state.header.hash_slot_count + 1):
        found += _check_slot_count(file, state.header.hash_slot_count, used, count)
    return found, not problems


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
        )
    ]
