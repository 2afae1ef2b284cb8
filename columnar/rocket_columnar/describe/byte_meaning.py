"""Explains one byte of a file: structure, number, field, value and clause, from the layout tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.later_layouts import LATER_CHECKPOINT, LONG_TOPIC_RECORD
from rocket_spec.layout import (
    BLANK,
    BLANK_MAGIC,
    CHECKPOINT,
    ENTRY,
    ENTRY_BLANK,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    LONG_TOPIC_MAGIC,
    PRE_BLANK_SIZE,
    QUEUE_UNIT,
    RECORD,
    Field,
    Geometry,
    Layout,
)
from rocket_spec.printable import counted

from rocket_columnar.decode import decode
from rocket_columnar.formats import LONG_MIN, decode_utf8, host_text, is_blank, iso, to_i64
from rocket_columnar.index import IndexHeader, read_header
from rocket_columnar.store import Reader, StoreFile, entry_position, open_reader

_PREVIEW: Final = 60
_FLAGS: Final = {1: "compressed", 2: "multi-tags", 16: "born host IPv6", 32: "store host IPv6"}
_TRANSACTIONS: Final = {0: "no transaction", 4: "prepared", 8: "commit", 12: "rollback"}


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One field of a structure in the file.

    Attributes:
        type: "i8", "i16", "i32", "i64" or "bytes".
        java: its name in 4.9.3's source.
        offset: byte offset of its first byte in the file.
        size: its length in bytes.
        value: the number, or for bytes their text.
        meaning: the value in words; empty if it needs no explanation.
    """

    name: str
    type: str
    java: str
    offset: int
    size: int
    value: int | str
    meaning: str
    doc: str
    clause: str


@dataclass(frozen=True, slots=True)
class ByteMeaning:
    """The structure that a byte belongs to.

    Attributes:
        offset: byte offset in the file.
        byte: its value, 0 .. 255.
        structure: name of the layout, "index entry", or a description of the bytes.
        number: number of the structure in the file if it has one, as an entry does.
        begin: byte offset of its first byte.
        end: byte offset after its last byte.
        remark: on the structure as a whole; may be empty.
        field: index in `fields` of the one that holds the byte; None in padding.
    """

    offset: int
    byte: int
    structure: str
    number: int | None
    begin: int
    end: int
    remark: str
    fields: tuple[FieldValue, ...]
    field: int | None


@dataclass(frozen=True, slots=True)
class _Part:
    """A structure before its fields are read; `layout` is None for padding."""

    structure: str
    number: int | None
    begin: int
    end: int
    remark: str = ""
    layout: Layout | None = None


def byte_at(
    file: StoreFile,
    offset: int,
    geometry: Geometry | None = None,
    *,
    on_progress: Callable[[int, int], None] | None = None,
) -> ByteMeaning:
    """Explains the byte at `offset` of a file, counted from 0; an index file needs its geometry.

    `on_progress` is called with the bytes of a log or ext file that were read, and those of the file. UsageError for an offset outside the
    file, FormatError for one that cannot be decoded up to there.
    """
    with open_reader(file.path) as reader:
        if not 0 <= offset < reader.size:
            raise UsageError(f"{file.path}: no byte {offset:,} in a file of {reader.size:,} bytes")
        header: IndexHeader | None = None
        if file.kind == "index":
            if geometry is None:
                raise UsageError(f"{file.path}: the geometry of an index file is needed")
            header = read_header(reader)
            part = _in_index(offset, reader.size, geometry, header)
        elif file.kind == "queue":
            part = _in_queue(reader, offset, file.base_offset)
        elif file.kind == "checkpoint":
            part = _in_checkpoint(reader, offset)
        else:
            part = _in_units(file, reader, offset, on_progress)
        fields = tuple(_fields(reader, part, header, geometry))
        inside = (
            place for place, field in enumerate(fields) if field.offset <= offset < field.offset + field.size
        )
        byte = int(reader.read(offset, 1)[0])
        return ByteMeaning(
            offset,
            byte,
            *(part.structure, part.number, part.begin, part.end, part.remark),
            fields,
            next(inside, None),
        )


