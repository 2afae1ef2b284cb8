"""Consume queues, their ext files and the checkpoint to rows."""

import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError
from rocket_spec.later_layouts import LATER_CHECKPOINT
from rocket_spec.layout import CHECKPOINT, CHECKPOINT_SIZE, EXT_UNIT, PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar import arrow
from rocket_columnar.arrow import Columns
from rocket_columnar.decode.filters import Where
from rocket_columnar.decode.fixed_units import UnitForm, field_columns, last_units, unit_batches
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.formats import LONG_MIN, to_i64
from rocket_columnar.store import Reader

_EXT: Final = struct.Struct(EXT_UNIT.struct_format)
_WINDOW: Final = 1 << 20


def _used(units: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the units that 4.9.3's recovery accepts (ConsumeQueue.recover 106-122)."""
    used: NDArray[np.bool_] = (units["phy_offset"] >= 0) & (units["size"] > 0)
    return used


_UNITS: Final = UnitForm(QUEUE_UNIT, _used, "CQ-FILE-1")


def unit_count(reader: Reader) -> int:
    """The number of units of a consume-queue file up to its last valid one, as `consume_queue` has them.

    Raises:
        MalformedError: as `queue_columns`.
    """
    return last_units(reader, _UNITS, every=False)[0]


def queue_columns(reader: Reader, base_offset: int, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    """The rows of `consume_queue`, without topic, queue number and file: units up to the file's last valid one.

    Units after it were never written, or were cut off. Units before it are returned as they are in the file, even
    the invalid ones of a damaged file, so that a row's place follows from its logical offset. With `all_entries` the
    rows go on to the last unit that is not all zeros.

    Raises:
        MalformedError: the file is empty, its size is not a whole number of units, or what precedes its last unit is
            mostly a hole (CQ-FILE-1).
    """
    first = base_offset // QUEUE_UNIT.size
    for numbers, units in unit_batches(reader, _UNITS, choice):
        columns = field_columns(units, choice.names)
        if "logical_offset" in choice.names:
            columns["logical_offset"] = arrow.integers(numbers + first)
        if "pre_blank" in choice.names:
            blank = (units["phy_offset"] == 0) & (units["size"] == PRE_BLANK_SIZE) & (units["tags_code"] == 0)
            columns["pre_blank"] = arrow.booleans(blank)
        yield len(units), columns


def ext_columns(
    reader: Reader, base_offset: int, batch_rows: int, *, where: Where | None = None
) -> Iterator[tuple[int, Columns]]:
    """The rows of `consume_queue_ext`, without topic, queue number and file: units up to an end mark or a zero.

    `address` is the unit's offset in the ext queue + Long.MIN_VALUE, as in a consume-queue unit's tags code
    (CQ-EXT-2). A restart that cuts units off clears nothing, so units written later may end within an old one: after
    a unit, bytes whose lengths do not add up are the end, too.

    Raises:
        MalformedError: a first unit whose lengths do not add up or lead outside the file (CQ-EXT-1).
    """
    if not reader.size:
        raise MalformedError(file=reader.name, found="an empty file", expected="ext units", clause="CQ-EXT-1")
    rows: list[tuple[int, int, int, int, bytes]] = []
    position, window, begin = 0, b"", 0
    while position + 2 <= reader.size:
        if position + 0x7FFF > begin + len(window) < reader.size:
            begin, window = position, reader.read(position, min(_WINDOW, reader.size - position)).tobytes()
        at = position - begin
        size = int.from_bytes(window[at : at + 2], signed=True)
        if size < 1:
            break
        wrong = _misfit(reader, position, window[at : at + _EXT.size])
        if wrong is not None:
            if position:
                break
            raise wrong
        _, tags_code, store_timestamp, _ = _EXT.unpack_from(window, at)
        if where is None or where.times is None or where.times[0] <= store_timestamp <= where.times[1]:
            address = to_i64(base_offset + position + LONG_MIN)
            rows.append((address, size, tags_code, store_timestamp, window[at + _EXT.size : at + size]))
        position += size
        if len(rows) >= batch_rows:
            yield len(rows), _ext_columns(rows)
            rows = []
    if rows:
        yield len(rows), _ext_columns(rows)


def _misfit(reader: Reader, position: int, head: bytes) -> MalformedError | None:
    """The error in an ext unit's lengths, or None."""
    size, left = int.from_bytes(head[:2], signed=True), reader.size - position
    if size < _EXT.size or size > left:
        found, expected = f"a unit of {size} bytes", f"{_EXT.size} .. {min(0x7FFF, left)} bytes"
    else:
        bit_map = int.from_bytes(head[-2:], signed=True)
        if max(bit_map, 0) == size - _EXT.size:
            return None
        position += _EXT.size - 2
        found, expected = f"a bit map of {bit_map} bytes", f"{size - _EXT.size}, in a unit of {size}"
    return MalformedError(
        file=reader.name, offset=position, found=found, expected=expected, clause="CQ-EXT-1"
    )


def _ext_columns(rows: list[tuple[int, int, int, int, bytes]]) -> Columns:
    address, size, tags_code, store_timestamp, bit_map = zip(*rows, strict=True)
    longs = {"address": address, "tags_code": tags_code, "store_timestamp": store_timestamp}
    columns = {name: arrow.integers(np.array(values, np.int64)) for name, values in longs.items()}
    return {**columns, "size": arrow.integers(np.array(size, np.int16)), "bit_map": arrow.binaries(bit_map)}


def checkpoint_columns(reader: Reader) -> Columns:
    """The one row of `checkpoint`, without `file`: three times in ms (CKP-1), and what 5.x adds (CKP-5), null if that is zeros.

    Raises:
        MalformedError: below 4096 bytes.
    """
    if reader.size < CHECKPOINT_SIZE:
        raise MalformedError(
            file=reader.name,
            found=f"{reader.size:,} bytes" if reader.size else "an empty file",
            expected=f"at least {CHECKPOINT_SIZE:,}",
            clause="CKP-2",
        )
    later = struct.unpack(LATER_CHECKPOINT.struct_format, reader.read(0, LATER_CHECKPOINT.size).tobytes())
    known = len(CHECKPOINT.fields)
    columns: Columns = {}
    for place, (field, value) in enumerate(zip(LATER_CHECKPOINT.fixed, later, strict=True)):
        there = place < known or any(later[known:])
        columns[field.name] = arrow.integers(np.array([value], np.int64), np.array([there]))
    return columns
