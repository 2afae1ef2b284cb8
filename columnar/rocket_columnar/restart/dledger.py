"""Predicts what a start of 4.9.3 in DLedger mode does to the log.

Read beside `DLedgerCommitLog.recover` 262-313 and `DLedgerMmapFileStore.recover` 119-304, which look at the headers of entries
and never at their records. DLedger's own index of entries decides in which file the walk begins, and is rewritten where it
differs. What the leader of a group does to a member later does not follow from a member's files.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from rocket_spec.layout import ENTRY, ENTRY_BLANK_MAGIC, ENTRY_MAGIC

from rocket_columnar.restart.entry_index import EntryIndex, has_place
from rocket_columnar.store import Reader, StoreFile

_HEADER: Final = struct.Struct(ENTRY.struct_format)
_FILES: Final = 3  # the walk begins at the third file from the end
_TOO_SHORT: Final = 44  # a walk accepts a size of more, though a header alone has 48 bytes


class EntryLog(NamedTuple):
    """The log as a start finds it.

    Attributes:
        begin: position from which the walk over the entries begins.
        end: position at which it ends, and so the log.
        refused: why DLedger would not start, or None.
    """

    begin: int
    end: int
    refused: str | None


class _Last(NamedTuple):
    """The entry before: its number, its term and its size; -1 before the first."""

    number: int = -1
    term: int = -1
    size: int = -1


def entry_log(files: Sequence[StoreFile], size: int) -> EntryLog:
    """Where a start's walk over the files of DLedger mode begins and ends.

    Args:
        files: in the order of their offsets, at least one.
        size: bytes of each.

    Raises:
        OSError: a file cannot be read.
    """
    member = files[0].path.parent.parent
    index = EntryIndex(member)
    if index.unfit is not None:
        return EntryLog(files[0].base_offset, files[0].base_offset, index.unfit)
    for before, file in pairwise(files):
        if file.base_offset - before.base_offset != size:
            unfit = f"{file.name}: does not follow on {before.name}: DLedger accepts no gap between its files"
            return EntryLog(before.base_offset, before.base_offset, unfit)
    first = next(
        (
            number
            for number in range(max(len(files) - _FILES, 0), -1, -1)
            if _begins_well(files[number], index)
        ),
        0,
    )
    end, last = files[first].base_offset, _Last()
    for file in files[first:]:
        end, last, rolls = _walk(file, last)
        if not rolls:
            break
    refused = index.committed_unfit(_number(files[first]), _number(files[0]), last.number)
    if last.number < -1 or (last.number != -1 and files[0].base_offset % size):
        refused = f"the last entry, number {last.number:,} at {end - last.size:,}, is not found again: the log does not load"
    if _TOO_SHORT < last.size < ENTRY.size:
        refused = (
            f"the last entry, at {end - last.size:,}, claims {last.size} bytes, fewer than its header has: "
            "the log does not load"
        )
    if files[-1].base_offset - end > size:
        refused = (
            f"the entries end at {end:,}, more than a file before {files[-1].name}: DLedger ends its process"
        )
    last_file = next(
        (file for file in reversed(files) if file.base_offset <= end < file.base_offset + size), None
    )
    if last_file is not None:
        end = last_file.base_offset + end % size  # MmapFileList.truncateOffset; DLG-18
    return EntryLog(files[first].base_offset, end, refused)


def _number(file: StoreFile) -> int:
    """The number that the first entry of a file claims."""
    with file.open() as reader:
        return int.from_bytes(reader.read(8, min(8, max(reader.size - 8, 0))).tobytes(), signed=True)


def _begins_well(file: StoreFile, index: EntryIndex) -> bool:
    """Whether a walk can begin in a file: its first entry is sound, and is the one in the index of entries."""
    with file.open() as reader:
        found = _entry(reader, 0, file.base_offset, _Last())
    if found is None:
        return False
    size, last = found
    return index.fits(last.number, term=last.term, pos=file.base_offset, size=size)


def _walk(file: StoreFile, last: _Last) -> tuple[int, _Last, bool]:
    """Where the entries of a file end, the last of them, and whether a blank leads on to the next file."""
    position = 0
    with file.open() as reader:
        while position + 4 <= reader.size:
            if int.from_bytes(reader.read(position, 4).tobytes(), signed=True) == ENTRY_BLANK_MAGIC:
                return file.base_offset + reader.size, last, True
            found = _entry(reader, position, file.base_offset, last)
            if found is None:
                break
            length, last = found
            position += length
    return file.base_offset + position, last, False


def _entry(reader: Reader, at: int, base: int, last: _Last) -> tuple[int, _Last] | None:
    """Length of the entry here, and the entry itself as the last one; None for one that a recovery does not accept."""
    if at + ENTRY.size > reader.size:
        return None
    magic, size, index, term, pos, _, _, _, body_size = _HEADER.unpack(reader.read(at, ENTRY.size).tobytes())
    sound = magic == ENTRY_MAGIC and pos == base + at and size == ENTRY.size + body_size
    follows = (has_place(index) if last.number == -1 else last.number == index - 1) and term >= last.term
    return (
        (size, _Last(index, term, size))
        if sound and follows and _TOO_SHORT < size <= reader.size - at
        else None
    )
