"""Units and entries read in pieces of files, and what is wrong with units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.audit.appended import without_appended
from rocket_columnar.audit.matching import LOST, MOVED, NOT_OWN, SIZE, TAGS
from rocket_columnar.audit.missing import files_now
from rocket_columnar.formats import (
    LAST_ADDRESS,
    SCHEDULE_TOPIC,
    Record,
    parse_properties,
    parse_record,
    tags_code,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocket_columnar.audit.fault_runs import Marks
    from rocket_columnar.audit.matching import UnitColumns
    from rocket_columnar.audit.multi_dispatch_check import RangeCopies
    from rocket_columnar.audit.plan import Plan, Range
    from rocket_columnar.audit.range_records import Frames
    from rocket_columnar.audit.read_ahead import ReadAhead
    from rocket_columnar.store import StoreFile

__all__ = ["Judge", "Pieces"]

_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_INT: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Pieces:
    """Parts of files, one after the other.

    Attributes:
        files: file of each piece.
        owners: number of each piece's file among the surveyed files.
        firsts: number of each piece's first unit or entry in its file.
        bounds: first row of each piece, and at last the number of rows.
        raw: the rows as they are in the files.
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
        kind: np.dtype[np.void],
        ahead: ReadAhead | None = None,
    ) -> Pieces:
        """Reads runs of blocks of `block` units or entries; a file that no longer exists is skipped."""
        size = kind.itemsize
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
        header = 40 + 4 * plan.geometry.hash_slot_num if entries and plan.geometry else 0
        for file, owner, first, stop in wanted:
            rows = data[bounds[-1] * size :][: (stop - first) * size]
            try:
                if ahead is None or not ahead.take(file.name, first, rows):
                    with file.open() as reader:
                        stop = min(stop, (reader.size - header) // size)  # noqa: PLW2901 - may have been cut off meanwhile
                        if stop <= first:
                            continue
                        rows = rows[: (stop - first) * size]
                        if ahead is None or stop - first >= ahead.rows:
                            reader.read_into(header + first * size, rows)
                        else:
                            ahead.read(reader, file.name, first, blocks.files[owner].count, rows)
            except FileNotFoundError:
                continue
            files.append(file)
            owners.append(owner)
            firsts.append(first)
            bounds.append(bounds[-1] + stop - first)
        return cls(files, owners, firsts, np.array(bounds, np.int64), raw[: bounds[-1]])


@dataclass(frozen=True, slots=True)
class Judge:
    """Determines what is wrong with the units that have flags."""

    plan: Plan
    pieces: Pieces
    units: UnitColumns
    frames: Frames
    copies: RangeCopies
    range: Range
    marks: Marks

    def judge(self, flags: NDArray[np.uint8]) -> None:
        """Marks the units that have flags, piece by piece."""
        flags = without_appended(self.plan, flags, self.units.phy_offset)
        for piece in np.unique(
            np.searchsorted(self.pieces.bounds, np.flatnonzero(flags), side="right") - 1
        ).tolist():
            begin, end = self.pieces.bounds[piece : piece + 2].tolist()
            rows = np.arange(begin, end)[flags[begin:end] != 0]
            self._piece(piece, rows, flags[rows])

    def _piece(self, piece: int, rows: NDArray[np.int64], flags: NDArray[np.uint8]) -> None:
        file = self.pieces.files[piece]
        number = self.pieces.firsts[piece] - int(self.pieces.bounds[piece])

        def mark(what: str, chosen: NDArray[np.bool_]) -> None:
            some = rows[chosen]
            values = (self.units.phy_offset, self.units.size, self.units.tags_code)
            self.marks.add(
                what, file.name, some + number, lambda at: tuple(int(column[some[at]]) for column in values)
            )

        mark("unit.lost", flags & LOST != 0)
        strange, moved = flags & NOT_OWN != 0, flags & MOVED != 0
        base = file.base_offset // QUEUE_UNIT.size + number
        queue = file.topic or "", file.queue_id or 0
        for at in np.flatnonzero(strange).tolist():
            row = int(rows[at])
            logical = self.copies.logical(int(self.units.record[row]), queue)
            strange[at] = logical is None
            if logical is not None:
                self.copies.seen.setdefault(queue, set()).add(int(self.units.record[row]))
                moved[at] = self._is_moved(piece, row, logical, base + row)
        mark("unit.strange", strange)
        mark("unit.size", (flags & SIZE != 0) & ~strange)
        mark("unit.moved", moved)
        tagged = (flags & TAGS != 0) & ~strange
        if tagged.any():
            self._tags(file, rows, tagged, mark)

    def _is_moved(self, piece: int, row: int, logical: int, position: int) -> bool:
        """Whether no put leaves a copy's unit here: it is before its position, or out of order with its neighbours."""
        if logical == position or 0 != logical < position:
            return logical != position
        file, offset = self.pieces.files[piece], int(self.units.phy_offset[row])
        begin, end = self.pieces.bounds[piece : piece + 2].tolist()
        for other, step in ((row - 1, 1), (row + 1, -1)):
            if begin <= other < end and self._may_be_sound(file, other):
                distance = (offset - int(self.units.phy_offset[other])) * step
                if distance < 0 or (distance == 0 and step > 0):
                    return True
        return False

    def _may_be_sound(self, file: StoreFile, row: int) -> bool:
        """Whether a unit points to a copy for its queue, or into another range of the log."""
        offset = int(self.units.phy_offset[row])
        if self.units.size[row] <= 0 or not self.plan.begin <= offset < self.plan.end:
            return False
        queue = file.topic or "", file.queue_id or 0
        elsewhere = not self.range.begin <= offset < self.range.end
        return elsewhere or self.copies.logical(int(self.units.record[row]), queue) is not None

    def _have_tag(
        self, places: NDArray[np.int64], tags: NDArray[np.int64], chosen: NDArray[np.bool_]
    ) -> None:
        """Clears `chosen` for units whose tags code is not the hash of their record's own tag."""
        every = self.frames.all
        if not chosen.any() or self.range.log is None:
            return
        log = self.plan.logs[self.range.log]
        try:
            with log.open() as reader:
                for row in np.flatnonzero(chosen).tolist():
                    at, size = int(every.phy_offset[places[row]]), int(every.size[places[row]])
                    raw = reader.read(at - log.base_offset, size).tobytes()
                    record = parse_record(raw, 0)
                    if isinstance(record, Record):
                        pairs = parse_properties(raw[record.properties :][: record.properties_length])
                        chosen[row] = tags_code(b"", pairs, 0) == tags[row]
        except FileNotFoundError:  # expired meanwhile
            return

    def _tags(self, file: StoreFile, rows: NDArray[np.int64], tagged: NDArray[np.bool_], mark: Any) -> None:
        tags = self.units.tags_code[rows]
        found_places = np.maximum(self.units.record[rows], 0)
        expected = self.frames.all.tags_code[found_places]
        addresses = tagged & (tags <= LAST_ADDRESS)
        known, timed = np.ones(rows.size, np.bool_), np.zeros(rows.size, np.bool_)
        if addresses.any():
            from rocket_columnar.decode import ExtUnits  # loads pyarrow

            queue = file.topic or "", file.queue_id or 0
            ext = ExtUnits(files_now(self.plan, self.plan.exts, *queue, part="consumequeue_ext"))
            known[addresses], found, times = ext.tags_codes(*queue, tags[addresses])
            tagged[addresses] = ~known[addresses] | (found != expected[addresses])
            tags[addresses] = found
            stored = self.frames.all.store_timestamp[found_places[addresses]]
            timed[addresses] = known[addresses] & (times != stored)
        delayed = self.frames.all.topic[found_places] == self.frames.names.numbers.get(_SCHEDULE, -1)
        recovered = delayed & tagged & known & (tags >= -_INT) & (tags < _INT)
        self._have_tag(found_places, tags, recovered)
        mark("unit.tags", tagged & known & ~recovered)
        mark("unit.address", tagged & ~known)
        mark("unit.time", timed & ~tagged)
        mark("unit.recovered", recovered)
