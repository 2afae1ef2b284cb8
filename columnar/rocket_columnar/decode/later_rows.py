"""The files that 5.x adds to rows: batch queues, the timer wheel and its log, the tiered store's index files."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.later_layouts import (
    BATCH_UNIT,
    TIERED_COMPACT_SIZE,
    TIERED_HEADER,
    TIERED_ITEM,
    TIERED_MAGICS,
    TIERED_SLOT_SIZE,
    TIMER_SLOT,
    TIMER_UNIT,
)
from rocket_spec.layout import BLANK_MAGIC, DEFAULT_GEOMETRY, Geometry

from rocket_columnar import arrow
from rocket_columnar.arrow import Columns
from rocket_columnar.decode.fixed_units import (
    UnitForm,
    field_columns,
    require_whole_units,
    unit_batches,
)
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.formats import dtype_of
from rocket_columnar.store import Reader, StoreFile


def _is_batch(units: NDArray[Any]) -> NDArray[np.bool_]:
    """What a recovery accepts (`BatchConsumeQueue.recover` 248)."""
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
        MalformedError: a file of another length or magic.
        UsageError: a tiered index file whose number of slots is not known.
    """
    if table in ("tiered_index", "timer_wheel"):
        yield from (_tiered if table == "tiered_index" else _wheel)(reader, choice)
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


def _tiered(reader: Reader, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    head = reader.read(0, min(reader.size, TIERED_HEADER.size))
    header = head.view(dtype_of(TIERED_HEADER)) if head.size == TIERED_HEADER.size else None
    if header is None or int(header["magic"][0]) not in TIERED_MAGICS:
        raise MalformedError(
            file=reader.name,
            offset=0,
            found=f"{head[:4].tobytes().hex() or 'an empty file'}",
            expected=" or ".join(f"{magic & 0xFFFFFFFF:x}" for magic in TIERED_MAGICS),
            clause="TIX-1",
        )
    slots, width = _tiered_shape(reader, choice.geometry)
    begin = TIERED_HEADER.size + TIERED_SLOT_SIZE * slots
    count, first = int(header["item_count"][0]), 0
    if width == TIERED_ITEM.size:
        begin, first = begin + width, 1  # item 0 is never written
    reader.require_held(begin, begin + count * width, f"{count:,} items", "TIX-3")
    kind = dtype_of(TIERED_ITEM)
    for start in range(0, count, choice.batch_rows):
        stop = min(start + choice.batch_rows, count)
        raw = reader.read(begin + start * width, (stop - start) * width).reshape(-1, width)
        items = np.zeros((len(raw), TIERED_ITEM.size), np.uint8)
        items[:, :width] = raw
        units = items.view(kind).ravel()
        times = units["time_diff"].astype(np.int64) * 1000 + int(header["begin_timestamp"][0])
        columns = field_columns(units, choice.names)
        if "item" in choice.names:
            columns["item"] = arrow.integers(np.arange(start + first, stop + first, dtype=np.int32))
        if "store_timestamp" in choice.names:
            columns["store_timestamp"] = arrow.integers(times)
        yield len(units), columns


def _tiered_shape(reader: Reader, geometry: Geometry | None) -> tuple[int, int]:
    """The number of slots, and the length of an item: 28 bytes in a compacted file, whose first slot contains where items begin."""
    raw = reader.read(TIERED_HEADER.size, min(8, reader.size - TIERED_HEADER.size)).tobytes()
    place = int.from_bytes(raw[:4], signed=True) - TIERED_HEADER.size
    slots, odd = divmod(place, TIERED_SLOT_SIZE)
    left = reader.size - TIERED_HEADER.size - place
    if slots > 0 and not odd and left >= 0 and not left % TIERED_COMPACT_SIZE:
        return slots, TIERED_COMPACT_SIZE
    known = geometry or DEFAULT_GEOMETRY
    size = TIERED_HEADER.size + TIERED_SLOT_SIZE * known.hash_slot_num + TIERED_ITEM.size * known.index_num
    if size != reader.size:
        raise UsageError(
            f"{reader.name}: {reader.size:,} bytes; a tiered index file of geometry {known.hash_slot_num},{known.index_num} "
            f"has {size:,}; give its geometry with --geometry"
        )
    return known.hash_slot_num, TIERED_ITEM.size
