"""A commit log that grows."""

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from zlib import crc32

from rocket_columnar.decode import decode
from rocket_columnar.store import StoreFile
from rocket_spec.errors import MalformedError
from rocket_spec.layout import BLANK_MAGIC, LONG_TOPIC_MAGIC, MESSAGE_MAGIC

from rocket_spark.reading.parts import Cut, FilePart, log_parts

_KEY: Final = "phy_offset"
_LAST: Final = "last"
_HEAD: Final = "head"
_MAGICS: Final = (MESSAGE_MAGIC, LONG_TOPIC_MAGIC, BLANK_MAGIC)
_SYS_FLAG: Final = 36
_BODY_LENGTH: Final = 84
_HOST_FLAGS: Final = (16, 32)


def lost(file: StoreFile, found: str, expected: str) -> MalformedError:
    """The error of `failOnDataLoss`."""
    return MalformedError(
        file=file.name,
        found=found,
        expected=f"{expected}, where the stream stands; option failOnDataLoss=false goes on without",
    )


class LogTail:
    """The log that `files` make as they are now; an offset is the physical offset of the next record.

    It comes with the offset of the last record read and a checksum of that record's head, which contains its times: if
    a log was truncated and rewritten, the record there differs.
    """

    def __init__(self, store: str, files: list[StoreFile]) -> None:
        self.store = store
        self.files = files

    def first(self) -> dict[str, int]:
        """The first byte of the log that still exists."""
        return {_KEY: self.files[0].base_offset}

    def checked(self, start: dict[str, int], *, fail_on_loss: bool) -> dict[str, int]:
        """`start`; if the log begins later or ends earlier, MalformedError or the offset to continue from."""
        first, last = self.files[0], self.files[-1]
        end = last.base_offset + last.size()
        if first.base_offset <= start[_KEY] <= end and self._is_same(start):
            return start
        if start[_KEY] < first.base_offset:
            found, expected = f"the log before {first.base_offset:,} gone", f"all from {start[_KEY]:,} on"
        elif start[_KEY] <= end:
            found = f"another record at {start[_LAST]:,}, or none"
            expected = f"the one that was read last, before {start[_KEY]:,}"
        else:
            found, expected = f"the end of the log at {end:,}", f"one after {start[_KEY]:,}"
        if fail_on_loss:
            raise lost(first if start[_KEY] < first.base_offset else last, found, expected)
        if start[_KEY] < first.base_offset:
            return self.first()
        now, _ = self.last(self.first(), None, None)
        return now if now[_KEY] <= start[_KEY] else {_KEY: self._next(start[_KEY])}

    def _is_same(self, start: dict[str, int]) -> bool:
        """Whether the record before `start` is the one that was read, as far as known."""
        at = start.get(_LAST)
        file = None if at is None else self._file(at)
        return at is None or file is None or self._head(file, at, start[_KEY]) == start[_HEAD]

    def _file(self, offset: int) -> StoreFile | None:
        """The file with a physical offset."""
        for file in reversed(self.files):
            if file.base_offset <= offset:
                return file if offset < file.base_offset + file.size() else None
        return None

    def _head(self, file: StoreFile, begin: int, end: int) -> int:
        """A checksum of a record's head."""
        with file.open() as reader:
            at = begin - file.base_offset
            length = min(_BODY_LENGTH, end - begin, reader.size - at)
            return crc32(reader.read(at, length).tobytes()) if length > 0 else 0

    def _next(self, begin: int) -> int:
        """The offset of the first record from `begin` on, which exists."""
        for file in self.files:
            if file.base_offset + file.size() > begin:
                for _, batch in decode(
                    [file],
                    tables=["commit_log"],
                    columns=["phy_offset"],
                    log_range=(max(begin, file.base_offset), 1 << 62),
                    limit=1,
                    on_gap=lambda _: None,
                ):
                    return int(batch.column("phy_offset")[0].as_py())
        return begin

    def _behind(self, file: StoreFile, last: int, end: int) -> dict[str, int]:
        """The offset after a record."""
        return {_KEY: end, _LAST: last, _HEAD: self._head(file, last, end)}

    def bytes(self, begin: dict[str, int], end: dict[str, int]) -> int:
        """Bytes between two offsets."""
        return end[_KEY] - begin[_KEY]

    def last(
        self, begin: dict[str, int], max_rows: int | None, max_bytes: int | None
    ) -> tuple[dict[str, int], int]:
        """The offset after the last whole record, or after the last one within the limits (the first always is).

        With limits also the number of records.
        """
        start = begin[_KEY]
        files = [file for file in self.files if file.base_offset + file.size() > start]
        if max_rows is None and max_bytes is None:
            for file in reversed(files):
                _, last, end = self._end(file, max(start, file.base_offset), None, None)
                if end is not None:
                    return self._behind(file, last, end), 0
            return begin, 0
        found, reached, total = start, begin, 0
        for file in files:
            room = None if max_bytes is None else max_bytes - (found - start)
            rows = None if max_rows is None else max_rows - total
            if (room is not None and room <= 0) or rows == 0:
                break
            first = max(start, file.base_offset)
            count, last, end = self._end(file, first, rows, room)
            if end is None and room is not None and found == start:
                # Behind a gap that is longer than the limit.
                count, last, end = self._end(file, first, 1, None)
            if end is None:
                continue
            if room is not None and end - start > (max_bytes or 0) and found > start:
                break
            found, reached = end, self._behind(file, last, end)
            total += count
        return reached, total

    def least(self, one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        """The offset that comes first."""
        return min(one, other, key=lambda offset: offset[_KEY])

    def greatest(self, one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        """The offset that comes last."""
        return max(one, other, key=lambda offset: offset[_KEY])

    def _end(
        self, file: StoreFile, begin: int, max_rows: int | None, max_bytes: int | None
    ) -> tuple[int, int, int | None]:
        """Records of one file from `begin` on within the limits: their number, and where the last one begins and ends."""
        stop = 1 << 62 if max_bytes is None else begin + max_bytes
        batches = decode(
            [file],
            tables=["commit_log"],
            columns=["phy_offset", "size"],
            log_range=(begin, stop),
            limit=max_rows,
            on_gap=lambda _: None,  # the rows of this part will report it
        )
        count, end, last, before = 0, None, begin, begin
        for _, batch in batches:
            starts = batch.column("phy_offset").to_numpy()
            ends = starts + batch.column("size").to_numpy()
            if max_bytes is not None:
                keep = int((ends <= stop).sum())
                keep = keep or int(not count and len(ends) > 0)  # a record longer than the limit comes alone
                starts, ends = starts[:keep], ends[:keep]
            if len(ends):
                count += len(ends)
                before = int(starts[-2]) if len(starts) > 1 else last
                last, end = int(starts[-1]), int(ends[-1])
        if end is not None and not self._is_whole(file, last, end):
            last, end = before, last if last > begin else None
            count -= 1
        return count, last, end

    def _is_whole(self, file: StoreFile, begin: int, end: int) -> bool:
        """Whether the record is written to its end: another or a blank follows, or its body and properties are there.

        The rest of a longer record, which a broker was writing when it was killed, may follow, too. A record is written from
        its first byte to its last. Its lengths have been checked; what may still be missing is the end of the body (then
        its checksum is wrong), of the topic or of the properties (then zeros are there).
        """
        with file.open() as reader:
            at, behind = begin - file.base_offset, end - file.base_offset
            if behind + 8 > reader.size:
                return True
            (magic,) = struct.unpack(">4xi", reader.read(behind, 8).tobytes())
            if magic in _MAGICS:
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

    def parts(self, begin: dict[str, int], end: dict[str, int], cut: Cut) -> Iterator[FilePart]:
        """The records between two offsets."""
        if begin[_KEY] < end[_KEY]:
            for part in log_parts(self.store, self.files, cut, (begin[_KEY], end[_KEY])):
                yield replace(part, exact=part.range[0] == begin[_KEY], closed=True)
