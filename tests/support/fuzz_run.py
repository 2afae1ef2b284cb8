"""Every function that takes bytes from elsewhere, fuzzed in one process: thousands of inputs a second in memory, hundreds as files.

`python tests/support/fuzz_run.py --seconds 1200 --seed 7 --record` (part of `make fuzz`) makes inputs until the time is over:

- functions of bytes that two or three implementations answer, which must agree (`fuzz_agreement`),
- compiled loops on guarded memory beside the paths without them (`compiled_fuzz`),
- parsers of files, lines and messages (`input_fuzz`),
- small stores through every verb and the Spark sources (`fuzz_stores`).

A child process does the work. An input that ends in anything but an answer or a documented error, takes more than 20 s of
processor time or more than 1 GiB, or ends the child, is written to `tests/fuzz/inputs/`. An input that was made before in the
same run is not counted.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from functools import cache, partial
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest.mock import patch

import compiled_fuzz
import fuzz_agreement
import fuzz_figures
import fuzz_stores
import fuzz_texts
import input_fuzz
from fuzz_figures import Figures
from rocket_columnar import store
from time_limit import TooLongError, limited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["TARGETS", "Job", "failure", "make", "quick"]

SECONDS: Final = 20
"""Processor time for one input."""
MEMORY: Final = 1 << 30
"""Bytes of address space that one input may take beyond what the process had before."""
_SLICE: Final = {"agree": 3.0, "bytes": 0.5, "compiled": 1.0, "store": 3.0}
"""Seconds of processor time of a turn."""
_SEEN: Final = 1 << 29  # bits
_TRACE: Final = 1 << 22
_PATIENCE: Final = 600  # s by the clock on the wall without a new input


class Job(NamedTuple):
    """A target as the loop needs it.

    Attributes:
        turn: seconds of processor time at a time.
        make: an input.
        run: what came out, or an error.
        errors: documented ones.
    """

    turn: float
    make: Callable[[random.Random], bytes]
    run: Callable[[bytes], Any]
    errors: tuple[type[BaseException], ...]


def _compiled(name: str, data: bytes) -> None:
    differs = compiled_fuzz.check(name, data)
    assert differs is None, differs


def _mutated(samples: tuple[bytes, ...], rng: random.Random) -> bytes:
    return input_fuzz.mutated(rng.choice(samples), rng, samples)


@cache
def _jobs(folder: Path) -> dict[str, Job]:
    """All targets; `folder` gets the files that they read."""
    jobs = {
        name: Job(_SLICE["agree"] * one.share, one.samples.mutated, one.run, one.errors)
        for name, one in fuzz_agreement.TARGETS.items()
    }
    for name, target in (input_fuzz.TARGETS | fuzz_texts.TARGETS).items():
        run = partial(lambda data, run: run(data, folder), run=target.run)
        jobs[name] = Job(_SLICE["bytes"], partial(_mutated, target.samples), run, target.errors)
    for name, (samples, _) in compiled_fuzz.KINDS.items():
        jobs[f"compiled: {name}"] = Job(
            _SLICE["compiled"], partial(_mutated, (*samples, samples[0] * 5)), partial(_compiled, name), ()
        )
    for name, one in fuzz_stores.TARGETS.items():
        run = partial(lambda data, one: fuzz_stores.check(one, data, folder), one=one)
        jobs[name] = Job(_SLICE["store"], fuzz_stores.make, run, one.errors)
    return jobs


TARGETS: Final = (
    *fuzz_agreement.TARGETS,
    *input_fuzz.TARGETS,
    *fuzz_texts.TARGETS,
    *(f"compiled: {name}" for name in compiled_fuzz.KINDS),
    *fuzz_stores.TARGETS,
)


class _Seen:
    """Whether something came up before, by its hash: a new thing is taken for an old one once in a while, never the reverse."""

    def __init__(self) -> None:
        self._bits = mmap.mmap(-1, _SEEN // 8)

    def add(self, thing: object) -> bool:
        """Whether it is new."""
        try:
            code = hash(thing) % _SEEN
        except TypeError:
            code = hash(repr(thing)) % _SEEN
        byte, bit = self._bits[code >> 3], 1 << (code & 7)
        self._bits[code >> 3] = byte | bit
        return not byte & bit


class _Trace:
    """The input that runs, in a file that outlives the process."""

    def __init__(self, path: Path) -> None:
        self._map = mmap.mmap(os.open(path, os.O_RDWR), _TRACE)
        self._count = 0

    def begin(self, target: int, data: bytes) -> None:
        """Notes an input before it runs."""
        self._count += 1
        self._map[:24] = b"".join(number.to_bytes(8) for number in (self._count, target, len(data)))
        self._map[24 : 24 + len(data)] = data

    def end(self) -> None:
        """Nothing runs."""
        self._map[8:16] = (0xFFFF).to_bytes(8)

    @staticmethod
    def read(path: Path) -> tuple[int, int, bytes]:
        """Number of the input, number of its target, and its bytes."""
        head = path.read_bytes()
        count, target, length = (int.from_bytes(head[at : at + 8]) for at in (0, 8, 16))
        return count, target, head[24 : 24 + length]


def _stop(*_: object) -> None:
    raise TooLongError(f"more than {SECONDS} s")


def _outcome(job: Job, data: bytes) -> tuple[Any, str | None]:
    """What came out, and the trace of a failure."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return job.run(data), None
    except job.errors as error:
        return type(error).__name__, None
    except Exception:  # noqa: BLE001 - each is a find
        return None, traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def failure(name: str, data: bytes, folder: Path, *, seconds: int = SECONDS) -> str | None:
    """How an input of the corpus fails, if it does; `folder` gets the files that are read."""
    job = _jobs(folder)[name]
    try:
        with limited(seconds), quick():
            job.run(data)
    except job.errors:
        return None
    except Exception:  # noqa: BLE001 - each is a find
        return traceback.format_exc(limit=-4)
    return None


