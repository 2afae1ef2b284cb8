"""Records, key hashes, message ids, times, and the Java arithmetic and text that they need."""

from rocket_columnar.formats.java import (
    LONG_MAX,
    LONG_MIN,
    decode_utf8,
    iso,
    parse_int,
    parse_long,
    show_times_in,
    string_hash,
    to_i32,
    to_i64,
)
from rocket_columnar.formats.key_hashes import hash_key, hash_keys, index_key, tag_key
from rocket_columnar.formats.message_ids import (
    OffsetId,
    UniqueKey,
    make_offset_id,
    parse_offset_id,
    parse_unique_key,
)
from rocket_columnar.formats.records import (
    DELAYS,
    ENTRY_DTYPE,
    HEAD_SIZE,
    LAST_ADDRESS,
    SCHEDULE_TOPIC,
    UNIT_DTYPE,
    Bad,
    FixedFields,
    Record,
    body_begin,
    body_end,
    check_frame_head,
    clean_utf8,
    dtype_of,
    fixed_fields,
    host_text,
    is_blank,
    parse_properties,
    parse_record,
    tags_code,
    topic_length_size,
)
