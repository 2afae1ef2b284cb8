"""The commit log: records, and the blank that ends a full file; in DLedger mode entries that each hold a record, and their index."""

import zlib
from typing import Any

from rocket_spec import layout
from rocket_spec.construct_schemas._schema import (
    Schema,
    c,
    has_magic,
    len_,
    log_file,
    repeat_while,
    struct_of,
    this,
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
    widened = bool(context.get("magic", layout.MESSAGE_MAGIC) == layout.LONG_TOPIC_MAGIC)
    return (
        layout.RECORD_FIXED_V4
        + widened
        + hosts
        + len(context.body)
        + len(context.topic)
        + len(context.properties)
    )


def _adds_up(context: Any) -> bool:
    return bool(context.total_size == _total(context))


def _crc(context: Any) -> int:
    """Checksum of a body (LOG-REC-4)."""
    return zlib.crc32(context.body) & 0x7FFFFFFF


_record: Any = c.Struct(
    "total_size" / c.Rebuild(c.Int32sb, _total),
    "magic" / c.Default(c.OneOf(c.Int32sb, layout.RECORD_MAGICS), layout.MESSAGE_MAGIC),
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
    / c.Rebuild(c.IfThenElse(this.magic == layout.LONG_TOPIC_MAGIC, c.Int16sb, c.Int8sb), len_(this.topic)),
    "topic" / c.Bytes(this.topic_length),
    "properties_length" / c.Rebuild(c.Int16sb, len_(this.properties)),
    "properties" / c.Bytes(this.properties_length),
    c.Check(_adds_up),
)

_blank: Any = struct_of(layout.BLANK, magic=c.Const(layout.BLANK_MAGIC, c.Int32sb))
_file: Any = log_file(
    "records", _record, has_magic(layout.RECORD_MAGICS, 4), _blank, has_magic((layout.BLANK_MAGIC,), 4)
)

RECORD = Schema("commit-log record", _record, "LOG-REC-1")
BLANK = Schema("commit-log blank", _blank, "LOG-BLANK-1")
COMMIT_LOG = Schema("commit-log file", _file, "LOG-FILE-2")


def _body_size(context: Any) -> int:
    """Length of an entry's body, from the body where one is built."""
    return len(RECORD.construct.build(context.body))


def _entry_size(context: Any) -> int:
    return layout.ENTRY.size + _body_size(context)


_MAGIC: Any = c.Const(layout.ENTRY_MAGIC, c.Int32sb)
_entry: Any = struct_of(
    layout.ENTRY,
    c.Check(this.size == layout.ENTRY.size + this.body_size),
    "body" / RECORD.construct,
    c.Check(this.body_size == this.body.total_size),
    magic=_MAGIC,
    size=c.Rebuild(c.Int32sb, _entry_size),
    channel=c.Default(c.Int32sb, 0),
    chain_crc=c.Default(c.Int32sb, 0),
    body_crc=c.Default(c.Int32sb, 0),
    body_size=c.Rebuild(c.Int32sb, _body_size),
)
_entry_blank: Any = struct_of(layout.ENTRY_BLANK, magic=c.Const(layout.ENTRY_BLANK_MAGIC, c.Int32sb))
_index_unit: Any = struct_of(layout.ENTRY_INDEX_UNIT, magic=_MAGIC)
_entry_follows = has_magic((layout.ENTRY_MAGIC,), 0)
_entries_file: Any = log_file(
    "entries", _entry, _entry_follows, _entry_blank, has_magic((layout.ENTRY_BLANK_MAGIC,), 0)
)


def _zeros_before(context: Any) -> int:
    """Bytes before the first unit in use; a rebuilt index has zeros there."""
    if not context["_parsing"]:
        return len(context["before"])
    stream = context["_io"]
    position = stream.tell()
    data = stream.read()
    stream.seek(position)
    used = len(data.lstrip(b"\0"))
    return (len(data) - used) // 32 * 32 if used else 0


_index_file: Any = c.Struct(
    "before" / c.Default(c.Bytes(_zeros_before), b""),
    "units" / repeat_while("units", _index_unit, _entry_follows),
    "tail" / c.GreedyBytes,
    c.Check(len_(this.tail) % 32 == 0),
)

ENTRY = Schema("DLedger entry", _entry, "DLG-2")
ENTRY_BLANK = Schema("DLedger blank", _entry_blank, "DLG-5")
ENTRY_INDEX_UNIT = Schema("DLedger index unit", _index_unit, "DLG-6")
DLEDGER_LOG = Schema("commit-log file of DLedger mode", _entries_file, "DLG-9")
DLEDGER_INDEX = Schema("entry-index file of DLedger mode", _index_file, "DLG-6")
