"""Consume queues that grow."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
from rocket_columnar.store import StoreFile
from rocket_spec.layout import QUEUE_UNIT

from rocket_spark.reading.log_tail import lost
from rocket_spark.reading.parts import Cut, FilePart, row_share

_UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_NO_UNIT: Final = np.zeros(QUEUE_UNIT.size, np.uint8)
_BATCH_UNITS: Final = 1 << 16

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
        """The offset after the last valid unit from `begin` on (as 4.9.3's recovery accepts them: offset >= 0, size > 0)."""
        for file in reversed(files):
            base = file.base_offset // QUEUE_UNIT.size
            least = max(0, begin - base)
            with file.open() as reader:
                last = reader.last_nonzero(
                    least * QUEUE_UNIT.size, reader.size // QUEUE_UNIT.size * QUEUE_UNIT.size
                )
                end = least if last is None else last // QUEUE_UNIT.size + 1
                reader.require_held(
                    least * QUEUE_UNIT.size, end * QUEUE_UNIT.size, f"{end - least:,} units", "CQ-FILE-1"
                )
                while end > least:
                    start = max(least, end - _BATCH_UNITS)
                    raw = reader.read(start * QUEUE_UNIT.size, (end - start) * QUEUE_UNIT.size)
                    units = raw.view(_UNIT)
                    valid = np.flatnonzero((units["phy_offset"] >= 0) & (units["size"] > 0))
                    if valid.size:
                        return base + start + int(valid[-1]) + 1
                    end = start
            if base <= begin:
                break
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
