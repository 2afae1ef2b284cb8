"""From stores to tasks: which parts of which files each task decodes, cut by what is on disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.index import resolve_each
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.tables import TABLES

from rocket_spark.decode.coverage import REPLACED, Bounds, bounds_of, entry_count
from rocket_spark.decode.file_spans import WHOLE_LOG, followers, log_spans, row_shares
from rocket_spark.decode.options import DecodeOptions, check_options
from rocket_spark.files import disk_bytes
from rocket_spark.output import check_out, earlier_manifest
from rocket_spark.stores import StorePath, name_stores, reasons, store_files
from rocket_spark.tasks import Failures, JobError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from rocket_columnar.index import GeometryGuess
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = ["DecodePlan", "PartTask", "StorePlan", "plan_decode"]

_TASK_BYTES: Final = 128 << 20
"""Small files are joined into one task up to this many bytes on disk, so that a part is worth a file of its own; a task
takes as much of a large commit-log file."""

_FILE_COST: Final = 64 << 10
"""What opening a file costs, in bytes: a task has at most 2,048 files."""

_TASK_ENTRIES: Final = 2_500_000
"""Entries of a large index file that one task takes at most."""

_MANY_TASKS: Final = 10_000
_LARGEST: Final = 8
"""Of a job that would have more tasks than this each takes more, up to this many times as much."""

_USUAL: Final = DecodeOptions()

_PLANNERS: Final = 16
"""Stores that are listed at once."""


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
class DecodePlan:
    """What a decode job will do: the request has been checked, nothing is written.

    Attributes:
        out: the output folder.
        overwrite: whether its content is replaced.
        storage: options of S3 and HDFS.
        stores: path or URI of each store, by name.
        plans: of the stores that can be decoded.
        failed: errors of the others.
        tasks: what is decoded.
        options: how the output is treated.
        before: the manifest of the runs before, with `append`.
    """

    out: str | Path
    overwrite: bool
    storage: dict[str, str]
    stores: dict[str, str]
    plans: dict[str, StorePlan]
    tasks: tuple[PartTask, ...]
    failed: Failures = field(default_factory=dict)
    options: DecodeOptions = _USUAL
    before: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> int:
        """The number of files to decode."""
        return sum(plan.files for plan in self.plans.values())

    @property
    def size(self) -> int:
        """Bytes on disk of these files."""
        return sum(plan.size for plan in self.plans.values())


@dataclass(slots=True)
class _Found:
    """The files of one store, or why there are none; reasons why files were left out."""

    files: list[StoreFile] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    error: Exception | None = None


def plan_decode(
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    *,
    overwrite: bool = False,
    storage: Mapping[str, str] | None = None,
    options: DecodeOptions = _USUAL,
    on_skip: Callable[[str, str], None] = lambda _name, _reason: None,
) -> DecodePlan:
    """The first half of `decode_stores`, without Spark; arguments and errors as there.

    `on_skip` is called with the name of each file that is left out, and the reason.
    """
    check_options(options, overwrite=overwrite)
    named = name_stores(stores)
    for table in tables or ():
        if table not in TABLES:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLES)}")
    found = _found(named, storage)
    for one in found.values():
        for skip in one.skipped:
            on_skip(*skip)
    failed: Failures = {name: one.error for name, one in found.items() if one.error is not None}
    if failed and (options.fail_fast or len(named) == 1):
        raise next(iter(failed.values()))
    good = {name: one.files for name, one in found.items() if one.error is None}
    if good:
        out = check_out(
            out, named, TABLES, storage, overwrite=overwrite, resume=options.resume, append=options.append
        )
    before = _before(out, named, tables, options, storage)
    chosen = _select(good, tables, named)
    total = sum(disk_bytes(file) for files in chosen.values() for file in files)
    cut = _Cut(tables, geometry, min(max(total // (_TASK_BYTES * _MANY_TASKS), 1), _LARGEST))
    plans, tasks = cut.stores(chosen, before, failed, strict=options.fail_fast or len(named) == 1)
    if not plans:
        raise JobError(f"no store can be decoded: {reasons(failed, named)}")
    failed = {name: failed[name] for name in named if name in failed}
    return DecodePlan(
        out, overwrite, dict(storage or {}), named, plans, tuple(tasks), failed, options, before
    )


def _found(named: Mapping[str, str], storage: Mapping[str, str] | None) -> dict[str, _Found]:
    def listed(path: str) -> _Found:
        found = _Found()
        try:
            found.files = store_files(path, storage, lambda *skip: found.skipped.append(skip))
        except (FormatError, UsageError, OSError) as error:
            found.error = error
        return found

    with ThreadPoolExecutor(_PLANNERS) as pool:
        return dict(zip(named, pool.map(listed, named.values()), strict=True))


def _before(
    out: str | Path,
    named: Mapping[str, str],
    tables: Collection[str] | None,
    options: DecodeOptions,
    storage: Mapping[str, str] | None,
) -> dict[str, Any]:
    """The manifest that a run appends to; UsageError if that run was another job."""
    found = earlier_manifest(out, storage) if options.append else None
    if not options.append:
        return {}
    if found is None:
        return {"request": request_of(tables, options), "coverage": {}}
    if found.get("job") != "decode" or "coverage" not in found:
        raise UsageError(f"{out}: was not written with --append; choose a new directory")
    if found["request"] != request_of(tables, options):
        raise UsageError(f"{out}: was written with other tables or options; choose a new directory")
    if ("" in named) != ("" in found["stores"]):
        raise UsageError(
            f"{out}: one store cannot be appended to the output of several, nor several to that of one"
        )
    for name, path in named.items():
        if found["stores"].get(name, path) != path:
            raise UsageError(
                f"{out}: {name or 'the store'} was {found['stores'][name]}, now {path}; choose a new directory"
            )
    return found


def request_of(tables: Collection[str] | None, options: DecodeOptions) -> dict[str, Any]:
    """What has to be the same in every run that appends."""
    return {
        "tables": None if tables is None else sorted(tables),
        "utc": options.utc,
        "key_list": options.key_list,
        "partition_by": list(options.partition_by),
    }


def _select(
    found: dict[str, list[StoreFile]], tables: Collection[str] | None, stores: dict[str, str]
) -> dict[str, list[StoreFile]]:
    if tables is None:
        return found
    kinds = {file.kind for files in found.values() for file in files}
    for table in tables:
        if found and TABLE_KINDS[table] not in kinds:
            where = ", ".join(stores.values())
            raise UsageError(f"{where}: no file that table {table} is decoded from")
    wanted = {TABLE_KINDS[table] for table in tables}
    return {name: [file for file in files if file.kind in wanted] for name, files in found.items()}


@dataclass(frozen=True, slots=True)
class _Cut:
    """How stores are cut into tasks: tables and geometry as asked for, and tasks `times` as large as usual."""

    tables: Collection[str] | None
    geometry: Geometry | None
    times: int

    def stores(
        self,
        chosen: Mapping[str, list[StoreFile]],
        before: Mapping[str, Any],
        failed: Failures,
        *,
        strict: bool,
    ) -> tuple[dict[str, StorePlan], list[PartTask]]:
        """The tasks of all stores; errors go to `failed` unless `strict`."""
        plans: dict[str, StorePlan] = {}
        tasks: list[PartTask] = []
        number = before.get("next", 0)
        for name, files in chosen.items():
            covered = before["coverage"].get(name, {}) if "coverage" in before else None
            try:
                plan, mine = self.store(files, covered)
            except (FormatError, UsageError, OSError) as error:
                if strict:
                    raise
                failed[name] = error
                continue
            plans[name] = plan
            tasks += (replace(task, number=number + place, store=name) for place, task in enumerate(mine))
            number += len(mine)
        return plans, tasks

    def store(
        self, files: list[StoreFile], before: Mapping[str, Any] | None
    ) -> tuple[StorePlan, list[PartTask]]:
        """The tasks of one store, in the order of its files; only what is not in `before` if that is given."""
        if before is not None:
            files = [file for file in files if file.size()]  # 0: made, not yet laid out
        guesses = resolve_each(files, self.geometry)
        bounds = None if before is None else bounds_of(files, guesses, before)
        following = dict(zip(files, followers(files), strict=True))
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
        """Neighbours of one kind up to `times` `_TASK_BYTES`, larger files alone.

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
                room = _TASK_BYTES * self.times
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
        )
        if first.kind == "log":
            low, high = WHOLE_LOG if bounds is None or bounds.log is None else bounds.log
            for begin, end in log_spans(files, following, _TASK_BYTES * self.times):
                span = max(begin, low), min(end, high)
                if span[0] < span[1]:
                    weight = min(task.weight, span[1] - span[0])
                    yield replace(task, log_range=span, weight=weight, closed=bounds is not None)
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
        shares = row_shares(first, end, _TASK_ENTRIES * self.times)
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


def _together(
    before: StoreFile, file: StoreFile, geometries: dict[StoreFile, Geometry], *, fits: bool
) -> bool:
    """Whether `file` goes into the task of the one before it."""
    if before.kind != file.kind or geometries.get(before) != geometries.get(file):
        return False
    same_queue = file.kind in ("queue", "ext") and before.path.parent == file.path.parent
    return fits or same_queue


def is_replaced(table: str) -> bool:
    """Whether each run with `append` writes the rows of `table` anew."""
    return table in REPLACED
