"""Tasks of a decode: which parts of which files each decodes, cut by size on disk, with the rows and gaps of the whole.

An index file is divided by its entries, a commit-log file by physical offsets. What the engine reports for the end of a
commit-log file depends on the files after it: zeros there are the end of the log, or a gap in it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, Final

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.index import GeometryGuess, resolve_each
from rocket_columnar.store import StoreFile
from rocket_spec.layout import Geometry

from rocket_spark.files import disk_bytes
from rocket_spark.reading import FilePart, entry_count, log_parts
from rocket_spark.stores import JobStores

WHOLE_LOG: Final = (-(1 << 63), 1 << 62)
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
    """

    number: int
    store: str
    files: tuple[StoreFile, ...]
    sizes: tuple[int, ...]
    weight: int
    tables: tuple[str, ...]
    following: tuple[StoreFile, ...] = ()
    guess: GeometryGuess | None = None
    rows: tuple[tuple[int, int], ...] = ()
    log_range: tuple[int, int] = WHOLE_LOG

    @property
    def name(self) -> str:
        """Name of the files that the task writes: the number of the part."""
        return f"part-{self.number:05}.parquet"


@dataclass(frozen=True, slots=True)
class StorePlan:
    """What there is to decode of one store: files, and their bytes on disk."""

    files: int
    size: int


class TaskCutter:
    """Cuts a job that decodes these files to the wanted tables into tasks, which grow with the job."""

    def __init__(self, chosen: Mapping[str, list[StoreFile]], tables: Collection[str] | None) -> None:
        total = sum(disk_bytes(file) for files in chosen.values() for file in files)
        self.chosen = chosen
        self.tables = tables
        self.times = min(max(total // (TASK_BYTES * _MANY_TASKS), 1), _LARGEST)

    def stores(self, job: JobStores) -> tuple[dict[str, StorePlan], list[PartTask]]:
        """The tasks of all stores of which files were chosen."""
        plans: dict[str, StorePlan] = {}
        tasks: list[PartTask] = []
        for name, store in ((store.store, store) for store in job.tasks if store.store in self.chosen):
            with job.planning(name):
                plans[name], mine = self.store(self.chosen[name], store.geometry)
                tasks += (
                    replace(task, number=number, store=name) for number, task in enumerate(mine, len(tasks))
                )
        return plans, tasks

    def store(self, files: list[StoreFile], geometry: Geometry | None) -> tuple[StorePlan, list[PartTask]]:
        """The tasks of one store, in the order of its files."""
        guesses = resolve_each(files, geometry)
        tasks: list[PartTask] = []
        for kind, some in groupby(files, key=lambda file: file.kind):
            if kind == "log":
                tasks += self._log_parts(list(some))
                continue
            for group in self._groups(list(some), guesses):
                tasks += self._divided(group, guesses.get(group[0]))
        used = {file for task in tasks for file in task.files}
        return StorePlan(len(used), sum(map(disk_bytes, used))), tasks

    def _task(self, files: Sequence[StoreFile], **more: Any) -> PartTask:
        """A task for all of these files, which is numbered later."""
        wanted = (table for table, own in TABLE_KINDS.items() if own == files[0].kind)
        return PartTask(
            0,
            "",
            tuple(files),
            tuple(file.size() for file in files),
            sum(map(disk_bytes, files)),
            tables=tuple(table for table in wanted if self.tables is None or table in self.tables),
            **more,
        )

    def _log_parts(self, files: list[StoreFile]) -> Iterator[PartTask]:
        """Ranges of a log: small neighbours together, parts of a large file alone."""
        step = TASK_BYTES * self.times
        held: list[FilePart] = []
        room = 0

        def joined() -> PartTask:
            begin, end = held[0].range[0], held[-1].range[1]
            task = self._task(
                list(dict.fromkeys(part.file for part in held)),
                following=held[-1].following,
                log_range=(begin, end),
            )
            return replace(task, weight=min(task.weight, end - begin))

        for _, log in groupby(files, key=lambda file: file.sequence):
            for part in log_parts(list(log), step, WHOLE_LOG):
                weight = min(disk_bytes(part.file), step) + _FILE_COST
                if held and (weight > room or held[-1].file.sequence != part.file.sequence):
                    yield joined()
                    held = []
                if not held:
                    room = step
                held.append(part)
                room -= weight
        if held:
            yield joined()

    def _groups(
        self, files: list[StoreFile], guesses: Mapping[StoreFile, GeometryGuess]
    ) -> Iterator[list[StoreFile]]:
        """Neighbours up to `times` `TASK_BYTES`, larger files alone.

        The files of one queue stay together, since the engine compares their offsets.
        """
        geometries = {file: guess.geometry for file, guess in guesses.items()}
        held: list[StoreFile] = []
        room = 0
        for file in files:
            size = disk_bytes(file) + _FILE_COST
            if held and not _together(held[-1], file, geometries, fits=size <= room):
                yield held
                held = []
            if not held:
                room = TASK_BYTES * self.times
            held.append(file)
            room -= size
        if held:
            yield held

    def _divided(self, files: list[StoreFile], guess: GeometryGuess | None) -> Iterator[PartTask]:
        """The task of these files, or the parts of one large index file; the first part has the header too."""
        task = self._task(files, guess=guess)
        entries = "index_entries"
        if guess is None or len(files) != 1 or entries not in task.tables:
            yield task
            return
        shares = _row_shares(0, entry_count(files[0], guess), TASK_ENTRIES * self.times)
        if len(shares) == 1:
            yield task
            return
        for share in shares:
            tables = (entries,) if share[0] else task.tables
            yield replace(task, rows=(share,), tables=tables, weight=task.weight // len(shares))


def _row_shares(first: int, end: int, step: int) -> list[tuple[int, int]]:
    """[first, end) in equal shares of `step` rows at most, each the first row and the one after the last."""
    shares = max(1, -(-(end - first) // step))
    edges = [first + (end - first) * share // shares for share in range(shares + 1)]
    return list(pairwise(edges))


def _together(
    before: StoreFile, file: StoreFile, geometries: dict[StoreFile, Geometry], *, fits: bool
) -> bool:
    """Whether `file` goes into the task of the one before it."""
    if geometries.get(before) != geometries.get(file):
        return False
    same_queue = file.kind in ("queue", "ext") and before.path.parent == file.path.parent
    return fits or same_queue
