"""The rows and columns of a table that a decode returns, and the size of its batches."""

from dataclasses import dataclass, field
from typing import Final

from rocket_spec.layout import Geometry

from rocket_columnar.decode.filters import Skip, Where
from rocket_columnar.formats import LONG_MAX, LONG_MIN

WHOLE_LOG: Final = (LONG_MIN, LONG_MAX + 1)
"""The range of all physical offsets."""


@dataclass(frozen=True, slots=True)
class RowChoice:
    """The rows and columns of one table that are wanted.

    Attributes:
        names: the columns.
        batch_rows: rows of a batch at most.
        where: the filter; None lets all rows pass.
        skip: rows still to be skipped; shared by all files of the table.
        all_entries: see `decode`.
        threads: number of threads that decode an index file.
        log_range: first physical offset, and the one after the last; see `decode`.
        geometry: the one that was given.
    """

    names: set[str]
    batch_rows: int
    where: Where | None = None
    skip: Skip = field(default_factory=lambda: Skip(0))
    all_entries: bool = False
    threads: int = 1
    log_range: tuple[int, int] = WHOLE_LOG
    geometry: Geometry | None = None
