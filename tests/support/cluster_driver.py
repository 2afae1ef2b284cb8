"""A driver for tests: decode jobs on a cluster with a fault in task 0 of each, then a rebuild.

python cluster_driver.py MASTER DIRECTORY STORE...: writes DIRECTORY/KIND, and a line of JSON for each job.
"""

import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rocket_spark.decode import DecodeOptions, PartDone, PartTask
from rocket_spark.output import Folder

SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.task.duration.threshold": "2s",  # small parts share one task, which has no median to be slower than
    "spark.speculation.interval": "200ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.executor.memory": "512m",
    "spark.log.level": "ERROR",
}


def faulty(kind: str, marks: Path) -> Callable[[PartTask, Folder, DecodeOptions], PartDone]:
    """The work of the tasks; sent to the workers as it is."""

    def work(task: PartTask, directory: Folder, options: DecodeOptions) -> PartDone:
        import os
        import time

        from pyspark import TaskContext
        from rocket_spark.decode import run_part

        def until(mark: Path) -> None:
            deadline = time.monotonic() + 150
            while not mark.exists() and time.monotonic() < deadline:
                time.sleep(0.1)

        context = TaskContext.get()
        number = context.attemptNumber() if context is not None else 0
        if task.number:
            return run_part(task, directory, options)
        if kind == "killed" and number == 0:
            (marks / f"running-on-{os.environ['TEST_WORKER']}").touch()
            until(marks / "never")
        done = run_part(task, directory, options)
        (marks / f"{kind}-{'again' if number else 'first'}").touch()
        if number and kind != "killed":
            until(marks / f"{kind}-first")
        if kind == "retried" and number == 0:
            raise OSError(errno.EIO, "a fault that a test put here")
        if kind == "speculative" and number == 0:
            until(marks / "speculative-again")
        return done

    return work


def main(master: str, directory: str, *stores: str) -> None:
    from dataclasses import asdict

    from rocket_spark import decode_stores, open_session, rebuild_stores

    job: Any = sys.modules["rocket_spark.decode"]
    marks = Path(directory) / "marks"
    marks.mkdir()
    spark = open_session(master, conf=SETTINGS)
    for kind in ("retried", "speculative", "killed"):
        job.run_part = faulty(kind, marks)
        summary = decode_stores(spark, stores, Path(directory) / kind)
        sys.stdout.write(json.dumps({"kind": kind, **asdict(summary)}) + "\n")
        if kind == "retried":  # while both workers are there
            rebuild_stores(spark, stores, Path(directory) / "rebuilt")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
