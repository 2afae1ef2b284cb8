"""How the jobs on Spark grow with stores, queues and records: `python -m benchmarks.spark_growth`, which writes `SPARK_GROWTH.md`.

Every job runs in one `local[2]` session with Spark's default memory. The page is written again after each row, so that a
run that is ended leaves what it measured. `--full` measures up to 1,000 stores, 20,000 queues and 8 GB, for hours; `--quick`
makes small stores, to try the benchmark, and prints the rows.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from rocket_columnar.audit import audit
from rocket_golden import open_store
from rocket_spark import audit_stores, cross_check_stores, decode_stores, open_session, rebuild_stores
from rocket_spec.layout import QUEUE_UNIT

from benchmarks import machine
from benchmarks.store_2gb import make_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

PAGE: Final = Path(__file__).with_name("SPARK_GROWTH.md")
_UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])

_HEAD: Final = """\
# Growth of the jobs on Spark

Measured on {date} by `python -m benchmarks.spark_growth`, which writes this page. Each job runs once, on `local[2]` with
Spark's default memory, in a session that is warm. "Growth" is time over size, against the row before: 1 is linear.

{machine}

| what | job | seconds | growth | files written |
|---|---|---:|---:|---:|
"""


def _fleet(root: Path, count: int) -> list[Path]:
    """Stores that share the files of a small golden one by hard links."""
    golden = (
        open_store("small-roll", root / "golden")
        if not (root / "golden").exists()
        else root / "golden/small-roll"
    )
    stores = [root / "fleet" / f"{number:04}" / "store" for number in range(count)]
    for store in stores:
        if not store.exists():
            shutil.copytree(golden, store, copy_function=lambda one, other: Path(other).hardlink_to(one))
    return stores


def _queues(root: Path, count: int) -> list[Path]:
    """One store with that many consume queues of one unit each, in files of 6,000,000 bytes."""
    store = root / f"queues-{count}"
    for number in range(0 if store.exists() else count):
        path = store / "consumequeue" / "T" / str(number) / f"{0:020}"
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.write(np.array([(number * 100, 100, 0)], _UNIT).tobytes())
            file.truncate(6_000_000)
    return [store]


def _units(root: Path, count: int) -> list[Path]:
    """One store with one consume queue of that many units."""
    path = root / f"units-{count}" / "consumequeue" / "T" / "0" / f"{0:020}"
    if not path.exists():
        path.parent.mkdir(parents=True)
        units = np.zeros(count, _UNIT)
        units["phy_offset"] = np.arange(count) * 100
        units["size"] = 100
        path.write_bytes(units.tobytes())
        assert path.stat().st_size == count * QUEUE_UNIT.size
    return [root / f"units-{count}"]


def _log(root: Path, size: int) -> list[Path]:
    """One store of that many bytes of records, with the index and the queues that belong to it."""
    store = root / f"log-{size}"
    if not store.exists():
        make_store(store, size, file_size=min(size, 1 << 30), body_size=1000)
    return [store]


def _jobs(spark: SparkSession, out: Path) -> dict[str, Callable[[list[Path]], object]]:
    def fresh(work: Callable[..., object]) -> Callable[[list[Path]], object]:
        def run(stores: list[Path]) -> object:
            shutil.rmtree(out, ignore_errors=True)
            return work(spark, stores, out)

        return run

    def cross(stores: list[Path]) -> object:
        (store,) = stores
        return cross_check_stores(spark, store, [("", found) for found in audit(store)])

    return {
        "decode": fresh(decode_stores),
        "audit": lambda stores: list(audit_stores(spark, stores)),
        "rebuild": fresh(rebuild_stores),
        "cross-check": cross,
    }


class _Series(NamedTuple):
    """What grows, how a store of it is made, the sizes by the length of the run, and the jobs."""

    name: str
    make: Callable[[Path, int], list[Path]]
    quick: tuple[int, ...]
    usual: tuple[int, ...]
    full: tuple[int, ...]
    jobs: tuple[str, ...]


_MIB: Final = 1 << 20
_SERIES: Final = (
    _Series("stores", _fleet, (1, 5), (1, 30, 120), (1, 30, 1000), ("decode", "audit", "rebuild")),
    _Series("consume queues", _queues, (10, 50), (100, 2_000), (100, 20_000), ("decode", "audit")),
    _Series(
        "units in one queue",
        _units,
        (10_000, 40_000),
        (1_000_000, 4_000_000),
        (1_000_000, 4_000_000),
        ("decode", "audit"),
    ),
    _Series(
        "bytes of log",
        _log,
        (4 * _MIB, 16 * _MIB),
        (100 * _MIB, 400 * _MIB),
        (100 * _MIB, 1024 * _MIB, 8192 * _MIB),
        ("decode", "audit", "rebuild"),
    ),
    _Series(
        "bytes of log",
        _log,
        (4 * _MIB, 16 * _MIB),
        (64 * _MIB, 256 * _MIB),
        (256 * _MIB, 1024 * _MIB),
        ("cross-check",),
    ),
)


def main() -> None:
    """Measures, and writes the page; with `--quick` prints its rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_growth")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", dest="length", action="store_const", const="quick", default="usual")
    length.add_argument("--full", dest="length", action="store_const", const="full")
    chosen = parser.parse_args().length
    spark = open_session("local[2]")
    rows: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
        root = Path(scratch)
        jobs = _jobs(spark, root / "out")
        jobs["decode"](_fleet(root, 1))
        for series in _SERIES:
            for job in series.jobs:
                before: tuple[int, float] | None = None
                for size in getattr(series, chosen):
                    stores = series.make(root, size)
                    begin = time.perf_counter()
                    jobs[job](stores)
                    seconds = time.perf_counter() - begin
                    growth = "" if before is None else f"{seconds / before[1] / (size / before[0]):.2f}"
                    written = sum(path.is_file() for path in (root / "out").rglob("part-*"))
                    rows.append(
                        f"| {size:,} {series.name} | {job} | {seconds:.1f} | {growth} | {written or ''} |"
                    )
                    before = size, seconds
                    if chosen == "quick":
                        print(rows[-1], flush=True)
                    else:
                        PAGE.write_text(_page(rows), "utf-8")
    spark.stop()


def _page(rows: list[str]) -> str:
    facts = "; ".join(f"{name}: {value}" for name, value in machine.describe().items())
    return _HEAD.format(date=datetime.now(UTC).date(), machine=facts) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
