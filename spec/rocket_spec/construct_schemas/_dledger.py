"""The commit log in DLedger mode: entries that each hold a record, the blank that ends a file, DLedger's own index."""

from typing import Any

from rocket_spec.construct_schemas._commit_log import RECORD
from rocket_spec.construct_schemas._library import c, len_, struct_of, this
from rocket_spec.construct_schemas._repeat import has_magic, log_file, repeat_while
from rocket_spec.construct_schemas._schema import Schema
from rocket_spec.layout import ENTRY as ENTRY_LAYOUT
from rocket_spec.layout import ENTRY_BLANK as BLANK_LAYOUT
from rocket_spec.layout import ENTRY_BLANK_MAGIC, ENTRY_MAGIC
from rocket_spec.layout import ENTRY_INDEX_UNIT as INDEX_UNIT_LAYOUT


def _body_size(context: Any) -> int:
    """Length of an entry's body, from the body where one is built."""
    return len(RECORD.construct.build(context.body))


def _entry_size(context: Any) -> int:
    return ENTRY_LAYOUT.size + _body_size(context)


_MAGIC: Any = c.Const(ENTRY_MAGIC, c.Int32sb)
_entry: Any = struct_of(
    ENTRY_LAYOUT,
    c.Check(this.size == ENTRY_LAYOUT.size + this.body_size),
    "body" / RECORD.construct,
    c.Check(this.body_size == this.body.total_size),
    magic=_MAGIC,
    size=c.Rebuild(c.Int32sb, _entry_size),
    channel=c.Default(c.Int32sb, 0),
    chain_crc=c.Default(c.Int32sb, 0),
    body_crc=c.Default(c.Int32sb, 0),
    body_size=c.Rebuild(c.Int32sb, _body_size),
)
_blank: Any = struct_of(BLANK_LAYOUT, magic=c.Const(ENTRY_BLANK_MAGIC, c.Int32sb))
_index_unit: Any = struct_of(INDEX_UNIT_LAYOUT, magic=_MAGIC)
_entry_follows = has_magic((ENTRY_MAGIC,), 0)
_log_file: Any = log_file("entries", _entry, _entry_follows, _blank, has_magic((ENTRY_BLANK_MAGIC,), 0))


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
