"""The compiled loop of a commit-log scan: one pass over a record while its bytes are in the cache.

A record's frame is checked, its fields go to their columns, and its keys, unique key and tags to theirs. The loop stops
at what Python has to do: a topic that is new, text that is not well formed, a delay level that is more than plain digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar.kernels.compilation import inlined, jit, long
from rocket_columnar.kernels.log_records import DONE, FULL, LEFT, TOPIC, frame
from rocket_columnar.kernels.raw_bytes import (
    SLACK,
    address,
    byte,
    byte_hash,
    copy,
    fetch,
    find,
    high_marks,
    i32,
    i64,
    lowest,
    marks,
    until,
    word,
)
from rocket_columnar.kernels.utf8_text import text_hash, well_formed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SCHEDULED", "WANTED", "scan_columns"]


WANTED, SCHEDULED = 1, 2
"""Bits of a topic's kind: whether its records are rows, and whether it is that of delayed messages."""

_LINES: Final = 4  # of 64 bytes
_AFTER_BORN, _AFTER_STORE = 56, 72  # offsets from which on fields move with the hosts' lengths
_FOUR_BYTES: Final = np.uint64(0x000000FFFFFFFFFF)  # and the separator
_FIVE_BYTES: Final = np.uint64(0x0000FFFFFFFFFFFF)
_KEYS: Final = np.uint64(int.from_bytes(b"KEYS\1", "little"))
_TAGS: Final = np.uint64(int.from_bytes(b"TAGS\1", "little"))
_DELAY: Final = np.uint64(int.from_bytes(b"DELAY\1", "little"))
_UNIQ_KEY: Final = np.uint64(int.from_bytes(b"UNIQ_KEY", "little"))
_ONE: Final = np.uint64(1)


@inlined
def _pairs(at: int, end: int) -> Any:
    """Where the values of KEYS, UNIQ_KEY, TAGS and DELAY begin and end (0, 0 for none), and whether all is ASCII."""
    keys, keys_end, unique, unique_end = long(0), long(0), long(0), long(0)
    tags, tags_end, delay, delay_end = long(0), long(0), long(0), long(0)
    high = np.uint64(0)
    block = at
    while True:
        left = end - block
        ends = until(marks(block), left)  # the last pair ends with the properties
        tops = high_marks(block)
        high |= tops if left >= 64 else tops & ((_ONE << np.uint64(left)) - _ONE)
        while ends:
            pair_end = block + lowest(ends)
            ends &= ends - _ONE
            if pair_end - at > 5:
                name = word(at)
                if name & _FOUR_BYTES == _KEYS:
                    keys, keys_end = at + 5, pair_end
                elif name & _FOUR_BYTES == _TAGS:
                    tags, tags_end = at + 5, pair_end
                elif name == _UNIQ_KEY and pair_end - at > 9 and byte(at + 8) == 1:
                    unique, unique_end = at + 9, pair_end
                elif name & _FIVE_BYTES == _DELAY and pair_end - at > 6:
                    delay, delay_end = at + 6, pair_end
            at = pair_end + 1
        if left < 64:
            break
        block += 64
    return high == 0, keys, keys_end, unique, unique_end, tags, tags_end, delay, delay_end


@inlined
def _level(at: int, end: int) -> Any:
    """A delay level of plain digits, or -1."""
    if end - at > 9:
        return long(-1)
    level = long(0)
    for j in range(at, end):
        digit = byte(j) - 48
        if not 0 <= digit <= 9:
            return long(-1)
        level = level * 10 + digit
    return level


@inlined
def _put(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    valid: NDArray[np.bool_],
    row: int,
    at: int,
    end: int,
) -> None:
    """One more text of a column; null where it is empty."""
    begin = long(offsets[np.uint64(row)])
    copy(address(data) + begin, at, end - at)
    offsets[np.uint64(row + 1)] = begin + end - at
    valid[np.uint64(row)] = end > at


@inlined
def _has_room(data: NDArray[np.uint8], offsets: NDArray[np.int32], row: int, length: int) -> Any:
    return long(offsets[np.uint64(row)]) + length + SLACK <= len(data)


