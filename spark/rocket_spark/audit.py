"""Auditing stores on Spark by ranges of physical offset, without a shuffle.

Plans of stores, surveys of queue and index files, and ranges of logs are tasks. Of the queues and the index a range only
needs what points into it: the task is sent the places of these runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack

import numpy as np
from numpy.typing import NDArray
from rocket_columnar import audit as engine
from rocket_columnar.audit import Level, Plan, Range, RangeResult, Surveys
from rocket_columnar.facts import State, Store
from rocket_columnar.findings import Finding
from rocket_columnar.formats import LONG_MIN
from rocket_columnar.store import Sign, StoreFile

from rocket_spark.files import disk_bytes, is_remote
from rocket_spark.stores import JobOptions, JobStores, StorePath, StoreTask
from rocket_spark.tasks import Progress, cores, silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASK_BYTES: Final = 128 << 20
"""Bytes on disk of queue and index files that one task takes."""

_FILE_COST: Final = 64 << 10
"""What opening a file costs, in bytes."""

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
    weight: int


@dataclass(frozen=True, slots=True)
class _RangeTask:
    store: str
    ranges: tuple[Range, ...]
    surveys: Surveys
    weight: int


@dataclass(frozen=True, slots=True)
class _Job:
    """An audit in a session."""

    spark: SparkSession
    stores: JobStores
    signs: dict[str, tuple[Sign, ...]]
    progress: Progress

    def run(
        self, work: Callable[..., Any], tasks: Sequence[Any], what: str, plans: dict[str, Plan]
    ) -> list[Any]:
        return self.stores.run(self.spark, work, tasks, what=what, progress=self.progress, common=plans)

    def keep(self, store: str, signs: tuple[Sign, ...]) -> None:
        if signs:
            self.signs[store] = signs


def audit_stores(
    spark: SparkSession,
    stores: StorePath | Sequence[StorePath],
    level: Level = "default",
    *,
    signs: dict[str, tuple[Sign, ...]] | None = None,
    progress: Progress = silent,
    **options: Unpack[JobOptions],
) -> Iterator[tuple[str, Finding]]:
    """What is wrong with stores: the findings of `rocket_columnar.audit.audit`, each after the name of its store.

    Args:
        spark: the session that runs the tasks; they see `stores` under the same paths as the driver.
        stores: the directories of one store or several, as paths or URIs of S3 or HDFS; a single one has the name "".
        level: "quick", "default" or "deep", as of `audit`.
        signs: receives the signs of 5.x of each store that has any, before its first finding.
        progress: see `rocket_spark.tasks.Progress`.
        options: see `JobOptions`.

    Raises:
        UsageError: no store, or a geometry that does not fit.
        OSError: a store cannot be read.
        JobError: Spark gave up, or no store can be read.
    """
    job = _Job(spark, JobStores(stores, **options), {} if signs is None else signs, progress)
    if level == "quick":
        for store, (found, known) in job.stores.each(spark, quick_task, progress).items():
            job.keep(store, known)
            yield from ((store, finding) for finding in found)
        return
    for plans in _groups(job.stores.each(spark, partial(plan_task, level), progress)):
        yield from _audit(job, plans)
    job.stores.good((), ())


def plan_task(level: Level, task: StoreTask) -> Plan:
    """In a task: the plan of one store."""
    if not is_remote(task.path):
        return engine.plan_audit(task.path, level, geometry=task.geometry, commitlog=task.commitlog)
    state: State = "live" if task.is_in_use() else "stopped"
    store = Store.of_files(task.files(), name=task.path, state=state, geometry=task.geometry)
    return engine.plan_audit(store, level)


def quick_task(task: StoreTask) -> tuple[list[Finding], tuple[Sign, ...]]:
    """In a task: all of one store's quick audit, and its signs of 5.x."""
    plan = plan_task("quick", task)
    return list(engine.quick_findings(plan)), plan.store.signs


def audit_here(level: Level, task: StoreTask) -> tuple[list[Finding], tuple[Sign, ...]]:
    """In a task: all of one store's audit, and its signs of 5.x."""
    if level == "quick":
        return quick_task(task)
    plan = plan_task(level, task)
    surveys = engine.Surveys.of(
        [engine.survey_file(plan.store, file) for file in (*plan.store.queues, *plan.store.content_indexes)]
    )
    signs: list[Sign] = []
    checked = (engine.check_range(plan, surveys, part) for part in plan.ranges)
    return list(engine.findings(plan, surveys, checked, signs.extend)), tuple(signs)


