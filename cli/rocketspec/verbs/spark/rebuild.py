"""The verb `spark rebuild`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from rocketspec import _options as option
from rocketspec._terminal import note
from rocketspec.verbs.rebuild import show_rebuilt
from rocketspec.verbs.spark import job_options as jobs

if TYPE_CHECKING:
    from rocket_spark.tasks import Failures


def rebuild(
    job: jobs.Job,
    *,
    output: str,
    queue_file_size: int | None = None,
    only_missing: bool = False,
    overwrite: bool = False,
    fail_fast: bool = False,
    as_json: bool = False,
) -> None:
    """Rebuild index files and consume queues from commit logs, on Spark.

    The files equal those of `rocketspec rebuild` byte for byte: OUT/index, OUT/consumequeue and OUT/consumequeue_ext.
    With several stores, each is written to OUT/NAME, by default its path. Whatever had to be left out, and stores that cannot be rebuilt, are
    reported on stderr.

    Example: `rocketspec spark rebuild ~/store -o ~/rebuilt`
    """
    given = option.read_geometry(job.geometry)
    from rocket_columnar.report import rebuild_warnings
    from rocket_spark import plan_rebuilds, run_rebuild

    failed: Failures = {}
    described, settings = job.described()
    with jobs.one_line():
        plan = plan_rebuilds(
            described,
            output,
            geometry=given,
            queue_file_size=queue_file_size,
            only_missing=only_missing,
            overwrite=overwrite,
            storage=settings,
            failed=None if fail_fast else failed,
        )
    with job.session() as (spark, report):
        done = run_rebuild(spark, plan, progress=report)
    for store in plan.job.tasks:
        name, own = store.store, store.conf
        if name in done:
            kinds = {file.kind for file in plan.plans[name].files}
            for text in rebuild_warnings(
                done[name],
                own,
                geometry_assumed=own is None and store.geometry is None and "index" not in kinds,
                size_assumed=own is None
                and (queue_file_size or store.queue_file_size) is None
                and "queue" not in kinds,
            ):
                note(f"WARNING: {store.path}: {text}")
    wrong = {name: str(failed[name]) for name in plan.stores if name in failed}
    jobs.report_failed(wrong)
    if as_json:
        for name, rebuilt in done.items():
            shown = {"store": str(plan.stores[name])} | asdict(rebuilt)
            option.write_json(shown | {"geometry": list(rebuilt.geometry)})
        for name, reason in wrong.items():
            option.write_json({"store": str(plan.stores[name]), "error": reason})
    else:
        for name, rebuilt in done.items():
            folder = plan.folders[name]
            show_rebuilt(rebuilt, f"{output.rstrip('/')}/{folder}" if folder else output, store=name)
    if wrong or any(rebuilt.findings for rebuilt in done.values()):
        raise typer.Exit(option.FINDINGS)
