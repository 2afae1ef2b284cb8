"""Findings about units that do not match their records."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.audit.matching import LOST, MOVED, NOT_OWN, SIZE, TAGS, without_appended
from rocket_columnar.audit.missing import files_now
from rocket_columnar.audit.multi_dispatch_check import RangeCopies
from rocket_columnar.audit.range_result import Frames, RangeResult
from rocket_columnar.audit.rows import Rows
from rocket_columnar.facts import Store
from rocket_columnar.formats import LAST_ADDRESS, SCHEDULE_TOPIC, tags_code
from rocket_columnar.log import StoredRecords
from rocket_columnar.store import StoreFile

_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_INT: Final = 1 << 31

_CODES: Final = {False: ("CQ-TAGS-1", "LOG-DSP-4"), True: ("CQ-TAGS-2", "LOG-DSP-5")}
"""Clauses that a right tags code holds, of messages without and with a delay."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Determines what is wrong with the units that have flags."""

    store: Store
    units: Rows
    frames: Frames
    copies: RangeCopies
    result: RangeResult

    def judge(self, flags: NDArray[np.uint8]) -> None:
        """Marks the units that have flags, file by file."""
        flags = without_appended(self.store, flags, self.units.columns["phy_offset"])
        bad = np.flatnonzero(flags)
        for run in np.unique(np.searchsorted(self.units.bounds, bad, side="right") - 1).tolist():
            begin, end = self.units.bounds[run : run + 2].tolist()
            rows = np.arange(begin, end)[flags[begin:end] != 0]
            self._run(run, rows, flags[rows])

    def _run(self, run: int, rows: NDArray[np.int64], flags: NDArray[np.uint8]) -> None:
        file = self.units.files[run]
        number = self.units.firsts[run] - int(self.units.bounds[run])

        def mark(what: str, chosen: NDArray[np.bool_]) -> None:
            some = rows[chosen]
            values = tuple(self.units.columns.values())
            self.result.marks.add(
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
                moved[at] = self._is_moved(run, row, logical, base + row)
                held = ["CQ-LMQ-1", "CQ-LMQ-2", *(() if logical == base + row else ("CQ-LMQ-4",))]
                self.result.held.update([*held, *(("CQ-LMQ-3",) if not flags[at] & TAGS else ())])
        mark("unit.strange", strange)
        mark("unit.size", (flags & SIZE != 0) & ~strange)
        mark("unit.moved", moved)
        tagged = (flags & TAGS != 0) & ~strange
        if tagged.any():
            self._tags(file, rows, tagged, mark)

    def _is_moved(self, run: int, row: int, logical: int, position: int) -> bool:
        """Whether no put leaves a copy's unit here: it is before its position, or out of order with its neighbours."""
        if logical == position or 0 != logical < position:
            return logical != position
        file, offsets = self.units.files[run], self.units.columns["phy_offset"]
        begin, end = self.units.bounds[run : run + 2].tolist()
        for other, step in ((row - 1, 1), (row + 1, -1)):
            if begin <= other < end and self._may_be_sound(file, other):
                distance = (int(offsets[row]) - int(offsets[other])) * step
                if distance < 0 or (distance == 0 and step > 0):
                    return True
        return False

    def _may_be_sound(self, file: StoreFile, row: int) -> bool:
        """Whether a unit points to a copy for its queue, or into another range of the log."""
        offset = int(self.units.columns["phy_offset"][row])
        if self.units.columns["size"][row] <= 0 or not self.store.begin <= offset < self.store.end:
            return False
        queue = file.topic or "", file.queue_id or 0
        elsewhere = not self.result.range.begin <= offset < self.result.range.end
        return elsewhere or self.copies.logical(int(self.units.record[row]), queue) is not None

    def _have_tag(
        self, places: NDArray[np.int64], tags: NDArray[np.int64], chosen: NDArray[np.bool_]
    ) -> None:
        """Clears `chosen` for units whose tags code is not the hash of their record's own tag."""
        with suppress(FileNotFoundError), StoredRecords(self.store.logs) as records:  # expired meanwhile
            for row in np.flatnonzero(chosen).tolist():
                record = records.at(int(self.frames.all.phy_offset[places[row]]))
                if record is not None:
                    chosen[row] = tags_code(b"", record.pairs, 0) == tags[row]

    def _tags(self, file: StoreFile, rows: NDArray[np.int64], tagged: NDArray[np.bool_], mark: Any) -> None:
        tags = self.units.columns["tags_code"][rows]
        found_places = np.maximum(self.units.record[rows], 0)
        expected = self.frames.all.tags_code[found_places]
        delayed = self.frames.all.topic[found_places] == self.frames.names.numbers.get(_SCHEDULE, -1)
        addresses = tagged & (tags <= LAST_ADDRESS)
        known, timed = np.ones(rows.size, np.bool_), np.zeros(rows.size, np.bool_)
        if addresses.any():
            from rocket_columnar.decode import ExtUnits  # loads pyarrow

            queue = file.topic or "", file.queue_id or 0
            ext = ExtUnits(files_now(self.store, self.store.exts, *queue, part="consumequeue_ext"))
            known[addresses], found, times = ext.tags_codes(*queue, tags[addresses])
            tagged[addresses] = ~known[addresses] | (found != expected[addresses])
            tags[addresses] = found
            stored = self.frames.all.store_timestamp[found_places[addresses]]
            timed[addresses] = known[addresses] & (times != stored)
            sound = known & addresses
            self.result.held.update(dict.fromkeys(("CQ-TAGS-3", "CQ-EXT-2", "CQ-EXT-4"), int(sound.sum())))
            self.result.held["CQ-EXT-1"] += int((sound & ~timed).sum())
            right = sound & ~tagged
            self.result.held.update(
                {
                    clause: int((right & (delayed == wanted)).sum())
                    for wanted, clauses in _CODES.items()
                    for clause in clauses
                }
            )
        recovered = delayed & tagged & known & (tags >= -_INT) & (tags < _INT)
        self._have_tag(found_places, tags, recovered)
        mark("unit.tags", tagged & known & ~recovered)
        mark("unit.address", tagged & ~known)
        mark("unit.time", timed & ~tagged)
        mark("unit.recovered", recovered)
