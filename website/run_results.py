"""Runs the suite on every implementation of the results page: `python -m website.run_results [NAME=COMMAND...]`.

Without arguments the bundled engine, the reference and the real jar of 4.9.3 are run, in about two minutes. Each NAME=COMMAND runs
an adapter instead, such as one of the crates (docs/findings-rocketmq-store.md). Other results in `results.json` are kept.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from tools.versions import inputs_digest

RESULTS: Final = Path(__file__).with_name("results.json")
_REFERENCE: Final = Path(__file__).with_name("reference_adapter.py")
_BUNDLED: Final = {
    "RocketMQ 4.9.3 (the real jar)": ["--rocketmq", "4.9.3"],
    "rocket_reference (bundled)": ["--", sys.executable, str(_REFERENCE)],
    "rocket_columnar (bundled)": [],
}


def _run(arguments: list[str]) -> dict[str, Any]:
    """Runs `conform` with these arguments; passed and failed cases by clause, and the clauses that are broken."""
    with tempfile.TemporaryDirectory() as scratch:
        base = [sys.executable, "-m", "rocketspec"]
        split = arguments.index("--") if "--" in arguments else len(arguments)
        report = [*base, "conform", "--report", scratch, *arguments[:split], *arguments[split:]]
        done = subprocess.run(report, stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in {0, 1, 4}:
            raise SystemExit(f"{shlex.join(arguments)}: exit code {done.returncode}")
        table = json.loads(subprocess.check_output([*base, "compare", "--json", scratch]))
    return {
        row["clause"]: [cell["passed"], cell["failed"], cell["state"]]
        for row in table["clauses"]
        for cell in row["implementations"]
        if cell["state"] != "none"
    }


def main() -> int:
    """Runs the implementations and writes `results.json`."""
    named = dict(argument.split("=", 1) for argument in sys.argv[1:])
    commands = {name: ["--", *shlex.split(command)] for name, command in named.items()} or _BUNDLED
    kept = json.loads(RESULTS.read_bytes())["implementations"] if RESULTS.exists() else {}
    found: dict[str, Any] = {}
    for name, arguments in commands.items():
        found[name] = _run(arguments)
        sys.stderr.write(f"{name}: {len(found[name])} clauses\n")
    everything = kept | found
    RESULTS.write_text(
        json.dumps({"inputs": inputs_digest(), "implementations": everything}, indent=1) + "\n", "utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
