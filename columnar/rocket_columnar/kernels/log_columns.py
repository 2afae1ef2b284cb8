"""The compiled loop of a commit-log scan: one pass over a record while its bytes are in the cache.

A record's frame is checked, its fields go to their columns, and its keys, unique key and tags to theirs. The loop stops
at what Python has to do: a topic that is new, text that is not well formed, a delay level that is more than plain digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.log_records import DONE, FULL, LEFT, TOPIC, Piece, StringTable, frame, places_of
from rocket_columnar.kernels.property_values import delay_level, property_values
from rocket_columnar.kernels.raw_bytes import (
    SLACK,
    address,
    byte_hash,
    copy,
    fetch,
    find,
    i32,
    i64,
)
from rocket_columnar.kernels.utf8_text import text_hash, well_formed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "SCHEDULED",
    "WANTED",
    "FieldColumns",
    "Limits",
    "LogColumns",
    "RowSpans",
    "TextColumn",
    "TopicKinds",
    "scan_columns",
]


WANTED, SCHEDULED = 1, 2
"""Bits of a topic's kind: whether its records are rows, and whether it is that of delayed messages."""

_LINES: Final = 4  # of 64 bytes
_AFTER_BORN, _AFTER_STORE = 56, 72  # offsets from which on fields move with the hosts' lengths


class TopicKinds(NamedTuple):
    """The topics met so far.

    Attributes:
        strings: their bytes.
        numbers: of each its number in the column.
        kinds: of each the bits WANTED and SCHEDULED.
        delays: seconds of each delay level.
    """

    strings: StringTable
    numbers: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    delays: NDArray[np.int64]


class Limits(NamedTuple):
    """The records that become rows: those stored from `first_time` to `last_time`, ms, and from `begin` to before `end`."""

    first_time: int
    last_time: int
    begin: int
    end: int


class FieldColumns(NamedTuple):
    """Columns of numbers.

    Attributes:
        places: where each field is in a record with IPv4 hosts.
        masks: the bits of the eight bytes there that count; none for columns of 32 bits.
        values: a row for each column.
    """

    places: NDArray[np.int64]
    masks: NDArray[np.int64]
    values: NDArray[Any]


class TextColumn(NamedTuple):
    """A column of texts: bytes, offsets of the rows, and which are not null; without rows if it is not wanted."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    valid: NDArray[np.bool_]


class RowSpans(NamedTuple):
    """Where the parts of each row's record are in the window, for columns made later; without rows if none are.

    Attributes:
        start: of the record.
        after_born: of the store timestamp.
        body: of the body.
        body_length: in bytes.
        properties: of the properties.
        length: of the properties, in bytes.
    """

    start: NDArray[np.int32]
    after_born: NDArray[np.int32]
    body: NDArray[np.int32]
    body_length: NDArray[np.int32]
    properties: NDArray[np.int32]
    length: NDArray[np.int32]


class LogColumns(NamedTuple):
    """The columns that a scan fills; those that are not wanted have no rows.

    Attributes:
        capacity: rows that there is room for.
        wide: columns of 64 bits.
        narrow: columns of 32 bits.
        topics: numbers of topics.
        codes: tags codes.
        keys: KEYS.
        unique: UNIQ_KEY.
        tags: TAGS.
        spans: where the parts of the rows' records are.
    """

    capacity: int
    wide: FieldColumns
    narrow: FieldColumns
    topics: NDArray[np.int32]
    codes: NDArray[np.int64]
    keys: TextColumn
    unique: TextColumn
    tags: TextColumn
    spans: RowSpans


@inlined
def _put(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    valid: NDArray[np.bool_],
    row: int,
    at: int,
    end: int,
) -> None:
    """One more text of a column; null if it is empty."""
    begin = long(offsets[np.uint64(row)])
    copy(address(data) + begin, at, end - at)
    offsets[np.uint64(row + 1)] = begin + end - at
    valid[np.uint64(row)] = end > at


@inlined
def _has_room(data: NDArray[np.uint8], offsets: NDArray[np.int32], row: int, length: int) -> Any:
    return long(offsets[np.uint64(row)]) + length + SLACK <= len(data)


@inlined
def _put_fields(columns: LogColumns, parts: Any, at: int, row: Any) -> None:
    """The fixed fields of one record."""
    born, both = parts.after_born - _AFTER_BORN, parts.body - _AFTER_STORE - 16
    wide, masks, longs = columns.wide.places, columns.wide.masks, columns.wide.values
    narrow, ints = columns.narrow.places, columns.narrow.values
    for k in range(len(wide)):
        field = wide[k]
        place = field + (both if field >= _AFTER_STORE else born if field >= _AFTER_BORN else at)
        longs[k, row] = i64(place) & masks[k]
    for k in range(len(narrow)):
        field = narrow[k]
        ints[k, row] = i32(field + (both if field >= _AFTER_STORE else at))


@inlined
def _put_spans(spans: RowSpans, parts: Any, record: Any, row: Any) -> None:
    """Where the parts of one record are; `record` is its begin, its end and the window's address."""
    at, end, base = record
    spans.start[row] = at - base
    spans.after_born[row] = parts.after_born - base
    spans.body[row] = parts.body - base
    spans.body_length[row] = parts.body_length
    spans.properties[row] = parts.properties - base
    spans.length[row] = end - parts.properties


