"""The meaning of each column of the decoded tables, with its unit and clause."""

from typing import Final, NamedTuple

from rocket_spec.later_layouts import BATCH_UNIT, LATER_CHECKPOINT, TIMER_SLOT, TIMER_UNIT
from rocket_spec.layout import EXT_UNIT, INDEX_ENTRY, INDEX_HEADER, QUEUE_UNIT, RECORD, Layout
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
    "consumer_offsets": "One row per consumer group and queue.",
    "delay_offsets": "One row per delay level.",
    "topics": "One row per topic.",
    "subscription_groups": "One row per consumer group.",
    "consumer_filters": "One row per topic and group with an SQL92 filter.",
    "batch_consume_queue": "One row per unit of a batch consume queue of 5.x.",
    "timer_wheel": "One row per slot of the timer wheel of 5.x that was used.",
    "timer_log": "One row per unit of the timer log of 5.x.",
}

_LAYOUTS: Final[dict[str, Layout]] = {
    "index_headers": INDEX_HEADER,
    "index_entries": INDEX_ENTRY,
    "consume_queue": QUEUE_UNIT,
    "commit_log": RECORD,
    "checkpoint": LATER_CHECKPOINT,
    "batch_consume_queue": BATCH_UNIT,
    "timer_wheel": TIMER_SLOT,
    "timer_log": TIMER_UNIT,
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
    "batch_consume_queue": {**_QUEUE, "position": ("position of the unit in the queue, bytes", "BCQ-2")},
    "timer_wheel": {"slot": ("number of the slot", "TIM-2")},
    "timer_log": {"position": ("position of the unit in the timer log, bytes", "TIM-4")},
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
    "consumer_offsets": {
        "topic": ("topic, before the @ of the name", "CFG-3"),
        "group": ("consumer group, after the @ of the name", "CFG-3"),
        "queue_id": ("queue number", "CFG-3"),
        "offset": ("logical offset of the next message that the group gets", "CFG-3"),
    },
    "delay_offsets": {
        "delay_level": ("delay level, 1 for the first", "CFG-3"),
        "offset": ("logical offset in the queue of the level, where its last delivery began", "CFG-5"),
    },
    "topics": {
        "topic": ("topic", "CFG-3"),
        "read_queue_nums": ("number of queues that consumers see", "CFG-3"),
        "write_queue_nums": ("number of queues that producers see", "CFG-3"),
        "perm": ("permissions: 4 read, 2 write, 1 inherited by topics made from it", "CFG-3"),
        "topic_filter_type": ("SINGLE_TAG or MULTI_TAG", "CFG-3"),
        "topic_sys_flag": ("1 for a unit topic, 2 for one with unit subscriptions", "CFG-3"),
        "order": ("whether the topic is for ordered messages", "CFG-3"),
    },
    "subscription_groups": {
        "group": ("consumer group", "CFG-3"),
        "consume_enable": ("whether the group may consume", "CFG-3"),
        "consume_from_min_enable": ("whether it may begin at a queue's minimum", "CFG-3"),
        "consume_broadcast_enable": ("whether it may consume in broadcast mode", "CFG-3"),
        "retry_queue_nums": ("number of queues of its retry topic", "CFG-3"),
        "retry_max_times": ("number of retries before a message is a dead letter", "CFG-3"),
        "broker_id": ("ID of the broker to read from", "CFG-3"),
        "which_broker_when_consume_slowly": ("ID of the broker to read from when the group is slow", "CFG-3"),
        "notify_consumer_ids_changed_enable": ("whether consumers are notified of joins and leaves", "CFG-3"),
    },
    "consumer_filters": {
        "topic": ("topic", "CFG-3"),
        "group": ("consumer group", "CFG-3"),
        "expression": ("expression of the filter", "CFG-3"),
        "expression_type": ("SQL92", "CFG-3"),
        "born_timestamp": ("when the group came, ms since the epoch", "CFG-3"),
        "dead_timestamp": ("when its last consumer left, ms since the epoch; 0 while it is there", "CFG-3"),
        "client_version": ("version of the subscription, ms since the epoch", "CFG-3"),
    },
}  # fmt: skip


def describe_columns(table: str) -> list[Described]:
    """The columns of a table of `rocket_spec.tables`, in order; KeyError for one without a description."""
    layout = _LAYOUTS.get(table)
    fields = {} if layout is None else {field.name: (field.doc, field.clause) for field in layout.fields}
    known = {**fields, **_OTHERS[table], "file": _FILE}
    return [Described(column.name, column.type, *known[column.name]) for column in TABLES[table]]