def _in_index(offset: int, size: int, geometry: Geometry, header: IndexHeader) -> _Part:
    if offset < INDEX_HEADER.size:
        return _Part(INDEX_HEADER.name, None, 0, INDEX_HEADER.size, layout=INDEX_HEADER)
    if offset < geometry.entries_offset:
        number = (offset - INDEX_HEADER.size) // INDEX_SLOT.size
        begin = INDEX_HEADER.size + number * INDEX_SLOT.size
        return _Part(INDEX_SLOT.name, number, begin, begin + INDEX_SLOT.size, layout=INDEX_SLOT)
    number = (offset - geometry.entries_offset) // INDEX_ENTRY.size
    if number >= geometry.index_num:
        return _Part(
            "bytes after the last entry", None, geometry.file_size, size, "a broker does not map them"
        )
    begin = geometry.entries_offset + number * INDEX_ENTRY.size
    remark = ""
    if number == 0:
        remark = "entry 0 is never written"
    elif number >= header.index_count:
        remark = f"not in use: the index count is {header.index_count:,}"
    return _Part(INDEX_ENTRY.name, number, begin, begin + INDEX_ENTRY.size, remark, INDEX_ENTRY)


def _in_queue(reader: Reader, offset: int, base: int) -> _Part:
    number = offset // QUEUE_UNIT.size
    begin = number * QUEUE_UNIT.size
    if begin + QUEUE_UNIT.size > reader.size:
        return _Part("bytes that are not a whole unit", None, begin, reader.size)
    phy_offset, size, tags_code = _ints(reader, begin, QUEUE_UNIT)
    remark = f"logical offset {(base + begin) // QUEUE_UNIT.size:,}"
    if (phy_offset, size, tags_code) == (0, PRE_BLANK_SIZE, 0):
        remark += "; a pre-blank unit, which has no message (CQ-UNIT-2)"
    elif phy_offset < 0 or size <= 0:
        remark += "; not written: offset must be >= 0 and size > 0"
    return _Part(QUEUE_UNIT.name, number, begin, begin + QUEUE_UNIT.size, remark, QUEUE_UNIT)


def _in_checkpoint(reader: Reader, offset: int) -> _Part:
    layout = CHECKPOINT
    if reader.size >= LATER_CHECKPOINT.size and reader.read(CHECKPOINT.size, 24).any():
        layout = LATER_CHECKPOINT
    if offset < layout.size <= reader.size:
        return _Part(layout.name, None, 0, layout.size, layout=layout)
    return _Part("padding", None, min(layout.size, offset), reader.size, "4.9.3 does not use it (CKP-2)")


def _in_units(
    file: StoreFile, reader: Reader, offset: int, on_progress: Callable[[int, int], None] | None
) -> _Part:
    """A record or ext unit: they vary in length, so the file is walked from its start."""
    table, column, layout = "commit_log", "phy_offset", RECORD
    base, number, end = file.base_offset, 0, 0
    if file.kind == "ext":
        table, column, layout = "consume_queue_ext", "address", EXT_UNIT
        base = to_i64(base + LONG_MIN)
    batches = decode(
        [file],
        tables=[table],
        columns=[column, "size"],
        on_gap=lambda _: None,
        on_progress=on_progress,
    )
    for _, batch in batches:
        rows: list[tuple[int, int]] = [(row[column], row["size"]) for row in batch.to_pylist()]
        for address, size in rows:
            begin = to_i64(address - base)
            if begin > offset:
                return _before_record(file, reader, offset, end, begin)
            end = begin + size
            if offset < end:
                if layout is RECORD and _ints(reader, begin, RECORD)[1] == LONG_TOPIC_MAGIC:
                    layout = LONG_TOPIC_RECORD
                return _Part(layout.name, number, begin, end, layout=layout)
            number += 1
    if file.kind == "log" and reader.size - end >= BLANK.size:
        head = reader.read(end, BLANK.size).tobytes()
        if is_blank(head, 0, reader.size - end):
            remark = f"fills the file to its end; records continue in the next one; {_count(reader, end)}"
            layout = BLANK if int.from_bytes(head[4:], signed=True) == BLANK_MAGIC else ENTRY_BLANK
            return _Part(layout.name, None, end, reader.size, remark, layout)
    return _Part("space after the last one", None, end, reader.size, _count(reader, end))


