"""Overview of a store or one of its directories, from names, sizes, headers and the ends of files; its disk use, from all queues."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, PRE_BLANK_SIZE, QUEUE_UNIT, Geometry

from rocket_columnar.decode import decode, unit_count
from rocket_columnar.describe.file_summary import checkpoint_times
from rocket_columnar.facts import Store, any_store, as_store
from rocket_columnar.formats import UNIT_DTYPE
from rocket_columnar.index import GeometryGuess
from rocket_columnar.store import StoreFile, WorkDone, by_queue, is_gone, open_reader, read_at, size_of

_PARTS: Final = ("commitlog", "consumequeue")
_FILLERS: Final = 1 << 12  # units that are read at once where a filler was found
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LogView:
    """The commit log.

    Attributes:
        size: their length in bytes.
        begin: physical offset of the first byte.
        end: physical offset after the last record.
        begin_timestamp: store timestamp of the first record, ms; None without one.
        end_timestamp: the newest store timestamp near the end, ms; None without a record.
    """

    files: int
    size: int
    begin: int
    end: int
    begin_timestamp: int | None
    end_timestamp: int | None


@dataclass(frozen=True, slots=True)
class IndexView:
    """One index file, by its header.

    Attributes:
        begin_phy_offset: physical offset of its first put, bytes.
        begin_timestamp: store timestamp of its first put, ms.
    """

    file: str
    size: int
    entries: int
    begin_phy_offset: int
    end_phy_offset: int
    begin_timestamp: int
    end_timestamp: int


@dataclass(frozen=True, slots=True)
class QueueView:
    """One consume queue; `min_offset` is that of the first unit whose record the log still has, `max_offset` that after the last unit."""

    topic: str
    queue_id: int
    files: int
    size: int
    min_offset: int
    max_offset: int

    @property
    def messages(self) -> int:
        """Number of units from `min_offset` on."""
        return self.max_offset - self.min_offset


@dataclass(frozen=True, slots=True)
class Overview:
    """A store, or a directory of one.

    Attributes:
        kind: "plain", "DLedger" or "several commit-log directories".
        clean: whether the last stop was clean (no abort file); None for a directory of a store.
        running: the process that holds the store's lock: its number, 0 if none does, None if that is unknown.
        geometry: of the index files, and how it was found; None if it is unknown.
        geometry_problem: why the geometry is unknown; empty otherwise.
        index_coverage: share of the log's bytes from the first to the last indexed record, 0 .. 1; None without a log.
        queues: the consume queues, by topic and number.
        checkpoint: the three times of the checkpoint, ms; None without one.
        problems: files that could not be read: name and reason.
    """

    path: Path
    kind: str
    clean: bool | None
    running: int | None
    log: LogView | None
    indexes: tuple[IndexView, ...]
    geometry: GeometryGuess | None
    geometry_problem: str
    index_coverage: float | None
    queues: tuple[QueueView, ...]
    ext_files: int
    checkpoint: dict[str, int] | None
    problems: tuple[tuple[str, str], ...]

    def row(self) -> dict[str, Any]:
        """All of it as plain values, by name: a geometry with its numbers, queues with their numbers of messages."""
        shown = asdict(self) | {"path": str(self.path)}
        if self.geometry is not None:
            slots, entries = self.geometry.geometry
            rest = {name: value for name, value in asdict(self.geometry).items() if name != "geometry"}
            shown["geometry"] = {"hash_slot_num": slots, "index_num": entries} | rest
        shown["indexes"] = list(shown["indexes"])
        shown["queues"] = [asdict(queue) | {"messages": queue.messages} for queue in self.queues]
        shown["problems"] = [{"file": name, "reason": reason} for name, reason in self.problems]
        return shown


def look_at(
    store: Store | Path | str, *, on_progress: Callable[[int, int], None] | None = None, **known: Any
) -> Overview:
    """Summarises a store, or its commit-log, index, queue or topic directory; reads little of each file.

    `on_progress` is called with the number of files that were read, and that of all; `known` is of a directory, as for `Store`.

    Raises:
        UsageError: nothing found, a geometry does not fit, or a directory such as `config`, whose rows are all there is to know.
        OSError: the directory cannot be read.
    """
    path = store.path or Path() if isinstance(store, Store) else Path(store)
    made = any_store(store, **known)
    return made.looked_at(lambda: _overview(made, path, on_progress))


def _overview(store: Store, path: Path, on_progress: Callable[[int, int], None] | None) -> Overview:
    problems = list(store.skipped)
    readable = _Readable(problems, WorkDone(on_progress, len(store.listed)))
    log = readable(store.of("log"), lambda _: _log_view(store))
    indexes = readable(store.of("index"), lambda _: _index_views(store)) or ()
    whole = store.path is not None and (
        bool(store.commitlog) or any((path / name).exists() for name in _PARTS) or _is_dledger(path)
    )
    seen = Overview(
        path=path,
        kind=_kind(path, store.of("log")),
        clean=store.clean if whole else None,
        running=store.holder if whole else None,
        log=log,
        indexes=indexes,
        geometry=store.geometry_guess,
        geometry_problem="" if store.geometry_fault is None else str(store.geometry_fault),
        index_coverage=_coverage(log, indexes, whole=whole),
        queues=tuple(_queues(store, readable)),
        ext_files=len(store.exts),
        checkpoint=readable(store.checkpoints, lambda some: checkpoint_times(some[0])),
        problems=tuple(problems),
    )
    if not (whole or log or indexes or seen.queues or seen.ext_files or seen.checkpoint or problems):
        raise UsageError(f"{path}: a directory with tables; use `rocketspec decode`")
    return seen


class _Readable:
    """Reads files, counts them, and notes those that cannot be read."""

    def __init__(self, problems: list[tuple[str, str]], work: WorkDone) -> None:
        self._problems = problems
        self._work = work

    def __call__(self, files: Sequence[StoreFile], view: Callable[[Sequence[StoreFile]], _T]) -> _T | None:
        if not files:
            return None
        try:
            return view(files)
        except FormatError as error:
            self._problems.append((files[0].name, f"found {error.found}, expected {error.expected}"))
        except FileNotFoundError:
            if not all(map(is_gone, files)):
                raise
        finally:
            self._work.add(len(files))
        return None


def _is_dledger(path: Path) -> bool:
    return any(path.glob("dledger-*"))


def _kind(path: Path, logs: Sequence[StoreFile]) -> str:
    if _is_dledger(path):
        return "DLedger"
    return "several commit-log directories" if len({file.path.parent for file in logs}) > 1 else "plain"


def _size(files: Sequence[StoreFile]) -> int:
    return sum(size_of(file) or 0 for file in files)


def _log_view(store: Store) -> LogView:
    tail, files = store.tail, store.of("log")
    first = decode(files, tables=["commit_log"], columns=["store_timestamp"], limit=1, on_gap=lambda _: None)
    times = [row["store_timestamp"] for _, batch in first for row in batch.to_pylist()]
    return LogView(
        files=len(files),
        size=sum(tail.sizes),
        begin=files[0].base_offset,
        end=tail.end,
        begin_timestamp=times[0] if times else None,
        end_timestamp=tail.newest,
    )


def _index_views(store: Store) -> tuple[IndexView, ...]:
    geometry = store.geometry or store.given_geometry
    return tuple(
        IndexView(
            file.name,
            size_of(file) or 0,
            _entries(file, header.index_count - 1, geometry),
            header.begin_phy_offset,
            header.end_phy_offset,
            header.begin_timestamp,
            header.end_timestamp,
        )
        for file, header in store.indexes
    )


def _entries(file: StoreFile, counted: int, geometry: Geometry | None) -> int:
    """The entries that an index file's header counts; if the file has no room for as many, those up to its last byte that is not zero."""
    begin = INDEX_HEADER.size + INDEX_SLOT.size if geometry is None else geometry.entries_offset
    if counted < ((size_of(file) or 0) - begin) // INDEX_ENTRY.size:
        return max(counted, 0)
    with file.open() as reader:
        last = reader.last_nonzero(begin, reader.size)
    return 0 if last is None else (last - begin) // INDEX_ENTRY.size


