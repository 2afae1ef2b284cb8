"""The fuzzer: every function that takes bytes from elsewhere, in turn, until the time is over.

`python tests/support/fuzz_run.py --seconds 1200 --seed 7 --record` (`make fuzz`) makes inputs for the targets of `fuzz_agreement`,
`fuzz_parsers`, `fuzz_repair` and `fuzz_verbs`. A child process does the work. An input that ends in anything but an answer or a documented
error, takes more than 20 s of processor time or more than 1 GiB, or ends the child, is written to `tests/fuzz/inputs/`, which the
tests replay.
"""

import argparse
import json
import mmap
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import fuzz_agreement
import fuzz_parsers
import fuzz_repair
import fuzz_verbs
from fuzz_inputs import Target, keep
from time_limit import limited

DOCS: Final = Path(__file__).parents[2] / "docs"
FIGURES: Final = DOCS / "fuzz-figures.json"
PAGE: Final = DOCS / "reliability.md"
_SENTENCE: Final = re.compile(r"[\d,]+ inputs of \d+ targets, seeds [\d, ]+: \d+ failures\.")
TARGETS: Final[dict[str, Target]] = {
    **fuzz_agreement.TARGETS, **fuzz_parsers.TARGETS, **fuzz_repair.TARGETS, **fuzz_verbs.TARGETS
}  # fmt: skip
SECONDS: Final = 20
"""Processor time for one input."""
MEMORY: Final = 1 << 30
"""Bytes of address space that one input may take beyond what the process had before."""
_TURN: Final = 1.0  # s of processor time of a target at a time
_HANGS: Final = 600  # s without a new input


def failure(name: str, data: bytes, folder: Path, *, seconds: int = SECONDS) -> str | None:
    """How an input fails, if it does; `folder` gets the files that are read."""
    target = TARGETS[name]
    try:
        with limited(seconds):
            target.run(data, folder)
    except target.errors:
        return None
    except Exception:  # noqa: BLE001 - each is a find
        return traceback.format_exc(limit=-4)
    return None


def make(name: str, seed: int) -> bytes:
    """An input of a target."""
    return TARGETS[name].make(random.Random(seed))  # noqa: S311 - reproducible inputs


def _work(names: list[str], seconds: float, seed: int, folder: Path) -> None:
    """The child: turns until the time is over; `folder` has the input that runs, and the numbers of inputs and failures."""
    for name in names:  # compiles and loads before anything is limited
        with suppress(Exception):
            TARGETS[name].run(make(name, 0), folder)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * mmap.PAGESIZE + MEMORY, resource.RLIM_INFINITY))
    rng = random.Random(seed)  # noqa: S311 - reproducible inputs
    count, seen, end = 0, set[str](), time.monotonic() + seconds
    for name in cycle(names):
        turn = time.thread_time() + _TURN
        while time.thread_time() < turn:
            data = TARGETS[name].make(rng)
            (folder / "input").write_bytes(name.encode() + b"\n" + data)
            wrong = failure(name, data, folder)
            count += 1
            if wrong is not None and wrong not in seen:  # each way to fail once
                seen.add(wrong)
                sys.stdout.write(f"{name}: {keep(name, data)}\n{wrong}\n")
        (folder / "numbers").write_text(f"{count} {len(seen)}", "ascii")
        if time.monotonic() > end:
            return


def _watched(names: list[str], seconds: float, seed: int) -> tuple[int, int]:
    """Runs a child to its end; numbers of inputs and of failures, its own end counted."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:  # noqa: S108 - a folder of its own, private
        folder = Path(directory)
        (folder / "numbers").write_text("0 0", "ascii")
        (folder / "input").touch()
        command = [sys.executable, __file__, f"--seconds={seconds}", f"--seed={seed}", f"--work={directory}"]
        with subprocess.Popen([*command, *(word for name in names for word in ("--target", name))]) as child:
            while child.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(5)
                if time.time() - (folder / "input").stat().st_mtime > _HANGS:
                    child.kill()
        count, failures = map(int, (folder / "numbers").read_text("ascii").split())
        if child.returncode:
            name, _, data = (folder / "input").read_bytes().partition(b"\n")
            sys.stdout.write(f"{name.decode()}: ended with {child.returncode}: {keep(name.decode(), data)}\n")
            failures += 1
    return count, failures


def _record(count: int, failures: int, seed: int, names: list[str]) -> None:
    """Adds a run to the figures of docs/reliability.md."""
    kept: dict[str, Any] = json.loads(FIGURES.read_text("utf-8"))
    kept["inputs"] += count
    kept["failures"] += failures
    kept["seeds"] = sorted({*kept["seeds"], seed})
    kept["targets"] = sorted({*kept["targets"], *names} & TARGETS.keys())
    FIGURES.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    PAGE.write_text(_SENTENCE.sub(sentence(kept), PAGE.read_text("utf-8")), "utf-8")


def sentence(figures: dict[str, Any]) -> str:
    """The figures as the page states them."""
    seeds = ", ".join(map(str, figures["seeds"]))
    return f"{figures['inputs']:,} inputs of {len(figures['targets'])} targets, seeds {seeds}: {figures['failures']} failures."


def main() -> None:
    """Makes inputs until the time is over; exit code 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", choices=TARGETS, metavar="NAME")
    parser.add_argument("--record", action="store_true", help="add the numbers to docs/fuzz-figures.json")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.target or list(TARGETS)
    if given.work is not None:
        tempfile.tempdir = str(given.work)
        _work(names, given.seconds, given.seed, given.work)
        return
    end, seed, inputs, failures = time.monotonic() + given.seconds, given.seed, 0, 0
    while (left := end - time.monotonic()) > 0:
        count, wrong = _watched(names, left, seed)
        inputs, failures, seed = inputs + count, failures + wrong, seed + 1000
    sys.stdout.write(f"{inputs:,} inputs of {len(names)} targets, seed {given.seed}: {failures} failures\n")
    if given.record:
        _record(inputs, failures, given.seed, names)
    sys.exit(min(failures, 1))


if __name__ == "__main__":
    main()
