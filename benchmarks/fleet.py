"""Questions to 10 and to 1,000 stores on Spark: `python -m benchmarks.fleet`, which writes `FLEET.md`.

The stores are equal ones of 200 records in 40 queues, made once, each under a name of its own by hard links.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spark import Asked, audit_stores, digest_stores, open_session, query_stores, register

from benchmarks import machine
from benchmarks.stores import key, make_many_files, topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE: Final = Path(__file__).with_name("FLEET.md")
COUNTS: Final = 10, 1000
QUEUES: Final = 40
_ROUNDS: Final = 3

_HEAD: Final = """\
# Questions to a fleet

Measured on {date} by `python -m benchmarks.fleet`, which writes this page: seconds for stores of {queues} queues and two index files
each, on local[2], the least of {rounds} rounds, in a warm session. The last column is the cost of a store among {many:,} over its cost
among {few}; the bar is 1.5. Among {few}, a job's own cost is shared by fewer.

{machine}

| what | {few} stores | {many:,} stores | cost of a store |
|---|---:|---:|---:|
"""


def questions(spark: SparkSession) -> dict[str, Callable[[list[Path]], object]]:
    """What is asked, by its name on the page."""
    asked = Asked(topic(3, QUEUES), key(3))
    found = spark.read.format("rocketmq-findings")
    return {
        "query by key": lambda stores: query_stores(spark, stores, asked),
        "query by key, `--scan`": lambda stores: query_stores(
            spark, stores, Asked(asked.topic, asked.key, scan=True)
        ),
        "digest": lambda stores: digest_stores(spark, stores),
        "audit": lambda stores: list(audit_stores(spark, stores)),
        "`rocketmq-findings`": lambda stores: found.load([str(store) for store in stores]).count(),
    }


def seconds(work: Callable[[list[Path]], object], stores: list[Path]) -> float:
    """The least of some rounds."""
    times = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        work(stores)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Measures, and writes the page."""
    few, many = COUNTS
    with tempfile.TemporaryDirectory() as scratch:
        first = Path(scratch) / "made"
        make_many_files(first, QUEUES)
        fleet = [Path(scratch) / "fleet" / f"{number:04}" for number in range(many)]
        for store in fleet:
            shutil.copytree(first, store, copy_function=lambda one, other: Path(other).hardlink_to(one))
        spark = open_session("local[2]", only_jobs=True)
        register(spark)
        rows = []
        for name, work in questions(spark).items():
            work(fleet[:few])
            short, long = (seconds(work, fleet[:count]) for count in COUNTS)
            rows.append(f"| {name} | {short:.2f} | {long:.2f} | {long / many * few / short:.2f} |")
            sys.stdout.write(f"{rows[-1]}\n")
        spark.stop()
    facts = "\n".join(f"- {name}: {value}" for name, value in machine.describe().items())
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    head = _HEAD.format(date=date, queues=QUEUES, rounds=_ROUNDS, few=few, many=many, machine=facts)
    PAGE.write_text(head + "\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
