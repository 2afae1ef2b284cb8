"""The files that 5.x adds to rows: batch queues, the timer wheel and its log."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.later_layouts import (
    BATCH_UNIT,
    TIMER_SLOT,
    TIMER_UNIT,
)
from rocket_spec.layout import BLANK_MAGIC

from rocket_columnar import arrow
from rocket_columnar.arrow import Columns
from rocket_columnar.decode.fixed_units import (
    UnitForm,
    field_columns,
    require_whole_units,
    unit_batches,
)
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.store import Reader, StoreFile


def _is_batch(units: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the units that a recovery accepts (`BatchConsumeQueue.recover` 248)."""
    least = {"phy_offset": 0, "size": 1, "base_offset": 0, "batch_size": 1}
    used: NDArray[np.bool_] = np.logical_and.reduce([units[name] >= value for name, value in least.items()])
    return used


def _is_timer(units: NDArray[Any]) -> NDArray[np.bool_]:
    """A blank of 52 bytes has the same size."""
    used: NDArray[np.bool_] = (units["size"] == TIMER_UNIT.size) & (units["magic"] != BLANK_MAGIC)
    return used


def _is_slot(units: NDArray[Any]) -> NDArray[np.bool_]:
    used: NDArray[np.bool_] = np.logical_or.reduce(units.view(np.uint8).reshape(-1, TIMER_SLOT.size), axis=1)
    return used


BATCH: Final = UnitForm(BATCH_UNIT, _is_batch, "BCQ-2")
"""Units of a batch consume queue."""

_FORMS: Final = {
    "batch_consume_queue": BATCH,
    "timer_log": UnitForm(TIMER_UNIT, _is_timer, None),
}
_WHEEL: Final = UnitForm(TIMER_SLOT, _is_slot, "TIM-2")


def later_columns(
    table: str, reader: Reader, file: StoreFile, choice: RowChoice
) -> Iterator[tuple[int, Columns]]:
    """The rows of one of these tables, without topic, queue number of a queue, and file.

    Units up to the last one that is used; of the wheel those that are not all zeros. `position` is a byte offset,
    counted over all files of the queue or log.

    Raises:
        MalformedError: a file of another length.
    """
    if table == "timer_wheel":
        yield from _wheel(reader, choice)
        return
    form, names = _FORMS[table], choice.names
    for numbers, units in unit_batches(reader, form, choice):
        columns = field_columns(units, names)
        if "position" in names:
            columns["position"] = arrow.integers(file.base_offset + numbers * form.layout.size)
        yield len(units), columns


def _wheel(reader: Reader, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    """The slots that are not all zeros; a broker's wheel is a file with holes, which are not read."""
    require_whole_units(reader, _WHEEL)
    for begin, end in reader.aligned(TIMER_SLOT.size, reader.size):
        last = end // TIMER_SLOT.size
        for start in range(begin // TIMER_SLOT.size, last, choice.batch_rows):
            units = _WHEEL.read(reader, start, min(start + choice.batch_rows, last))
            rows = np.flatnonzero(_is_slot(units))
            rows = rows[choice.skip.of(rows.size) :]
            columns = field_columns(units[rows], choice.names)
            if "slot" in choice.names:
                columns["slot"] = arrow.integers((start + rows).astype(np.int32))
            yield rows.size, columns