def make(name: str, seed: int, folder: Path) -> bytes:
    """An input of a target."""
    return _jobs(folder)[name].make(random.Random(seed))  # noqa: S311 - reproducible inputs


@contextmanager
def quick() -> Iterator[None]:
    """Files are taken as they are, without a pause: no broker is writing them."""
    with patch.object(store, "PAUSES", ()), patch("rocket_columnar.store.reader._NEW", 0):
        yield


def _turn(
    name: str, job: Job, rng: random.Random, memory: tuple[_Seen, _Seen, _Trace], figures: Figures
) -> None:
    """One slice of time for one target."""
    seen, results, trace = memory
    number = TARGETS.index(name)
    until = time.thread_time() + job.turn  # on a busy machine too each target gets its share
    while time.thread_time() < until:
        data = job.make(rng)
        if not seen.add((name, data)):
            continue
        trace.begin(number, data)
        begin = time.thread_time_ns()
        result, wrong = _outcome(job, data)
        took = time.thread_time_ns() - begin
        figures.add(name, len(data), took, new=result is not None and results.add((name, result)))
        if wrong is not None:
            figures.failures += 1
            if results.add((name, wrong)):  # each way to fail once
                sys.stdout.write(f"{name}: {input_fuzz.keep(name, data)}\n{wrong}\n")
                sys.stdout.flush()
    trace.end()


