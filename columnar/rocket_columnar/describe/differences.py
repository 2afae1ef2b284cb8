"""Compares two files of one kind, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import (
    CHECKPOINT,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    RECORD,
    Geometry,
    Layout,
)
from rocket_spec.tables import TABLES

from rocket_columnar.decode import decode
from rocket_columnar.formats import LONG_MIN, body_begin
from rocket_columnar.index import GeometryGuess, resolve_some
from rocket_columnar.store import StoreFile, find_files, open_reader

if TYPE_CHECKING:
    import pyarrow as pa

    _Progress = Callable[[int, int], None] | None
    _Row = dict[str, Any]

_TABLES: Final = {
    "queue": ("consume_queue", "logical_offset"),
    "ext": ("consume_queue_ext", "address"),
    "log": ("commit_log", "phy_offset"),
    "checkpoint": ("checkpoint", None),
}
"""The table of each kind but the index, and the column with the place of a row; of other kinds only bytes are compared."""

_DERIVED: Final = {
    "entry": {"file", "slot", "store_timestamp"},
    "header": {"file", "hash_slot_num", "index_num"},
    "unit": {"file", "topic", "queue_id", "pre_blank"},
    "record": {"file", "crc_ok", "keys", "uniq_key", "tags", "tags_code"},
}
"""Columns that no field of their own stands for."""
_LAYOUTS: Final[dict[str, Layout]] = {
    "header": INDEX_HEADER,
    "entry": INDEX_ENTRY,
    "unit": QUEUE_UNIT,
    "record": RECORD,
    "checkpoint": CHECKPOINT,
}
_ABSENT: Final = "absent"
_BORN_V6: Final = 16  # of sys_flag (LOG-REC-2)


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs.

    Attributes:
        part: "size", "header", "slot", "entry", "unit", "record" or "checkpoint"; "byte" if only
            bytes outside of all fields differ: the first of them.
        number: which slot or entry, or the logical offset, address or physical offset; None if there is one only.
        field: name of the column.
        offset: byte in the first file, or where the row begins in the one that has it; None if the field's place varies.
        first: value in the first file; None if it lacks the row.
        second: value in the second file.
    """

    part: str
    number: int | None
    field: str
    offset: int | None
    first: Any
    second: Any


def diff(
    first: Path | str,
    second: Path | str,
    *,
    kind: str | None = None,
    geometry: Geometry | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Difference]:
    """The fields in which two files differ, in file order; topic, queue and file name come from the path and are ignored.

    Args:
        first: a file.
        second: another.
        kind: kind of both files; by default it follows from path and content.
        geometry: of two index files; by default inferred from both together.
        on_progress: called with the bytes of the first file that were compared, and those of the file.

    Raises:
        UsageError: a directory, files of different kinds, or a geometry that cannot be inferred.
        MalformedError: bytes that cannot be decoded.
        OSError: a file cannot be read.
    """
    pair = _pair(Path(first), Path(second), kind)
    if pair[0].kind != pair[1].kind:
        raise UsageError(f"{first} is of kind {pair[0].kind}, {second} of kind {pair[1].kind}")
    found = _geometry(pair, geometry) if pair[0].kind == "index" else None
    return _differences(pair, found, on_progress)


def _geometry(pair: tuple[StoreFile, StoreFile], given: Geometry | None) -> Geometry:
    """The geometry of both; if it cannot be inferred from one, that of the other."""
    fitting = [file for file in pair if given is None or file.size() == given.file_size]
    return resolve_some(fitting or pair, given).geometry


def _pair(first: Path, second: Path, kind: str | None) -> tuple[StoreFile, StoreFile]:
    """Both files; if the kind of only one can be inferred, the other is taken as the same."""
    found: list[StoreFile | UsageError] = []
    for path in (first, second):
        try:
            found.append(_one(path, kind))
        except UsageError as error:
            found.append(error)
    kinds = [file.kind for file in found if not isinstance(file, UsageError)]
    one, other = (
        _one(path, kinds[0] if kinds and isinstance(file, UsageError) else kind)
        for path, file in zip((first, second), found, strict=True)
    )
    return one, other