@inlined
def _tags_hash(values: Any) -> Any:
    """`String.hashCode` of TAGS."""
    if values.plain:
        return np.int32(byte_hash(values.tags, values.tags_end, 0)[0])
    return np.int32(text_hash(values.tags, values.tags_end, long(0)))


@jit
def scan_columns(  # noqa: C901, PLR0912, PLR0915 - with texts put by parts that take whole columns it needs twice the time
    piece: Piece,
    topics: TopicKinds,
    limits: Limits,
    columns: LogColumns,
    row: int,
    stop: NDArray[np.void],
) -> tuple[int, int, int]:
    """Makes rows of the records that begin in a piece of the log and end in its window.

    Args:
        piece: of a file.
        topics: the topics met so far.
        limits: which records become rows.
        columns: to fill.
        row: the next row to fill.
        stop: of dtype STOP; tells Python what to do next.

    Returns:
        Why it stopped, where in the window the next record begins, and the next row.
    """
    base = address(piece.window)
    at, last, size = base + piece.start, base + piece.stop, base + piece.end
    room, position = piece.room, piece.position
    known, numbers, kinds, delays = places_of(topics.strings), topics.numbers, topics.kinds, topics.delays
    topic_numbers, codes, spans = columns.topics, columns.codes, columns.spans
    keys_data, keys_offsets, keys_valid = columns.keys
    unique_data, unique_offsets, unique_valid = columns.unique
    tags_data, tags_offsets, tags_valid = columns.tags
    with_keys, with_unique, with_tags = len(keys_valid) > 0, len(unique_valid) > 0, len(tags_valid) > 0
    with_codes, with_spans = len(codes) > 0, len(spans.start) > 0
    with_texts = with_keys or with_unique or with_tags or with_codes
    records, why = long(0), DONE
    while at < last:
        parts = frame(at, size, room, position)
        if parts.size == 0:
            break
        end = at + parts.size
        after_next = end + i32(end)
        for line in range(_LINES):  # the next record's topic and properties are probably there
            fetch(after_next - 64 * line)
        number, _ = find(parts.topic, parts.topic_length, *known)
        if number < 0:
            stop[0].topic, stop[0].length = parts.topic - base, parts.topic_length
            why = TOPIC
            break
        kind = kinds[np.uint64(number)]
        timestamp = i64(parts.after_born)
        if (
            kind & WANTED
            and limits.first_time <= timestamp <= limits.last_time
            and limits.begin <= position < limits.end
        ):
            length = end - parts.properties
            if (
                row >= columns.capacity
                or (with_keys and not _has_room(keys_data, keys_offsets, row, length))
                or (with_unique and not _has_room(unique_data, unique_offsets, row, length))
                or (with_tags and not _has_room(tags_data, tags_offsets, row, length))
            ):
                why = FULL
                break
            i = np.uint64(row)
            _put_fields(columns, parts, at, i)
            if len(topic_numbers):
                topic_numbers[i] = numbers[np.uint64(number)]
            if with_spans:
                _put_spans(spans, parts, (at, end, base), i)
            if with_texts:
                values = property_values(parts.properties, end)
                level = delay_level(values.delay, values.delay_end) if kind & SCHEDULED else long(0)
                if level < 0 or not (values.plain or well_formed(parts.properties, end)):
                    stop[0].properties, stop[0].length = parts.properties - base, length
                    stop[0].size, stop[0].number = parts.size, number
                    stop[0].store_timestamp = timestamp
                    why = LEFT
                    break
                if with_keys:
                    _put(keys_data, keys_offsets, keys_valid, row, values.keys, values.keys_end)
                if with_unique:
                    _put(unique_data, unique_offsets, unique_valid, row, values.unique, values.unique_end)
                if with_tags:
                    _put(tags_data, tags_offsets, tags_valid, row, values.tags, values.tags_end)
                if with_codes and level > 0:
                    codes[i] = timestamp + 1000 * delays[min(level, len(delays)) - 1]
                elif with_codes:
                    codes[i] = _tags_hash(values)
            row += 1
        records += 1
        at, room, position = end, room - parts.size, position + parts.size
    stop[0].records = records
    return why, at - base, row
