"""Milliseconds that the command takes for a small file, against the interpreter importing what it needs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from benchmarks.bench import timed
from benchmarks.report import Bar, Section
from benchmarks.timing import Contender, race, ratios

if TYPE_CHECKING:
    from benchmarks.bench import Bench

__all__ = ["run"]

_LIMIT: Final = 2.0
_ENTRIES: Final = 1000


def run(bench: Bench) -> Section:
    """The race, each start a process of its own; those to warm up make them second starts."""
    file, geometry = bench.make_index(_ENTRIES)
    shape = f"{geometry.hash_slot_num},{geometry.index_num}"
    commands = {
        "`python -c 'import pyarrow, numpy'`": ["-c", "import pyarrow, numpy"],
        f"`rocketspec decode` of {_ENTRIES:,} entries": [
            *("-m", "rocketspec", "decode", str(file), "--kind", "index", "--geometry", shape)
        ],
    }

    # A second start finds the modules compiled by the first.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def start(arguments: list[str]) -> float:
        def some() -> None:
            for _ in range(bench.sizes.starts):
                subprocess.run(
                    [sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, env=environment
                )

        return timed(some)

    sides = [
        Contender(name, bench.sizes.starts, lambda arguments=arguments: start(arguments))  # type: ignore[misc]
        for name, arguments in commands.items()
    ]
    results = race(sides, rounds=bench.rounds, warm_ups=1)
    lines = ["| process | median, ms | min - max |", "|---|---:|---:|"]
    for result in results:
        times = sorted(1000 * seconds / bench.sizes.starts for seconds in result.seconds)
        lines.append(
            f"| {result.contender.name} | {statistics.median(times):.0f} | {times[0]:.0f} - {times[-1]:.0f} |"
        )
    bar = Bar(
        "`rocketspec decode` of a small file, second start",
        "`python -c 'import pyarrow, numpy'`",
        _LIMIT,
        ratios(*results),
        at_most=True,
    )
    return Section("\n".join(lines), [bar])
