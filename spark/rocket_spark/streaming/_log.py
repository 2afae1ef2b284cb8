"""A commit log that grows."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from zlib import crc32

from rocket_columnar.decode import decode
from rocket_spec.layout import RECORD_FIXED_V4

from rocket_spark.sources._plan import LOG_BYTES, Piece, log_pieces
from rocket_spark.streaming._loss import lost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocket_columnar.store import StoreFile

    from rocket_spark.sources._options import Request

__all__ = ["LogTail"]

_KEY: Final = "phy_offset"
_SYS_FLAG: Final = 36
_BODY_LENGTH: Final = 84
_HOST_FLAGS: Final = (16, 32)


class LogTail:
    """The log that `files` make as they lie now; an offset is the physical offset of the next record."""

    def __init__(self, files: list[StoreFile]) -> None:
        self.files = files

    def first(self) -> dict[str, int]:
        """The first byte of the log that is still there."""
        return {_KEY: self.files[0].base_offset}

    def checked(self, start: dict[str, int], *, fail_on_loss: bool) -> dict[str, int]:
        """`start`; MalformedError, or where to go on, if the log does not reach so far back, or no longer so far."""
        first, last = self.files[0], self.files[-1]
        end = last.base_offset + last.size()
        if first.base_offset <= start[_KEY] <= end:
            return start
        if start[_KEY] < first.base_offset:
            if fail_on_loss:
                raise lost(
                    first, f"the log before {first.base_offset:,} gone", f"all from {start[_KEY]:,} on"
                )
            return self.first()
        if fail_on_loss:
            raise lost(last, f"the end of the log at {end:,}", f"one behind {start[_KEY]:,}")
        return self.last({_KEY: last.base_offset}, None, None)

    def last(self, begin: dict[str, int], max_rows: int | None, max_bytes: int | None) -> dict[str, int]:
        """Behind the last whole record, or behind the last one that keeps to the limits (but the first does)."""
        start = begin[_KEY]
        files = [file for file in self.files if file.base_offset + file.size() > start]
        if max_rows is None and max_bytes is None:
            for file in reversed(files):
                end = self._end(file, max(start, file.base_offset), None, None)[1]
                if end is not None:
                    return {_KEY: end}
            return begin
        found = start
        for file in files:
            room = None if max_bytes is None else max_bytes - (found - start)
            if (room is not None and room <= 0) or max_rows == 0:
                break
            first = max(start, file.base_offset)
            count, end = self._end(file, first, max_rows, room)
            if end is None and room is not None and found == start:
                count, end = self._end(file, first, 1, None)  # behind a gap that is longer than the limit
            if end is None:
                continue
            if room is not None and end - start > (max_bytes or 0) and found > start:
                break
            found = end
            max_rows = None if max_rows is None else max_rows - count
        return {_KEY: found}

    def _end(
        self, file: StoreFile, begin: int, max_rows: int | None, max_bytes: int | None
    ) -> tuple[int, int | None]:
        """Records of one file from `begin` on that keep to the limits: how many, and where the last of them ends."""
        stop = 1 << 62 if max_bytes is None else begin + max_bytes
        batches = decode(
            [file],
            tables=["commit_log"],
            columns=["phy_offset", "size"],
            log_range=(begin, stop),
            limit=max_rows,
            on_gap=lambda _: None,  # the rows of this part will tell of it
        )
        count, end, last = 0, None, begin
        for _, batch in batches:
            starts = batch.column("phy_offset").to_numpy()
            ends = starts + batch.column("size").to_numpy()
            if max_bytes is not None:
                keep = int((ends <= stop).sum())
                keep = keep or int(not count and len(ends) > 0)  # a record longer than the limit comes alone
                starts, ends = starts[:keep], ends[:keep]
            if len(ends):
                count += len(ends)
                last, end = int(starts[-1]), int(ends[-1])
        if end is not None and not self._is_whole(file, last, end):
            end = last if last > begin else None
            count -= 1
        return count, end

    def _is_whole(self, file: StoreFile, begin: int, end: int) -> bool:
        """Whether the record is written to its end: something follows it, or its body and properties are there.

        A record is written from its first byte to its last. Its lengths have been checked; what may still be
        missing is the end of the body (then its checksum is wrong), of the topic or of the properties (then zeros
        lie there).
        """
        with file.open() as reader:
            at, behind = begin - file.base_offset, end - file.base_offset
            if behind + 8 > reader.size or reader.read(behind, 8).any():
                return True
            data = reader.read(at, end - begin).tobytes()
        (flags,) = struct.unpack_from(">i", data, _SYS_FLAG)
        position = _BODY_LENGTH + 12 * sum(bool(flags & flag) for flag in _HOST_FLAGS)
        (length,) = struct.unpack_from(">i", data, position)
        body = data[position + 4 : position + 4 + max(length, 0)]
        position += 4 + len(body)
        topic = data[position + 1 : position + 1 + data[position]]
        position += 1 + len(topic)
        (properties,) = struct.unpack_from(">h", data, position)
        (crc,) = struct.unpack_from(">i", data, 8)
        if (body and crc32(body) & 0x7FFFFFFF != crc) or 0 in topic:
            return False
        return bool(properties <= 0 or data[-1])

    def pieces(self, begin: dict[str, int], end: dict[str, int], asked: Request) -> Iterator[Piece]:
        """The records between two offsets."""
        if begin[_KEY] >= end[_KEY]:
            return
        step = max(1, min(LOG_BYTES, asked.max_partition_rows * RECORD_FIXED_V4))
        for piece in log_pieces(self.files, step, (begin[_KEY], end[_KEY])):
            yield replace(piece, exact=piece.span[0] == begin[_KEY], closed=True)
