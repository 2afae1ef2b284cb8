"""Runs every race and writes `RESULTS.md`: `python -m benchmarks [--entries N] [--rounds N]`."""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import decoding, index, machine
from benchmarks.data import geometry_for, make_puts
from benchmarks.real_jar import RealJar
from benchmarks.report import table
from benchmarks.timing import race

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocket_spec.layout import Geometry

    from benchmarks.timing import Contender

ENTRIES: Final = 5_000_000
MOST: Final = 19_999_999

HEAD: Final = """\
# Benchmarks

Measured on {date} by `{command}`, which writes this page.

Each race runs its contenders in turn (rounds to warm up: {warm_ups}, rounds that count: {rounds}), so that what disturbs
the machine disturbs each of them. Figures are millions a second, one thread each, files in the page cache. A ratio sets
the first contender's round against this one's next to it; given is the median of these ratios. Ratios compare; absolute
figures belong to this machine.

{machine}

Data: {entries:,} puts into an index file of {slots:,} slots and {index_num:,} entries ({size:,} bytes), made by {maker}.
{same}
Keys are 32 characters, all different, their hashes spread at random: slots and chains lie all over the file. Topic and
key are joined inside the timed loop, as a broker does.
"""


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--entries", type=int, default=ENTRIES, help=f"puts, 1 to {MOST} [default: {ENTRIES}]"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count [default: 5]")
    parser.add_argument("--warm-ups", type=int, default=2, help="rounds that do not [default: 2]")
    parser.add_argument(
        "--jars", type=Path, help="folder with the jars of RocketMQ 4.9.3 [default: by Maven]"
    )
    parser.add_argument("--no-java", action="store_true", help="leave the real jar out")
    parser.add_argument("--scratch", type=Path, help="where the files are made [default: the system's]")
    default = Path(__file__).with_name("RESULTS.md")
    parser.add_argument("-o", "--output", type=Path, default=default, help="Markdown file to write")
    given = parser.parse_args(arguments)
    if not 1 <= given.entries <= MOST:
        parser.error(f"--entries {given.entries}: not from 1 to {MOST}")
    if given.rounds < 1 or given.warm_ups < 0:
        parser.error("--rounds is at least 1, --warm-ups at least 0")
    return given


def _command(given: argparse.Namespace) -> str:
    """The command that measures the same again, without the paths of this machine."""
    sizes = f"--entries {given.entries} --rounds {given.rounds} --warm-ups {given.warm_ups}"
    return f"python -m benchmarks {sizes}" + (" --no-java" if given.no_java else "")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _jar(geometry: Geometry, given: argparse.Namespace) -> RealJar | None:
    if given.no_java:
        return None
    try:
        return RealJar(geometry, given.entries, given.jars)
    except OSError as error:
        _say(f"without the real jar: {error}")
        return None


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the races and writes the report."""
    given = _arguments(sys.argv[1:] if arguments is None else arguments)
    geometry = geometry_for(given.entries)
    started = time.perf_counter()
    facts = machine.describe()
    with ExitStack() as stack:
        scratch = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-bench-", dir=given.scratch))
        )
        _say(f"making {given.entries:,} puts")
        puts = make_puts(given.entries)
        jar = _jar(geometry, given)
        file, own = scratch / "20260101000000000", scratch / "20260101000000001"
        index.build(own, geometry, puts)
        same = "The real jar was left out."
        if jar is not None:
            stack.enter_context(jar)
            jar.keep(file)
            assert filecmp.cmp(file, own, shallow=False), "the engine's file differs from the jar's"
            same = "The engine makes the same file, byte for byte."
            own.unlink()
        else:
            own.rename(file)

        def slice_of(count: int) -> tuple[Path, Geometry]:
            smaller = scratch / str(count)
            index.build(smaller, geometry_for(count), make_puts(count))
            return smaller, geometry_for(count)

        races: list[tuple[str, str, Callable[[], list[Contender]]]] = [
            ("Decode an index file", "entries", lambda: decoding.contenders(file, geometry, slice_of)),
            ("Put", "puts", lambda: index.put_contenders(scratch, geometry, puts, jar)),
            ("Select", "selects", lambda: index.select_contenders(file, geometry, puts, jar)),
        ]
        sections = []
        for title, unit, make in races:
            _say(f"{title.lower()}: {given.warm_ups} + {given.rounds} rounds")
            results = race(make(), rounds=given.rounds, warm_ups=given.warm_ups)
            sections.append(f"## {title}\n\n{table(results, unit)}\n")
        size = file.stat().st_size
    head = HEAD.format(
        command=_command(given),
        date=datetime.now(UTC).date(),
        warm_ups=given.warm_ups,
        rounds=given.rounds,
        machine="\n".join(f"- {name}: {value}" for name, value in facts.items()),
        entries=given.entries,
        slots=geometry.hash_slot_num,
        index_num=geometry.index_num,
        size=size,
        maker="the engine" if jar is None else "the real jar",
        same=same,
    )
    given.output.write_text("\n".join([head, *sections]), "utf-8")
    _say(f"{given.output}: written after {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