def _one(path: Path, kind: str | None) -> StoreFile:
    if path.is_dir():
        raise UsageError(
            f"{path}: a directory; diff compares two files or two stores (for other directories, compare the digests)"
        )
    (file,) = find_files(path, kind)
    return file


def _differences(
    pair: tuple[StoreFile, StoreFile], geometry: Geometry | None, on_progress: _Progress
) -> Iterator[Difference]:
    """The fields that differ; if none does but bytes do, the first such byte."""
    same = True
    for difference in _fields(pair, geometry, on_progress):
        same = False
        yield difference
    if same:
        yield from _first_byte(pair)


def _first_byte(pair: tuple[StoreFile, StoreFile]) -> Iterator[Difference]:
    with open_reader(pair[0].path) as one, open_reader(pair[1].path) as other:
        for start, count in one.held_by_either(other, 0, min(one.size, other.size)):
            first, second = (reader.read(start, count) for reader in (one, other))
            places = np.flatnonzero(first != second)
            if places.size:
                at = int(places[0])
                yield Difference("byte", None, "byte", start + at, int(first[at]), int(second[at]))
                return


def _fields(
    pair: tuple[StoreFile, StoreFile], geometry: Geometry | None, on_progress: _Progress
) -> Iterator[Difference]:
    sizes = [file.path.stat().st_size for file in pair]
    if sizes[0] != sizes[1]:
        yield Difference("size", None, "size", None, *sizes)
    if geometry is not None:
        yield from _rows(pair, "index_headers", "header", None, geometry)
        yield from _slots(pair, geometry)
        yield from _rows(pair, "index_entries", "entry", "entry", geometry, on_progress)
    elif pair[0].kind in _TABLES:
        table, key = _TABLES[pair[0].kind]
        part = {"queue": "unit", "ext": "unit", "log": "record"}.get(pair[0].kind, "checkpoint")
        yield from _rows(pair, table, part, key, None, on_progress)


def _slots(pair: tuple[StoreFile, StoreFile], geometry: Geometry) -> Iterator[Difference]:
    with open_reader(pair[0].path) as one, open_reader(pair[1].path) as other:
        begin = INDEX_HEADER.size
        there = (min(one.size, other.size) - begin) // INDEX_SLOT.size
        end = begin + INDEX_SLOT.size * min(geometry.hash_slot_num, there)
        for offset, count in one.held_by_either(other, begin, end):
            first, second = (reader.read(offset, count).view(">i4") for reader in (one, other))
            for number in np.flatnonzero(first != second).tolist():
                yield Difference(
                    "slot",
                    (offset - begin) // INDEX_SLOT.size + number,
                    "entry",
                    offset + INDEX_SLOT.size * number,
                    int(first[number]),
                    int(second[number]),
                )


def _batches(
    file: StoreFile, table: str, names: list[str], geometry: Geometry | None, on_progress: _Progress
) -> Iterator[pa.RecordBatch]:
    known = None if geometry is None else {file: GeometryGuess(geometry, "given", 1, "of the two files")}
    decoded = decode(
        [file],
        tables=[table],
        columns=names,
        geometry=known,
        on_gap=lambda _: None,  # what does not verify has no fields
        on_progress=on_progress,
    )
    return (batch for _, batch in decoded if batch.num_rows)


