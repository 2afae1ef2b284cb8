"""How the jobs on Spark grow with stores, queues, units and bytes: `python -m benchmarks.spark_growth`, which writes `SPARK_GROWTH.md`.

Every job runs in one `local[2]` session with Spark's default memory. The page is written again after each row, so that a
run that is ended leaves what it measured. `--quick` makes small stores, to try the benchmark, and prints the rows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

import numpy as np
from rocket_columnar.audit import audit
from rocket_columnar.rebuild import rebuild
from rocket_golden import open_store
from rocket_spark import audit_stores, cross_check_stores, decode_stores, open_session, rebuild_stores
from rocket_spec.layout import MESSAGE_MAGIC

from benchmarks import machine
from benchmarks.large_store import make_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

PAGE: Final = Path(__file__).with_name("SPARK_GROWTH.md")
_UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_AT_ONCE: Final = 1 << 16
_LIMIT: Final = 1.5

_HEAD: Final = """\
# Growth of the jobs on Spark

Measured on {date} by `{command}`, which writes this page. Each job runs once, on `local[2]` with Spark's default memory, in
a session that is warm, the files in the page cache. "CPU" is processor time of driver, JVM and workers, system included;
memory is the sum of their resident sets, each at its highest during the job (pages that workers share count once for each).
"Cost" is seconds for one store, queue, unit, record or byte. "Growth" is the cost at this size over that at the smallest;
it is to be at most {limit}, and for the cross-check four times the data is to take at most five times the time (1.25).

{machine}

| what | job | seconds | CPU | cost | growth | MB of memory | files written |
|---|---|---:|---:|---:|---:|---:|---:|
"""


def _fleet(root: Path, count: int) -> list[Path]:
    """Stores that share the files of a small golden one by hard links."""
    golden = root / "golden" / "small-roll"
    if not golden.exists():
        open_store("small-roll", golden.parent)
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


def _one_queue(root: Path, count: int) -> list[Path]:
    """One store whose messages are all in one queue, each with a unique key."""
    store = root / f"one-queue-{count}"
    if store.exists():
        return [store]
    body, begin = b"0" * 12, 1_700_000_000_000
    host = struct.pack(">4Bi", 127, 0, 0, 1, 10911)
    head = struct.pack(">iiiiqqi", MESSAGE_MAGIC, crc32(body) & 0x7FFFFFFF, 0, 0, 0, 0, 0)
    tail = struct.pack(">q8sq8siqi", begin, host, begin, host, 0, 0, len(body)) + body + b"\1T"
    properties = b"UNIQ_KEY\1" + b"0" * 32 + b"\2"
    record = head + tail + struct.pack(">h", len(properties)) + properties
    record = struct.pack(">i", len(record) + 4) + record
    path = store / "commitlog" / f"{0:020}"
    path.parent.mkdir(parents=True)
    shape = np.array([len(record)], np.int64)
    with path.open("wb") as file:
        for first in range(0, count, _AT_ONCE):
            numbers = np.arange(first, min(first + _AT_ONCE, count), dtype=np.int64)
            rows = np.tile(np.frombuffer(record, np.uint8), (numbers.size, 1))
            rows[:, 20:28] = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
            rows[:, 28:36] = (numbers * shape).astype(">i8").view(np.uint8).reshape(-1, 8)
            digits = np.char.zfill(numbers.astype("S32"), 32)
            rows[:, -33:-1] = digits.view(np.uint8).reshape(-1, 32)
            file.write(rows.tobytes())
    built = root / "built"
    rebuild(store, built)
    for name in ("index", "consumequeue"):
        (built / name).rename(store / name)
    shutil.rmtree(built)
    return [store]


def _log(root: Path, size: int) -> list[Path]:
    """One store of that many bytes of records, with the index and the queues that belong to it."""
    store = root / f"log-{size}"
    if not store.exists():
        make_store(store, size, file_size=min(size, 1 << 30), body_size=1000)
    return [store]


def _jobs(spark: SparkSession, out: Path) -> dict[str, Callable[[list[Path]], object]]:
    def cross(stores: list[Path]) -> object:
        (store,) = stores
        checked = cross_check_stores(spark, store, [("", found) for found in audit(store)])
        assert not checked.disagreements
        return checked

    return {
        "decode": lambda stores: decode_stores(spark, stores, out),
        "audit": lambda stores: list(audit_stores(spark, stores)),
        "rebuild": lambda stores: rebuild_stores(spark, stores, out),
        "cross-check": cross,
    }


class _Series(NamedTuple):
    """What grows, its unit, how a store of it is made, the sizes by the length of the run, and the jobs."""

    name: str
    unit: str
    make: Callable[[Path, int], list[Path]]
    quick: tuple[int, ...]
    usual: tuple[int, ...]
    jobs: tuple[str, ...]


_SERIES: Final = (
    _Series("stores", "store", _fleet, (1, 3), (1, 30, 1000), ("decode", "audit", "rebuild")),
    _Series("consume queues", "queue", _queues, (10, 50), (100, 20_000), ("decode", "audit")),
    _Series(
        "units in one queue",
        "unit",
        _one_queue,
        (1_000, 4_000),
        (1_000_000, 4_000_000),
        ("decode", "audit", "rebuild"),
    ),
    _Series(
        "bytes of log",
        "byte",
        _log,
        (2_000_000, 8_000_000),
        (100_000_000, 1_000_000_000, 8_000_000_000),
        ("decode", "audit", "rebuild"),
    ),
    _Series(
        "records in one queue",
        "record",
        _one_queue,
        (1_000, 4_000),
        (60_000, 240_000, 960_000),
        ("cross-check",),
    ),
    _Series("bytes of log", "byte", _log, (2_000_000,), (250_000_000, 1_000_000_000), ("cross-check",)),
)


def _tree() -> Iterator[Path]:
    """This process and those below it, as folders of `/proc`; none on other systems."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    for process in parents:
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            yield Path("/proc") / str(process)


