"""Prints the gaps and unreadable files that `decode` meets, on stderr."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocket_spec.errors import FormatError
from rocket_spec.printable import counted

from rocketspec._terminal import note, skipped

if TYPE_CHECKING:
    import pyarrow as pa
    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.log import Gap
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

    from rocketspec._terminal import ProgressStep


class DecodeReport:
    """Gaps, files that are left out, assumed geometries, and progress; `incomplete` if part of the input could not be decoded."""

    def __init__(self, step: ProgressStep) -> None:
        self.incomplete = False
        self.rows = 0
        self._step = step
        self._table = "", 0
        self._read = 0, 0
        self._assumed: set[Geometry] = set()
        self._told: set[str] = set()

    def gap(self, gap: Gap) -> None:
        """Reports a range of the log that cannot be decoded."""
        self.incomplete = True
        note(str(gap))

    def error(self, file: StoreFile, error: FormatError | OSError) -> None:
        """Reports once a file that cannot be decoded to its end; one that the broker deleted after the listing is no part of the store."""
        if isinstance(error, FileNotFoundError) and not os.path.lexists(file.path):
            return
        self.incomplete = True
        if isinstance(error, FormatError):
            text = f"{error}; the rest of the file is left out"
        else:
            text = f"{file.path}: {(error.strerror or str(error)).lower()}; left out"
        if text not in self._told:
            self._told.add(text)
            note(text)

    def skipped(self, name: str, reason: str) -> None:
        """Reports what the listing left out; a store without what cannot be read is not whole."""
        from rocket_columnar.store import Unreadable

        self.incomplete |= isinstance(reason, Unreadable)
        skipped(name, reason)

    def geometry(self, file: StoreFile, guess: GeometryGuess) -> None:
        """Reports a geometry that is only assumed, once."""
        if guess.how == "assumed" and guess.geometry not in self._assumed:
            self._assumed.add(guess.geometry)
            slots, entries = guess.geometry
            note(f"{file.path}: geometry {slots},{entries} assumed: {guess.reason}")

    def counted(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The same batches, with their rows counted."""
        for table, batch in batches:
            name, rows = self._table
            rows = batch.num_rows + (rows if name == table else 0)
            self._table = table, rows
            self.rows += batch.num_rows
            self._step(*self._read, f"{table}: {rows:,} rows")
            yield table, batch

    def in_utc(self, batches: Iterator[tuple[str, pa.RecordBatch]]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The same batches with their times as timestamps; reports the number of those out of range, which become null."""
        from rocket_columnar.arrow import in_utc

        total = 0
        for table, batch in batches:
            converted, nulled = in_utc(batch)
            total += nulled
            yield table, converted
        if total:
            note(f"{counted(total, 'time')} out of range written as null")

    def progress(self, done: int, total: int) -> None:
        """Records the bytes read of a table's files, and their total size."""
        self._read = done, total
