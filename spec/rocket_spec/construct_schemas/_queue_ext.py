"""Consume-queue ext: units of varying length, and the bytes after them.

A recovery clears nothing, so that the rest of a longer unit may follow the last one (CQ-EXT-5): after the first unit, bytes whose lengths
do not add up end the units, as a size of 0 or less does.
"""

from typing import Any

from rocket_spec.construct_schemas._library import c, len_, this
from rocket_spec.construct_schemas._repeat import repeat_while
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.layout import EXT_END_MARK


def _bit_map_size(context: Any) -> int:
    """Length of a bit map; a negative one that was read, if there is no bit map."""
    return len(context.bit_map) or min(0, context.get("bit_map_size") or 0)


def _bytes_of_bit_map(context: Any) -> int:
    size: int = context.bit_map_size
    return max(0, size)


def _adds_up(context: Any) -> bool:
    size: int = context.size
    return size == 20 + _bytes_of_bit_map(context)


_unit: Any = c.Struct(
    "size" / c.Rebuild(c.Int16sb, 20 + len_(this.bit_map)),
    "tags_code" / c.Int64sb,
    "store_timestamp" / c.Int64sb,
    "bit_map_size" / c.Rebuild(c.Int16sb, _bit_map_size),
    c.Check(_adds_up),
    "bit_map" / c.Bytes(_bytes_of_bit_map),
)


def _unit_follows(ahead: bytes, position: int, left: int) -> bool:
    size, bit_map = (int.from_bytes(ahead[at : at + 2], "big", signed=True) for at in (0, 18))
    return size > 0 and (not position or (len(ahead) == 20 and size <= left and size == 20 + max(0, bit_map)))


_file: Any = c.Struct(
    "units" / repeat_while("units", _unit, _unit_follows),
    "end" / c.Default(c.Int16sb, EXT_END_MARK),
    "tail" / c.GreedyBytes,
)

EXT_UNIT = Schema("consume-queue ext unit", _unit, "CQ-EXT-1")
EXT_FILE = Schema("consume-queue ext file", _file, "CQ-EXT-3")