def _before_record(file: StoreFile, reader: Reader, offset: int, end: int, begin: int) -> _Part:
    """Bytes between the end of a record and the beginning of the next one: in DLedger mode the next one's header."""
    header = begin - ENTRY.size
    if file.kind == "log" and header >= end:
        head = reader.read(header, ENTRY.size + BLANK.size).tobytes()
        if entry_position(head) == file.base_offset + header:
            if offset >= header:
                fixed = Layout(ENTRY.name, ENTRY.fixed)
                return _Part(ENTRY.name, None, header, begin, "the header of the record that follows", fixed)
            begin = header
    return _Part("bytes that are not a whole record", None, end, begin)


def _count(reader: Reader, begin: int) -> str:
    return f"{reader.size - begin:,} bytes"


def _ints(reader: Reader, begin: int, layout: Layout) -> list[int]:
    """The values of the leading fixed fields."""
    raw = reader.read(begin, layout.size).tobytes()
    values: list[int] = []
    for field in layout.fixed:
        start = field.offset or 0
        values.append(int.from_bytes(raw[start : start + (field.size or 0)], signed=True))
    return values


def _fields(
    reader: Reader, part: _Part, header: IndexHeader | None, geometry: Geometry | None
) -> Iterator[FieldValue]:
    """Each field with its place, in file order; the length of a varying one is in the number before it."""
    if part.layout is None:
        return
    at = part.begin
    known: dict[str, int] = {}
    for field in part.layout.fields:
        size = field.size if field.size is not None else _length(field.name, known)
        if at > part.end:
            raise MalformedError(
                file=reader.name,
                offset=part.begin,
                found=f"a {part.structure} that changes",
                expected="one at rest",
            )
        raw = reader.read(at, min(size, part.end - at)).tobytes()
        value: int | str
        if field.type == "bytes":
            value = _text(field.name, raw)
            meaning = ""
        else:
            value = known[field.name] = int.from_bytes(raw, signed=True)
            meaning = _meaning(field, known, part, header, geometry)
        yield FieldValue(
            field.name, field.type, field.java, at, len(raw), value, meaning, field.doc, field.clause
        )
        at += size


def _length(name: str, known: dict[str, int]) -> int:
    if name in ("born_host", "store_host"):
        return 20 if known["sys_flag"] & (16 if name == "born_host" else 32) else 8
    return max(known["bit_map_size" if name == "bit_map" else f"{name}_length"], 0)


def _text(name: str, raw: bytes) -> str:
    if name in ("born_host", "store_host"):
        return host_text(raw)
    if name == "bit_map":
        return raw[:_PREVIEW].hex()
    text = decode_utf8(raw[: 4 * _PREVIEW])
    if name == "properties":
        return text.replace("\x01", "=").replace("\x02", " ")
    return text if len(text) <= _PREVIEW else text[:_PREVIEW] + "..."


def _meaning(
    field: Field, known: dict[str, int], part: _Part, header: IndexHeader | None, geometry: Geometry | None
) -> str:
    """A number in words."""
    value, name = known[field.name], field.name
    if name.endswith("_timestamp"):
        return iso(value)
    if name in ("magic", "body_crc"):
        return f"0x{value & 0xFFFFFFFF:08X}"
    if name == "sys_flag":
        words = [word for bit, word in _FLAGS.items() if value & bit]
        return ", ".join([*words, _TRANSACTIONS[value & 12]])
    if name == "index_count":
        return counted(max(value - 1, 0), "entry", "entries")
    if name == "entry":
        return "empty" if value == 0 else f"the chain begins with entry {value:,}"
    if name == "key_hash" and geometry is not None and value >= 0:
        return f"slot {value % geometry.hash_slot_num:,}"
    if name == "time_diff" and header is not None:
        return f"placed at {iso(to_i64(header.begin_timestamp + 1000 * value))}"
    if name == "prev_entry":
        return "the chain ends here" if value == 0 else ""
    if name == "size" and part.layout is QUEUE_UNIT and value == PRE_BLANK_SIZE:
        return "pre-blank"
    return ""
