"""Measures every bar side by side and writes `RESULTS.md`: `python -m benchmarks [--only NAME ...]`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks import decoding, file_growth, index, logs, machine, memory, parquet, startup
from benchmarks.bench import Bench, Sizes, say
from benchmarks.report import Bar, bar_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.report import Section

PINNED: Final = Sizes(
    entries=19_999_999,
    selects=10_000_000,
    records=1 << 20,
    small=1_000_000,
    kaitai=100_000,
    construct=20_000,
    starts=5,
)
QUICK: Final = Sizes(entries=3000, selects=1000, records=500, small=1000, kaitai=200, construct=100, starts=1)
SECTIONS: Final[dict[str, tuple[str, Callable[[Bench], Section]]]] = {
    "decode": ("Decode an index file", decoding.run),
    "build": ("Build an index file", index.run_build),
    "select": ("Select", index.run_select),
    "log": ("Scan a commit log", logs.run),
    "parquet": ("Index file to Parquet", parquet.run),
    "memory": ("Memory", memory.run),
    "growth": ("Cost as files grow", file_growth.run),
    "start": ("Start", startup.run),
}

HEAD: Final = """\
# Benchmarks

Measured by `{command}`, which writes this page; a part measured again by `--only` says so.

Each race runs its contenders in turn, so that what disturbs the machine disturbs each of them. A ratio sets the first
contender's round against another's next to it; given is the median of these ratios, and their spread. Ratios compare;
absolute figures belong to this machine. Files are in the page cache. What sets the limits: [docs/engine.md](../docs/engine.md).

{machine}

Keys are 32 characters, all different, their hashes spread at random: slots and chains lie all over the file.

## Bars

{bars}
"""


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=SECTIONS,
        metavar="NAME",
        help=f"measure this part again, and keep the page's others; repeat for several: {', '.join(SECTIONS)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to see that all of it runs; to stdout"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count [default: 5]")
    parser.add_argument("--warm-ups", type=int, default=2, help="rounds that do not [default: 2]")
    parser.add_argument(
        "--jars", type=Path, help="folder with the jars of RocketMQ 4.9.3 [default: by Maven]"
    )
    parser.add_argument("--no-java", action="store_true", help="leave the real jar out")
    parser.add_argument("--scratch", type=Path, help="where the files are made [default: the system's]")
    parser.add_argument("-o", "--output", type=Path, help="Markdown file to write [default: RESULTS.md here]")
    given = parser.parse_args(arguments)
    if given.rounds < 1 or given.warm_ups < 0:
        parser.error("--rounds is at least 1, --warm-ups at least 0")
    return given


def _command(given: argparse.Namespace) -> str:
    """The command that measures the same again, without the paths of this machine."""
    options = [f"--only {name}" for name in given.only or ()]
    options += ["--quick"] * given.quick + ["--no-java"] * given.no_java
    options += [f"--rounds {given.rounds} --warm-ups {given.warm_ups}"]
    return f"python -m benchmarks {' '.join(options)}"


def _measure(given: argparse.Namespace, measured: dict[str, Any]) -> None:
    """Runs the chosen parts, one after the other, into `measured`."""
    with ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-bench-", dir=given.scratch))
        )
        bench = Bench(
            QUICK if given.quick else PINNED,
            scratch,
            stack,
            rounds=given.rounds,
            warm_ups=given.warm_ups,
            jars=given.jars,
            java=not given.no_java,
        )
        for name in given.only or SECTIONS:
            title, run = SECTIONS[name]
            start = time.perf_counter()
            facts = machine.describe()
            section = run(bench)
            measured[name] = {
                "title": title,
                "date": str(datetime.now(UTC).date()),
                "command": _command(given),
                "machine": facts,
                "text": section.text,
                "bars": [asdict(bar) for bar in section.bars],
            }
            say(f"{title.lower()}: {time.perf_counter() - start:.0f} s")


def _page(measured: dict[str, Any]) -> str:
    parts = [measured[name] for name in SECTIONS if name in measured]
    facts = parts[0]["machine"]
    load = "Load average before the run"
    head = HEAD.format(
        command=max((part["command"] for part in parts), key=[part["command"] for part in parts].count),
        machine="\n".join(f"- {name}: {value}" for name, value in facts.items() if name != load),
        bars=bar_table([Bar(**bar) for part in parts for bar in part["bars"]]),
    )
    sections = [
        f"## {part['title']}\n\nOn {part['date']} by `{part['command']}`; {load.lower()}: {part['machine'][load]}.\n\n"
        f"{part['text']}\n"
        for part in parts
    ]
    return "\n".join([head, *sections])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures what is asked for and writes the page, and beside it what the page is made of."""
    given = _arguments(sys.argv[1:] if arguments is None else arguments)
    output: Path | None = given.output
    if output is None and not given.quick:
        output = Path(__file__).with_name("RESULTS.md")
    kept = None if output is None else output.with_suffix(".json")
    measured: dict[str, Any] = {}
    if given.only and kept is not None and kept.exists():
        measured = json.loads(kept.read_text("utf-8"))
    _measure(given, measured)
    page = _page(measured)
    if output is None or kept is None:
        print(page)
        return
    kept.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
    output.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
