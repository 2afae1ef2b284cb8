"""Rebuilds index files and consume queues from the commit log, in a new directory.

The result equals what a healthy broker would have written from this log, byte for byte, except for the names of
index files, which are clock times, and the last units of a queue whose records the log lacks, which are the store's own.
The store is only read.

The work consists of steps, which several machines can share: each log file is dispatched separately, to columns on disk
(`dispatch_log`). The number of keys in each file then determines where index files begin and
end, since a file takes exactly one key less than its number of entries (`plan_indexes`); each is built from its keys alone,
seeded with the key before them (`write_index`). Consume queues are distributed to buckets by name, and each bucket's queues
are written from the units that every log file has for it, in the order of the log (`write_queues`).
"""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocket_spec.layout import Geometry

from rocket_columnar.facts import Store, as_store
from rocket_columnar.findings import Finding
from rocket_columnar.rebuild.dispatched_columns import (
    Dispatched,
    LeftOut,
    dispatch_log,
    keep_own_keys,
    left_out_findings,
    log_holes,
)
from rocket_columnar.rebuild.output import commit, keys_of, name_indexes, prepare, staged, write_index
from rocket_columnar.rebuild.plan import RebuildPlan, drop_unchanged, plan_indexes, plan_rebuild
from rocket_columnar.rebuild.queue_writer import in_bucket, write_queues
from rocket_columnar.store import WorkDone


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild wrote.

    Attributes:
        files: paths relative to the directory, with `/`, sorted.
        records: number of records of the log that were dispatched.
        geometry: of the index files.
        queue_file_size: length of a consume-queue file, bytes.
        findings: what was not rebuilt: files that cannot be read, missing log files, gaps in the log, topics that no directory can have,
            queues whose places are unknown.
        skipped: name and reason of each file of the store that the listing skipped.
    """

    files: tuple[str, ...]
    records: int
    geometry: Geometry
    queue_file_size: int
    findings: tuple[Finding, ...]
    skipped: tuple[tuple[str, str], ...] = ()


def rebuild(
    store: Store | Path | str,
    directory: Path | str,
    *,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    force: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    **known: Any,
) -> Rebuilt:
    """Makes index files and consume queues from the commit log of `store`.

    Sizes of files are those of the store's own, else of its broker's configuration, else 4.9.3's default. Of a queue whose
    records count from 0 again the last life is written; topics that were deleted are left out.

    Args:
        store: the store, or its directory.
        directory: gets `index/`, `consumequeue/`, `consumequeue_ext/` and finally `_manifest.json`; created if it is
            missing. It must be outside any store, contain none, and contain none of these unless `force` is set.
        queue_file_size: bytes, rounded up to whole units as a broker does.
        only_missing: skips the files that the store already has, byte for byte.
        force: replaces the output of an earlier rebuild, which stays in place until the new one is complete.
        on_progress: called with the bytes of the log that were read, and those of the whole log.
        known: of a directory, as for `Store`.

    Raises:
        UsageError: no commit log, an unknown release, a geometry that does not fit or cannot be inferred, or a directory that cannot be used.
        OSError: reading or writing fails.
    """
    store, directory = as_store(store, **known), Path(directory)
    plan = plan_rebuild(store, queue_file_size)
    prepare([*filter(None, [store.path]), *map(Path, store.commitlog)], directory, force=force)
    with staged(directory) as staging:
        work = WorkDone(on_progress, sum(file.size() for file in plan.logs))
        with tempfile.TemporaryDirectory(dir=staging) as scratch:
            dispatched, left_out = write_parts(plan, staging, Path(scratch), work)
        if only_missing:
            drop_unchanged(staging, plan.files)
        for part in ("index", "consumequeue"):  # a log without a record gives no file
            (staging / part).mkdir(exist_ok=True)
        files = commit(staging, directory, {"job": "rebuild", "store": store.name}, force=force)
    return rebuilt(plan, dispatched, files, left_out)


def write_parts(
    plan: RebuildPlan, directory: Path, scratch: Path, work: WorkDone
) -> tuple[list[Dispatched], list[LeftOut]]:
    """Writes the files; returns what the log files held, and the queues left out."""
    folders = [scratch / str(number) for number in range(len(plan.logs))]
    dispatched = [
        dispatch_log(
            file, folder, last=file is plan.logs[-1], buckets=plan.buckets, rules=plan.rules, work=work
        )
        for file, folder in zip(plan.logs, folders, strict=True)
    ]
    keep_own_keys(folders, dispatched, plan.rules)
    indexes, made = plan_indexes(dispatched, plan.geometry), scratch / "index"
    causes = [
        write_index(index, made / str(number), keys_of(index, folders, dispatched), plan.geometry)
        for number, index in enumerate(indexes)
    ]
    (directory / "index").mkdir()
    for number, name in enumerate(name_indexes(plan.files, dispatched, indexes, causes)):
        (made / str(number)).rename(directory / "index" / name)
    holes = log_holes(plan.logs, dispatched, plan.files)
    left_out: list[LeftOut] = []
    for bucket in range(plan.buckets):
        units = [(folder, part.unit_ranges(bucket)) for folder, part in zip(folders, dispatched, strict=True)]
        own = in_bucket(plan.files, bucket, plan.buckets)
        left_out += write_queues(directory, units, own, plan.queue_file_size, holes)
    return dispatched, left_out


def rebuilt(
    plan: RebuildPlan, dispatched: Sequence[Dispatched], files: Sequence[str], left_out: Iterable[LeftOut]
) -> Rebuilt:
    """The result of a rebuild, from those of its steps: what is `dispatched`, and the queues that are left out later."""
    gaps = (gap for part in dispatched for gap in part.gaps)
    queues = [*(queue for part in dispatched for queue in part.left_out), *left_out]
    return Rebuilt(
        tuple(files),
        sum(part.records for part in dispatched),
        plan.geometry,
        plan.queue_file_size,
        (*plan.missing_files(), *gaps, *left_out_findings(queues, plan.logs)),
        plan.skipped,
    )
