"""Structures of fixed length: index file, consume queue, checkpoint, and what 5.x adds."""

from typing import Any, Final

from rocket_spec import later_layouts, layout
from rocket_spec.construct_schemas._library import c, len_, struct_of, this
from rocket_spec.construct_schemas._schema import Schema

_header: Any = struct_of(layout.INDEX_HEADER)
_entry: Any = struct_of(layout.INDEX_ENTRY)
_unit: Any = struct_of(layout.QUEUE_UNIT)

_UNUSED: Final = layout.CHECKPOINT_SIZE - later_layouts.LATER_CHECKPOINT.size
_checkpoint: Any = struct_of(
    later_layouts.LATER_CHECKPOINT,
    "unused" / c.Default(c.GreedyBytes, bytes(_UNUSED)),
    c.Check(len_(this.unused) >= _UNUSED),
    absent=len(layout.CHECKPOINT.fields),
)

INDEX_HEADER = Schema("index header", _header, "IDX-HDR-1")
INDEX_SLOT = Schema("index slot", struct_of(layout.INDEX_SLOT), "IDX-SLOT-1")
INDEX_ENTRY = Schema("index entry", _entry, "IDX-ENT-1")
QUEUE_UNIT = Schema("consume-queue unit", _unit, "CQ-UNIT-1")
QUEUE_FILE = Schema("consume-queue file of whole units", c.GreedyRange(_unit), "CQ-FILE-1")
CHECKPOINT = Schema("checkpoint of 4096 bytes or more", _checkpoint, "CKP-2")
BATCH_FILE = Schema(
    "batch consume-queue file of whole units", c.GreedyRange(struct_of(later_layouts.BATCH_UNIT)), "BCQ-2"
)
TIMER_WHEEL = Schema("timer wheel", c.GreedyRange(struct_of(later_layouts.TIMER_SLOT)), "TIM-2")
TIMER_UNIT = Schema("timer-log unit", struct_of(later_layouts.TIMER_UNIT), "TIM-3")


def index_file(geometry: layout.Geometry) -> Schema:
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
