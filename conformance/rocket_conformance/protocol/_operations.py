"""The operations of the protocol as data: fields, result fields, and the family that each belongs to.

The JSON Schemas in `rocket_conformance/schema` state the same; a test compares the two.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal[
    "i32", "i64", "i64?", "i64[]", "bool", "string", "string?", "key", "key?", "path", "folder", "base64", "texts",
    "unit?", "request[]", "index_header", "index_entry[]", "queue_unit[]", "record[]",
]  # fmt: skip
"""How a value travels: i32 a number, i64 a decimal string, a key NAME as `NAME` or `NAME_utf16`.

A path stays inside the case's directory, a folder is the name of one in it; base64 is bytes, texts an object of texts.
A kind with a question mark may be null. The kinds in `OBJECTS` are objects, those that end in `[]` lists of them.
"""

OBJECTS: Final[dict[str, dict[str, Kind]]] = {
    "unit?": {"offset": "i64", "size": "i32", "tags_code": "i64"},
    "request[]": {
        "topic": "string",
        "queue_id": "i32",
        "commit_log_offset": "i64",
        "msg_size": "i32",
        "tags_code": "i64",
        "store_timestamp": "i64",
        "consume_queue_offset": "i64",
        "keys": "string?",
        "uniq_key": "string?",
        "sys_flag": "i32",
        "success": "bool",
    },
    "index_header": {
        "begin_timestamp": "i64",
        "end_timestamp": "i64",
        "begin_phy_offset": "i64",
        "end_phy_offset": "i64",
        "hash_slot_count": "i32",
        "index_count": "i32",
    },
    "index_entry[]": {
        "entry": "i32",
        "slot": "i32",
        "key_hash": "i32",
        "phy_offset": "i64",
        "time_diff": "i32",
        "prev_entry": "i32",
        "store_timestamp": "i64",
    },
    "queue_unit[]": {
        "logical_offset": "i64",
        "phy_offset": "i64",
        "size": "i32",
        "tags_code": "i64",
        "pre_blank": "bool",
    },
    "record[]": {
        "phy_offset": "i64",
        "size": "i32",
        "topic": "string",
        "queue_id": "i32",
        "queue_offset": "i64",
        "sys_flag": "i32",
        "flag": "i32",
        "born_timestamp": "i64",
        "born_host": "string",
        "store_timestamp": "i64",
        "store_host": "string",
        "reconsume_times": "i32",
        "prepared_transaction_offset": "i64",
        "body": "base64",
        "body_crc": "i64",
        "crc_ok": "bool",
        "keys": "string?",
        "uniq_key": "string?",
        "tags": "string?",
        "tags_code": "i64?",
        "properties": "texts",
    },
}
"""The fields of the objects that results hold; those of the readers are columns of the tables of `rocket_spec`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        name: as it travels, `family.verb`.
        family: what `--require` and the last line call the part of the format that it belongs to.
        fields: the fields it always has, and how each travels.
        optional: fields that may be left out.
        result: the fields of its result.
        decodes: whether it is for tools that only read: a family is complete without it.
    """

    name: str
    family: str
    fields: dict[str, Kind]
    result: dict[str, Kind]
    optional: dict[str, Kind] = field(default_factory=dict[str, Kind])
    decodes: bool = False


_WINDOW: Final[dict[str, Kind]] = {"begin": "i64", "end": "i64"}
_BOUNDS: Final[dict[str, Kind]] = {"min": "i64", "max": "i64", "max_physic_offset": "i64"}
_TIMES: Final[dict[str, Kind]] = {
    "physic_msg_timestamp": "i64",
    "logics_msg_timestamp": "i64",
    "index_msg_timestamp": "i64",
}

_TABLE: Final = (
    Operation("key.hash", "index", {"key": "key"}, {"hash": "i32"}),
    Operation(
        "index.open",
        "index",
        {
            "file": "path",
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
    Operation("index.header", "index", {}, OBJECTS["index_header"]),
    Operation("index.full", "index", {}, {"full": "bool"}),
    Operation("index.flush", "index", {}, {}),
    Operation("index.close", "index", {}, {}),
    Operation(
        "service.open",
        "service",
        {"hash_slot_num": "i32", "index_num": "i32", "last_exit_ok": "bool", "index_msg_timestamp": "i64"},
        {"files": "i32"},
    ),
    Operation(
        "service.build",
        "service",
        {
            "topic": "string",
            "uniq_key": "key?",
            "keys": "key?",
            "commit_log_offset": "i64",
            "store_timestamp": "i64",
            "sys_flag": "i32",
        },
        {},
    ),
    Operation(
        "service.query",
        "service",
        {"topic": "string", "key": "key", "max_num": "i32", **_WINDOW},
        {"offsets": "i64[]", "last_update_timestamp": "i64", "last_update_phy_offset": "i64"},
    ),
    Operation("service.delete_expired", "service", {"offset": "i64"}, {"files": "i32"}),
    Operation("service.settle", "service", {}, {"index_msg_timestamp": "i64"}),
    Operation("tags.code", "queue", {"tags": "key?"}, {"tags_code": "i64"}),
    Operation(
        "queue.open", "queue", {"topic": "folder", "queue_id": "i32", "file_size": "i32", "load": "bool"}, {}
    ),
    Operation(
        "queue.put",
        "queue",
        {"offset": "i64", "size": "i32", "tags_code": "i64", "cq_offset": "i64"},
        {"put": "bool"},
    ),
    Operation("queue.get", "queue", {"cq_offset": "i64"}, {"unit": "unit?"}),
    Operation("queue.bounds", "queue", {}, _BOUNDS),
    Operation("queue.recover", "queue", {}, _BOUNDS),
    Operation("queue.truncate", "queue", {"phy_offset": "i64"}, _BOUNDS),
    Operation("queue.correct_min", "queue", {"phy_min_offset": "i64"}, _BOUNDS),
    Operation("queue.delete_expired", "queue", {"phy_offset": "i64"}, {"deleted": "i32", **_BOUNDS}),
    Operation("queue.last_offset", "queue", {}, {"last_offset": "i64"}),
    Operation(
        "log.dispatch",
        "log",
        {"file": "path", "check_crc": "bool"},
        {"requests": "request[]"},
        optional={"read_body": "bool"},
    ),
    Operation("checkpoint.read", "checkpoint", {}, _TIMES),
    Operation("checkpoint.write", "checkpoint", _TIMES, _TIMES),
    Operation(
        "index.read",
        "index",
        {"file": "path", "hash_slot_num": "i32", "index_num": "i32"},
        {"header": "index_header", "entries": "index_entry[]"},
        decodes=True,
    ),
    Operation("queue.read", "queue", {"file": "path"}, {"units": "queue_unit[]"}, decodes=True),
    Operation("log.read", "log", {"file": "path"}, {"records": "record[]"}, decodes=True),
)

OPERATIONS: Final = {operation.name: operation for operation in _TABLE}
"""Every operation that the suite sends, by name."""

FAMILIES: Final = ("index", "service", "queue", "log", "checkpoint")
"""The parts of the format, in the order in which a verdict names them."""
