"""The jobs on Spark against the engine alone: `python -m benchmarks.spark`, which writes `SPARK.md`.

Each session - `local[1]`, `local[2]`, and a standalone cluster of one and of two workers of one core - is in a process of
its own; its start, and two jobs that warm its workers up, are not counted. `--growth` measures the section Growth of the page
alone: the processor time of whole commands, which other work on the machine hardly changes. With `--figures FILE` what is
measured is kept there at once, and what is there is not measured again: a run may be stopped, and the next one goes on.
"""

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil
import rocketspec
from rocket_columnar.decode import write
from rocket_columnar.index import build
from rocket_spark import audit_stores, decode_stores, open_context, rebuild_stores

from benchmarks import machine
from benchmarks.data import geometry_for, make_puts
from benchmarks.race import report, timed
from benchmarks.stores import make_many_files, make_store

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = Path(__file__).with_name("SPARK.md")
ENTRIES: Final = 19_000_000
STORE_BYTES: Final = 2 << 30
QUICK: Final = (200_000, 16 << 20)
_MANY: Final = 4
_CHILD_SUBREAPER: Final = 36  # Linux's PR_SET_CHILD_SUBREAPER

_CONF: Final = {
    "spark.executor.memory": "2g",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.log.level": "ERROR",
}

_SHAPES: Final = "one", "store"  # what is made: an index file, and a store

_TEXTS: Final = Path(__file__).with_name("spark_page.txt").read_text("utf-8")
_PAGE, _BARS, _GROWTH = _TEXTS.rstrip("\n").split("\n====\n")

_LOOK_SECONDS: Final = 0.1
_ONE_PROCESS: Final = """\
import glob, sys, tempfile
from pathlib import Path
from rocket_columnar.decode import decode, write
from rocket_columnar.report import audit
from rocket_columnar.store import find_files
for store in sorted(glob.glob(sys.argv[2])):
    if sys.argv[1] == "audit":
        audit(Path(store))
    else:
        with tempfile.TemporaryDirectory() as out:
            write(decode(find_files(store)), Path(out) / "tables", "parquet")
"""


def processor_time(*command: object) -> float:
    """Seconds of processor time of a command and of all processes below it, those that it leaves behind too.

    They are looked at ten times a second: Spark's Python workers are nobody's to wait for, and so are in no sum of the system.
    """
    used: dict[int, float] = {}
    with tempfile.TemporaryFile() as told:
        process = psutil.Popen([*map(str, command)], stdout=told, stderr=told, cwd=ROOT)
        while below := psutil.Process().children(recursive=True):  # this process adopts what is left behind
            for one in below:
                with suppress(psutil.Error, ChildProcessError):
                    times = one.cpu_times()
                    used[one.pid] = times.user + times.system
                    if one.status() == psutil.STATUS_ZOMBIE and one.pid != process.pid:
                        os.waitpid(one.pid, os.WNOHANG)
            process.poll()
            time.sleep(_LOOK_SECONDS)
        if process.wait() not in (0, 1):
            told.seek(0)
            raise SystemExit(told.read().decode()[-4000:])
    return sum(used.values())


