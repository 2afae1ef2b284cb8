"""Follows the growing commit logs or consume queues of many stores, for streams and for batches between offsets.

An offset has that of each store, by the store's canonical path: `{"/data/a/store": {"phy_offset": n}}` of a commit log,
`{"/data/a/store": {"TOPIC/QUEUE": units}}` of consume queues.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from zlib import crc32

import numpy as np
from rocket_columnar.decode import decode, unit_count
from rocket_columnar.store import StoreFile
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import BLANK_MAGIC, LONG_TOPIC_MAGIC, MESSAGE_MAGIC, QUEUE_UNIT

from rocket_spark.reading.options import Request
from rocket_spark.reading.parts import Cut, FilePart, found_stores, log_parts, row_share

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
        head = None if at is None else self._head(at, start[_KEY])
        return head is None or head == start[_HEAD]

    def _file(self, offset: int) -> StoreFile | None:
        """The file with a physical offset."""
        return next(
            (file for file in self.files if 0 <= offset - file.base_offset < file.size()),
            None,
        )

    def _head(self, begin: int, end: int) -> int | None:
        """A checksum of a record's head; None if its file is gone."""
        file = self._file(begin)
        if file is None:
            return None
        with file.open() as reader:
            at = begin - file.base_offset
            return crc32(reader.read(at, min(_BODY_LENGTH, end - begin, reader.size - at)).tobytes())

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

    def _behind(self, last: int, end: int) -> dict[str, int]:
        """The offset after a record."""
        return {_KEY: end, _LAST: last, _HEAD: self._head(last, end) or 0}

    def bytes(self, begin: dict[str, int], end: dict[str, int]) -> int:
        """Bytes between two offsets."""
        return end[_KEY] - begin[_KEY]

    def last(
        self, begin: dict[str, int], max_rows: int | None, max_bytes: int | None
    ) -> tuple[dict[str, int], int]:
        """The offset after the last whole record, or after the last one within the limits (the first always is); how many."""
        files = [file for file in self.files if file.base_offset + file.size() > begin[_KEY]]
        unlimited = max_rows is None and max_bytes is None
        for run in ([file] for file in reversed(files)) if unlimited else [files]:
            count, last, end = self._end(run, begin[_KEY], max_rows, max_bytes)
            if end is not None:
                return self._behind(last, end), count
        return begin, 0

    def least(self, one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        """The offset that comes first."""
        return min(one, other, key=lambda offset: offset[_KEY])

    def greatest(self, one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        """The offset that comes last."""
        return max(one, other, key=lambda offset: offset[_KEY])

    def _end(
        self, files: list[StoreFile], begin: int, max_rows: int | None, max_bytes: int | None
    ) -> tuple[int, int, int | None]:
        """Records of files from `begin` on within the limits: their number, and where the last one begins and ends."""
        stop = 1 << 62 if max_bytes is None else begin + max_bytes
        batches = decode(
            files,
            tables=["commit_log"],
            columns=["phy_offset", "size"],
            log_range=(begin, stop),
            limit=max_rows,
            on_gap=lambda _: None,  # the rows of this part will report it
        )
        count, end, last, before = 0, None, begin, begin
        for _, batch in batches if files else ():
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
        if end is None and max_bytes is not None:  # behind a gap that is longer than the limit
            return self._end(files, begin, 1, None)
        if end is not None and not self._is_whole(last, end):
            last, end = before, last if last > begin else None
            count -= 1
        return count, last, end

    def _is_whole(self, begin: int, end: int) -> bool:
        """Whether the record is written to its end: another or a blank follows, or its body and properties are there.

        The rest of a longer record, which a broker was writing when it was killed, may follow, too. A record is written from
        its first byte to its last. Its lengths have been checked; what may still be missing is the end of the body (then
        its checksum is wrong), of the topic or of the properties (then zeros are there).
        """
        file = self._file(begin)
        if file is None:  # deleted meanwhile
            return True
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


_UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_NO_UNIT: Final = np.zeros(QUEUE_UNIT.size, np.uint8)

_MARK: Final = "/phy_offset"
"""Suffix of a queue's name in an offset: the value is the physical offset in the last unit read."""


class QueueTail:
    """The queues among `files` as they are now; an offset is a number of units from the queue's beginning.

    It comes with the target of the last unit read: if a queue was truncated and rewritten, that target differs.
    """

    def __init__(self, store: str, files: list[StoreFile]) -> None:
        self.store = store
        self.queues: dict[str, list[StoreFile]] = {}
        for file in files:
            self.queues.setdefault(f"{file.topic}/{file.queue_id}", []).append(file)

    def first(self) -> dict[str, int]:
        """The first unit of each queue that still exists."""
        return {name: files[0].base_offset // QUEUE_UNIT.size for name, files in self.queues.items()}

    def checked(self, start: dict[str, int], *, fail_on_loss: bool) -> dict[str, int]:
        """`start`, extended by new queues; if units are gone, MalformedError or the offsets to continue from."""
        begin = dict(start)
        for name, first in self.first().items():
            files = self.queues[name]
            at, mark = begin.setdefault(name, first), begin.get(name + _MARK)
            if at < first:
                if fail_on_loss:
                    raise lost(files[0], f"units of {name} before {first:,} gone", f"all from {at:,} on")
                begin[name] = first
            elif at > first and (unit := self.unit(name, at - 1)) is not None:
                if unit["size"] > 0 and (mark is None or unit["phy_offset"] == mark):
                    continue
                end = self._end(files, first)
                if end < at and fail_on_loss:
                    raise lost(files[-1], f"the end of {name} at unit {end:,}", f"one after {at:,}")
                if unit["size"] > 0 and fail_on_loss:
                    found = f"unit {at - 1:,} of {name} at physical offset {unit['phy_offset']:,}"
                    raise lost(files[-1], found, f"the one that was read last, at {mark:,}")
                begin[name] = min(end, at)
            else:
                continue
            begin.pop(name + _MARK, None)
        return begin

    def unit(self, name: str, number: int) -> Any:
        """The unit of a queue by its number: phy_offset, size and tags_code; None if its file is gone."""
        for file in reversed(self.queues[name]):
            at = number * QUEUE_UNIT.size - file.base_offset
            if at >= 0:
                with file.open() as reader:
                    held = at + QUEUE_UNIT.size <= reader.size
                    return (reader.read(at, QUEUE_UNIT.size) if held else _NO_UNIT).view(_UNIT)[0]
        return None

    def bytes(self, begin: dict[str, int], end: dict[str, int]) -> int:
        """Bytes between two offsets."""
        return sum(end[name] - begin[name] for name in self.queues) * QUEUE_UNIT.size

    def last(
        self, begin: dict[str, int], max_rows: int | None, max_bytes: int | None
    ) -> tuple[dict[str, int], int]:
        """The offset after the last valid unit of each queue, or a share of the units within the limits; the number of units."""
        ends = {**begin, **{name: self._end(files, begin[name]) for name, files in self.queues.items()}}
        most = min(
            (limit for limit in (max_rows, max_bytes and max_bytes // QUEUE_UNIT.size) if limit is not None),
            default=None,
        )
        there = {name: ends[name] - begin[name] for name in self.queues}
        total = sum(there.values())
        if most is None or total <= most:
            return self._marked(begin, ends), total
        most = max(1, most)
        share = {name: most * count // total for name, count in there.items()}
        left = most - sum(share.values())
        for name in sorted(there, key=lambda name: share[name] - there[name]):
            more = min(left, there[name] - share[name])
            share[name] += more
            left -= more
        return self._marked(
            begin, {**ends, **{name: begin[name] + count for name, count in share.items()}}
        ), most

    def _marked(self, begin: dict[str, int], end: dict[str, int]) -> dict[str, int]:
        """`end` with the target of the last unit of each queue that continues."""
        for name in self.queues:
            if end[name] > begin[name] and (unit := self.unit(name, end[name] - 1)) is not None:
                end[name + _MARK] = int(unit["phy_offset"])
        return end

    def least(self, one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        """The lower offset of each queue of `one`."""
        return _chosen(one, other, lambda mine, theirs: mine <= theirs)

    def greatest(self, one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        """The higher offset of each queue of `one`."""
        return _chosen(one, other, lambda mine, theirs: mine >= theirs)

    def _end(self, files: list[StoreFile], begin: int) -> int:
        """The offset after the last valid unit from `begin` on; of a file with part of a unit after its last whole one."""
        for file in reversed(files):
            base = file.base_offset // QUEUE_UNIT.size
            with file.open() as reader:
                whole, rest = divmod(reader.size, QUEUE_UNIT.size)
                end = base + (whole if rest else unit_count(reader))
            if end > begin or base <= begin:
                return max(end, begin)
        return begin

    def parts(self, begin: dict[str, int], end: dict[str, int], cut: Cut) -> Iterator[FilePart]:
        """The units between two offsets; MalformedError if a queue is gone with some of them."""
        for name, stop in _numbers(end):
            if name not in self.queues and stop > begin.get(name, 0):
                raise lost(
                    next(iter(self.queues.values()))[0],
                    f"queue {name} gone",
                    f"all from {begin.get(name, 0):,} on",
                )
        for name, files in self.queues.items():
            for file in files:
                base = file.base_offset // QUEUE_UNIT.size
                first = max(0, begin[name] - base)
                stop = min(file.size() // QUEUE_UNIT.size, end.get(name, begin[name]) - base)
                for start in range(first, stop, cut.rows):
                    rows = start, min(start + cut.rows, stop)
                    yield FilePart(
                        self.store, "consume_queue", file, rows, row_share("consume_queue", rows, cut)
                    )


def _numbers(offsets: dict[str, int]) -> list[tuple[str, int]]:
    return [(name, value) for name, value in offsets.items() if not name.endswith(_MARK)]


def _chosen(
    one: dict[str, int], other: dict[str, int], is_mine: Callable[[int, int], bool]
) -> dict[str, int]:
    """Queue by queue, each with its mark."""
    chosen: dict[str, int] = {}
    for name, value in _numbers(one):
        held = one if is_mine(value, other.get(name, value)) else other
        chosen |= {key: held[key] for key in (name, name + _MARK) if key in held}
    return chosen


Offsets = dict[str, dict[str, int]]

_WORDS: Final = ("earliest", "latest")


def offsets_option(options: Mapping[str, str], name: str, default: str) -> str | Offsets:
    """`earliest`, `latest`, or offsets by store as JSON; UsageError for anything else."""
    text = options.get(name, default)
    if text in _WORDS:
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(own, dict) and all(type(value) is int for value in own.values()) for own in found.values()
    ):
        raise UsageError(
            f"option {name}: {text[:80]!r} is none of earliest, latest and JSON such as "
            '{"STORE": {"phy_offset": 0}} or {"STORE": {"TOPIC/QUEUE": 0}}'
        )
    return found


class StoreTails:
    """The logs, or the queues, of the stores of a read as they are now."""

    def __init__(self, request: Request, table: str, *, fail_on_loss: bool) -> None:
        """Lists the stores; errors as of `found_stores`."""
        self._fail = fail_on_loss
        self._cut = Cut(request.max_partition_rows, strict=request.mode == "FAILFAST")
        self._tails: dict[str, LogTail | QueueTail] = {}
        self._names: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self._turn = 0
        for store in found_stores(request, table, lacking=True):
            files = [file for file in store.files if file.size()]  # 0: made, not yet laid out
            self._names |= {store.name: store.path, store.path: store.path}
            if store.problem is not None:
                self._unreadable.add(store.path)
            elif files:
                kind = LogTail if table == "commit_log" else QueueTail
                self._tails[store.path] = kind(store.name, files)

    def first(self) -> Offsets:
        """The first offset of each store."""
        return {path: tail.first() for path, tail in self._tails.items()}

    def ends(self) -> Offsets:
        """After the last complete record or unit of each store."""
        return {path: tail.last(tail.first(), None, None)[0] for path, tail in self._tails.items()}

    def named(self, given: str | Offsets, option: str, *, others: str) -> Offsets:
        """The offsets in an option, in which a store has its name or its path; `others` is for stores without."""
        word = given if isinstance(given, str) else others
        base = self.first() if word == "earliest" else self.ends()
        for name, own in {} if isinstance(given, str) else given.items():
            path = self._names.get(name)
            if path is None:
                raise UsageError(f"option {option}: {name!r} is none of the stores: {', '.join(base)}")
            if path in base:
                base[path] = base[path] | own
        return base

    def checked(self, start: Offsets) -> Offsets:
        """`start`, with stores that came since; where data is gone, MalformedError or the offset to continue from."""
        if not all(isinstance(own, dict) for own in start.values()):
            raise UsageError(
                f"found offsets {json.dumps(start)[:80]}, expected those of each store: the checkpoint was written "
                "by an earlier version; begin with a new one"
            )
        for path in start.keys() - self._tails.keys() - self._unreadable if self._fail else ():
            raise self._gone(path)
        return start | {
            path: tail.checked(start[path], fail_on_loss=self._fail) if path in start else tail.first()
            for path, tail in self._tails.items()
        }

    def _gone(self, path: str) -> MalformedError:
        return MalformedError(
            file=path,
            found="no such files any more",
            expected="the store, where the stream stands; option failOnDataLoss=false goes on without",
        )

    def last(self, begin: Offsets, max_rows: int | None, max_bytes: int | None, turn: int = 0) -> Offsets:
        """The end of a trigger's reads. The stores share its limits, each in its turn: what one leaves is the next ones'."""
        end = dict(begin)
        paths = list(self._tails)
        shift = turn % max(len(paths), 1)
        for number, path in enumerate([*paths[shift:], *paths[:shift]]):
            left = len(paths) - number
            rows, size = (
                None if limit is None else -(-limit // left) if limit > 0 else 0
                for limit in (max_rows, max_bytes)
            )
            if 0 in (rows, size):
                continue
            tail = self._tails[path]
            end[path], count = tail.last(begin[path], rows, size)
            max_rows = None if max_rows is None else max_rows - count
            max_bytes = None if max_bytes is None else max_bytes - tail.bytes(begin[path], end[path])
        return end

    def limited(self, start: Offsets, begin: Offsets, end: Offsets, target: Offsets | None) -> Offsets:
        """`end`, not beyond `target`, nor before `begin`, and without stores that neither `start` nor `target` has."""
        found = dict(end)
        for path, tail in self._tails.items():
            if target is not None and path in target:
                found[path] = tail.least(end[path], begin[path] | target[path])
            elif target is not None:
                found[path] = begin[path]
                if path not in start:
                    del found[path]
                    continue
            found[path] = tail.greatest(found[path], begin[path])
        return found

    def parts(self, begin: Offsets, end: Offsets) -> Iterator[FilePart]:
        """The parts between two offsets; MalformedError if a store is gone with some of it."""
        for path, stop in end.items():
            if path in self._tails:
                yield from self._tails[path].parts(begin[path], stop, self._cut)
            elif self._fail and stop != begin.get(path):
                raise self._gone(path)
