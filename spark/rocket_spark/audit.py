"""Auditing stores on Spark by ranges of physical offset, without a shuffle.

Plans of stores, surveys of queue and index files, and ranges of logs are tasks. Of the queues and the index a range only
needs what points into it: the task is sent the places of these runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_columnar import audit as engine
from rocket_columnar.audit import Level, Plan, Range, RangeResult, Surveys
from rocket_columnar.findings import Finding
from rocket_columnar.formats import LONG_MIN
from rocket_columnar.store import Sign, StoreFile
from rocket_spec.layout import Geometry

from rocket_spark.files import commit_logs, disk_bytes, is_remote, storage_for
from rocket_spark.stores import StorePath, StoreTask, name_stores, reasons, store_files, store_tasks
from rocket_spark.tasks import Failures, JobError, Progress, cores, run_tasks, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASK_BYTES: Final = 128 << 20
"""Bytes on disk of queue and index files that one task takes."""

_FILE_COST: Final = 64 << 10
"""What opening a file costs, in bytes."""

PLAN_WEIGHT: Final = 8 << 20
"""What planning a store costs, in bytes: eight small stores share a task."""

_RANGES: Final = 4
"""Ranges of a log, of 32 MB, that one task takes at most."""

_TURNS: Final = 5
"""Minimum number of tasks per core, if there are that many ranges."""

_NEIGHBOURS: Final = 64
"""Tasks whose runs are picked together."""

_GROUP_BYTES: Final = 64 << 30
"""Bytes of queue and index files of the stores that are audited together: their surveys are kept in the driver."""


@dataclass(frozen=True, slots=True)
class _SurveyTask:
    store: str
    files: tuple[StoreFile, ...]


@dataclass(frozen=True, slots=True)
class _RangeTask:
    store: str
    ranges: tuple[Range, ...]
    surveys: Surveys


def audit_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    level: Level = "default",
    *,
    geometry: Geometry | None = None,
    storage: Mapping[str, str] | None = None,
    failed: Failures | None = None,
    signs: dict[str, tuple[Sign, ...]] | None = None,
    progress: Progress = silent,
) -> Iterator[tuple[str, Finding]]:
    """What is wrong with stores: the findings of `rocket_columnar.audit.audit`, each after the name of its store.

    Args:
        spark: the session that runs the tasks; they see `stores` under the same paths as the driver.
        stores: the directories of one store or several, as paths or URIs of S3 or HDFS; a single one has the name "".
        level: "quick", "default" or "deep", as of `audit`.
        geometry: of the index files; else it is inferred, store by store.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        failed: receives the error of each store that cannot be audited, instead of raising it; an audit of a single store
            raises it in any case.
        signs: receives the signs of 5.x of each store that has any, before its first finding.
        progress: see `rocket_spark.tasks.Progress`.

    Raises:
        UsageError: no store, or a geometry that does not fit.
        OSError: a store cannot be read.
        JobError: Spark gave up.
    """
    named = name_stores(stores)
    collected = failed if len(named) > 1 else None
    tasks = store_tasks(stores, geometry, storage)
    weights = [PLAN_WEIGHT] * len(tasks)
    if level == "quick":
        results = run_tasks(
            spark, quick_task, tasks, what="stores", progress=progress, failed=collected, weights=weights
        )
        for task, result in zip(tasks, results, strict=True):
            found, known = result or ([], ())
            _keep(signs, task.store, known)
            yield from ((task.store, finding) for finding in found)
    else:
        planned = run_tasks(
            spark,
            partial(plan_task, level),
            tasks,
            what="stores",
            progress=progress,
            failed=collected,
            weights=weights,
        )
        found_plans = zip(tasks, planned, strict=True)
        for plans in _groups({task.store: plan for task, plan in found_plans if plan is not None}):
            yield from _audit(spark, plans, collected, signs, progress)
    if collected and len(collected) == len(named):
        raise JobError(f"no store can be audited: {reasons(collected, named)}")


def plan_task(level: Level, task: StoreTask) -> Plan:
    """In a task: the plan of one store."""
    if not is_remote(task.path):
        folders = commit_logs(task.storage)
        return engine.plan_audit(task.path, level, geometry=task.geometry, commitlog=folders)
    files = store_files(task.path, task.storage)
    storage, uri = storage_for(task.path, task.storage)
    live = any(info.name == "abort" for info in storage.list(uri))
    return engine.plan_files(files, level, live=live, geometry=task.geometry)


def quick_task(task: StoreTask) -> tuple[list[Finding], tuple[Sign, ...]]:
    """In a task: all of one store's quick audit, and its signs of 5.x."""
    plan = plan_task("quick", task)
    return list(engine.quick_findings(plan)), plan.signs


