"""Consume-queue ext: units of varying length, and the two bytes that end them."""

from typing import Any

from rocket_spec.construct_schemas._library import c, len_, this
from rocket_spec.construct_schemas._repeat import repeat_while
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.layout import EXT_END_MARK

_unit: Any = c.Struct(
    "size" / c.Rebuild(c.Int16sb, 20 + len_(this.bit_map)),
    "tags_code" / c.Int64sb,
    "store_timestamp" / c.Int64sb,
    "bit_map_size" / c.Rebuild(c.Int16sb, len_(this.bit_map)),
    c.Check(this.size == 20 + this.bit_map_size),
    "bit_map" / c.Bytes(this.bit_map_size),
)


def _unit_follows(ahead: bytes) -> bool:
    return int.from_bytes(ahead[:2], "big", signed=True) > 0


_file: Any = c.Struct(
    "units" / repeat_while("units", _unit, _unit_follows),
    "end" / c.Default(c.Int16sb, EXT_END_MARK),
    "tail" / c.GreedyBytes,
)

EXT_UNIT = Schema("consume-queue ext unit", _unit, "CQ-EXT-1")
EXT_FILE = Schema("consume-queue ext file", _file, "CQ-EXT-3")
