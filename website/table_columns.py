"""What each column of the decoded tables contains: its meaning with its unit, and the clause that it comes from."""

from typing import Final, NamedTuple

from rocket_spec.layout import CHECKPOINT, EXT_UNIT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, RECORD, Layout
from rocket_spec.tables import TABLES


class Described(NamedTuple):
    """A column: its type, meaning (with the unit) and clause; the clause is empty if rocketspec adds the column."""

    name: str
    type: str
    meaning: str
    clause: str


ROWS: Final = {
    "index_headers": "One row per index file.",
    "index_entries": "One row per entry of an index file, in the order of the puts.",
    "consume_queue": "One row per unit of a consume queue, in the order of logical offsets.",
    "commit_log": "One row per record of the commit log, in the order of physical offsets.",
    "checkpoint": "One row per checkpoint file.",
    "consume_queue_ext": "One row per unit of a consume-queue ext file.",
}

_LAYOUTS: Final[dict[str, Layout]] = {
    "index_headers": INDEX_HEADER,
    "index_entries": INDEX_ENTRY,
    "consume_queue": QUEUE_UNIT,
    "commit_log": RECORD,
    "checkpoint": CHECKPOINT,
    "consume_queue_ext": EXT_UNIT,
}
_FILE: Final = ("path of the file, relative to the store", "")
_QUEUE: Final = {
    "topic": ("topic, from the file's directory", "CQ-FILE-3"),
    "queue_id": ("queue number, from the file's directory", "CQ-FILE-3"),
}
_OTHERS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "index_headers": {
        "hash_slot_num": ("number of slots; not in the file, given or inferred", "IDX-FILE-1"),
        "index_num": ("number of entries that the file has room for, plus 1; not in the file", "IDX-FILE-1"),
    },
    "index_entries": {
        "entry": ("number of the entry in its file, from 1", "IDX-ENT-1"),
        "slot": ("number of the slot, key_hash modulo hash_slot_num", "IDX-HASH-3"),
        "store_timestamp": (
            "begin_timestamp + 1000 * time_diff, ms since the epoch; exact to a second at best",
            "IDX-SEL-4",
        ),
    },
    "consume_queue": {
        **_QUEUE,
        "logical_offset": ("logical offset of the unit", "CQ-FILE-4"),
        "pre_blank": ("whether the unit is a filler before the queue's first message", "CQ-UNIT-2"),
    },
    "commit_log": {
        "size": ("length of the record, bytes", "LOG-REC-3"),
        "topic": ("topic, decoded as Java decodes UTF-8", "UTF8-1"),
        "born_host": ("address and port of the client, ADDRESS:PORT", "LOG-REC-2"),
        "store_host": ("address and port of the broker, ADDRESS:PORT", "LOG-REC-2"),
        "body": ("stored bytes of the body; compressed if bit 1 of sys_flag is set", "LOG-REC-5"),
        "crc_ok": ("whether body_crc is that of the body; true for an empty body", "LOG-REC-4"),
        "keys": ("property KEYS; keys are separated by one space", "LOG-DSP-2"),
        "uniq_key": ("property UNIQ_KEY, the message ID of the client", "LOG-DSP-3"),
        "tags": ("property TAGS", "CQ-TAGS-1"),
        "tags_code": ("tags code of a dispatch with the default delay levels; null if Java fails on it", "LOG-DSP-4"),
        "properties": ("all properties; of a repeated name the last value", "LOG-PROP-4"),
    },
    "checkpoint": {},
    "consume_queue_ext": {
        **_QUEUE,
        "address": ("address of the unit, as the tags code of its consume-queue unit", "CQ-EXT-2"),
    },
}  # fmt: skip


def describe_columns(table: str) -> list[Described]:
    """The columns of a table of `rocket_spec.tables`, in order.

    Raises:
        KeyError: a column has no description.
    """
    fields = {field.name: (field.doc, field.clause) for field in _LAYOUTS[table].fields}
    known = {**fields, **_OTHERS[table], "file": _FILE}
    return [Described(column.name, column.type, *known[column.name]) for column in TABLES[table]]
