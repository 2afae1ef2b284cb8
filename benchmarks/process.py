"""A verb from the shell against its work alone, and two threads against one: `python -m benchmarks.process`.

It writes `PROCESS.md`. A verb from the shell is a process of its own: the interpreter, imports, the loading of compiled code,
and the work. The work alone is the second run in a process that ran it once. The first start compiles into an empty cache.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from benchmarks import machine
from benchmarks.large_store import make_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PAGE: Final = Path(__file__).with_name("PROCESS.md")
_VERBS: Final = {
    "audit": "from rocket_columnar.audit import audit\nwork = lambda: list(audit(store))",
    "digest": "from rocket_columnar.describe import digest\nwork = lambda: list(digest(store))",
    "rebuild": "from rocket_columnar.rebuild import rebuild\nwork = lambda: rebuild(store, out)",
}
_DECODE: Final = """
from rocket_columnar.decode import decode, decoding_threads, write
from rocket_columnar.store import find_files
files = find_files(store, {kind!r})
batches = lambda: decode(files, tables=[{table!r}], threads=decoding_threads("parquet", {threads}))
work = lambda: write(batches(), out, "parquet", threads={threads})
"""
_REBUILD: Final = (
    "from rocket_columnar.rebuild import rebuild\nwork = lambda: rebuild(store, out, threads={threads})"
)
_THREADED: Final = {
    "rebuild": _REBUILD,
    "log to Parquet": _DECODE.replace("{kind!r}", "'log'").replace("{table!r}", "'commit_log'"),
    "index to Parquet": _DECODE.replace("{kind!r}", "'index'").replace("{table!r}", "'index_entries'"),
    "queues to Parquet": _DECODE.replace("{kind!r}", "'queue'").replace("{table!r}", "'consume_queue'"),
}
_CHILD: Final = """
import json, shutil, sys, time
from rocket_columnar.kept_memory import keep_freed_memory
keep_freed_memory()
store, out = sys.argv[1:3]
{code}
for _ in sys.stdin:
    shutil.rmtree(out, ignore_errors=True)
    begin, used = time.perf_counter(), time.process_time()
    work()
    print(json.dumps([time.perf_counter() - begin, time.process_time() - used]), flush=True)
"""
_THREADED_TIMES: Final = 3
"""The store on which two threads are raced is this many times as large, so that its smallest table takes long enough to time."""

_WARM: Final = 3
"""Runs after which the memory of a process has its final size, with several threads too."""
_HEAD: Final = """\
# A process of its own, and two threads

Measured on {date} by `{command}`, which writes this page.
A store of {size:,} bytes, commit log, consume queues and index files, is in the page cache. Each figure is the median of
{rounds} rounds, taken in turn: seconds, and processor seconds of all threads, system included. The work alone runs as in the
command, which keeps the memory that it frees. With one and with two threads, a work on a store of {threaded:,} bytes runs in a
process for each that has done it {warm} times.

{machine}

"""


class Cost(NamedTuple):
    """Seconds, and processor seconds."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f}, {self.cpu:.2f}"


def _environment(cache: Path | None = None) -> dict[str, str]:
    """That of a user whose second start finds the modules' bytecode, and Numba's cache in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept if cache is None else {**kept, "NUMBA_CACHE_DIR": str(cache)}


def _shell(verb: str, store: Path, out: Path, cache: Path | None = None) -> Cost:
    """The verb from the shell."""
    shutil.rmtree(out, ignore_errors=True)
    options = ["-o", str(out)] if verb == "rebuild" else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "rocketspec", verb, str(store), *options],
        check=True,
        stdout=subprocess.DEVNULL,
        env=_environment(cache),
    )
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class _Worker:
    """A process that does a work as often as it is asked to."""

    def __init__(self, code: str, store: Path, out: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD.format(code=code), str(store), str(out)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(),
        )

    def run(self) -> Cost:
        """Does it once."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(file=self._process.stdin, flush=True)
        return Cost(*json.loads(self._process.stdout.readline()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _work(code: str, store: Path, out: Path) -> Cost:
    """The work alone, in a process that ran it once."""
    with _Worker(code, store, out) as worker:
        worker.run()
        return worker.run()


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def _raced(sides: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, Cost]:
    """The median of each side, after a round that is not counted."""
    found: dict[str, list[Cost]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, run in sides.items():
            cost = run()
            if number:
                found[name].append(cost)
    return {name: _median(costs) for name, costs in found.items()}


def _verbs(store: Path, scratch: Path, rounds: int) -> str:
    out = scratch / "out"
    text = "| verb | from the shell | the work alone | times (at most 2.5) | first start, compiling (under 10 s) |\n"
    text += "|---|---:|---:|---:|---:|\n"
    for verb, code in _VERBS.items():
        first = _shell(verb, store, out, scratch / f"cache-{verb}")
        both = _raced(
            {
                "shell": partial(_shell, verb, store, out),
                "work": partial(_work, code, store, out),
            },
            rounds,
        )
        shell, work = both["shell"], both["work"]
        times = shell.seconds / work.seconds
        text += f"| `{verb}` | {shell} | {work} | {times:.2f} | {first} |\n"
    return text


def _threads(store: Path, scratch: Path, rounds: int) -> str:
    out = scratch / "out"
    text = "\n| work | one thread | two threads | times as fast (at least 1.7) |\n|---|---:|---:|---:|\n"
    for name, code in _THREADED.items():
        with ExitStack() as stack:
            workers = {
                str(threads): stack.enter_context(_Worker(code.format(threads=threads), store, out))
                for threads in (1, 2)
            }
            for worker in workers.values():
                for _ in range(_WARM):
                    worker.run()
            both = _raced({threads: worker.run for threads, worker in workers.items()}, rounds)
        text += f"| {name} | {both['1']} | {both['2']} | {both['1'].seconds / both['2'].seconds:.2f} |\n"
    return text


def _make(store: Path, size: int) -> None:
    make_store(store, size, file_size=max(size // 8, 1 << 20), body_size=0)


def main(arguments: Sequence[str]) -> None:
    """Makes the store, measures, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.process", description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000_000, help="bytes of the store [default: 1 GB]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scratch", type=Path, help="where the store is made [default: the system's]")
    parser.add_argument("--quick", action="store_true", help="a small store, one round: does it run?")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    size, rounds = (40_000_000, 1) if given.quick else (given.size, given.rounds)
    threaded = _THREADED_TIMES * size
    with tempfile.TemporaryDirectory(dir=given.scratch) as directory:
        scratch = Path(directory)
        _make(scratch / "store", size)
        text = _HEAD.format(
            date=datetime.now(UTC).date(),
            command=f"python -m benchmarks.process --size {size} --rounds {rounds}",
            size=size,
            threaded=threaded,
            rounds=rounds,
            warm=_WARM,
            machine="\n".join(f"- {name}: {value}" for name, value in machine.describe().items()),
        )
        text += _verbs(scratch / "store", scratch, rounds)
        shutil.rmtree(scratch / "store")
        _make(scratch / "store", threaded)
        text += _threads(scratch / "store", scratch, rounds)
    if given.quick:
        print(text)
    else:
        given.output.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