def audit_here(level: Level, task: StoreTask) -> tuple[list[Finding], tuple[Sign, ...]]:
    """In a task: all of one store's audit, and its signs of 5.x."""
    if level == "quick":
        return quick_task(task)
    plan = plan_task(level, task)
    surveys = engine.Surveys.of(
        [engine.survey_file(plan, file) for file in (*plan.queues, *plan.content_indexes)]
    )
    signs: list[Sign] = []
    checked = (engine.check_range(plan, surveys, part) for part in plan.ranges)
    return list(engine.findings(plan, surveys, checked, signs.extend)), tuple(signs)


def _keep(every: dict[str, tuple[Sign, ...]] | None, store: str, signs: tuple[Sign, ...]) -> None:
    if every is not None and signs:
        every[store] = signs


def _groups(plans: dict[str, Plan]) -> Iterator[dict[str, Plan]]:
    """Stores that are audited together."""
    group: dict[str, Plan] = {}
    held = 0
    for name, plan in plans.items():
        size = sum(map(_size, (*plan.queues, *plan.content_indexes)))
        if group and held + size > _GROUP_BYTES:
            yield group
            group, held = {}, 0
        group[name] = plan
        held += size
    if group:
        yield group


def _size(file: StoreFile) -> int:
    try:
        return disk_bytes(file) + _FILE_COST
    except FileNotFoundError:  # expired meanwhile
        return 0


