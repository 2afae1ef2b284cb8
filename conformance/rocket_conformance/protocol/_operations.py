"""The operations of the protocol as data: fields, result fields, and the family that each belongs to.

The JSON Schemas in `rocket_conformance/schema` say the same; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["FAMILIES", "OPERATIONS", "Kind", "Operation"]

Kind = Literal["i32", "i64", "i64[]", "bool", "string", "key"]
"""How a value travels: i32 a number, i64 a decimal string, key as `key` or `key_utf16`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: as it travels, `family.verb`.
        family: what `--require` and the last line call the part of the format that it belongs to.
        fields: the fields it always has, and how each travels.
        optional: fields that may be left out.
        result: the fields of its result.
    """

    name: str
    family: str
    fields: dict[str, Kind]
    result: dict[str, Kind]
    optional: dict[str, Kind] = field(default_factory=dict[str, Kind])


_WINDOW: Final[dict[str, Kind]] = {"begin": "i64", "end": "i64"}

_TABLE: Final = (
    Operation("key.hash", "index", {"key": "key"}, {"hash": "i32"}),
    Operation(
        "index.open",
        "index",
        {
            "file": "string",
            "hash_slot_num": "i32",
            "index_num": "i32",
            "end_phy_offset": "i64",
            "end_timestamp": "i64",
            "load": "bool",
        },
        {},
    ),
    Operation(
        "index.put", "index", {"key": "key", "phy_offset": "i64", "store_timestamp": "i64"}, {"put": "bool"}
    ),
    Operation(
        "index.select",
        "index",
        {"key": "key", "max_num": "i32", **_WINDOW},
        {"offsets": "i64[]"},
        optional={"initial": "i64[]"},
    ),
    Operation("index.time_matched", "index", _WINDOW, {"matched": "bool"}),
    Operation(
        "index.header",
        "index",
        {},
        {
            "begin_timestamp": "i64",
            "end_timestamp": "i64",
            "begin_phy_offset": "i64",
            "end_phy_offset": "i64",
            "hash_slot_count": "i32",
            "index_count": "i32",
        },
    ),
    Operation("index.full", "index", {}, {"full": "bool"}),
    Operation("index.flush", "index", {}, {}),
    Operation("index.close", "index", {}, {}),
)

OPERATIONS: Final = {operation.name: operation for operation in _TABLE}
"""Every operation that the suite sends, by name."""

FAMILIES: Final = ("index", "service", "queue", "log", "checkpoint")
"""The parts of the format, in the order in which a verdict names them."""
