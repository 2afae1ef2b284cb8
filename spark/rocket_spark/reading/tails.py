"""Follows the growing commit logs or consume queues of many stores, for streams and for batches between offsets.

An offset has that of each store, by the store's canonical path: `{"/data/a/store": {"phy_offset": n}}` of a commit log,
`{"/data/a/store": {"TOPIC/QUEUE": units}}` of consume queues. With each comes what was read last.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final
from zlib import crc32

import numpy as np
from rocket_columnar.decode import decode, unit_count
from rocket_columnar.formats import UNIT_DTYPE, Bad, parse_record
from rocket_columnar.store import StoreFile, by_queue
from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.layout import BLANK_MAGIC, QUEUE_UNIT, RECORD_MAGICS

from rocket_spark.reading.options import Request
from rocket_spark.reading.parts import Cut, FilePart, listed_stores, log_parts, row_share

Offset = dict[str, int]  # of one store, or of one log or queue in it

_GOES_ON: Final = "option failOnDataLoss=false goes on without"

_RECORD_HEAD: Final = 84  # bytes before the length of a record's body, if its hosts have 4 bytes each


class _LogTail:
    """A log as it is now; the place is the physical offset of the next record.

    It comes with the offset of the last record read and a checksum of that record's head, which contains its times: if
    a log was truncated and rewritten, the record there differs.
    """

    key = "phy_offset"
    keys = (key, "last", "head")

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self.files = files
        self.first = files[0].base_offset

    def cut_back(self, at: int, start: Offset) -> tuple[str, str] | None:
        """If the end before `at` was truncated, found and expected for a message, even if the log has grown again."""
        end = self.files[-1].base_offset + self.files[-1].size()
        if at > end:
            return f"the end of the log at {end:,}", f"one after {at:,}"
        last = start.get("last")
        head = None if last is None else self._head(last, at)
        if head is None or head == start["head"]:
            return None
        return f"another record at {last:,}, or none", f"the one that was read last, before {at:,}"

    def resumed(self, at: int) -> Offset:
        """The offset to go on from if the end before `at` was truncated."""
        now, _ = self.last({self.key: self.first})
        return now if now[self.key] <= at else {self.key: self._next(at)}

    def _file(self, offset: int) -> StoreFile | None:
        """The file with a physical offset."""
        return next((file for file in self.files if 0 <= offset - file.base_offset < file.size()), None)

    def _head(self, begin: int, end: int) -> int | None:
        """A checksum of a record's head; None if its file is gone."""
        file = self._file(begin)
        if file is None:
            return None
        with file.open() as reader:
            at = begin - file.base_offset
            return crc32(reader.read(at, min(_RECORD_HEAD, end - begin, reader.size - at)).tobytes())

    def _next(self, begin: int) -> int:
        """The offset of the first record from `begin` on, which exists."""
        files = [file for file in self.files if file.base_offset + file.size() > begin]
        for _, batch in decode(
            files, columns=["phy_offset"], log_range=(begin, 1 << 62), limit=1, on_gap=lambda _: None
        ):
            return int(batch.column("phy_offset")[0].as_py())
        return begin

    def last(
        self, begin: Offset, max_rows: int | None = None, max_bytes: int | None = None
    ) -> tuple[Offset, int]:
        """The offset after the last whole record, or after the last one within the limits (the first always is); how many."""
        files = [file for file in self.files if file.base_offset + file.size() > begin[self.key]]
        unlimited = max_rows is None and max_bytes is None
        for run in ([file] for file in reversed(files)) if unlimited else [files]:
            count, last, end = self._end(run, begin[self.key], max_rows, max_bytes)
            if end is not None:
                return {self.key: end, "last": last, "head": self._head(last, end) or 0}, count
        return begin, 0

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
                starts, ends = starts[:keep], ends[:keep]
            if len(ends):
                count += len(ends)
                before = int(starts[-2]) if len(starts) > 1 else last
                last, end = int(starts[-1]), int(ends[-1])
        if end is None and max_bytes is not None:  # a record, or a gap before it, is longer than the limit
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
            magic = int.from_bytes(reader.read(behind + 4, 4).tobytes(), signed=True)
            if magic in (*RECORD_MAGICS, BLANK_MAGIC):
                return True
            data = reader.read(at, end - begin).tobytes()
        record = parse_record(data, 0)
        if isinstance(record, Bad):
            return False
        body = data[record.body :][: max(record.fixed.body_length, 0)]
        topic = data[record.topic :][: record.topic_length]
        if (body and crc32(body) & 0x7FFFFFFF != record.fixed.body_crc) or 0 in topic:
            return False
        return not record.properties_length or data[-1] != 0

    def parts(self, store: str, begin: int, end: int, cut: Cut) -> Iterator[FilePart]:
        """The records between two places."""
        for part in log_parts(store, self.files, cut, (begin, end)) if begin < end else ():
            yield replace(part, exact=part.range[0] == begin, closed=True)


