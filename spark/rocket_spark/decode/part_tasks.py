"""Tasks of a decode: which parts of which files each decodes, cut by size on disk, with the rows and gaps of the whole.

An index file is divided by its entries, a commit-log file by physical offsets. What the engine reports for the end of a
commit-log file depends on the files after it: zeros there are the end of the log, or a gap in it. So a part of the log
comes with the files that follow, up to the first that contains anything.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.store import StoreFile
from rocket_spec.layout import Geometry

from rocket_spark.decode.coverage import Bounds, bounds_of, entry_count
from rocket_spark.files import disk_bytes, state_of
from rocket_spark.reading import begins, cuts_of, written
from rocket_spark.stores import JobStores

WHOLE_LOG: Final = (-(1 << 63), 1 << 63)
"""From before any physical offset to after all of them."""

TASK_BYTES: Final = 128 << 20
"""Small files are joined into one task up to this many bytes on disk, so that a part is worth a file of its own. A task
takes the same amount of a large commit-log file."""

_FILE_COST: Final = 64 << 10
"""What opening a file costs, in bytes: a task has at most 2,048 files."""

TASK_ENTRIES: Final = 2_500_000
"""Entries of a large index file that one task takes at most."""


_MANY_TASKS: Final = 10_000
_LARGEST: Final = 8
"""In a job that would have more tasks than `_MANY_TASKS`, each does more, up to this many times as much."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """What one task decodes: `files` of one kind, to a part of that number in each of `tables`.

    Attributes:
        number: of the parts, in the order of the rows.
        store: name of the store, empty if there is one.
        files: to decode.
        sizes: of these files when the job was planned, bytes.
        weight: bytes on disk that the task reads.
        following: files of the log that decide whether zeros at the end of `files` are a gap.
        tables: to write.
        guess: the geometry of index files.
        rows: of each file, the first row and the one after the last; empty for all.
        log_range: of commit logs, the physical offsets from the first on, before the second.
        closed: whether what is at the end of `log_range` is left to a later run.
        states: of `files` and `following`, as of `state_of`: a resumed job runs the task again if any differs.
    """

    number: int
    store: str
    files: tuple[StoreFile, ...]
    sizes: tuple[int, ...]
    weight: int
    following: tuple[StoreFile, ...]
    tables: tuple[str, ...]
    guess: GeometryGuess | None
    rows: tuple[tuple[int, int], ...] = ()
    log_range: tuple[int, int] = WHOLE_LOG
    closed: bool = False
    states: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """Name of the files that the task writes: the number of the part, and where it begins."""
        begin = self.rows[0][0] if self.rows else max(self.log_range[0], 0)
        return f"part-{self.number:05}-{begin}.parquet"


@dataclass(frozen=True, slots=True)
class StorePlan:
    """What there is to decode of one store: files and bytes on disk, and with `append` the bounds and files there."""

    files: int
    size: int
    bounds: Bounds | None
    present: frozenset[str]
    log_begin: int


@dataclass(frozen=True, slots=True)
class TaskCutter:
    """Cuts stores into tasks: of the wanted tables, `times` as large as usual."""

    tables: Collection[str] | None
    times: int

    def stores(
        self, job: JobStores, chosen: Mapping[str, list[StoreFile]], before: Mapping[str, Any]
    ) -> tuple[dict[str, StorePlan], list[PartTask]]:
        """The tasks of all stores of which files were chosen."""
        plans: dict[str, StorePlan] = {}
        tasks: list[PartTask] = []
        number = before.get("next", 0)
        for name, store in ((store.store, store) for store in job.tasks if store.store in chosen):
            covered = before["coverage"].get(name, {}) if "coverage" in before else None
            with job.planning(name):
                plans[name], mine = self.store(chosen[name], covered, store.geometry)
                tasks += (replace(task, number=number + place, store=name) for place, task in enumerate(mine))
                number += len(mine)
        return plans, tasks

    def store(
        self, files: list[StoreFile], before: Mapping[str, Any] | None, geometry: Geometry | None
    ) -> tuple[StorePlan, list[PartTask]]:
        """The tasks of one store, in the order of its files; only what is not in `before` if that is given."""
        if before is not None:
            files = [file for file in files if file.size()]  # 0: made, not yet laid out
        guesses = resolve_each(files, geometry)
        bounds = None if before is None else bounds_of(files, guesses, before)
        following = dict(zip(files, _followers(files), strict=True))
        tasks: list[PartTask] = []
        used: set[StoreFile] = set()
        for group in self._groups(files, guesses, bounds):
            used |= set(group)
            tasks += self._divided(group, following[group[-1]], guesses, bounds)
        logs = [file.base_offset for file in files if file.kind == "log"]
        plan = StorePlan(
            len(used),
            sum(disk_bytes(file) for file in used),
            bounds,
            frozenset(file.name for file in files),
            min(logs, default=0),
        )
        return plan, tasks

    def _groups(
        self,
        files: list[StoreFile],
        guesses: Mapping[StoreFile, GeometryGuess],
        bounds: Bounds | None,
    ) -> Iterator[list[StoreFile]]:
        """Neighbours of one kind up to `times` `TASK_BYTES`, larger files alone.

        The files of one queue stay together, since the engine compares their offsets; with bounds, each index file is
        on its own.
        """
        geometries = {file: guess.geometry for file, guess in guesses.items()}
        held: list[StoreFile] = []
        room = 0
        for file in files:
            if bounds is not None and file.kind != "index" and not bounds.wanted(file):
                continue
            size = disk_bytes(file) + _FILE_COST
            alone = bounds is not None and file.kind == "index"
            if held and (alone or not _together(held[-1], file, geometries, fits=size <= room)):
                yield held
                held = []
            if not held:
                room = TASK_BYTES * self.times
            held.append(file)
            room -= size
        if held:
            yield held

    def _divided(
        self,
        files: list[StoreFile],
        following: tuple[StoreFile, ...],
        guesses: Mapping[StoreFile, GeometryGuess],
        bounds: Bounds | None,
    ) -> Iterator[PartTask]:
        """The task of these files, or the parts of one large file; the first part of an index file has the header too."""
        first = files[0]
        wanted = tuple(table for table, own in TABLE_KINDS.items() if own == first.kind)
        task = PartTask(
            0,
            "",
            tuple(files),
            tuple(file.size() for file in files),
            sum(map(disk_bytes, files)),
            following,
            tuple(table for table in wanted if self.tables is None or table in self.tables),
            guesses.get(first),
            states=tuple(map(state_of, (*files, *following))),
        )
        if first.kind == "log":
            low, high = WHOLE_LOG if bounds is None or bounds.log is None else bounds.log
            for begin, end in _log_ranges(files, following, TASK_BYTES * self.times):
                first_byte, stop = max(begin, low), min(end, high)
                if first_byte < stop:
                    weight = min(task.weight, stop - first_byte)
                    yield replace(
                        task, log_range=(first_byte, stop), weight=weight, closed=bounds is not None
                    )
        elif task.guess is not None and len(files) == 1:
            yield from self._index_parts(task, task.guess, bounds)
        elif bounds is not None and first.kind == "queue":
            yield replace(task, rows=tuple(bounds.rows[file.name] for file in files))
        else:
            yield task

    def _index_parts(self, task: PartTask, guess: GeometryGuess, bounds: Bounds | None) -> Iterator[PartTask]:
        entries = "index_entries"
        (file,) = task.files
        first, end = (0, entry_count(file, guess)) if bounds is None else bounds.rows[file.name]
        shares = _row_shares(first, end, TASK_ENTRIES * self.times)
        if entries not in task.tables or (bounds is None and len(shares) == 1):
            yield task
            return
        others = tuple(table for table in task.tables if table != entries)
        if bounds is not None:
            if others:
                yield replace(task, tables=others, weight=0)
            if first == end:
                return
            others = ()
        for share in shares:
            tables = (*others, entries) if share[0] == first else (entries,)
            yield replace(task, rows=(share,), tables=tables, weight=task.weight // len(shares))


def _followers(files: Sequence[StoreFile]) -> list[tuple[StoreFile, ...]]:
    """The files after each that its decoding needs to know of: in a log, up to the next one that contains anything.

    Raises:
        OSError: a log file cannot be read.
    """
    found: list[tuple[StoreFile, ...]] = []
    behind: tuple[StoreFile, ...] = ()
    for file in reversed(files):
        if file.kind != "log":
            found.append(())
            continue
        found.append(behind)
        behind = (file,) if begins(file) else (file, *behind)
    return found[::-1]


def _log_ranges(
    files: Sequence[StoreFile], following: Sequence[StoreFile], step: int
) -> list[tuple[int, int]]:
    """Physical offsets at which parts of neighbouring log files begin and end: in one large file every `step` bytes.

    The last part reaches to the next file, over a hole before it. Space that is not yet written is not divided.

    Raises:
        OSError: a file cannot be read.
    """
    first = files[0].base_offset
    end = following[0].base_offset if following else WHOLE_LOG[1]
    cuts = [0]
    if len(files) == 1 and (size := files[0].size()) > step:
        cuts = cuts_of(files[0], 0, min(size if following else max(written(files[0]), 1), end - first), step)
    return list(pairwise([*(first + cut for cut in cuts), end]))


def _row_shares(first: int, end: int, step: int) -> list[tuple[int, int]]:
    """[first, end) in equal shares of `step` rows at most, each the first row and the one after the last."""
    shares = max(1, -(-(end - first) // step))
    edges = [first + (end - first) * share // shares for share in range(shares + 1)]
    return list(pairwise(edges))


def _together(
    before: StoreFile, file: StoreFile, geometries: dict[StoreFile, Geometry], *, fits: bool
) -> bool:
    """Whether `file` goes into the task of the one before it."""
    if before.kind != file.kind or geometries.get(before) != geometries.get(file):
        return False
    same_queue = file.kind in ("queue", "ext") and before.path.parent == file.path.parent
    return fits or same_queue


def task_cutter(stores: Mapping[str, list[StoreFile]], tables: Collection[str] | None) -> TaskCutter:
    """The cutter for a job that decodes these files, whose tasks grow with the job."""
    total = sum(disk_bytes(file) for files in stores.values() for file in files)
    return TaskCutter(tables, min(max(total // (TASK_BYTES * _MANY_TASKS), 1), _LARGEST))
