"""Disk use of a store: bytes by topic and queue, and the files that a broker deletes next."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar.decode import unit_count
from rocket_columnar.facts import Store, as_store
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.store import (
    WorkDone,
    size_of,
)

_UNITS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class QueueSpace:
    """One queue.

    Attributes:
        topic: its topic.
        queue_id: its number.
        messages: units whose record the log still has.
        log_bytes: length of these records.
        expired: units whose record the log no longer has.
        file_bytes: length of the queue's files.
    """

    topic: str
    queue_id: int
    messages: int
    log_bytes: int
    expired: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Aging:
    """One file of the commit log that a broker deletes some day.

    Attributes:
        file: its name.
        size: its length in bytes.
        modified: when it was last modified, ms; a broker counts its age from there.
    """

    file: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Space:
    """Disk use of a store.

    Attributes:
        log_bytes: from the first byte of the log to its last record.
        queues: most bytes of the log first. Light queues share their records with others.
        aging: the log's files, oldest first, without the last one, which stays.
        spare_indexes: index files that no query needs: all their records are gone, and the next cleaning deletes them.
        skipped: name and reason of each file that was left out.
    """

    log_bytes: int
    queues: tuple[QueueSpace, ...]
    aging: tuple[Aging, ...]
    spare_indexes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]


def space(
    store: Store | Path, *, on_progress: Callable[[int, int], None] | None = None, **known: Any
) -> Space:
    """Disk use of a store; reads all consume queues, and of other files the ends. Unreadable files are left out.

    Source: `MappedFileQueue.deleteExpiredFileByTime` 350-394; `IndexService.deleteExpiredFile` 90-141 (4.9.3).

    Raises:
        UsageError: no store, or one without a commit log.
        OSError: nothing can be read.
    """
    made = as_store(store, **known)
    return made.looked_at(lambda: _space(made, on_progress))


def _space(store: Store, on_progress: Callable[[int, int], None] | None) -> Space:
    logs, begin = store.logs, store.begin
    if not logs:
        raise UsageError(f"{store.path}: contains no commit log")
    queues: dict[tuple[str, int], list[int]] = {}
    units = store.queues
    work = WorkDone(on_progress, sum(size_of(file) or 0 for file in units))
    for file in units:
        total = queues.setdefault((file.topic or "", file.queue_id or 0), [0, 0, 0, 0])
        with file.open() as reader:
            count = unit_count(reader)
            for first in range(0, count, _UNITS_AT_ONCE):
                taken = min(_UNITS_AT_ONCE, count - first)
                some = reader.read(first * QUEUE_UNIT.size, taken * QUEUE_UNIT.size).view(UNIT_DTYPE)
                some = some[(some["size"] > 0) & (some["size"] != PRE_BLANK_SIZE)]
                live = some[some["phy_offset"] >= begin]
                held = int(live["size"].sum(dtype="i8"))
                for place, number in enumerate((live.size, held, some.size - live.size)):
                    total[place] += number
            total[3] += reader.size
            work.add(reader.size)
    found = (QueueSpace(*name, *numbers) for name, numbers in queues.items())
    indexes = store.indexes[:-1]
    return Space(
        log_bytes=store.end - begin,
        queues=tuple(sorted(found, key=lambda queue: -queue.log_bytes)),
        aging=tuple(
            Aging(file.name, file.size(), file.path.stat().st_mtime_ns // 1_000_000) for file in logs[:-1]
        ),
        spare_indexes=tuple(
            file.name for file, _ in takewhile(lambda pair: pair[1].end_phy_offset < begin, indexes)
        ),
        skipped=store.skipped,
    )
