"""Index file, consume queue and its ext, checkpoint, and what 5.x adds.

A recovery of ext files clears nothing, so that the rest of a longer unit may follow the last one (CQ-EXT-5): after the first unit, bytes
whose lengths do not add up end the units, as a size of 0 or less does.
"""

from typing import Any, Final

from rocket_spec import later_layouts, layout
from rocket_spec.construct_schemas._schema import Schema, c, len_, repeat_while, struct_of, this

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


def _bit_map_size(context: Any) -> int:
    """Length of a bit map; a negative one that was read, if there is no bit map."""
    return len(context.bit_map) or min(0, context.get("bit_map_size") or 0)


def _bytes_of_bit_map(context: Any) -> int:
    size: int = context.bit_map_size
    return max(0, size)


def _adds_up(context: Any) -> bool:
    size: int = context.size
    return size == 20 + _bytes_of_bit_map(context)


_ext_unit: Any = c.Struct(
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


_ext_file: Any = c.Struct(
    "units" / repeat_while("units", _ext_unit, _unit_follows),
    "end" / c.Default(c.Int16sb, layout.EXT_END_MARK),
    "tail" / c.GreedyBytes,
)

EXT_UNIT = Schema("consume-queue ext unit", _ext_unit, "CQ-EXT-1")
EXT_FILE = Schema("consume-queue ext file", _ext_file, "CQ-EXT-3")
