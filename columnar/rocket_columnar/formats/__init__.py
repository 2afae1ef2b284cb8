"""Records, key hashes, message ids, times, and the Java arithmetic and text that they need."""

from rocket_columnar.formats.dtypes import ENTRY_DTYPE, UNIT_DTYPE
from rocket_columnar.formats.java import decode_utf8, parse_int, parse_long, string_hash, to_i32, to_i64
from rocket_columnar.formats.key_hashes import COMPILED_FROM, hash_key, hash_keys, index_key
from rocket_columnar.formats.message_ids import (
    OffsetId,
    UniqueKey,
    make_offset_id,
    parse_offset_id,
    parse_unique_key,
)
from rocket_columnar.formats.records import (
    DELAY_SECONDS,
    HEAD_SIZE,
    Bad,
    Buffer,
    FixedFields,
    Record,
    body_end,
    check_frame_head,
    clean_utf8,
    host_text,
    is_blank,
    parse_properties,
    parse_record,
    tags_code,
)
from rocket_columnar.formats.times import iso

__all__ = [
    "COMPILED_FROM",
    "DELAY_SECONDS",
    "ENTRY_DTYPE",
    "HEAD_SIZE",
    "UNIT_DTYPE",
    "Bad",
    "Buffer",
    "FixedFields",
    "OffsetId",
    "Record",
    "UniqueKey",
    "body_end",
    "check_frame_head",
    "clean_utf8",
    "decode_utf8",
    "hash_key",
    "hash_keys",
    "host_text",
    "index_key",
    "is_blank",
    "iso",
    "make_offset_id",
    "parse_int",
    "parse_long",
    "parse_offset_id",
    "parse_properties",
    "parse_record",
    "parse_unique_key",
    "string_hash",
    "tags_code",
    "to_i32",
    "to_i64",
]
