"""The commit log: records, the blank that ends a full file, and the bytes after it."""

import zlib
from typing import Any

from rocket_spec.construct_schemas._library import c, len_, struct_of, this
from rocket_spec.construct_schemas._repeat import has_magic, log_file
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.layout import BLANK as BLANK_LAYOUT
from rocket_spec.layout import (
    BLANK_MAGIC,
    LONG_TOPIC_MAGIC,
    MESSAGE_MAGIC,
    RECORD_FIXED_V4,
    RECORD_MAGICS,
)

_BORN_HOST_V6 = 16
_STORE_HOST_V6 = 32


def _host(flag: int) -> Any:
    def address_length(context: Any) -> int:
        return 16 if context["_"].sys_flag & flag else 4

    return c.Struct("address" / c.Bytes(address_length), "port" / c.Int32sb)


def _total(context: Any) -> int:
    """Length of a record (LOG-REC-3)."""
    hosts = sum(12 for flag in (_BORN_HOST_V6, _STORE_HOST_V6) if context.sys_flag & flag)
    widened = bool(context.get("magic", MESSAGE_MAGIC) == LONG_TOPIC_MAGIC)
    return (
        RECORD_FIXED_V4 + widened + hosts + len(context.body) + len(context.topic) + len(context.properties)
    )


def _adds_up(context: Any) -> bool:
    return bool(context.total_size == _total(context))


def _crc(context: Any) -> int:
    """Checksum of a body (LOG-REC-4)."""
    return zlib.crc32(context.body) & 0x7FFFFFFF


_record: Any = c.Struct(
    "total_size" / c.Rebuild(c.Int32sb, _total),
    "magic" / c.Default(c.OneOf(c.Int32sb, RECORD_MAGICS), MESSAGE_MAGIC),
    "body_crc" / c.Default(c.Int32sb, _crc),
    "queue_id" / c.Int32sb,
    "flag" / c.Int32sb,
    "queue_offset" / c.Int64sb,
    "phy_offset" / c.Int64sb,
    "sys_flag" / c.Int32sb,
    "born_timestamp" / c.Int64sb,
    "born_host" / _host(_BORN_HOST_V6),
    "store_timestamp" / c.Int64sb,
    "store_host" / _host(_STORE_HOST_V6),
    "reconsume_times" / c.Int32sb,
    "prepared_transaction_offset" / c.Int64sb,
    "body_length" / c.Rebuild(c.Int32sb, len_(this.body)),
    "body" / c.Bytes(this.body_length),
    "topic_length"
    / c.Rebuild(c.IfThenElse(this.magic == LONG_TOPIC_MAGIC, c.Int16sb, c.Int8sb), len_(this.topic)),
    "topic" / c.Bytes(this.topic_length),
    "properties_length" / c.Rebuild(c.Int16sb, len_(this.properties)),
    "properties" / c.Bytes(this.properties_length),
    c.Check(_adds_up),
)

_blank: Any = struct_of(BLANK_LAYOUT, magic=c.Const(BLANK_MAGIC, c.Int32sb))
_file: Any = log_file("records", _record, has_magic(RECORD_MAGICS, 4), _blank, has_magic((BLANK_MAGIC,), 4))

RECORD = Schema("commit-log record", _record, "LOG-REC-1")
BLANK = Schema("commit-log blank", _blank, "LOG-BLANK-1")
COMMIT_LOG = Schema("commit-log file", _file, "LOG-FILE-2")