def _audit(
    spark: SparkSession,
    plans: dict[str, Plan],
    failed: Failures | None,
    signs: dict[str, tuple[Sign, ...]] | None,
    progress: Progress,
) -> Iterator[tuple[str, Finding]]:
    def good(found: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in found.items() if name not in (failed or ())}

    queues = {name: list(plan.queues) for name, plan in plans.items()}
    if any(plan.live for plan in plans.values()):
        # A broker may roll its index: queues first, then the index files that are there.
        found = _surveys(spark, plans, queues, "queues", failed, progress)
        plans = {name: engine.relisted(plan) if plan.live else plan for name, plan in good(plans).items()}
        indexes = {name: list(plan.content_indexes) for name, plan in plans.items()}
        for name, surveys in _surveys(spark, plans, indexes, "index files", failed, progress).items():
            found[name] += surveys
    else:
        files = {name: [*queues[name], *plan.content_indexes] for name, plan in plans.items()}
        found = _surveys(spark, plans, files, "queues and index files", failed, progress)
    plans = good(plans)
    known = {name: engine.Surveys.of(found[name]) for name in plans}
    shares = ranges_by_task(plans, cores(spark))
    tasks = [task for name in plans for task in _range_tasks(name, shares[name], known[name])]
    logs = {name: sum(map(_size, plan.logs)) for name, plan in plans.items()}
    weights = [logs[task.store] * len(task.ranges) // len(plans[task.store].ranges) for task in tasks]
    results = run_tasks(
        spark,
        range_task,
        tasks,
        what="ranges of the log",
        progress=progress,
        common=plans,
        failed=failed,
        weights=weights,
    )
    checked: dict[str, list[RangeResult]] = {name: [] for name in plans}
    for task, done in zip(tasks, results, strict=True):
        checked[task.store] += done or ()
    for name, plan in good(plans).items():
        keep = partial(_keep, signs, name)
        yield from ((name, found) for found in engine.findings(plan, known[name], iter(checked[name]), keep))


def _surveys(
    spark: SparkSession,
    plans: dict[str, Plan],
    files: dict[str, list[StoreFile]],
    what: str,
    failed: Failures | None,
    progress: Progress,
) -> dict[str, list[Any]]:
    """What queue and index files contain, by store."""
    tasks: list[_SurveyTask] = []
    weights: list[int] = []
    for name in plans:
        held: list[StoreFile] = []
        weight = 0
        for number, file in enumerate(files[name], 1):
            weight += _size(file)
            held.append(file)
            if weight >= _TASK_BYTES or number == len(files[name]):
                tasks.append(_SurveyTask(name, tuple(held)))
                weights.append(weight)
                held, weight = [], 0
    # The longest first, so that all cores end together.
    order = sorted(range(len(tasks)), key=lambda number: -weights[number])
    results = run_tasks(
        spark,
        survey_task,
        [tasks[number] for number in order],
        what=what,
        progress=progress,
        common=plans,
        failed=failed,
        weights=[weights[number] for number in order],
    )
    in_order: dict[int, list[Any]] = dict(zip(order, results, strict=True))
    found: dict[str, list[Any]] = {name: [] for name in plans}
    for number, task in enumerate(tasks):
        found[task.store] += in_order[number] or ()
    return found


def survey_task(task: _SurveyTask, plan: Plan) -> list[Any]:
    """In a task: what some queue or index files hold."""
    return [engine.survey_file(plan, file) for file in task.files]


def ranges_by_task(plans: Mapping[str, Plan], cores: int | None) -> dict[str, list[tuple[Range, ...]]]:
    """The ranges of each store by tasks, of which every core has several, so that all end together."""
    count = sum(len(plan.ranges) for plan in plans.values())
    share = _RANGES if cores is None else max(min(count // (cores * _TURNS), _RANGES), 1)
    return {
        name: [plan.ranges[start : start + share] for start in range(0, len(plan.ranges), share)]
        for name, plan in plans.items()
    }


def _range_tasks(store: str, every: list[tuple[Range, ...]], surveys: Surveys) -> Iterator[_RangeTask]:
    """The ranges of a log as tasks; the runs that they need are picked from those of many neighbours, not each time from all."""
    for start in range(0, len(every), _NEIGHBOURS):
        near = every[start : start + _NEIGHBOURS]
        around = _narrowed(surveys, (near[0][0], near[-1][-1]))
        yield from (_RangeTask(store, ranges, _narrowed(around, ranges)) for ranges in near)


def _narrowed(surveys: Surveys, ranges: Sequence[Range]) -> Surveys:
    """Of all runs those that point into these ranges; the first range also has what points nowhere."""
    begin = ranges[0].begin if ranges[0].number else LONG_MIN
    end = ranges[-1].end
    return engine.Surveys(
        _pointing(surveys.queues, begin, end, needed=False),
        _pointing(surveys.indexes, begin, end, needed=True),
    )


_NONE: Final[NDArray[np.int64]] = np.empty(0, np.int64)


def _pointing(targets: Any, begin: int, end: int, *, needed: bool) -> Any:
    """The runs that point into [begin, end); files without any stay where headers are `needed`, and lose what was found."""
    kept = np.flatnonzero((targets.low < end) & (targets.high >= begin))
    owners = np.arange(len(targets.files)) if needed else np.unique(targets.owner[kept])
    files = tuple(
        replace(
            targets.files[owner], runs=_NONE, low=_NONE, high=_NONE, marks=type(targets.files[owner].marks)()
        )
        for owner in owners.tolist()
    )
    return replace(
        targets,
        files=files,
        owner=np.searchsorted(owners, targets.owner[kept]).astype(np.int32),
        number=targets.number[kept],
        low=targets.low[kept],
        high=targets.high[kept],
    )


def range_task(task: _RangeTask, plan: Plan) -> list[RangeResult]:
    """In a task: some ranges of a log."""
    results: list[RangeResult] = []
    ahead = engine.ReadAhead(len(plan.queues))
    for part in task.ranges:
        start = results[-1].next if results and results[-1].range.end == part.begin else None
        start = start if start is not None and part.begin <= start < part.end else None
        results.append(engine.check_range(plan, task.surveys, part, start=start, ahead=ahead))
    return results
