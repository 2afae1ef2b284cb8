"""The fuzzer: the one table of targets, and how inputs are given to them.

`python tests/support/fuzz_targets.py --seconds 1200 --seed 7 --record` (`make fuzz`) runs the tests of new inputs in
`tests/fuzz/test_inputs.py` again and again, each time with other seeds, until the time is over. An input fails if it ends in anything but an answer or a documented error, or takes more than 20 s of processor time or more
than 1 GiB of memory.
"""

import argparse
import json
import re
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import fuzz_agreement
import fuzz_parsers
import fuzz_verbs
import psutil
from fuzz_inputs import Target, keep
from hypothesis import HealthCheck, given, settings
from time_limit import limited

TARGETS: Final[dict[str, Target]] = {
    **fuzz_agreement.TARGETS,
    **fuzz_parsers.TARGETS,
    **fuzz_verbs.TARGETS,
}
_SLOW: Final = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
"""An input of Hypothesis may be a whole store."""
SECONDS: Final = 20
"""Processor time for one input."""
MEMORY: Final = 1 << 30
"""Bytes that an input may make the process larger."""
_ROOM: Final = 16 << 30
"""Bytes of address space beyond what the process has: libraries reserve a few GiB, and use little of them."""


def failure(name: str, data: bytes, folder: Path, *, seconds: int = SECONDS) -> str | None:
    """The failure of an input, if it fails; `folder` gets the files that are read."""
    target, before = TARGETS[name], _largest()
    try:
        with limited(seconds), suppress(*target.errors):
            target.run(data, folder)
    except Exception:  # noqa: BLE001 - each is a find
        return traceback.format_exc(limit=-4)
    grown = _largest() - before
    return f"took {grown:,} bytes" if grown > MEMORY else None


def _largest() -> int:
    """The most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(name: str, folder: Path, inputs: int, *, seconds: int = SECONDS) -> str | None:
    """The failure of the smallest input that fails, and its path; None if none fails.

    Args:
        name: of the target.
        folder: for the files that are read.
        inputs: number of inputs.
        seconds: of processor time for an input.
    """
    failing: list[tuple[bytes, str]] = []

    @settings(max_examples=inputs, deadline=None, suppress_health_check=_SLOW)
    @given(data=TARGETS[name].inputs)
    def run(data: bytes) -> None:
        wrong = failure(name, data, folder, seconds=seconds)
        if wrong is not None:
            failing.append((data, wrong))
        assert wrong is None

    try:
        run()
    except AssertionError:
        data, wrong = min(failing, key=lambda one: len(one[0]))
        return f"{name}: {keep(name, data)}\n{wrong}"
    return None


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
TESTS: Final = "tests/fuzz/test_inputs.py"
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
    command = [sys.executable, "-m", "pytest", "-q", "--timeout", "1800"]
    tests, each = f"{TESTS}::test_a_few_new_ones", _INPUTS
    if given.only is None:
        command += ["-n", "2"]
    else:
        tests, each = f"{tests}[{given.only}]", _INPUTS_ALONE
    while time.monotonic() < end:
        choice = [f"--fuzz={each}", f"--hypothesis-seed={given.seed + 1_000_000 * rounds}"]
        done = subprocess.run([*command, *choice, tests], cwd=ROOT, check=False)
        rounds, failures = rounds + 1, failures + bool(done.returncode)
    targets = len(TARGETS) if given.only is None else 1
    inputs = rounds * each * targets
    sys.stdout.write(f"{inputs:,} inputs of {targets} targets, seed {given.seed}: {failures} failures\n")
    if given.record:
        _record(inputs, failures, given.seed, given.only)
    sys.exit(min(failures, 1))


if __name__ == "__main__":
    main()
