"""The columns of every table that decoding gives, once, as data.

`decode`, the engine, Spark and Parquet all take names, types and order from here.
"""

from typing import Final, NamedTuple


class Column(NamedTuple):
    """One column: `type` is string, int16, int32, int64, bool, binary or map (string to string)."""

    name: str
    type: str


def _columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(*(part.split(":") if ":" in part else (part, "string"))) for part in text.split())


TABLES: Final[dict[str, tuple[Column, ...]]] = {
    "index_headers": _columns(
        "file hash_slot_num:int32 index_num:int32 begin_timestamp:int64 end_timestamp:int64 "
        "begin_phy_offset:int64 end_phy_offset:int64 hash_slot_count:int32 index_count:int32"
    ),
    "index_entries": _columns(
        "file entry:int32 slot:int32 key_hash:int32 phy_offset:int64 time_diff:int32 prev_entry:int32 "
        "store_timestamp:int64"
    ),
    "consume_queue": _columns(
        "topic queue_id:int32 logical_offset:int64 phy_offset:int64 size:int32 tags_code:int64 "
        "pre_blank:bool file"
    ),
    "commit_log": _columns(
        "phy_offset:int64 size:int32 topic queue_id:int32 queue_offset:int64 sys_flag:int32 flag:int32 "
        "born_timestamp:int64 born_host store_timestamp:int64 store_host reconsume_times:int32 "
        "prepared_transaction_offset:int64 body:binary body_crc:int64 crc_ok:bool keys uniq_key tags "
        "tags_code:int64 properties:map file"
    ),
    "checkpoint": _columns(
        "file physic_msg_timestamp:int64 logics_msg_timestamp:int64 index_msg_timestamp:int64 "
        "master_flushed_offset:int64 confirm_phy_offset:int64 logics_physical_offset:int64"
    ),
    "consume_queue_ext": _columns(
        "topic queue_id:int32 address:int64 size:int16 tags_code:int64 store_timestamp:int64 "
        "bit_map:binary file"
    ),
    "consumer_offsets": _columns("topic group queue_id:int32 offset:int64 file"),
    "delay_offsets": _columns("delay_level:int32 offset:int64 file"),
    "topics": _columns(
        "topic read_queue_nums:int32 write_queue_nums:int32 perm:int32 topic_filter_type topic_sys_flag:int32 "
        "order:bool file"
    ),
    "subscription_groups": _columns(
        "group consume_enable:bool consume_from_min_enable:bool consume_broadcast_enable:bool retry_queue_nums:int32 "
        "retry_max_times:int32 broker_id:int64 which_broker_when_consume_slowly:int64 "
        "notify_consumer_ids_changed_enable:bool file"
    ),
    "consumer_filters": _columns(
        "topic group expression expression_type born_timestamp:int64 dead_timestamp:int64 client_version:int64 file"
    ),
    "batch_consume_queue": _columns(
        "topic queue_id:int32 position:int64 phy_offset:int64 size:int32 tags_code:int64 store_timestamp:int64 "
        "base_offset:int64 batch_size:int16 compacted_offset:int32 file"
    ),
    "timer_wheel": _columns(
        "slot:int32 delayed_time:int64 first_position:int64 last_position:int64 num:int32 magic:int32 file"
    ),
    "timer_log": _columns(
        "position:int64 size:int32 prev_position:int64 magic:int32 write_time:int64 delay:int32 phy_offset:int64 "
        "record_size:int32 topic_hash:int32 file"
    ),
}