def _cpu() -> float:
    """Processor seconds of the tree, of processes that ended too."""
    ticks = 0
    for path in _tree():
        with suppress(OSError):
            ticks += sum(map(int, (path / "stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _forget_peaks() -> None:
    """Starts the highest resident set of each process of the tree anew."""
    for path in _tree():
        with suppress(OSError):
            (path / "clear_refs").write_text("5")


def _peaks() -> int:
    """Bytes of the resident sets of the tree, each at its highest."""
    total = 0
    for path in _tree():
        with suppress(OSError):
            lines = (path / "status").read_text().splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return total


@dataclass(frozen=True, slots=True)
class _Run:
    """One job on stores of one size: `seconds` on the clock, processor seconds, bytes of memory, and files."""

    series: _Series
    job: str
    size: int
    seconds: float
    cpu: float
    memory: int
    files: int

    def row(self, smallest: _Run) -> str:
        """A row of the page."""
        cost, first = self.seconds / self.size, smallest.seconds / smallest.size
        scale, unit = next(
            pair
            for pair in ((1, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns"))
            if cost * pair[0] >= 1 or pair[1] == "ns"
        )
        growth = "" if smallest is self else f"{cost / first:.2f}"
        return (
            f"| {self.size:,} {self.series.name} | {self.job} | {self.seconds:.1f} | {self.cpu:.1f} "
            f"| {cost * scale:.3g} {unit} a {self.series.unit} | {growth} | {self.memory / 1e6:,.0f} | {self.files or ''} |"
        )


def _measured(series: _Series, job: str, size: int, work: Callable[[], object], out: Path) -> _Run:
    shutil.rmtree(out, ignore_errors=True)
    _forget_peaks()
    cpu, begin = _cpu(), time.perf_counter()
    work()
    seconds = time.perf_counter() - begin
    files = sum(path.is_file() and not path.name.startswith("_") for path in out.rglob("*"))
    return _Run(series, job, size, seconds, _cpu() - cpu, _peaks(), files)


def main() -> None:
    """Measures, and writes the page; with `--quick` prints its rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_growth")
    parser.add_argument("--quick", action="store_true", help="small stores: does it run?")
    parser.add_argument("--scratch", type=Path, help="where stores are made, 30 GB [default: the system's]")
    given = parser.parse_args()
    # A few rows need no 200 partitions, which cost more than all else.
    spark = open_session("local[2]", conf={"spark.sql.shuffle.partitions": "2"} if given.quick else None)
    rows: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rocketspec-", dir=given.scratch) as scratch:
        root, out = Path(scratch), Path(scratch) / "out"
        jobs = _jobs(spark, out)
        for job in jobs:  # compiles, in the workers and in the JVM
            shutil.rmtree(out, ignore_errors=True)
            jobs[job](_one_queue(root, 1_000))
        for series in _SERIES:
            for job in series.jobs:
                smallest: _Run | None = None
                for size in series.quick if given.quick else series.usual:
                    stores = series.make(root, size)
                    run = _measured(series, job, size, lambda: jobs[job](stores), out)  # noqa: B023 - called at once
                    smallest = smallest or run
                    rows.append(run.row(smallest))
                    print(rows[-1], flush=True)
                    if not given.quick:
                        PAGE.write_text(_page(rows), "utf-8")
    spark.stop()


def _page(rows: list[str]) -> str:
    facts = "\n".join(f"- {name}: {value}" for name, value in machine.describe().items())
    head = _HEAD.format(
        date=datetime.now(UTC).date(),
        command="python -m benchmarks.spark_growth",
        machine=facts,
        limit=_LIMIT,
    )
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
