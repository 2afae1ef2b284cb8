"""Plans a decode: checks the request, lists the stores, and cuts them into tasks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.store import StoreFile
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import Geometry
from rocket_spec.tables import TABLES

from rocket_spark.decode.coverage import REPLACED
from rocket_spark.decode.options import DecodeOptions, check_options
from rocket_spark.decode.part_tasks import PartTask, StorePlan, task_cutter
from rocket_spark.output import check_out, earlier_manifest
from rocket_spark.stores import Store, StorePath, name_stores, reasons, store_files, stores_by_name
from rocket_spark.tasks import Failures, JobError

_USUAL: Final = DecodeOptions()

_PLANNERS: Final = 16
"""Stores that are listed at once."""


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
    """The files of one store, or why there are none; reasons why files were skipped."""

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

    `on_skip` is called with the name of each file that is skipped, and the reason.
    """
    check_options(options, overwrite=overwrite)
    named, given = name_stores(stores), stores_by_name(stores)
    for table in tables or ():
        if table not in TABLES:
            raise UsageError(f"table {table}: unknown; choose from {', '.join(TABLES)}")
    found = _found(named, given, storage)
    for listed in found.values():
        for skip in listed.skipped:
            on_skip(*skip)
    failed: Failures = {name: listed.error for name, listed in found.items() if listed.error is not None}
    if failed and (options.fail_fast or len(named) == 1):
        raise next(iter(failed.values()))
    good = {name: listed.files for name, listed in found.items() if listed.error is None}
    if good:
        out = check_out(
            out, named, TABLES, storage, overwrite=overwrite, resume=options.resume, append=options.append
        )
    before = _before(out, named, tables, options, storage)
    chosen = _select(good, tables, named)
    cut = task_cutter(chosen, tables, {name: geometry or store.geometry for name, store in given.items()})
    plans, tasks = cut.stores(chosen, before, failed, strict=options.fail_fast or len(named) == 1)
    if not plans:
        raise JobError(f"no store can be decoded: {reasons(failed, named)}")
    failed = {name: failed[name] for name in named if name in failed}
    return DecodePlan(
        out, overwrite, dict(storage or {}), named, plans, tuple(tasks), failed, options, before
    )


def _found(
    named: Mapping[str, str], given: Mapping[str, Store], storage: Mapping[str, str] | None
) -> dict[str, _Found]:
    def listed(name: str) -> _Found:
        found = _Found()
        try:
            options = given[name].options(storage)
            found.files = store_files(named[name], options, lambda *skip: found.skipped.append(skip))
        except (FormatError, UsageError, OSError) as error:
            found.error = error
        return found

    with ThreadPoolExecutor(_PLANNERS) as pool:
        return dict(zip(named, pool.map(listed, named), strict=True))


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
    """What has to be the same in every run that appends, or uses what a killed run kept."""
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


def is_replaced(table: str) -> bool:
    """Whether each run with `append` writes the rows of `table` anew."""
    return table in REPLACED