class MeasuredTimes:
    """What has been measured, by name; kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.held: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {}

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """A figure, measured unless it is there."""
        if name not in self.held:
            self.held[name] = measure()
            if self.path is not None:
                self.path.write_text(json.dumps(self.held, indent=1))
        return self.held[name]


def _growth_times(verb: str, stores: Path) -> list[float]:
    """Processor time of one process, of the verb and of Spark, of a directory of equal stores."""
    command = Path(sys.executable).with_name("rocketspec")
    single_out, out = (
        [] if verb == "audit" else ["-o", stores.with_name(name)] for name in ("single", "out")
    )
    one = processor_time(sys.executable, "-c", _ONE_PROCESS, verb, f"{stores}/*")
    paths = sorted(stores.iterdir())
    single = len(paths) * processor_time(command, verb, paths[0], *single_out)
    spark = processor_time(command, "spark", verb, f"{stores}/*", "--master", "local[2]", *out)
    for name in ("single", "out"):
        shutil.rmtree(stores.with_name(name), ignore_errors=True)
    return [one, single, spark]


def _copies(scratch: Path, count: int) -> Callable[[Path], object]:
    """Makes stores of 20 queues, as links: a copy would fill holes."""

    def make(stores: Path) -> None:
        if not (scratch / "one").exists():
            make_many_files(scratch / "one", 20)
        for number in range(count):
            shutil.copytree(scratch / "one", stores / f"{number:04}", copy_function=os.link)

    return make


def _single(make: Callable[[Path], object]) -> Callable[[Path], object]:
    """Makes one store."""
    return lambda stores: make(stores / "store")


def growth(scratch: Path, figures: MeasuredTimes, *, quick: bool) -> str:
    """The section Growth."""
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    session = "from rocket_spark import open_context; open_context('local[2]').stop()"
    start = figures.get("context", lambda: processor_time(sys.executable, "-c", session))
    shapes: dict[str, Callable[[Path], object]] = {}
    for count in (2, 5) if quick else (10, 100, 1000):
        shapes[f"{count:,} stores of 20 queues"] = _copies(scratch, count)
    for size in (16 << 20, 32 << 20) if quick else (1 << 29, 6 << 30):
        title = f"one store with {size / 1e9:.2f} GB of log"
        shapes[title] = _single(partial(make_store, size=size, body=1000))
    for queues in (20, 40) if quick else (100, 10_000):
        shapes[f"one store of {queues:,} queues"] = _single(partial(make_many_files, queues=queues))
    rows = ""
    for title, make_stores in shapes.items():
        stores = scratch / "growth" / "all"
        for verb in ("audit", "decode"):
            name = f"{title}, {verb}"
            if name not in figures.held and not stores.exists():
                make_stores(stores)
            one, single, spark = figures.get(name, partial(_growth_times, verb, stores))
            ratios = (spark / single, spark / one, (spark - start) / one)
            cells = " | ".join(f"{cell:.1f}" for cell in (one, single, spark, *ratios))
            report(f"{name}: {cells}")
            rows += f"| {name} | {cells} |\n"
        shutil.rmtree(stores.parent, ignore_errors=True)
    return _GROWTH.format(date=datetime.now(UTC).date(), start=start, rows=rows)


def _median(work: Callable[[], Any], rounds: int) -> float:
    return statistics.median(timed(work) for _ in range(rounds))


def _fresh(out: Path, work: Callable[[Path], Any]) -> Callable[[], None]:
    """Work that writes to a folder; what was there before goes, unmeasured work of no weight."""

    def run() -> None:
        shutil.rmtree(out, ignore_errors=True)
        work(out)

    return run


def _engine(scratch: Path, rounds: int) -> dict[str, float]:
    """The engine in this process."""
    index, store, out = scratch / "one" / "index", scratch / "store", scratch / "out"
    tables = ["index_entries"]
    works: dict[str, Callable[[], Any]] = {
        "decode": _fresh(out, lambda to: write(rocketspec.decode(index, tables=tables), to, "parquet")),
        "audit": lambda: list(rocketspec.audit(store)),
        "rebuild": _fresh(out, lambda to: rocketspec.rebuild(store, to)),
        "store": _fresh(out, lambda to: write(rocketspec.decode(store), to, "parquet")),
    }
    for name in ("decode", "audit"):
        works[name]()  # compiles
    return {name: _median(work, rounds if name in ("decode", "audit") else 1) for name, work in works.items()}


def _spark(scratch: Path, rounds: int, master: str) -> dict[str, float]:
    """The jobs in one session."""
    index, store, out = scratch / "one" / "index", scratch / "store", scratch / "out"
    indexes, stores = ([scratch / "many" / name / str(number) for number in range(_MANY)] for name in _SHAPES)
    begin = time.perf_counter()
    spark = open_context(master, conf=_CONF)
    figures = {"start": time.perf_counter() - begin}
    works: dict[str, Callable[[], Any]] = {
        "decode": _fresh(out, lambda to: decode_stores(spark, index, to, ["index_entries"])),
        "audit": lambda: list(audit_stores(spark, store)),
        "decode_many": _fresh(out, lambda to: decode_stores(spark, indexes, to, ["index_entries"])),
        "audit_many": lambda: list(audit_stores(spark, stores)),
        "rebuild": _fresh(out, lambda to: rebuild_stores(spark, store, to)),
        "store": _fresh(out, lambda to: decode_stores(spark, store, to)),
    }
    for name in ("decode", "audit_many"):  # of each kind several tasks, so that every worker has compiled all
        works[name]()
    for name, work in works.items():
        figures[name] = _median(work, 1 if name in ("rebuild", "store") else rounds)
    spark.stop()
    return figures


def _child(what: str, scratch: Path, rounds: int) -> dict[str, Any]:
    if what == "engine":
        return _engine(scratch, rounds)
    with ExitStack() as stack:
        master = what
        if what.startswith("workers-"):
            sys.path.insert(0, str(ROOT / "tests" / "support"))
            from spark_servers import cluster  # noqa: PLC0415 - where the path leads

            logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            count = int(what.removeprefix("workers-"))
            master = stack.enter_context(cluster(logs, workers=count, memory="3g", java_options="")).master
        return _spark(scratch, rounds, master)


def _measured(what: str, scratch: Path, rounds: int) -> dict[str, Any]:
    own = [sys.executable, "-m", "benchmarks.spark"]
    command = [*own, "--child", what, str(scratch), "--rounds", str(rounds)]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{what} failed:\n{done.stderr[-4000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    figures = ", ".join(f"{name} {value:.3g}" for name, value in result.items())
    report(f"{what}: {figures}; {time.perf_counter() - begin:.0f} s in all")
    return result


def make(scratch: Path, entries: int, store_bytes: int) -> None:
    """The index file and the store, and several of each."""
    folder = scratch / "one" / "index"
    folder.mkdir(parents=True)
    puts = make_puts(entries)
    paths = [folder / "20260101000000000"]
    build(
        paths, puts.keys, puts.phy_offsets, puts.store_timestamps, topic="T", geometry=geometry_for(entries)
    )
    make_store(scratch / "store", store_bytes, body=60, file_size=max(store_bytes // 4, 1 << 20))
    for name in _SHAPES:
        for number in range(_MANY):
            shutil.copytree(scratch / name, scratch / "many" / name / str(number), copy_function=os.link)


def _bars(figures: dict[str, Any]) -> str:
    one, two, workers = figures["local[1]"], figures["local[2]"], (figures["workers-1"], figures["workers-2"])
    jobs = ("decode", "audit", "decode_many", "audit_many")
    return _BARS.format(
        many=_MANY,
        decode=two["decode"] / figures["engine"]["decode"],
        audit=figures["engine"]["audit"] / two["audit"],
        **{f"{job}_cores": one[job] / two[job] for job in jobs},
        **{f"{job}_workers": workers[0][job] / workers[1][job] for job in jobs},
    )


def _row(name: str, figures: dict[str, float]) -> str:
    cells = [
        f"{figures[cell]:.2f} s" if cell in figures else ""
        for cell in ("start", "decode", "audit", "decode_many", "audit_many", "rebuild", "store")
    ]
    return f"| {name} | {' | '.join(cells)} |\n"


_NAMES: Final = {
    "engine": "engine alone",
    "local[1]": "Spark, local[1]",
    "local[2]": "Spark, local[2]",
    "workers-1": "standalone cluster, one worker of one core",
    "workers-2": "standalone cluster, two workers of one core",
}


def main(arguments: Sequence[str]) -> None:
    """Makes the data, measures, and writes the page; of quick figures only the bars are printed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small data, one round: does it run?")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that count [default: 3]")
    parser.add_argument("--growth", action="store_true", help="measure the section Growth alone")
    parser.add_argument(
        "--figures", type=Path, metavar="FILE", help="keep figures there, and measure only what it lacks"
    )
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "SCRATCH"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child:
        print(json.dumps(_child(given.child[0], Path(given.child[1]), given.rounds)))
        return
    kept_figures = MeasuredTimes(given.figures)
    if given.growth:
        with tempfile.TemporaryDirectory() as directory:
            section = growth(Path(directory), kept_figures, quick=given.quick)
        if not given.quick:
            PAGE.write_text(
                PAGE.read_text("utf-8").partition("## Growth")[0].rstrip() + f"\n\n{section}", "utf-8"
            )
        print(section)
        return
    rounds = 1 if given.quick else given.rounds
    entries, store_bytes = QUICK if given.quick else (ENTRIES, STORE_BYTES)
    facts = machine.describe()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        if not kept_figures.held.keys() >= _NAMES.keys():
            make(scratch, entries, store_bytes)
        figures = {name: kept_figures.get(name, partial(_measured, name, scratch, rounds)) for name in _NAMES}
    text = _PAGE.format(
        date=datetime.now(UTC).date(),
        entries=entries,
        store=store_bytes / 1e9,
        rounds=rounds,
        many=_MANY,
        conf=", ".join(f"`{name}={value}`" for name, value in _CONF.items()),
        machine=facts,
        bars=_bars(figures),
        rows="".join(_row(name, figures[key]) for key, name in _NAMES.items()),
    )
    if not given.quick:
        kept = "".join(PAGE.read_text("utf-8").partition("## Growth")[1:])
        PAGE.write_text(f"{text}\n{kept}" if kept else text, "utf-8")
    print(_bars(figures))


if __name__ == "__main__":
    main(sys.argv[1:])