def _pairs(
    one: Iterator[pa.RecordBatch], other: Iterator[pa.RecordBatch], key: str | None
) -> Iterator[tuple[_Row | None, _Row | None]]:
    """Rows with the same key, without those of equal batches; None for a row that a file lacks."""
    first, second = next(one, None), next(other, None)
    while first is not None and second is not None and _same_keys(first, second, key):
        if not first.equals(second):
            yield from zip(first.to_pylist(), second.to_pylist(), strict=True)
        first, second = next(one, None), next(other, None)
    if key is None:
        return
    rows = [
        (row for batch in chain([head] if head is not None else [], rest) for row in batch.to_pylist())
        for head, rest in ((first, one), (second, other))
    ]
    row, twin = (next(side, None) for side in rows)
    while row is not None or twin is not None:
        if twin is None or (row is not None and row[key] < twin[key]):
            yield row, None
            row = next(rows[0], None)
        elif row is None or twin[key] < row[key]:
            yield None, twin
            twin = next(rows[1], None)
        else:
            yield row, twin
            row, twin = (next(side, None) for side in rows)


def _same_keys(first: pa.RecordBatch, second: pa.RecordBatch, key: str | None) -> bool:
    same: bool = key is None or first.column(key).equals(second.column(key))
    return same


def _rows(
    pair: tuple[StoreFile, StoreFile],
    table: str,
    part: str,
    key: str | None,
    geometry: Geometry | None,
    on_progress: _Progress = None,
) -> Iterator[Difference]:
    """Compares rows with the same key; a row that only one file has is one difference."""
    names = [column.name for column in TABLES[table] if column.name not in _DERIVED.get(part, {"file"})]
    one, other = (
        _batches(file, table, names, geometry, report)
        for file, report in zip(pair, (on_progress, None), strict=True)
    )
    base = pair[0].base_offset
    for first, second in _pairs(one, other, key):
        row = first or second or {}
        at = None if key is None else int(row[key])
        if first is None or second is None:
            shown = (_ABSENT if side is None else "there" for side in (first, second))
            yield Difference(part, at, part, _start(part, at, base, geometry), *shown)
            continue
        for name in names:
            if name != key and first[name] != second[name]:
                offset = _offset(part, at, name, base, geometry)
                if part == "record" and offset is None and at is not None:
                    offset = _varying(first, name, at - base)
                yield Difference(part, at, name, offset, first[name], second[name])


def _start(part: str, number: int | None, base: int, geometry: Geometry | None) -> int | None:
    """Byte of a file at which a row begins; 0 for parts that a file has only one of."""
    if number is None:
        return 0
    if part == "entry":
        return None if geometry is None else geometry.entries_offset + INDEX_ENTRY.size * number
    if part == "record":
        return number - base
    start = number - LONG_MIN - base if number < LONG_MIN >> 1 else number * QUEUE_UNIT.size - base
    return start if start >= 0 else None


def _varying(row: _Row, field: str, start: int) -> int | None:
    """Byte of a record's field that is after its hosts, body or topic; None for any other column."""
    born = start + RECORD.offset_of("born_timestamp") + 8
    body = start + body_begin(row["sys_flag"])
    stored = born + body_begin(row["sys_flag"] & _BORN_V6) - body_begin(0) + 8
    name = (row["topic"] or "").encode()
    topic = body + len(row["body"] or b"") + (1 if len(name) < 1 << 7 else 2)
    return {
        "born_host": born,
        "store_timestamp": stored,
        "store_host": stored + 8,
        "reconsume_times": body - 16,
        "prepared_transaction_offset": body - 12,
        "body": body,
        "topic": topic,
        "properties": topic + len(name) + 2,
    }.get(field)


def _offset(part: str, number: int | None, field: str, base: int, geometry: Geometry | None) -> int | None:
    """Byte of a field in its file, if it has a fixed place."""
    layout = _LAYOUTS[part]
    if part == "unit" and number is not None and number < LONG_MIN >> 1:
        layout = EXT_UNIT  # an ext unit, whose number is its address
    start = _start(part, number, base, geometry)
    field = "total_size" if (part, field) == ("record", "size") else field
    try:
        return None if start is None else start + layout.offset_of(field)
    except KeyError:
        return None
