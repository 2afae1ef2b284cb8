"""Files of units of one length: which units are rows, and their fields as columns, from the layout."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError
from rocket_spec.layout import Layout

from rocket_columnar import arrow
from rocket_columnar.arrow import Columns
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.formats import dtype_of
from rocket_columnar.store import Reader

_UNITS_AT_ONCE: Final = 1 << 16  # in the search for the last one


@dataclass(frozen=True, slots=True)
class UnitForm:
    """The units of one kind of file.

    Attributes:
        layout: their fields.
        used: which of some units count as written.
        clause: the clause by which a file consists of whole units; None if it may end in other bytes.
    """

    layout: Layout
    used: Callable[[NDArray[Any]], NDArray[np.bool_]]
    clause: str | None

    def read(self, reader: Reader, start: int, stop: int) -> NDArray[Any]:
        """The units with the numbers `start` up to `stop`."""
        size = self.layout.size
        return reader.read(start * size, (stop - start) * size).view(dtype_of(self.layout))


def require_whole_units(reader: Reader, form: UnitForm) -> None:
    """Raises MalformedError if the file is empty or its size is not a whole number of units."""
    width = form.layout.size
    if form.clause is not None and (not reader.size or reader.size % width):
        raise MalformedError(
            file=reader.name,
            offset=reader.size // width * width if reader.size else None,
            found=f"{reader.size:,} bytes" if reader.size else "an empty file",
            expected=f"{'a whole number of ' if reader.size else ''}units of {width} bytes",
            clause=form.clause,
        )


def last_units(reader: Reader, form: UnitForm, *, every: bool) -> tuple[int, int, NDArray[Any]]:
    """The number of units that are rows, and the last ones of the file: the number of the first of these, and the units.

    Rows are the units up to the last one that is used; with `every`, up to the last that is not all zeros.

    Raises:
        MalformedError: the file is empty, its size is not a whole number of units, or what precedes its last unit is
            mostly a hole.
    """
    width = form.layout.size
    require_whole_units(reader, form)
    last = reader.last_nonzero(0, reader.size)
    end = min(0 if last is None else last // width + 1, reader.size // width)
    reader.require_held(0, end * width, f"{end:,} units", form.clause or form.layout.fields[0].clause)
    while end:
        start = max(0, end - _UNITS_AT_ONCE)
        units = form.read(reader, start, end)
        if every:
            return end, start, units
        used = np.flatnonzero(form.used(units))
        if used.size:
            return start + int(used[-1]) + 1, start, units
        end = start
    return 0, 0, np.empty(0, dtype_of(form.layout))


def unit_batches(
    reader: Reader, form: UnitForm, choice: RowChoice
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """The units that are rows and pass the filter, with their numbers in the file; errors as of `last_units`."""
    where = choice.where
    count, known, tail = last_units(reader, form, every=choice.all_entries)
    passed = choice.skip.of(count) if where is None else 0
    for start in range(passed, count, choice.batch_rows):
        stop = min(start + choice.batch_rows, count)
        units = tail[start - known : stop - known] if start >= known else form.read(reader, start, stop)
        numbers = np.arange(start, stop, dtype=np.int64)
        keep = None
        if where is not None:
            fields = units.dtype.names or ()
            keep = where.rows(
                phy_offsets=units["phy_offset"],
                store_timestamps=units["store_timestamp"] if "store_timestamp" in fields else None,
            )
        if keep is not None:
            units, numbers = units[keep], numbers[keep]
        if len(units):
            yield numbers, units


def field_columns(units: NDArray[Any], names: set[str]) -> Columns:
    """The fields of these names as columns."""
    return {
        name: arrow.integers(units[name].astype(units.dtype[name].newbyteorder("=")))
        for name in units.dtype.names or ()
        if name in names
    }
