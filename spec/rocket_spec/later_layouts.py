"""The layouts that 5.x adds, as data; names of its sources are those of 5.5.1, of the tiered store's those of 5.5.0."""

from dataclasses import replace
from typing import Final

from rocket_spec.layout import CHECKPOINT, RECORD, Layout, layout_of

TIERED_MAGICS: Final = (0xBCC50289 - (1 << 32), 0xBCC50285 - (1 << 32))
"""Magics of a tiered index file: in use, and ended (`IndexStoreFile.BEGIN_MAGIC_CODE`, `END_MAGIC_CODE`)."""

TIERED_SLOT_SIZE: Final = 8
"""Bytes of a slot of a tiered index file."""

TIERED_COMPACT_SIZE: Final = 28
"""Bytes of an item of a compacted tiered index file, which has no previous item."""

LONG_TOPIC_RECORD: Final = Layout(
    "commit-log record of a long topic",
    tuple(
        replace(one, type="i16", clause="LOG-REC-10") if one.name == "topic_length" else one
        for one in RECORD.fields
    ),
)
"""A record of the magic of 5.1.0."""

LATER_CHECKPOINT: Final = layout_of(
    "checkpoint of 5.x",
    "CKP-5",
    *((one.name, one.type, one.java, one.doc) for one in CHECKPOINT.fields),
    (
        "master_flushed_offset",
        "i64",
        "masterFlushedOffset",
        "bytes of the log that the master flushed; since 5.0.0",
    ),
    ("confirm_phy_offset", "i64", "confirmPhyOffset", "physical offset that is confirmed; since 5.1.1"),
    (
        "logics_physical_offset",
        "i64",
        "logicsPhysicalOffset",
        "physical offset of the last record that was in a queue at the last thorough flush; since 5.5.0",
    ),
)

BATCH_UNIT: Final = layout_of(
    "batch consume-queue unit",
    "BCQ-1",
    ("phy_offset", "i64", "offset", "physical offset of the record, bytes"),
    ("size", "i32", "size", "length of the record, bytes"),
    ("tags_code", "i64", "tagsCode", "hash of TAGS"),
    ("store_timestamp", "i64", "storeTime", "store timestamp of the record, ms since the epoch"),
    ("base_offset", "i64", "msgBaseOffset", "logical offset of the record's first message"),
    ("batch_size", "i16", "batchSize", "number of messages in the record"),
    ("compacted_offset", "i32", "compactedOffset", "-1"),
    ("reserved", "i32", "reserved", "0"),
)

TIMER_SLOT: Final = layout_of(
    "timer-wheel slot",
    "TIM-1",
    ("delayed_time", "i64", "timeMs", "delivery time / timerPrecisionMs; in s since the epoch by default"),
    ("first_position", "i64", "firstPos", "position of the slot's first unit in the timer log, bytes"),
    ("last_position", "i64", "lastPos", "position of its last unit, bytes"),
    ("num", "i32", "num", "number of messages, less those that delete one"),
    ("magic", "i32", "magic", "0"),
)

TIMER_UNIT: Final = layout_of(
    "timer-log unit",
    "TIM-3",
    ("size", "i32", "size", "52"),
    ("prev_position", "i64", "prevPos", "position of the slot's unit before; -1 for its first"),
    ("magic", "i32", "magicValue", "1, + 2 to be enqueued again later, + 4 for a deletion"),
    ("write_time", "i64", "currWriteTime", "time of the wheel at the put, ms since the epoch"),
    ("delay", "i32", "delayedTime", "delivery time - write_time, ms"),
    ("phy_offset", "i64", "offsetPy", "physical offset of the record of rmq_sys_wheel_timer, bytes"),
    ("record_size", "i32", "sizePy", "length of that record, bytes"),
    ("topic_hash", "i32", "hashCode", "hash of REAL_TOPIC; 0 without one"),
    ("reserved", "i64", "reserved", "0"),
)

TIERED_HEADER: Final = layout_of(
    "tiered index header",
    "TIX-1",
    ("magic", "i32", "magicCode", "0xBCC50289 while in use, 0xBCC50285 when ended"),
    ("begin_timestamp", "i64", "beginTimestamp", "the number that is the file's name, ms since the epoch"),
    (
        "end_timestamp",
        "i64",
        "endTimestamp",
        "greatest store timestamp of a put since the file was opened, ms since the epoch",
    ),
    ("hash_slot_count", "i32", "hashSlotCount", "number of slots in use"),
    ("item_count", "i32", "indexItemCount", "number of the last item"),
)

TIERED_ITEM: Final = layout_of(
    "tiered index item",
    "TIX-3",
    ("key_hash", "i32", "hashCode", "hash of topic#key"),
    ("topic_id", "i32", "topicId", "number of the topic in the tiered store's metadata"),
    ("queue_id", "i32", "queueId", "queue number"),
    ("offset", "i64", "offset", "position of the record in the queue's tiered commit log, bytes"),
    ("size", "i32", "size", "length of the record, bytes"),
    ("time_diff", "i32", "timeDiff", "(store timestamp - begin_timestamp) / 1000, truncated toward zero"),
    ("prev_item", "i32", "itemIndex", "number of the previous item of the same slot; 0 ends the chain"),
)

LATER_LAYOUTS: Final = {
    layout.name: layout
    for layout in (
        LATER_CHECKPOINT,
        BATCH_UNIT,
        TIMER_SLOT,
        TIMER_UNIT,
        TIERED_HEADER,
        TIERED_ITEM,
    )
}