def _fuzz(names: list[str], seconds: float, seed: int, trace_path: Path, out: Path) -> None:
    """The child's work: turns until the time is over; the figures go to `out`, every minute and at the end."""
    jobs = _jobs(trace_path.parent)
    signal.signal(signal.SIGPROF, _stop)
    for name in names:  # compiles and loads before anything is limited or measured
        with suppress(Exception):
            jobs[name].run(jobs[name].make(random.Random(0)))  # noqa: S311 - reproducible inputs
    held = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE
    memory = _Seen(), _Seen(), _Trace(trace_path)
    resource.setrlimit(resource.RLIMIT_AS, (held + _SEEN // 4 + MEMORY, resource.RLIM_INFINITY))
    figures = Figures(seed)
    rng = random.Random(seed)  # noqa: S311 - reproducible inputs
    end, noted = time.monotonic() + seconds, time.monotonic()
    for name in cycle(names):
        _turn(name, jobs[name], rng, memory, figures)
        if time.monotonic() - noted > 60 or time.monotonic() > end:
            noted = time.monotonic()
            figures.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            out.write_text(json.dumps(figures.to_json()), "utf-8")
        if time.monotonic() > end:
            return


def _watched(command: list[str], trace: Path) -> int | None:
    """Runs the child; its exit code, or None if it hung and was ended."""
    with subprocess.Popen(command) as child:
        last, since = -1, time.monotonic()
        while True:
            try:
                return child.wait(5)
            except subprocess.TimeoutExpired:
                count = _Trace.read(trace)[0]
                if count != last:
                    last, since = count, time.monotonic()
                elif last > 0 and time.monotonic() - since > _PATIENCE:
                    child.kill()
                    return None
            except BaseException:
                child.kill()
                raise


def _supervise(names: list[str], seconds: float, seed: int) -> Iterator[dict[str, Any]]:
    """Figures of children, a new one for each that died."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:  # noqa: S108 - a folder of its own, private
            trace, out = Path(folder) / "trace", Path(folder) / "figures"
            trace.write_bytes(bytes(_TRACE))
            command = [
                sys.executable,
                __file__,
                "--seconds",
                str(left),
                "--seed",
                str(seed),
                "--work",
                folder,
            ]
            code = _watched([*command, *(part for name in names for part in ("--target", name))], trace)
            found = json.loads(out.read_bytes()) if out.exists() else Figures(seed).to_json()
            if code != 0:
                count, target, data = _Trace.read(trace)
                if not count:
                    sys.exit("the child ended before its first input")
                name = TARGETS[target] if target < len(TARGETS) else "start"
                found["failures"] += 1
                how = "hung" if code is None else f"ended with {code}"
                sys.stdout.write(f"{name}: {how}: {input_fuzz.keep(name, data)}\n")
            yield found
        seed += 1000


def _guided(names: list[str], seconds: float, seed: int, folder: Path) -> None:
    """Mutations led by coverage; ends the process. The first byte of an input is the number of its target."""
    try:
        atheris: Any = import_module("atheris")
    except ImportError:
        sys.exit(
            "atheris is not installed; `pip install -r requirements/fuzz.txt` adds it, on Linux and Python 3.11 to 3.13"
        )
    jobs, corpus = _jobs(folder), folder / "corpus"
    corpus.mkdir()
    rng = random.Random(seed)  # noqa: S311 - reproducible inputs
    for number, name in enumerate(names):
        for turn in range(20):
            (corpus / f"{number}-{turn}").write_bytes(bytes([number]) + jobs[name].make(rng))
    for module in [
        name for name in sys.modules if name.startswith(("rocket_columnar", "rocket_conformance"))
    ]:
        for value in vars(sys.modules[module]).values():
            if (
                callable(value)
                and getattr(value, "__module__", None) == module
                and hasattr(value, "__code__")
            ):
                value.__code__ = atheris.instrument_func(value).__code__

    def one(data: bytes) -> None:
        if not data:
            return
        name = names[data[0] % len(names)]
        wrong = failure(name, data[1:], folder)
        if wrong is not None:
            sys.stdout.write(f"{name}: {input_fuzz.keep(name, data[1:])}\n{wrong}\n")

    flags = [
        f"-max_total_time={int(seconds)}",
        f"-seed={seed or 1}",
        "-max_len=65536",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], one)
    atheris.Fuzz()


def main() -> None:
    """Makes inputs until the time is over; exit code 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--record", action="store_true", help="add the numbers to docs/fuzz-figures.json")
    parser.add_argument(
        "--guided", action="store_true", help="coverage leads the mutations, with the package atheris"
    )
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.target or list(TARGETS)
    if given.work is not None:
        tempfile.tempdir = str(given.work)
        with quick():
            _fuzz(names, given.seconds, given.seed, given.work / "trace", given.work / "figures")
        return
    if given.guided:
        with tempfile.TemporaryDirectory() as folder:
            _guided(names, given.seconds, given.seed, Path(folder))
    failures = 0
    for found in _supervise(names, given.seconds, given.seed):
        failures += found["failures"]
        sys.stdout.write(fuzz_figures.table(found))
        if given.record:
            fuzz_figures.merge(found)
    sys.exit(min(failures, 1))


if __name__ == "__main__":
    main()
