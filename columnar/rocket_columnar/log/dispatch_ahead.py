"""Dispatch requests of a large commit log, read by several threads in parts and handed over in order.

A part begins at the first record that verifies at or after its first byte, and ends where the first record after it
begins. If neighbours do not agree on that - damage, a frame inside a body - the later one is read again from where the
earlier one ended, so the requests and gaps are those of a walk from the file's first byte.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from rocket_columnar.log.dispatch import read_requests
from rocket_columnar.log.request_walk import LogStretch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from rocket_columnar.log.gaps import Gap
    from rocket_columnar.log.request_columns import Requests, TopicNames
    from rocket_columnar.store import StoreFile

__all__ = ["read_requests_ahead"]

_PART: Final = 24 << 20
"""Bytes of a part, approximately: a part costs something whatever its size, and those that are read ahead are in memory."""

_ROWS: Final = 1 << 17
"""Of a batch at most, usually those of a part: between the steps of a batch, threads wait for the interpreter's lock."""


class _Part(NamedTuple):
    """Bytes of a log file; `end` is None if it is the rest of the file."""

    file: StoreFile
    begin: int
    end: int | None


class _Read(NamedTuple):
    """What a part holds, where its first record begins, and the first one after it."""

    requests: list[Requests]
    gaps: list[Gap]
    first: int
    next: int


def read_requests_ahead(
    files: Sequence[StoreFile],
    names: TopicNames,
    on_gap: Callable[[StoreFile, Gap], None],
    pool: Executor,
    ahead: int,
) -> Iterator[tuple[StoreFile, int, list[Requests]]]:
    """The requests of several commit-log files, in their order.

    Args:
        files: of the log.
        names: of the topics.
        on_gap: called with each range in which no record verifies.
        pool: reads the parts.
        ahead: number of parts that are read ahead.

    Yields:
        A file, the number of its bytes that were read, and their requests.

    Raises:
        OSError: a file cannot be read.
    """
    reads: deque[tuple[_Part, Future[_Read]]] = deque()
    expected = 0

    def oldest() -> tuple[StoreFile, int, list[Requests]]:
        nonlocal expected
        part, future = reads.popleft()
        found = future.result()
        if not part.begin:
            expected = 0
        length = (part.file.size() if part.end is None else part.end) - part.begin
        if part.end is not None and expected >= part.end:  # within a gap, or after the records' end
            return part.file, length, []
        if found.first != expected:
            found = _read(part, names, expected)
        expected = found.next
        for gap in found.gaps:
            on_gap(part.file, gap)
        return part.file, length, found.requests

    for part in _parts(files):
        reads.append((part, pool.submit(_read, part, names, None if part.begin else 0)))
        if len(reads) > ahead:
            yield oldest()
    while reads:
        yield oldest()


def _parts(files: Sequence[StoreFile]) -> Iterator[_Part]:
    for file in files:
        begins = [*range(0, max(file.size() - _PART // 2, 1), _PART)]
        for begin, end in zip(begins, [*begins[1:], None], strict=True):
            yield _Part(file, begin, end)


def _read(part: _Part, names: TopicNames, start: int | None) -> _Read:
    """Reads a part from `start`, where a record is expected, or from the first one that verifies."""
    gaps: list[Gap] = []
    if part.end is None and not part.begin:
        requests = [*read_requests(part.file, names, gaps.append, compiled=True)]
        return _Read(requests, gaps, 0, 0)
    with part.file.open() as reader:
        walk = LogStretch(reader, part.file.base_offset, names, compiled=True, rows=_ROWS)
        begin, end = part.begin if start is None else start, part.end or reader.size
        requests = [*walk.run(begin, end, exact=start is not None, on_gap=gaps.append)]
    return _Read(requests, gaps, walk.first, walk.next)
