"""The commit log in DLedger mode: entries that each hold a record, the blank that ends a file, DLedger's own index."""

from typing import Any

from rocket_spec.construct_schemas._commit_log import RECORD
from rocket_spec.construct_schemas._library import c, len_, this
from rocket_spec.construct_schemas._repeat import ahead, repeat_while
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.layout import ENTRY as ENTRY_LAYOUT
from rocket_spec.layout import ENTRY_BLANK_MAGIC, ENTRY_MAGIC


def _body_size(context: Any) -> int:
    """Length of an entry's body, from the body where one is built."""
    return len(RECORD.construct.build(context.body))


def _entry_size(context: Any) -> int:
    return ENTRY_LAYOUT.size + _body_size(context)


_entry: Any = c.Struct(
    "magic" / c.Const(ENTRY_MAGIC, c.Int32sb),
    "size" / c.Rebuild(c.Int32sb, _entry_size),
    "index" / c.Int64sb,
    "term" / c.Int64sb,
    "pos" / c.Int64sb,
    "channel" / c.Default(c.Int32sb, 0),
    "chain_crc" / c.Default(c.Int32sb, 0),
    "body_crc" / c.Default(c.Int32sb, 0),
    "body_size" / c.Rebuild(c.Int32sb, _body_size),
    c.Check(this.size == ENTRY_LAYOUT.size + this.body_size),
    "body" / RECORD.construct,
    c.Check(this.body_size == this.body.total_size),
)

_blank: Any = c.Struct(
    "magic" / c.Const(ENTRY_BLANK_MAGIC, c.Int32sb),
    "size" / c.Int32sb,
)

_index_unit: Any = c.Struct(
    "magic" / c.Const(ENTRY_MAGIC, c.Int32sb),
    "pos" / c.Int64sb,
    "size" / c.Int32sb,
    "index" / c.Int64sb,
    "term" / c.Int64sb,
)


def _magic(data: bytes) -> int | None:
    return int.from_bytes(data[:4], "big", signed=True) if len(data) == 8 else None


def _entry_follows(data: bytes) -> bool:
    return _magic(data) == ENTRY_MAGIC


def _has_blank(context: Any) -> bool:
    return (
        _magic(ahead(context["_io"])) == ENTRY_BLANK_MAGIC
        if context["_parsing"]
        else context.blank is not None
    )


def _blank_fills(context: Any) -> bool:
    return context.blank is None or context.blank.size == 8 + len(context.tail)


_log_file: Any = c.Struct(
    "entries" / repeat_while("entries", _entry, _entry_follows),
    "blank" / c.If(_has_blank, _blank),
    "tail" / c.GreedyBytes,
    c.Check(_blank_fills),
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
ENTRY_BLANK = Schema("DLedger blank", _blank, "DLG-5")
ENTRY_INDEX_UNIT = Schema("DLedger index unit", _index_unit, "DLG-6")
DLEDGER_LOG = Schema("commit-log file of DLedger mode", _log_file, "DLG-9")
DLEDGER_INDEX = Schema("entry-index file of DLedger mode", _index_file, "DLG-6")
