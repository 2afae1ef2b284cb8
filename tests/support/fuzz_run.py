"""The fuzzer: every function that takes bytes from elsewhere, until the time is over.

`python tests/support/fuzz_run.py --seconds 1200 --seed 7 --record` (`make fuzz`) runs the tests of new inputs in
`tests/fuzz/test_inputs.py` again and again, each time with other seeds.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

from fuzz_targets import TARGETS

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
