"""Plans a decode: checks the request, lists the stores, and cuts them into tasks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Unpack

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_spark.decode.options import DecodeArguments, DecodeOptions, check_options
from rocket_spark.files import disk_bytes
from rocket_spark.output import check_out
from rocket_spark.reading import Cut, FilePart, grouped, store_parts
from rocket_spark.stores import JobStores, StorePath, StoreTask
from rocket_spark.tasks import Failures

_USUAL: Final = DecodeOptions()

_PLANNERS: Final = 16
"""Stores that are listed at once."""


@dataclass(frozen=True, slots=True)
class PartTask:
    """The work of one task: parts, in the order of their tables and stores, to a file in each table."""

    number: int
    parts: tuple[FilePart, ...]
    weight: int = 1 << 30
    """No two share a Spark task: they are cut to its size."""


@dataclass(frozen=True, slots=True)
class StorePlan:
    """The work on one store: files, their bytes on disk, and its parts."""

    files: int
    size: int
    parts: tuple[FilePart, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """The plan of a decode job: the request has been checked, nothing is written.

    Attributes:
        out: the output folder.
        storage: options of S3 and HDFS.
        job: the stores, and those that failed.
        plans: of the stores that can be decoded.
        tasks: what is decoded.
        options: how the output is laid out.
    """

    out: str | Path
    storage: Mapping[str, str] | None
    job: JobStores
    plans: dict[str, StorePlan]
    tasks: tuple[PartTask, ...]
    options: DecodeOptions

    @property
    def stores(self) -> dict[str, str]:
        """Path or URI of each store, by name."""
        return self.job.paths

    @property
    def failed(self) -> Failures:
        """Errors of the stores that cannot be decoded."""
        return self.job.failed

    @property
    def size(self) -> int:
        """Bytes on disk of the files to decode."""
        return sum(plan.size for plan in self.plans.values())


def plan_decode(
    stores: StorePath | Sequence[StorePath],
    out: str | Path,
    tables: Collection[str] | None = None,
    geometry: Geometry | None = None,
    **how: Unpack[DecodeArguments],
) -> DecodePlan:
    """The first half of `decode_stores`, without Spark; arguments and errors as there."""
    overwrite, storage, options = how.get("overwrite", False), how.get("storage"), how.get("options", _USUAL)
    check_options(options)
    for table in tables or ():
        if table not in TABLE_KINDS:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLE_KINDS)}")
    job = JobStores(stores, geometry=geometry, storage=storage, failed=None if options.fail_fast else {})
    wanted = [table for table in TABLE_KINDS if tables is None or table in tables]
    found = _found(job, {TABLE_KINDS[table] for table in wanted}, how.get("on_skip"))
    job.good((), ())
    kinds = {file.kind for files in found.values() for file in files}
    for table in tables or ():
        if TABLE_KINDS[table] not in kinds:
            where = ", ".join(job.paths.values())
            raise UsageError(f"{where}: no file that table {table} is decoded from")
    out = check_out(out, job.paths.values(), TABLE_KINDS, storage, overwrite=overwrite)
    plans: dict[str, StorePlan] = {}
    for task in job.tasks:
        if task.store in found:
            with job.planning(task.store):
                plans[task.store] = _planned(task, found[task.store], wanted, strict=options.fail_fast)
    job.good((), ())
    order = list(TABLE_KINDS)
    parts = [part for plan in plans.values() for part in plan.parts]
    groups = grouped(sorted(parts, key=lambda part: order.index(part.table)))
    tasks = tuple(PartTask(number, group) for number, group in enumerate(groups))
    return DecodePlan(out, storage, job, plans, tasks, options)


def _planned(task: StoreTask, files: list[StoreFile], tables: Sequence[str], *, strict: bool) -> StorePlan:
    parts = tuple(store_parts(task.store, files, tables, task.geometry, Cut(strict=strict)))
    used = {part.file for part in parts if part.file is not None}
    return StorePlan(len(used), sum(map(disk_bytes, used)), parts)


def _found(
    job: JobStores, kinds: Collection[str], on_skip: Callable[[str, str], None] | None
) -> dict[str, list[StoreFile]]:
    """The files of each store that can be listed."""
    skipped: dict[str, list[tuple[str, str]]] = {task.store: [] for task in job.tasks}
    found: dict[str, list[StoreFile]] = {}

    def listed(task: StoreTask) -> None:
        with job.planning(task.store):
            found[task.store] = task.files(kinds, lambda *skip: skipped[task.store].append(skip))

    with ThreadPoolExecutor(_PLANNERS) as pool:
        list(pool.map(listed, job.tasks))
    for name, reason in (skip for some in skipped.values() for skip in some):
        if on_skip is not None:
            on_skip(name, reason)
    return {task.store: found[task.store] for task in job.tasks if task.store in found}
