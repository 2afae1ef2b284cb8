"""Measures every bar and writes `RESULTS.md`: `python -m benchmarks`; `--check` is a short form that prints the bars."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks import growth, machine, races, verbs
from benchmarks.bench import Bench, Sizes
from benchmarks.race import Bar, Section, bar_table, report, timed

PAGE: Final = Path(__file__).with_name("RESULTS.md")
FULL: Final = Sizes(entries=19_999_999, records=1 << 20, store=1_000_000_000, queues=20_000)
CHECK: Final = Sizes(entries=4_000_000, records=1 << 17, store=200_000_000, queues=1000)
QUICK: Final = Sizes(entries=3000, records=500, store=1 << 20, queues=40)
SECTIONS: Final[dict[str, tuple[str, Callable[[Bench], Section]]]] = {
    "decode": ("Decode an index file", races.run_decode),
    "build": ("Build an index file", races.run_build),
    "log": ("Scan a commit log", races.run_log),
    "verbs": ("Verbs from the shell", verbs.run_verbs),
    "memory": ("Memory", verbs.run_memory),
    "growth": ("Growth", growth.run_growth),
}

HEAD: Final = Path(__file__).with_name("results_page.txt").read_text("utf-8")


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = ", ".join(SECTIONS)
    parser.add_argument(
        "--only", action="append", choices=SECTIONS, metavar="NAME", help=f"one of {names}; repeatable"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="smaller sizes; print the bars, exit with 1 if one that does not depend on the size is missed",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all of it runs")
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count [default: 5]")
    parser.add_argument("--no-java", action="store_true", help="leave the real jar out")
    given = parser.parse_args(arguments)
    if given.rounds < 1:
        parser.error("--rounds: expected 1 or more")
    return given


def _measure(given: argparse.Namespace, sizes: Sizes) -> tuple[list[str], list[Bar]]:
    """The chosen sections, one after the other, and their bars."""
    texts: list[str] = []
    bars: list[Bar] = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-bench-"))
        bench = Bench(sizes, Path(folder), stack, rounds=given.rounds, java=not given.no_java)
        for name in given.only or SECTIONS:
            title, run = SECTIONS[name]

            def measured(title: str = title, run: Callable[[Bench], Section] = run) -> None:
                section = run(bench)
                texts.append(f"## {title}\n\n{section.text}\n")
                bars.extend(section.bars)

            report(f"{title.lower()}: {timed(measured):.0f} s")
    return texts, bars


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is asked for; all of it at full size is written to the page, anything else printed."""
    given = _arguments(sys.argv[1:] if arguments is None else arguments)
    facts = machine.describe()
    texts, bars = _measure(given, QUICK if given.quick else CHECK if given.check else FULL)
    if given.check:
        print(bar_table(bars))
        sys.exit(0 if all(bar.reached for bar in bars if bar.any_size) else 1)
    head = HEAD.format(
        date=datetime.now(UTC).date(),
        command=f"python -m benchmarks --rounds {given.rounds}",
        machine=facts,
        bars=bar_table(bars),
    )
    page = "\n".join([head, *texts])
    if given.quick or given.only or given.no_java:
        print(page)
    else:
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