def _groups(plans: dict[str, Plan]) -> Iterator[dict[str, Plan]]:
    """Stores that are audited together."""
    group: dict[str, Plan] = {}
    held = 0
    for name, plan in plans.items():
        size = sum(map(_size, (*plan.store.queues, *plan.store.content_indexes)))
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


def _audit(job: _Job, plans: dict[str, Plan]) -> Iterator[tuple[str, Finding]]:
    def good(plans: dict[str, Plan]) -> dict[str, Plan]:
        failed = job.stores.failed
        return {name: plan for name, plan in plans.items() if name not in failed}

    queues = {name: list(plan.store.queues) for name, plan in plans.items()}
    if any(plan.store.live for plan in plans.values()):
        # A broker may roll its index: queues first, then the index files that are there.
        found = _surveys(job, plans, queues, "queues")
        plans = {name: plan.relisted() for name, plan in good(plans).items()}
        indexes = {name: list(plan.store.content_indexes) for name, plan in plans.items()}
        for name, surveys in _surveys(job, plans, indexes, "index files").items():
            found[name] += surveys
    else:
        files = {name: [*queues[name], *plan.store.content_indexes] for name, plan in plans.items()}
        found = _surveys(job, plans, files, "queues and index files")
    plans = good(plans)
    known = {name: engine.Surveys.of(found[name]) for name in plans}
    shares = ranges_by_task(plans, cores(job.spark))
    tasks = [
        task for name, plan in plans.items() for task in _range_tasks(name, plan, shares[name], known[name])
    ]
    results = job.run(range_task, tasks, "ranges of the log", plans)
    checked: dict[str, list[RangeResult]] = {name: [] for name in plans}
    for task, done in zip(tasks, results, strict=True):
        checked[task.store] += done or ()
    for name, plan in good(plans).items():
        keep = partial(job.keep, name)
        yield from ((name, found) for found in engine.findings(plan, known[name], iter(checked[name]), keep))


def _surveys(
    job: _Job, plans: dict[str, Plan], files: dict[str, list[StoreFile]], what: str
) -> dict[str, list[Any]]:
    """What queue and index files contain, by store."""
    tasks: list[_SurveyTask] = []
    for name in plans:
        held: list[StoreFile] = []
        weight = 0
        for number, file in enumerate(files[name], 1):
            weight += _size(file)
            held.append(file)
            if weight >= _TASK_BYTES or number == len(files[name]):
                tasks.append(_SurveyTask(name, tuple(held), weight))
                held, weight = [], 0
    # The longest first, so that all cores end together.
    order = sorted(range(len(tasks)), key=lambda number: -tasks[number].weight)
    results = job.run(survey_task, [tasks[number] for number in order], what, plans)
    found: dict[str, list[Any]] = {name: [] for name in plans}
    in_order = dict(zip(order, results, strict=True))
    for number, task in enumerate(tasks):
        found[task.store] += in_order[number] or ()
    return found


def survey_task(task: _SurveyTask, plan: Plan) -> list[Any]:
    """In a task: what some queue or index files hold."""
    return [engine.survey_file(plan.store, file) for file in task.files]


def ranges_by_task(plans: Mapping[str, Plan], cores: int | None) -> dict[str, list[tuple[Range, ...]]]:
    """The ranges of each store by tasks, of which every core has several, so that all end together."""
    count = sum(len(plan.ranges) for plan in plans.values())
    share = _RANGES if cores is None else max(min(count // (cores * _TURNS), _RANGES), 1)
    return {
        name: [plan.ranges[start : start + share] for start in range(0, len(plan.ranges), share)]
        for name, plan in plans.items()
    }


def _range_tasks(
    store: str, plan: Plan, every: list[tuple[Range, ...]], surveys: Surveys
) -> Iterator[_RangeTask]:
    """The ranges of a log as tasks; the runs that they need are picked from those of many neighbours, not each time from all."""
    size = sum(map(_size, plan.store.logs))
    for start in range(0, len(every), _NEIGHBOURS):
        near = every[start : start + _NEIGHBOURS]
        around = _narrowed(surveys, (near[0][0], near[-1][-1]))
        for ranges in near:
            weight = size * len(ranges) // len(plan.ranges)
            yield _RangeTask(store, ranges, _narrowed(around, ranges), weight)


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
    ahead = engine.ReadAhead(len(plan.store.queues))
    for part in task.ranges:
        start = results[-1].next if results and results[-1].range.end == part.begin else None
        start = start if start is not None and part.begin <= start < part.end else None
        results.append(engine.check_range(plan, task.surveys, part, start=start, ahead=ahead))
    return results
