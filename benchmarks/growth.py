"""How the cost of each verb grows with bytes and with files: `python -m benchmarks.growth`, which writes `GROWTH.md`.

Every measurement is a process of its own, the files in the page cache; start-up is not counted.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import rocketspec
from rocket_columnar.query import OpenStore, find_by_unique_key, query, topics_of
from rocket_columnar.restart import restarts

from benchmarks import machine
from benchmarks.race import report
from benchmarks.stores import key, make_many_files, make_store, topic, unique_key
from benchmarks.verbs import peak

PAGE: Final = Path(__file__).with_name("GROWTH.md")
_BYTES: Final = (100_000_000, 1_000_000_000, 8_000_000_000)
_FILES: Final = (100, 1_000, 20_000)
_LIMITS: Final = {"bytes": 1.3, "files": 1.5}
_TITLES: Final = {"bytes": "Bytes", "files": "Files"}
_KEY: Final = 17  # of the record that is queried

_HEAD: Final = """\
# Growth

Measured on {date} by `python -m benchmarks.growth`, which writes this page.

Each verb runs in a process of its own, the files in the page cache; start-up and compiling are not counted. Seconds and
processor time are the least of {rounds} rounds for stores of up to {often:,} bytes, and of one for larger ones. "Cost" is
processor time, system included, for a byte or a file: it compares whatever the number of threads. "Growth" is the cost at
the largest size over that at the smallest; below 1 the larger store is cheaper for its size. Memory is the resident set of
the process at its highest.

{machine}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One verb on one store."""

    series: str
    verb: str
    size: int
    seconds: float
    cpu: float
    peak: int

    @property
    def cost(self) -> float:
        """Processor seconds for a byte or a file."""
        return self.cpu / self.size


def _decode(store: Path, _: Path) -> None:
    for _batch in rocketspec.decode(store, on_gap=lambda _gap: None):
        pass


def _query_unique_key(store: Path, _: Path) -> None:
    with OpenStore(store) as opened:
        find_by_unique_key(opened, unique_key(_KEY), topics_of(opened))


_VERBS: Final[dict[str, Callable[[Path, Path], object]]] = {
    "list": lambda store, _: rocketspec.open_store(store),
    "audit": lambda store, _: list(rocketspec.audit(store)),
    "audit --restart": lambda store, _: restarts(store),
    "decode": _decode,
    "digest": lambda store, _: list(rocketspec.digest(store)),
    "rebuild": rocketspec.rebuild,
    "query --key": lambda store, _: query(store, topic(_KEY, _FILES[0]), key(_KEY)),
    "query --unique-key": _query_unique_key,
}
_OF_BYTES: Final = ("audit", "audit --restart", "decode", "digest", "rebuild")


def _child(verb: str, warm: Path, store: Path, rounds: int) -> None:
    """One measurement: on a small store first, which loads the code, then on the other; prints its figures."""
    work = _VERBS[verb]
    with tempfile.TemporaryDirectory(dir=store.parent) as directory:
        out = Path(directory) / "out"
        work(warm, out)
        best, least = float("inf"), float("inf")
        for _ in range(rounds):
            shutil.rmtree(out, ignore_errors=True)
            begin, used = time.perf_counter(), time.process_time()
            work(store, out)
            best, least = min(best, time.perf_counter() - begin), min(least, time.process_time() - used)
    print(json.dumps([best, least, peak()]))


def _measured(series: str, verb: str, size: int, warm: Path, store: Path, rounds: int) -> Run:
    command = [sys.executable, "-m", "benchmarks.growth", "--child", verb, str(warm), str(store)]
    done = subprocess.run([*command, "--rounds", str(rounds)], check=True, stdout=subprocess.PIPE, text=True)
    run = Run(series, verb, size, *json.loads(done.stdout))
    report(f"{size:,} {series}, {verb}: {run.seconds:.2f} s, {run.cpu:.2f} s of processor time")
    return run


def _runs(series: str, root: Path, sizes: Sequence[int], rounds: int) -> Iterator[Run]:
    """Verbs on stores that grow in bytes, or in the number of queues; a store is removed once it is measured."""
    warm = root / f"{series}-{sizes[0]}"
    for size in sizes:
        store = root / f"{series}-{size}"
        report(f"making a store of {size:,} {series}")
        if series == "files":
            make_many_files(store, size)
        else:
            make_store(store, size, body=1000)
        times = rounds if size <= _BYTES[1] else 1
        for verb in _VERBS if series == "files" else _OF_BYTES:
            yield _measured(series, verb, size, warm, store, times)
        if store != warm:
            shutil.rmtree(store)


def _tables(runs: Sequence[Run]) -> str:
    """A table for each series: a row for each verb, a column for each size."""
    units = {"bytes": ("ns a byte", 1e9), "files": ("us a queue", 1e6)}
    parts = []
    for series in dict.fromkeys(run.series for run in runs):
        unit, scale = units[series]
        mine = [run for run in runs if run.series == series]
        sizes = sorted({run.size for run in mine})
        heads = "".join(f" {size:,}: s, {unit}, MB |" for size in sizes)
        rows = [f"| verb |{heads} growth |", f"|---|{'---:|' * (len(sizes) + 1)}"]
        for verb in dict.fromkeys(run.verb for run in mine):
            some = [run for run in mine if run.verb == verb]
            cells = "".join(
                f" {run.seconds:.2f}, {run.cost * scale:.3g}, {run.peak / 1e6:,.0f} |" for run in some
            )
            rows.append(f"| `{verb}` |{cells} {some[-1].cost / some[0].cost:.2f} |")
        limit = _LIMITS[series]
        parts.append(f"## {_TITLES[series]}\n\nGrowth is to be at most {limit}.\n\n" + "\n".join(rows))
    return "\n\n".join(parts)


def main(arguments: Sequence[str]) -> None:
    """Measures, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--child", nargs=3, metavar=("VERB", "WARM", "STORE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.child:
        verb, warm, store = given.child
        _child(verb, Path(warm), Path(store), given.rounds)
        return
    facts = machine.describe()
    with tempfile.TemporaryDirectory(prefix="rocketspec-growth-") as directory:
        runs = [
            run
            for series, sizes in (("files", _FILES), ("bytes", _BYTES))
            for run in _runs(series, Path(directory), sizes, given.rounds)
        ]
    head = _HEAD.format(date=datetime.now(UTC).date(), rounds=given.rounds, often=_BYTES[1], machine=facts)
    PAGE.write_text(f"{head}\n{_tables(runs)}\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
