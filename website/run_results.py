"""Adds runs to the results page: `python -m website.run_results [add REPORT...]`, or `make results`.

REPORT is a directory that `rocketspec conform --report` wrote, or its report.jsonl; name, version and time of the run come from it.
Without arguments the bundled engine, the reference and the real jar of 4.9.3 are run first, in about two minutes.
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from rocket_conformance.report import Report, compare_implementations, read_whole_report

from website.results import RESULTS

_REFERENCE: Final = Path(__file__).with_name("reference_adapter.py")
_BUNDLED: Final[tuple[list[str], ...]] = (
    ["--rocketmq", "4.9.3"],
    ["--", sys.executable, str(_REFERENCE)],
    [],
)


def add(reports: Iterable[Report], results: Path = RESULTS) -> None:
    """Adds runs to the file `results`, oldest first; a known run is replaced."""
    kept = json.loads(results.read_bytes())["runs"] if results.exists() else []
    runs = {_key(run): run for run in [*kept, *map(_run_of, reports)]}
    lines = ",\n".join(json.dumps(run) for run in sorted(runs.values(), key=_key))
    results.write_text(f'{{"runs": [\n{lines}\n]}}\n', "utf-8")


def _key(run: dict[str, Any]) -> tuple[str, ...]:
    return run["started"], run["name"], run["version"]


def _run_of(report: Report) -> dict[str, Any]:
    implementation = report.header["implementation"]
    compared = compare_implementations([report])
    (name,) = compared["implementations"]
    version = str(implementation["version"])
    return {
        "name": name.removesuffix(version).strip(),
        "version": version,
        "language": implementation["language"],
        "suite": report.header["suite"],
        "started": report.header["started"],
        "clauses": {
            row["clause"]: [cell["passed"], cell["failed"], cell["state"]]
            for row in compared["clauses"]
            for cell in row["implementations"]
            if cell["state"] != "none"
        },
    }


def _run(arguments: list[str]) -> Report:
    """Runs `conform` with these arguments."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "rocketspec", "conform", "--report", scratch, *arguments]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode not in {0, 1, 4}:
            raise SystemExit(f"{shlex.join(arguments)}: exit code {done.returncode}")
        return read_whole_report(Path(scratch))


def main() -> int:
    """Reads the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m website.run_results", description=__doc__)
    verbs = parser.add_subparsers()
    verbs.add_parser("add").add_argument("reports", metavar="REPORT", type=Path, nargs="+")
    chosen = vars(parser.parse_args()).get("reports")
    add(map(_run, _BUNDLED) if chosen is None else map(read_whole_report, chosen))
    return 0


if __name__ == "__main__":
    sys.exit(main())
