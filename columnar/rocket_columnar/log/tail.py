"""Finds the end of the log, reading only little before it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rocket_columnar.formats import Record
from rocket_columnar.log.frame_walk import NARROW, Walk
from rocket_columnar.store import StoreFile

_BACK: Final = 1 << 18


class Tail(NamedTuple):
    """The files of a log and its end.

    Attributes:
        files: those that exist.
        sizes: their lengths in bytes.
        filled: number of bytes of each file up to the end of its data, without holes at its end.
        end: physical offset after the last record; where the log begins without one.
        newest: store timestamp of the newest record near the end, ms; None without one.
    """

    files: tuple[StoreFile, ...]
    sizes: tuple[int, ...]
    filled: tuple[int, ...]
    end: int
    newest: int | None


def log_tail(files: Sequence[StoreFile]) -> Tail:
    """Finds the end of a log; a file that no longer exists is skipped.

    Raises:
        OSError: a file cannot be read.
    """
    there, sizes, filled = [], [], []
    for file in files:
        try:
            with file.open() as reader:
                there.append(file)
                sizes.append(reader.size)
                filled.append(max((end for _, end in reader.extents()), default=0))
        except FileNotFoundError:  # expired meanwhile
            continue
    for file in reversed(there):
        found = _end(file)
        if found is not None:
            return Tail(tuple(there), tuple(sizes), tuple(filled), *found)
    begin = there[0].base_offset if there else 0
    return Tail(tuple(there), tuple(sizes), tuple(filled), begin, None)


def _end(file: StoreFile) -> tuple[int, int] | None:
    """Physical offset after the last record of a file and the newest store timestamp near it, or None."""
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
        if last is None:
            return None
        walk = Walk(reader, file.base_offset, bodies=False, window=NARROW)
        back = _BACK
        while True:
            position = walk.next_frame(max(last - back, 0)) if back < last else 0
            end, newest = 0, 0
            while position <= last:
                record = walk.record(position)
                if isinstance(record, Record):
                    position += record.fixed.total_size
                    end, newest = position, max(newest, record.fixed.store_timestamp)
                elif walk.is_blank(position):
                    break
                else:
                    position = walk.next_frame(position + 1)
            if end:
                return file.base_offset + end, newest
            if back >= last:
                return None
            back *= 8