_WIDTH: Final = QUEUE_UNIT.size

_MARK: Final = "/phy_offset"
"""Suffix of a queue's name in an offset: the value is the physical offset in the last unit read."""


class QueueTail:
    """A queue as it is now; the place is a number of units from its beginning.

    It comes with the target of the last unit read: if a queue was truncated and rewritten, that target differs.
    """

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self.files = files
        self.key = f"{files[0].topic}/{files[0].queue_id}"
        self.keys = (self.key, self.key + _MARK)
        self.first = files[0].base_offset // _WIDTH

    @cached_property
    def end(self) -> int:
        """After the last valid unit; after the last whole one of a file that ends within a unit."""
        file = self.files[-1]
        with file.open() as reader:
            whole, rest = divmod(reader.size, _WIDTH)
            return file.base_offset // _WIDTH + (whole if rest else unit_count(reader))

    def unit(self, number: int) -> Any:
        """A unit by its number: phy_offset, size and tags_code, zeros behind its file's end; None if its file is gone."""
        for file in reversed(self.files):
            at = number * _WIDTH - file.base_offset
            if at >= 0:
                with file.open() as reader:
                    held = at + _WIDTH <= reader.size
                    return (reader.read(at, _WIDTH) if held else np.zeros(_WIDTH, np.uint8)).view(UNIT_DTYPE)[
                        0
                    ]
        return None

    def cut_back(self, at: int, start: Offset) -> tuple[str, str] | None:
        """As of a log; units without a size inside a queue are no sign of it."""
        unit, mark = self.unit(at - 1) if at > self.first else None, start.get(self.key + _MARK)
        if unit is None or (unit["size"] > 0 and mark in (None, unit["phy_offset"])):
            return None
        if self.end < at:
            return f"the end of {self.key} at unit {self.end:,}", f"one after {at:,}"
        found = f"unit {at - 1:,} of {self.key} at physical offset {unit['phy_offset']:,}"
        return (found, f"the one that was read last, at {mark:,}") if unit["size"] > 0 else None

    def resumed(self, at: int) -> Offset:
        """The offset to go on from if the end before `at` was truncated."""
        return {self.key: min(self.end, at)}

    def last(
        self, begin: Offset, max_rows: int | None = None, _bytes: int | None = None
    ) -> tuple[Offset, int]:
        """The offset after the last valid unit, or after the last one within the limit; how many."""
        at = begin[self.key]
        end = self.end if max_rows is None else min(self.end, at + max_rows)
        unit = self.unit(end - 1) if end > at else None
        return (
            (begin, 0)
            if unit is None
            else ({self.key: end, self.key + _MARK: int(unit["phy_offset"])}, end - at)
        )

    def parts(self, store: str, begin: int, end: int, cut: Cut) -> Iterator[FilePart]:
        """The units between two places."""
        for file in self.files:
            base = file.base_offset // _WIDTH
            first, stop = max(0, begin - base), min(file.size() // _WIDTH, end - base)
            for start in range(first, stop, cut.rows):
                rows = start, min(start + cut.rows, stop)
                yield FilePart(store, "consume_queue", file, rows, row_share("consume_queue", rows, cut))


_Tail = _LogTail | QueueTail


def queue_tails(files: Sequence[StoreFile]) -> list[QueueTail]:
    """The queues among the files of a store."""
    return [QueueTail(own) for own in by_queue(files).values()]


def _own(tail: _Tail, offset: Offset) -> Offset:
    """The part of a store's offset that belongs to a log or queue."""
    return {key: offset[key] for key in tail.keys if key in offset}


def _take(offset: Offset, tail: _Tail, own: Offset) -> None:
    """Replaces that part."""
    for key in tail.keys:
        offset.pop(key, None)
    offset |= own


def _lost(file: StoreFile, found: str, expected: str) -> MalformedError:
    """The error of `failOnDataLoss`."""
    expected = f"{expected}, where the stream stands; {_GOES_ON}"
    return MalformedError(file=file.name, found=found, expected=expected)


def _shares(most: int, waiting: list[int]) -> list[int]:
    """The share of each in a number of rows, by what is waiting there."""
    total = sum(waiting)
    if total <= most:
        return waiting
    shares = [most * count // total for count in waiting]
    left = most - sum(shares)
    for number in sorted(range(len(waiting)), key=lambda number: shares[number] - waiting[number]):
        more = min(left, waiting[number] - shares[number])
        shares[number] += more
        left -= more
    return shares


Offsets = dict[str, Offset]  # by the paths of stores

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
        """Lists the stores; errors as of `listed_stores`."""
        self._fail = fail_on_loss
        self._cut = Cut(request.max_partition_rows, strict=request.mode == "FAILFAST")
        self._tails: dict[str, Sequence[_Tail]] = {}
        self._paths: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._unreadable: set[str] = set()
        for store, files, problems in listed_stores(request, table, growing=True):
            self._paths |= {store.store: store.path, store.path: store.path}
            self._names[store.path] = store.store
            laid_out = [file for file in files if file.size()]
            if problems:
                self._unreadable.add(store.path)
            elif laid_out:
                self._tails[store.path] = (
                    [_LogTail(laid_out)] if table == "commit_log" else queue_tails(laid_out)
                )

    def _each(self) -> Iterator[tuple[str, _Tail]]:
        return ((path, tail) for path, tails in self._tails.items() for tail in tails)

    def _keys(self, path: str) -> set[str]:
        return {key for tail in self._tails[path] for key in tail.keys}

    def first(self) -> Offsets:
        """The first offset of each store that still exists."""
        return {path: {tail.key: tail.first for tail in tails} for path, tails in self._tails.items()}

    def ends(self) -> Offsets:
        """After the last complete record or unit of each store."""
        return self.last(self.first(), None, None)

    def named(self, given: str | Offsets, option: str, *, others: str) -> Offsets:
        """The offsets in an option, in which a store has its name or its path; `others` is for stores without."""
        word = given if isinstance(given, str) else others
        base = self.first() if word == "earliest" else self.ends()
        for name, own in {} if isinstance(given, str) else given.items():
            path = self._paths.get(name)
            if path is None:
                raise UsageError(f"option {option}: {name!r} is none of the stores: {', '.join(base)}")
            if path in base:
                unknown = own.keys() - self._keys(path)
                if unknown:
                    names = ", ".join(base[path])
                    raise UsageError(f"option {option}: {min(unknown)!r} is not in {name}; expected {names}")
                base[path] = base[path] | own
        return base

    def checked(self, start: Offsets) -> Offsets:
        """`start`, with stores and queues that came since; where data is gone, MalformedError or the offset to continue from."""
        if not all(isinstance(own, dict) for own in start.values()):
            raise UsageError(
                f"found offsets {json.dumps(start)[:80]}, expected those of each store: the checkpoint was written "
                "by an earlier version; begin with a new one"
            )
        for path in start.keys() - self._tails.keys() - self._unreadable if self._fail else ():
            raise self._gone(path)
        found = start | {path: first | start.get(path, {}) for path, first in self.first().items()}
        for path, tail in self._each():
            own = start.get(path, {})
            if any(("/" in key) != ("/" in tail.key) for key in own):
                raise UsageError(
                    f"found offsets {json.dumps(own)[:80]} of another table: the checkpoint is of another stream"
                )
            at, first = found[path][tail.key], tail.first
            lost = (
                (f"{tail.key} before {first:,} gone", f"all from {at:,} on")
                if at < first
                else tail.cut_back(at, _own(tail, own))
            )
            if lost is not None and self._fail:
                raise _lost(tail.files[0 if at < first else -1], *lost)
            if lost is not None:
                _take(found[path], tail, {tail.key: first} if at < first else tail.resumed(at))
        return found

    def _gone(self, path: str) -> MalformedError:
        return MalformedError(
            file=path,
            found="no such files any more",
            expected=f"the store, where the stream stands; {_GOES_ON}",
        )

    def last(self, begin: Offsets, max_rows: int | None, max_bytes: int | None, turn: int = 0) -> Offsets:
        """The end of a trigger's reads. The stores share its limits, each in its turn: what one leaves is the next ones'."""
        if max_bytes is not None and any(isinstance(tail, QueueTail) for _, tail in self._each()):
            units = max(1, max_bytes // _WIDTH)
            max_rows, max_bytes = units if max_rows is None else min(max_rows, units), None
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
            end[path], count = _end(self._tails[path], begin[path], rows, size)
            max_rows = None if max_rows is None else max_rows - count
            if max_bytes is not None:  # of a log
                max_bytes -= end[path]["phy_offset"] - begin[path]["phy_offset"]
        return end

    def limited(self, start: Offsets, begin: Offsets, end: Offsets, target: Offsets | None) -> Offsets:
        """`end`, not beyond `target`, nor before `begin`, and without stores that neither `start` nor `target` has.

        A queue that `target` lacks stays at `begin`.
        """
        if target is None:
            return end
        found = {path: dict(own) for path, own in end.items() if path in target or path not in self._tails}
        found |= {path: begin[path] for path in self._tails.keys() & start.keys() - target.keys()}
        for path, tail in self._each():
            if path in target:
                at = begin[path][tail.key]
                stop = target[path] if target[path].get(tail.key, at) > at else begin[path]
                if end[path][tail.key] > stop[tail.key]:
                    _take(found[path], tail, _own(tail, stop))
        return found

    def check_order(self, begin: Offsets, end: Offsets) -> None:
        """Raises UsageError for an end before the beginning."""
        for path, tail in self._each():
            first, stop = begin[path][tail.key], end[path][tail.key]
            if stop < first:
                raise UsageError(
                    f"option endingOffsets: {tail.key} {stop:,} of {path} is before {first:,}, where the read begins"
                )

    def parts(self, begin: Offsets, end: Offsets) -> Iterator[FilePart]:
        """The parts between two offsets; MalformedError if a store or a queue is gone with some of it."""
        for path, stop in end.items():
            own = begin.get(path, {})
            if path not in self._tails:
                if self._fail and stop != own:
                    raise self._gone(path)
                continue
            for key in stop.keys() - self._keys(path):
                at = own.get(key, 0)
                if not key.endswith(_MARK) and stop[key] > at:
                    raise _lost(self._tails[path][0].files[0], f"queue {key} gone", f"all from {at:,} on")
            for tail in self._tails[path]:
                at = own[tail.key]
                yield from tail.parts(self._names[path], at, stop.get(tail.key, at), self._cut)


def _end(
    tails: Sequence[_Tail], begin: Offset, max_rows: int | None, max_bytes: int | None
) -> tuple[Offset, int]:
    """The end of a read of one store, and its rows. Queues share the limit in proportion to the units that wait in them."""
    limits: Sequence[int | None] = [max_rows] * len(tails)
    if len(tails) > 1 and max_rows is not None:
        limits = _shares(max_rows, [tail.last(begin)[1] for tail in tails])
    end, rows = dict(begin), 0
    for tail, limit in zip(tails, limits, strict=True):
        own, count = tail.last(_own(tail, begin), limit, max_bytes)
        end |= own
        rows += count
    return end, rows