def _coverage(log: LogView | None, indexes: Sequence[IndexView], *, whole: bool) -> float | None:
    if log is None or log.end <= log.begin or not whole:
        return None
    filled = [index for index in indexes if index.entries]
    if not filled:
        return 0.0
    first = max(min(index.begin_phy_offset for index in filled), log.begin)
    last = min(max(index.end_phy_offset for index in filled), log.end)
    return max(last - first, 0) / (log.end - log.begin)


def _queues(store: Store, readable: _Readable) -> list[QueueView]:
    views = [
        readable(group, lambda some: _queue(some, store.begin)) for group in by_queue(store.queues).values()
    ]
    return [view for view in views if view is not None]


def queue_views(store: Store) -> dict[tuple[str, int], QueueView]:
    """The content of each consume queue, by topic and number."""
    views = _queues(store, _Readable([], WorkDone(None)))
    return {(view.topic, view.queue_id): view for view in views}


def _queue(files: Sequence[StoreFile], log_begin: int) -> QueueView:
    first, last = files[0], files[-1]
    end = last.base_offset // QUEUE_UNIT.size
    for file in reversed(files):
        with open_reader(file.path, file.source) as reader:
            written = reader.last_nonzero(0, reader.size)
        if written is not None:
            end = file.base_offset // QUEUE_UNIT.size + written // QUEUE_UNIT.size + 1
            break
    return QueueView(
        topic=first.topic or "",
        queue_id=first.queue_id or 0,
        files=len(files),
        size=_size(files),
        min_offset=min(_first_kept(files, log_begin), end),
        max_offset=end,
    )


