"""Structures of fixed length: index file, consume queue, checkpoint, and what 5.x adds."""

from typing import Any, Final

from rocket_spec.construct_schemas._library import c, len_, this
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.later_layouts import BATCH_UNIT, LATER_CHECKPOINT, TIMER_SLOT
from rocket_spec.later_layouts import TIERED_HEADER as TIERED_INDEX_HEADER
from rocket_spec.later_layouts import TIERED_ITEM as TIERED_INDEX_ITEM
from rocket_spec.later_layouts import TIMER_UNIT as TIMER_LOG_UNIT
from rocket_spec.layout import CHECKPOINT as CHECKPOINT_LAYOUT
from rocket_spec.layout import CHECKPOINT_SIZE, Geometry, Layout

_header: Any = c.Struct(
    "begin_timestamp" / c.Int64sb,
    "end_timestamp" / c.Int64sb,
    "begin_phy_offset" / c.Int64sb,
    "end_phy_offset" / c.Int64sb,
    "hash_slot_count" / c.Int32sb,
    "index_count" / c.Int32sb,
)

_entry: Any = c.Struct(
    "key_hash" / c.Int32sb,
    "phy_offset" / c.Int64sb,
    "time_diff" / c.Int32sb,
    "prev_entry" / c.Int32sb,
)

_unit: Any = c.Struct(
    "phy_offset" / c.Int64sb,
    "size" / c.Int32sb,
    "tags_code" / c.Int64sb,
)

_INTEGERS: Final = {"i16": c.Int16sb, "i32": c.Int32sb, "i64": c.Int64sb}


def _struct(layout: Layout, *more: Any, absent: int | None = None) -> Any:
    """The fixed fields of a layout; those from number `absent` on may be missing in a value, and are 0."""
    fields = [(field.name, _INTEGERS[field.type]) for field in layout.fixed]
    parts = [
        name / (kind if absent is None or place < absent else c.Default(kind, 0))
        for place, (name, kind) in enumerate(fields)
    ]
    return c.Struct(*parts, *more)


_UNUSED: Final = CHECKPOINT_SIZE - LATER_CHECKPOINT.size
_checkpoint: Any = _struct(
    LATER_CHECKPOINT,
    "unused" / c.Default(c.GreedyBytes, bytes(_UNUSED)),
    c.Check(len_(this.unused) >= _UNUSED),
    absent=len(CHECKPOINT_LAYOUT.fields),
)

INDEX_HEADER = Schema("index header", _header, "IDX-HDR-1")
INDEX_SLOT = Schema("index slot", c.Struct("entry" / c.Int32sb), "IDX-SLOT-1")
INDEX_ENTRY = Schema("index entry", _entry, "IDX-ENT-1")
QUEUE_UNIT = Schema("consume-queue unit", _unit, "CQ-UNIT-1")
QUEUE_FILE = Schema("consume-queue file of whole units", c.GreedyRange(_unit), "CQ-FILE-1")
CHECKPOINT = Schema("checkpoint of 4096 bytes or more", _checkpoint, "CKP-2")
BATCH_FILE = Schema("batch consume-queue file of whole units", c.GreedyRange(_struct(BATCH_UNIT)), "BCQ-2")
TIMER_WHEEL = Schema("timer wheel", c.GreedyRange(_struct(TIMER_SLOT)), "TIM-2")
TIMER_UNIT = Schema("timer-log unit", _struct(TIMER_LOG_UNIT), "TIM-3")
TIERED_HEADER = Schema("header of a tiered index file", _struct(TIERED_INDEX_HEADER), "TIX-1")
TIERED_ITEM = Schema("item of a tiered index file", _struct(TIERED_INDEX_ITEM), "TIX-3")


def index_file(geometry: Geometry) -> Schema:
    """The schema of an index file: header, slots as numbers, all `index_num` entries, and a tail that may be longer.

    It holds every slot and entry in memory; a file of the default geometry is better read by other means.
    """
    return Schema(
        f"index file of geometry {geometry.hash_slot_num},{geometry.index_num}",
        c.Struct(
            "header" / _header,
            "slots" / c.Array(geometry.hash_slot_num, c.Int32sb),
            "entries" / c.Array(geometry.index_num, _entry),
            "tail" / c.Default(c.GreedyBytes, b""),
        ),
        "IDX-FILE-1",
    )
