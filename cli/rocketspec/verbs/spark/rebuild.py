"""The verb `spark rebuild`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from rocketspec._options import (
    FINDINGS,
    JsonLines,
    OnlyMissing,
    QueueFileSize,
    RebuildGeometry,
    read_geometry,
    write_json,
)
from rocketspec._terminal import note, say
from rocketspec.verbs.rebuild import rebuild_warnings
from rocketspec.verbs.spark.job_options import (
    BrokerConfs,
    CommitLogs,
    Conf,
    FailFast,
    Master,
    Overwrite,
    Remote,
    Resume,
    Storage,
    Stores,
    named_stores,
    note_failed,
    one_line,
    spark_session,
    storage_options,
)

if TYPE_CHECKING:
    from rocket_columnar.rebuild import Rebuilt
    from rocket_spark.tasks import Failures

__all__ = ["rebuild"]


def rebuild(
    stores: Stores = None,
    *,
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Output directory, s3:// or hdfs://, outside the stores.",
        ),
    ],
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    storage: Storage = None,
    commitlog: CommitLogs = None,
    broker_conf: BrokerConfs = None,
    geometry: RebuildGeometry = None,
    queue_file_size: QueueFileSize = None,
    only_missing: OnlyMissing = False,
    overwrite: Overwrite = False,
    resume: Resume = False,
    fail_fast: FailFast = False,
    as_json: JsonLines = False,
) -> None:
    """Rebuild index files and consume queues from commit logs, on Spark.

    The files equal those of `rocketspec rebuild` byte for byte: OUT/index, OUT/consumequeue and OUT/consumequeue_ext.
    With several stores, each is written to OUT/NAME. Whatever had to be left out, and stores that cannot be rebuilt, are
    reported on stderr.

    Example: `rocketspec spark rebuild ~/store -o ~/rebuilt --master 'local[4]'`
    """
    given = read_geometry(geometry)
    from rocket_spark import plan_rebuilds, run_rebuild

    failed: Failures = {}
    settings = storage_options(storage)
    described = named_stores(stores, commitlog, broker_conf, settings, rebuilding=True)
    with one_line():
        job = plan_rebuilds(
            [store for store, _ in described],
            output,
            geometry=given,
            queue_file_size=queue_file_size,
            only_missing=only_missing,
            overwrite=overwrite,
            resume=resume,
            storage=settings,
            failed=None if fail_fast else failed,
        )
    for name, unused in job.unused.items():
        for reason in unused:
            note(
                f"{name}: not used for the geometry: {reason}"
                if name
                else f"not used for the geometry: {reason}"
            )
    with spark_session(master, remote, conf) as (spark, report):
        done = run_rebuild(spark, job, failed=None if fail_fast else failed, progress=report)
    for (name, path), (store, own) in zip(job.stores.items(), described, strict=True):
        if name in done:
            kinds = {file.kind for file in job.plans[name].files}
            for text in rebuild_warnings(
                done[name],
                own,
                geometry_assumed=(given or store.geometry) is None and "index" not in kinds,
                size_assumed=(queue_file_size or store.queue_file_size) is None and "queue" not in kinds,
            ):
                note(f"WARNING: {path}: {text}" if name else f"WARNING: {text}")
    wrong = {name: str(failed[name]) for name in job.stores if name in failed}
    note_failed(wrong)
    if as_json:
        for name, rebuilt in done.items():
            shown = {"store": str(job.stores[name])} | asdict(rebuilt)
            write_json(shown | {"geometry": list(rebuilt.geometry)})
        for name, reason in wrong.items():
            write_json({"store": str(job.stores[name]), "error": reason})
    else:
        _print_rebuilt(done, output)
    if wrong or any(rebuilt.findings for rebuilt in done.values()):
        raise typer.Exit(FINDINGS)


def _print_rebuilt(done: dict[str, Rebuilt], out: str) -> None:
    for name, rebuilt in done.items():
        for found in rebuilt.findings:
            place = found.file if found.offset is None else f"{found.file} at byte {found.offset:,}"
            where = f"{name}: {place}" if name else place
            note(f"{found.code} {where}: {found.message}")
        slots, entries = rebuilt.geometry
        place = f"{out.rstrip('/')}/{name}" if name else out
        say(
            f"{place}: {len(rebuilt.files):,} files from {rebuilt.records:,} records; index files of {slots:,} slots "
            f"and {entries:,} entries, consume-queue files of {rebuilt.queue_file_size:,} bytes"
        )
