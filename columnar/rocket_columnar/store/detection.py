"""The kind of a file, inferred from its bytes alone.

No file but the commit log has a magic, so the rest follow from what a reader could rely on in each: lengths
that add up, offsets that are in a range that exists, zeros where nothing was written.
"""

import struct
from typing import Final

from rocket_spec.layout import (
    BLANK_MAGIC,
    CHECKPOINT_SIZE,
    ENTRY,
    ENTRY_MAGIC,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    RECORD_MAGICS,
)

from rocket_columnar.store.reader import Reader

_SAMPLE: Final = 4000  # bytes checked: a multiple of a queue unit
_OFFSET_LIMIT: Final = 1 << 56  # a store of 64 PiB; any text read as an offset is above
_TIMES: Final = range(1_262_304_000_000, 4_102_444_800_000)  # 2010 to 2100, in ms
_HEADER: Final = struct.Struct(INDEX_HEADER.struct_format)
_UNIT: Final = struct.Struct(QUEUE_UNIT.struct_format)
_EXT: Final = struct.Struct(EXT_UNIT.struct_format)
_ENTRY: Final = struct.Struct(ENTRY.struct_format)


def _is_log(head: bytes, size: int) -> bool:
    if size < 8:
        return False
    length, magic = struct.unpack_from(">ii", head)
    if magic in (*RECORD_MAGICS, BLANK_MAGIC):
        return bool(8 <= length <= size)
    return entry_position(head) is not None and bool(magic <= size)


def entry_position(head: bytes) -> int | None:
    """Position in the log of the DLedger entry at whose header some bytes begin (DLG-2), None without one."""
    if len(head) < _ENTRY.size + 8:
        return None
    magic, length, _, _, position, _, _, _, body = _ENTRY.unpack_from(head)
    total, record = struct.unpack_from(">ii", head, _ENTRY.size)
    framed = magic == ENTRY_MAGIC and length == _ENTRY.size + body and position >= 0
    return position if framed and record in RECORD_MAGICS and total == body else None


def _is_checkpoint(head: bytes, size: int) -> bool:
    # Later versions keep three more longs, at 24, 32 and 40.
    if size < CHECKPOINT_SIZE or any(head[48:CHECKPOINT_SIZE]):
        return False
    times = struct.unpack_from(">qqq", head)
    return any(times) and all(time == 0 or time in _TIMES for time in times)


def _is_ext(head: bytes, size: int) -> bool:
    position = 0
    while position + _EXT.size <= min(len(head), size):
        length, _, _, bit_map = _EXT.unpack_from(head, position)
        if length < 1:
            return position > 0 and length in (0, -1)
        if length != _EXT.size + bit_map or position + length > size:
            return False
        position += length
    return position > 0


def _is_queue(head: bytes, size: int) -> bool:
    if size < _UNIT.size or size % _UNIT.size:
        return False
    ended = False
    for index, (offset, length, tags_code) in enumerate(
        _UNIT.iter_unpack(head[: len(head) // _UNIT.size * _UNIT.size])
    ):
        written = 0 <= offset < _OFFSET_LIMIT and length > 0
        if not written and (index == 0 or (offset, length, tags_code) != (0, 0, 0)):
            return False
        if written and ended:
            return False
        ended = not written
    return True


def _is_index(head: bytes, size: int) -> bool:
    room = size - INDEX_HEADER.size - INDEX_SLOT.size
    if room < INDEX_ENTRY.size or size % INDEX_SLOT.size:
        return False
    begin, end, begin_offset, end_offset, used_slots, count = _HEADER.unpack_from(head)
    if count < 2:
        return False
    times = all(time == 0 or time in _TIMES for time in (begin, end))
    offsets = 0 <= begin_offset < _OFFSET_LIMIT and 0 <= end_offset < _OFFSET_LIMIT
    return times and offsets and 1 <= used_slots < count <= room // INDEX_ENTRY.size


def detect(reader: Reader) -> str | None:
    """The kind of an open file ("index", "queue", "ext", "log" or "checkpoint"), or None if it is unclear."""
    head = reader.read(0, min(reader.size, CHECKPOINT_SIZE)).tobytes()
    sample = head[:_SAMPLE]
    if _is_log(head, reader.size):
        return "log"
    if _is_checkpoint(head, reader.size):
        return "checkpoint"
    tests = (("index", _is_index), ("ext", _is_ext), ("queue", _is_queue))
    kinds = [kind for kind, test in tests if test(sample, reader.size)]
    return kinds[0] if len(kinds) == 1 else None