def _first_kept(files: Sequence[StoreFile], log_begin: int) -> int:
    """Logical offset of the first unit, no filler, whose record the log still has, by a binary search: physical offsets rise within a queue."""
    for file in files:
        count = (size_of(file) or 0) // QUEUE_UNIT.size
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            at, unit = _next_unit(file, middle, count)
            if at == count or (unit["size"] > 0 and unit["phy_offset"] < log_begin):
                low = middle + 1
            else:
                high = middle
        if low < count:
            return file.base_offset // QUEUE_UNIT.size + _next_unit(file, low, count)[0]
    return (files[-1].base_offset + (size_of(files[-1]) or 0)) // QUEUE_UNIT.size


def _next_unit(file: StoreFile, number: int, count: int) -> tuple[int, Any]:
    """The first unit from a number on that is not a filler, and its number; `count` if there is none."""
    at_once = 1
    while number < count:
        taken = min(at_once, count - number)
        raw = read_at(file, number * QUEUE_UNIT.size, taken * QUEUE_UNIT.size)
        units = np.frombuffer(raw.ljust(taken * QUEUE_UNIT.size, b"\0"), UNIT_DTYPE)
        real = np.flatnonzero(units["size"] != PRE_BLANK_SIZE)
        if real.size:
            return number + int(real[0]), units[real[0]]
        number, at_once = number + taken, _FILLERS
    return count, None


# Disk use of a store: bytes by topic and queue, and the files that a broker deletes next.


_UNITS_AT_ONCE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class QueueSpace:
    """One queue; `messages` are the units whose record the log still has, `log_bytes` the length of these records, `expired` the other units."""

    topic: str
    queue_id: int
    messages: int
    log_bytes: int
    expired: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Aging:
    """One file of the commit log that a broker deletes some day, and when it was last modified, ms: a broker counts its age from there."""

    file: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Space:
    """Disk use of a store."""

    log_bytes: int  # from the first byte of the log to its last record
    # most bytes of the log first. Light queues share their records with others
    queues: tuple[QueueSpace, ...]
    aging: tuple[Aging, ...]  # the log's files, oldest first, without the last one, which stays
    # index files that no query needs: all their records are gone, and the next cleaning deletes them
    spare_indexes: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]  # name and reason of each file that was left out


def space(
    store: Store | Path, *, on_progress: Callable[[int, int], None] | None = None, **known: Any
) -> Space:
    """Disk use of a store; reads all consume queues, and of other files the ends. Unreadable files are left out.

    Source: `MappedFileQueue.deleteExpiredFileByTime` 350-394; `IndexService.deleteExpiredFile` 90-141 (4.9.3).

    Raises UsageError: no store, or one without a commit log.
    Raises OSError: nothing can be read.
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
