"""Plans a decode: checks the request, lists the stores, and cuts them into tasks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Unpack

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_spark.decode.options import DecodeArguments, DecodeOptions, check_options
from rocket_spark.decode.part_tasks import PartTask, StorePlan, TaskCutter
from rocket_spark.output import check_out
from rocket_spark.stores import JobStores, StorePath, StoreTask
from rocket_spark.tasks import Failures

_USUAL: Final = DecodeOptions()

_PLANNERS: Final = 16
"""Stores that are listed at once."""


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """What a decode job will do: the request has been checked, nothing is written.

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
    job = JobStores(stores, geometry=geometry, storage=storage, failed=None if options.fail_fast else {})
    for table in tables or ():
        if table not in TABLES:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLES)}")
    found = _found(job, how.get("on_skip"))
    job.good((), ())
    out = check_out(out, job.paths.values(), TABLES, storage, overwrite=overwrite)
    plans, tasks = TaskCutter(_select(found, tables, job.paths), tables).stores(job)
    job.good((), ())
    return DecodePlan(out, storage, job, plans, tuple(tasks), options)


def _found(job: JobStores, on_skip: Callable[[str, str], None] | None) -> dict[str, list[StoreFile]]:
    """The files of each store that can be listed."""
    skipped: dict[str, list[tuple[str, str]]] = {task.store: [] for task in job.tasks}
    found: dict[str, list[StoreFile]] = {}

    def listed(task: StoreTask) -> None:
        with job.planning(task.store):
            found[task.store] = task.files(lambda *skip: skipped[task.store].append(skip))

    with ThreadPoolExecutor(_PLANNERS) as pool:
        list(pool.map(listed, job.tasks))
    for name, reason in (skip for some in skipped.values() for skip in some):
        if on_skip is not None:
            on_skip(name, reason)
    return {task.store: found[task.store] for task in job.tasks if task.store in found}


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
