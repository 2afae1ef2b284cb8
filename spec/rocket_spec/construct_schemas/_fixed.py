"""Structures of fixed length: index file, consume queue, checkpoint."""

from typing import Any

from rocket_spec.construct_schemas._library import c, len_, this
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.layout import Geometry

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

_checkpoint: Any = c.Struct(
    "physic_msg_timestamp" / c.Int64sb,
    "logics_msg_timestamp" / c.Int64sb,
    "index_msg_timestamp" / c.Int64sb,
    "unused" / c.Default(c.GreedyBytes, bytes(4072)),
    c.Check(len_(this.unused) >= 4072),
)

INDEX_HEADER = Schema("index header", _header, "IDX-HDR-1")
INDEX_SLOT = Schema("index slot", c.Struct("entry" / c.Int32sb), "IDX-SLOT-1")
INDEX_ENTRY = Schema("index entry", _entry, "IDX-ENT-1")
QUEUE_UNIT = Schema("consume-queue unit", _unit, "CQ-UNIT-1")
QUEUE_FILE = Schema("consume-queue file of whole units", c.GreedyRange(_unit), "CQ-FILE-1")
CHECKPOINT = Schema("checkpoint of 4096 bytes or more", _checkpoint, "CKP-2")


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
