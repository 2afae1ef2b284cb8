"""The fuzzer: the one table of targets, and how inputs are given to them.

`python tests/support/fuzz_targets.py --seconds 1200 --seed 7 --record` (`make fuzz`) runs the test of new inputs in
`tests/fuzz/test_inputs.py` again and again, each time with another seed, until the time is over. An input fails if it ends in
anything but an answer or a documented error, or takes more than 20 s of processor time or more than 1 GiB of memory. Hypothesis
makes it small, and its database replays it until it passes.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import fuzz_agreement
import fuzz_parsers
import fuzz_verbs
import psutil
from fuzz_inputs import Target
from time_limit import TooLongError, limited

TARGETS: Final[dict[str, Target]] = {**fuzz_agreement.TARGETS, **fuzz_parsers.TARGETS, **fuzz_verbs.TARGETS}
SECONDS: Final = 20
"""Processor time for one input."""
_SECONDS_AGAIN: Final = 2
"""The same once an input of a target took too long: Hypothesis tries a few hundred to make that one smaller."""
_late: Final[set[str]] = set()
"""Those targets."""
MEMORY: Final = 1 << 30
"""Bytes that an input may make the process larger."""
_ROOM: Final = 16 << 30
"""Bytes of address space beyond what the process has: libraries reserve a few GiB, and use little of them."""


def attempt(name: str, value: Any) -> None:
    """Gives a target an input; raises whatever the target may not, and AssertionError for too much memory."""
    target, before = TARGETS[name], _largest()
    seconds = _SECONDS_AGAIN if name in _late else SECONDS
    try:
        with TemporaryDirectory() as folder, limited(seconds), suppress(*target.errors):
            target.run(value, Path(folder))
    except TooLongError:
        _late.add(name)
        raise
    grown = _largest() - before
    assert grown < MEMORY, f"took {grown:,} bytes"


def _largest() -> int:
    """The most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def bounded_memory() -> Iterator[None]:
    """In the block a number that a file claims cannot take the machine's memory."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + _ROOM, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


ROOT: Final = Path(__file__).parents[2]
FIGURES: Final = ROOT / "docs" / "fuzz-figures.json"
PAGE: Final = ROOT / "docs" / "reliability.md"
_SENTENCE: Final = re.compile(r"[\d,]+ inputs of \d+ targets.*, seeds [\d, ]+: \d+ failures\.")
_INPUTS: Final = 20
"""Of each target in a round."""
_INPUTS_ALONE: Final = 2000
"""In a round of one target."""


def sentence(figures: dict[str, Any]) -> str:
    """The figures as the page states them."""
    seeds = ", ".join(map(str, figures["seeds"]))
    alone = "".join(f", of them {count:,} of the target `{name}`" for name, count in figures["alone"].items())
    return (
        f"{figures['inputs']:,} inputs of {len(figures['targets'])} targets{alone}, seeds {seeds}: "
        f"{figures['failures']} failures."
    )


def _record(inputs: int, failures: int, seed: int, only: str | None) -> None:
    """Adds a run of all targets, or of one alone, to the figures of docs/reliability.md."""
    kept: dict[str, Any] = json.loads(FIGURES.read_text("utf-8"))
    kept |= {
        "inputs": kept["inputs"] + inputs,
        "failures": kept["failures"] + failures,
        "seeds": sorted({*kept["seeds"], seed}),
        "targets": sorted(TARGETS),
    }
    if only is not None:
        kept["alone"][only] = kept["alone"].get(only, 0) + inputs
    FIGURES.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    PAGE.write_text(_SENTENCE.sub(sentence(kept), PAGE.read_text("utf-8")), "utf-8")


def main() -> None:
    """Runs rounds until the time is over; exit code 1 if an input failed."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="add the numbers to docs/fuzz-figures.json")
    parser.add_argument("--only", metavar="TARGET", choices=TARGETS, help="one target alone")
    given = parser.parse_args()
    end, rounds, failures = time.monotonic() + given.seconds, 0, 0
    tests, each = "tests/fuzz/test_inputs.py::test_new_inputs", _INPUTS
    if given.only is not None:
        tests, each = f"{tests}[{given.only}]", _INPUTS_ALONE
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "1800", "-n", "2", tests]
    variables = {name: value for name, value in os.environ.items() if name != "CI"} | {"FUZZ": str(each)}
    while time.monotonic() < end:
        seed = f"--hypothesis-seed={given.seed + 1_000_000 * rounds}"
        done = subprocess.run([*command, seed], cwd=ROOT, env=variables, check=False)
        rounds, failures = rounds + 1, failures + bool(done.returncode)
    targets = len(TARGETS) if given.only is None else 1
    inputs = rounds * each * targets
    sys.stdout.write(f"{inputs:,} inputs of {targets} targets, seed {given.seed}: {failures} failures\n")
    if given.record:
        _record(inputs, failures, given.seed, given.only)
    sys.exit(min(failures, 1))


if __name__ == "__main__":
    main()
