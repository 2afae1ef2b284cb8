"""Units and entries read in pieces of files, and the units among them that something is wrong with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar._audit_ext import ExtUnits
from rocket_columnar._audit_kernels import LOST, MOVED, NOT_OWN, OUTSIDE, SIZE, TAGS
from rocket_columnar._audit_lmq import copies_of
from rocket_columnar._audit_tail import appended_meanwhile
from rocket_columnar._record import parse_properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocket_columnar._audit_marks import Marks
    from rocket_columnar._audit_plan import Plan
    from rocket_columnar._audit_scan import Requests
    from rocket_columnar.store import StoreFile

__all__ = ["Judge", "Pieces"]

_LAST_ADDRESS: Final = -2147483649
_SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
_INT: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Pieces:
    """Parts of files, one behind the other.

    Attributes:
        files: of each piece its file.
        owners: of each piece the place of its look.
        firsts: of each piece the number of its first unit or entry in the file.
        bounds: of each piece its first row; last, how many rows there are.
        raw: the rows as they lie in the files.
    """

    files: list[StoreFile]
    owners: list[int]
    firsts: list[int]
    bounds: NDArray[np.int64]
    raw: NDArray[np.void]

    @classmethod
    def read(
        cls,
        plan: Plan,
        blocks: Any,
        met: Sequence[tuple[int, int, int]],
        block: int,
        size: int,
        kind: np.dtype[np.void],
    ) -> Pieces:
        """Reads runs of blocks; a file that is gone meanwhile is left out."""
        entries = kind.names is not None and kind.names[0] == "key_hash"
        known = {file.name: file for file in (plan.content_indexes if entries else plan.queues)}
        wanted = []
        for owner, begin, end in met:
            look = blocks.files[owner]
            first, stop = max(begin * block, int(entries)), min(end * block, look.count)
            if stop > first and look.file in known:
                wanted.append((known[look.file], owner, first, stop))
        raw = np.empty(sum(stop - first for *_, first, stop in wanted), kind)
        data = raw.view(np.uint8)
        files, owners, firsts, bounds = [], [], [], [0]
        for file, owner, first, stop in wanted:
            try:
                with file.open() as reader:
                    header = 40 + 4 * plan.geometry.hash_slot_num if entries and plan.geometry else 0
                    place, at = bounds[-1] * size, header + first * size
                    stop = min(stop, (reader.size - header) // size)  # noqa: PLW2901 - cut off meanwhile
                    if stop <= first:
                        continue
                    reader.read_into(at, data[place : place + (stop - first) * size])
            except FileNotFoundError:
                continue
            files.append(file)
            owners.append(owner)
            firsts.append(first)
            bounds.append(bounds[-1] + stop - first)
        return cls(files, owners, firsts, np.array(bounds, np.int64), raw[: bounds[-1]])


@dataclass(frozen=True, slots=True)
class Judge:
    """Says what is wrong with the units that have flags."""

    plan: Plan
    pieces: Pieces
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int32]
    tags: NDArray[np.int64]
    places: NDArray[np.int64]
    every: Requests
    marks: Marks

    def judge(self, flags: NDArray[np.uint8]) -> None:
        """Marks them, piece by piece."""
        flags = np.where(flags == OUTSIDE, 0, flags).astype(np.uint8)
        lost = flags & LOST != 0
        if lost.any():
            beyond = np.flatnonzero(lost & (self.offsets >= self.plan.end))
            if beyond.size and appended_meanwhile(self.plan, int(self.offsets[beyond[0]])):
                lost[beyond] = False
        for piece in np.unique(
            np.searchsorted(self.pieces.bounds, np.flatnonzero(flags), side="right") - 1
        ).tolist():
            begin, end = self.pieces.bounds[piece : piece + 2].tolist()
            rows = np.arange(begin, end)[flags[begin:end] != 0]
            self._piece(piece, rows, flags[rows], lost[rows])

    def _piece(
        self, piece: int, rows: NDArray[np.int64], flags: NDArray[np.uint8], lost: NDArray[np.bool_]
    ) -> None:
        file = self.pieces.files[piece]
        number = self.pieces.firsts[piece] - int(self.pieces.bounds[piece])

        def mark(what: str, chosen: NDArray[np.bool_]) -> None:
            some = rows[chosen]
            values = (self.offsets, self.sizes, self.tags)
            self.marks.add(
                what, file.name, some + number, lambda at: tuple(int(column[some[at]]) for column in values)
            )

        mark("unit.lost", lost)
        strange = flags & NOT_OWN != 0
        for at in np.flatnonzero(strange).tolist():
            place = int(self.places[rows[at]])
            offset, size = int(self.every.phy_offset[place]), int(self.every.size[place])
            strange[at] = not any(name == file.topic for name, _ in _copies(self.plan, offset, size))
        mark("unit.strange", strange)
        mark("unit.size", (flags & SIZE != 0) & ~strange)
        mark("unit.moved", flags & MOVED != 0)
        tagged = (flags & TAGS != 0) & ~strange
        if tagged.any():
            self._tags(file, rows, tagged, mark)

    def _tags(self, file: StoreFile, rows: NDArray[np.int64], tagged: NDArray[np.bool_], mark: Any) -> None:
        tags = self.tags[rows]
        expected = self.every.tags_code[np.maximum(self.places[rows], 0)]
        addresses = tagged & (tags <= _LAST_ADDRESS)
        known = np.ones(rows.size, np.bool_)
        if addresses.any():
            ext = ExtUnits(self.plan.exts)
            known[addresses], found = ext.tags_codes(file.topic or "", file.queue_id or 0, tags[addresses])
            tagged[addresses] = ~known[addresses] | (found != expected[addresses])
        recovered = np.zeros(rows.size, np.bool_)
        if file.topic == _SCHEDULE:
            recovered = tagged & known & ~addresses & (tags >= -_INT) & (tags < _INT)
        mark("unit.tags", tagged & known & ~recovered)
        mark("unit.address", tagged & ~known)
        mark("unit.recovered", recovered)


def _copies(plan: Plan, phy_offset: int, size: int) -> list[tuple[str, int]]:
    """The queues that multi-dispatch copies the record at an offset to."""
    for file, length in zip(plan.logs, plan.log_sizes, strict=True):
        if file.base_offset <= phy_offset < file.base_offset + length:
            return _record_copies(file, phy_offset - file.base_offset, size)
    return []


def _record_copies(file: StoreFile, at: int, size: int) -> list[tuple[str, int]]:
    with file.open() as reader:
        record = reader.read(at, size).tobytes()
    if b"INNER_MULTI_QUEUE_OFFSET" not in record:
        return []
    flags = int.from_bytes(record[36:40])
    body = 88 + 12 * (bool(flags & 16) + bool(flags & 32))
    topic = body + max(int.from_bytes(record[body - 4 : body], signed=True), 0)
    pairs = parse_properties(record[topic + 1 + record[topic] + 2 :])
    return copies_of({name.decode(): value.decode() for name, value in pairs.items()})