@jit
def scan_columns(  # noqa: C901, PLR0912, PLR0915 - one pass over the bytes
    window: NDArray[np.uint8],
    span: tuple[int, int, int],
    room: int,
    position: int,
    topics: tuple[Any, ...],
    limits: NDArray[np.int64],
    seconds: NDArray[np.int64],
    columns: tuple[Any, ...],
    texts: tuple[Any, ...],
    row: int,
    rows: int,
    info: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Records that begin in a span of the window, and lie whole in it, to rows.

    On TOPIC the new topic begins at `info[0]` and is `info[1]` bytes long. On LEFT the row lacks its texts and tags code:
    its properties begin at `info[0]` and are `info[1]` bytes long, its topic has number `info[2]`, the store timestamp is
    `info[3]`, and the record has `info[4]` bytes.

    Args:
        window: bytes of a file.
        span: where in it the first record begins, where the last one begins at most, and where the bytes end.
        room: bytes that the file has from the first record on.
        position: the first record's physical offset.
        topics: table, pool and bounds of the topics that are known (see `find`), their numbers in the column, and
            their kinds.
        limits: store timestamps from [0] to [1] and physical offsets from [2] to below [3] are rows.
        seconds: of each delay level.
        columns: where the fields of 64 bits lie and their masks; where those of 32 lie; the columns of 64 and of 32
            bits, of topics, of tags codes, and the places of each record's parts. Those not wanted have no rows.
        texts: bytes, offsets and validity of KEYS, of UNIQ_KEY and of TAGS.
        row: the next row to fill.
        rows: that there is room for.
        info: gets what Python has to look at.

    Returns:
        Why it stopped, where the next record begins, and the next row.
    """
    base = address(window)
    at, stop, size = base + span[0], base + span[1], base + span[2]
    table, pool, bounds, numbers, kinds = topics
    known = address(table), len(table) - 1, address(pool), address(bounds)
    wide, masks, narrow, longs, ints, topic_numbers, codes, spans = columns
    keys_data, keys_offsets, keys_valid = texts[0:3]
    unique_data, unique_offsets, unique_valid = texts[3:6]
    tags_data, tags_offsets, tags_valid = texts[6:9]
    with_keys, with_unique, with_tags = len(keys_valid) > 0, len(unique_valid) > 0, len(tags_valid) > 0
    with_codes = len(codes) > 0
    with_texts = with_keys or with_unique or with_tags or with_codes
    records, why = long(0), DONE
    while at < stop:
        total, after_born, body, body_length, topic, topic_length, properties = frame(
            at, size, room, position
        )
        if total == 0:
            break
        end = at + total
        behind_next = end + i32(end)
        for line in range(_LINES):  # where the next record's topic and properties are to be looked for
            fetch(behind_next - 64 * line)
        number, _ = find(topic, topic_length, *known)
        if number < 0:
            info[0], info[1] = topic - base, topic_length
            why = TOPIC
            break
        kind = kinds[np.uint64(number)]
        timestamp = i64(after_born)
        if kind & WANTED and limits[0] <= timestamp <= limits[1] and limits[2] <= position < limits[3]:
            length = end - properties
            if (
                row >= rows
                or (with_keys and not _has_room(keys_data, keys_offsets, row, length))
                or (with_unique and not _has_room(unique_data, unique_offsets, row, length))
                or (with_tags and not _has_room(tags_data, tags_offsets, row, length))
            ):
                why = FULL
                break
            i = np.uint64(row)
            born, both = after_born - _AFTER_BORN, body - _AFTER_STORE - 16
            for k in range(len(wide)):
                field = wide[k]
                place = field + (both if field >= _AFTER_STORE else born if field >= _AFTER_BORN else at)
                longs[k, i] = i64(place) & masks[k]
            for k in range(len(narrow)):
                field = narrow[k]
                ints[k, i] = i32(field + (both if field >= _AFTER_STORE else at))
            if len(topic_numbers):
                topic_numbers[i] = numbers[np.uint64(number)]
            if spans.shape[1]:
                spans[0, i] = at - base
                spans[1, i] = after_born - base
                spans[2, i] = body - base
                spans[3, i] = body_length
                spans[4, i] = properties - base
                spans[5, i] = length
            if with_texts:
                plain, keys, keys_end, unique, unique_end, tags, tags_end, delay, delay_end = _pairs(
                    properties, end
                )
                level = long(0)
                if kind & SCHEDULED:
                    level = _level(delay, delay_end)
                if level < 0 or not (plain or well_formed(properties, end)):
                    info[0], info[1], info[2], info[3] = properties - base, length, number, timestamp
                    info[4] = total
                    why = LEFT
                    break
                if with_keys:
                    _put(keys_data, keys_offsets, keys_valid, row, keys, keys_end)
                if with_unique:
                    _put(unique_data, unique_offsets, unique_valid, row, unique, unique_end)
                if with_tags:
                    _put(tags_data, tags_offsets, tags_valid, row, tags, tags_end)
                if with_codes:
                    if level > 0:
                        codes[i] = timestamp + 1000 * seconds[min(level, len(seconds)) - 1]
                    elif plain:
                        codes[i] = np.int32(byte_hash(tags, tags_end, 0)[0])
                    else:
                        codes[i] = np.int32(text_hash(tags, tags_end, long(0)))
            row += 1
        records += 1
        at = end
        room -= total
        position += total
    info[5] = records
    return why, at - base, row
