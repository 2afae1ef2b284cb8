"""The one scan of a commit-log file: its records, batch by batch, and the gaps between them.

Everything that reads records goes through it: decode, dispatch, rebuild and audit. Where no record verifies, the walk in
`frame_walk` says why, and where the next one does.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_FIXED_V4

from rocket_columnar.fast import ROW, SLACK, LogRange, PlainLog
from rocket_columnar.formats import Bad, Record, clean_utf8
from rocket_columnar.log.frame_walk import Gap, Walk
from rocket_columnar.store import Reader

_ROWS: Final = 1 << 13
WINDOW: Final = 1 << 20


@dataclass(slots=True)
class Records:
    """Records of one batch, in the order of the log: rows of dtype `ROW`, and a window of the bytes that contain them, and `SLACK` more."""

    window: NDArray[np.uint8]
    rows: NDArray[np.void]
    form: PlainLog

    def find_values(self, *, one_separator: bool = False) -> None:
        """Completes the rows with what their properties contain, as Java reads it; with `one_separator` as before 4.9.1."""
        self._clean()
        if one_separator:
            PlainLog(one_separator=True).find_values(self.window, self.rows)

    def _clean(self) -> None:
        self.form.find_values(self.window, self.rows)
        bad = np.flatnonzero(~self.rows["readable"])
        if not bad.size:
            return
        held = self.window.size - SLACK
        cleaned = bytearray()
        for number in bad.tolist():
            row = self.rows[number]
            at = int(row["properties_at"])
            text = clean_utf8(self.window[at : at + int(row["properties_length"])].tobytes())
            row["properties_at"], row["properties_length"] = held + len(cleaned), len(text)
            cleaned += text
        extra = np.frombuffer(bytes(cleaned) + bytes(SLACK), np.uint8)
        self.window = np.concatenate([self.window[:held], extra])
        rows = self.rows[bad]
        self.form.find_values(self.window, rows)
        self.rows[bad] = rows

    def places(self, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
        """The window, and where a part of each record begins in it, and its length."""
        return self.window, self.rows[f"{name}_at"], self.rows[f"{name}_length"]


class Scan:
    """A walk over the records of one file that begin in a range of it.

    Without `bodies` those of large records are not read; a batch has at most `rows` records. `goes_on` is whether a later file of the log
    contains records, so that zeros at the end of this one are a gap; without it they are still to be written.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        form: PlainLog,
        *,
        bodies: bool = False,
        rows: int = _ROWS,
        goes_on: Callable[[], bool] | None = None,
    ) -> None:
        # that finds what the form does not
        self.walk = Walk(reader, base_offset, bodies=bodies, window=WINDOW)
        # file offset of the first record found; without one, that of the next known record, or the file size
        self.first = 0
        self.next = 0  # file offset of the first record after the range, or the file size
        self._reader = reader
        self._base = base_offset
        self._form = form
        self._most = rows
        self._goes_on = goes_on

    def run(self, begin: int, end: int, *, exact: bool, on_gap: Callable[[Gap], None]) -> Iterator[Records]:
        """The batches of the records that begin in the bytes [begin, end) of the file, without what their properties contain.

        `exact` is whether a record is known to begin at `begin`; otherwise the walk begins at the next one in the range that verifies, and what is
        before it belongs to the range before. `on_gap` is called with each gap, whole even if it goes on beyond `end`; zeros to the file's end are
        still to be written.
        """
        walk, end = self.walk, min(end, self._reader.size)
        position = begin if exact else walk.next_frame(begin, end)
        self.first = position
        window, rows, count = walk.window, np.empty(0, ROW), 0
        while position < end:
            record = walk.record(position)
            if count and (walk.window is not window or count == len(rows)):
                yield Records(window, rows[:count], self._form)
                count = 0
            if isinstance(record, Record):
                if not count:
                    window, rows = walk.window, np.empty(self._room(position, end), ROW)
                found, position = self._found(position, end, rows[count:])
                count += found
                continue
            header = walk.entry_header(position)
            if header:
                position += header
                continue
            gap, position = self._passed(position, record)
            if gap is not None:
                on_gap(gap)
        self.next = position
        if count:
            yield Records(window, rows[:count], self._form)

    def _room(self, position: int, end: int) -> int:
        """Maximum number of records in the window from `position` on."""
        return max(min(self._most, (min(end, self.walk.end) - position) // RECORD_FIXED_V4 + 1), 1)

    def _found(self, position: int, end: int, rows: NDArray[np.void]) -> tuple[int, int]:
        """Fills rows with the records from `position`, which is in the window; returns their number and the next position."""
        walk, size = self.walk, self._reader.size
        at = position - walk.begin
        range_ = LogRange(at, end - walk.begin, walk.end - walk.begin, size - position, self._base + position)
        count, after = self._form.find_records(walk.window, range_, rows)
        return count, walk.begin + after

    def gap_at(self, position: int) -> Gap | None:
        """The gap that begins here; None for a record, or the log's end."""
        record = self.walk.record(position)
        if isinstance(record, Record) or self.walk.entry_header(position):
            return None
        return self._passed(position, record)[0]

    def _passed(self, position: int, bad: Bad) -> tuple[Gap | None, int]:
        """The gap that begins here, and where it goes on; None if the records end, or are written by now."""
        walk, size = self.walk, self._reader.size
        if walk.is_blank(position):
            return None, size
        if self._reader.first_nonzero(position, size) is None:
            if self._goes_on is None or not self._goes_on():
                return None, size
            bad = Bad("zeros to the file's end", "a record or a blank, since a later file holds records")
        after = walk.next_frame(position + 1)
        if after >= size and walk.has_blank_magic(position):
            return None, size
        if walk.is_written(position, last=after >= size):
            return None, position
        bad = walk.why_none(position, bad)
        return Gap(
            self._reader.name, self._base + position, self._base + after, bad.found, bad.expected
        ), after
