"""RESULTS, AUDIT and SPARK of two checkouts side by side: `python -m benchmarks.side_by_side --other CHECKOUT`.

It writes `SIDE_BY_SIDE.md`. Each work of the three pages that is this project's own runs in one process for each checkout, the
benchmarks of that checkout on the same sizes; they take turns, round by round, so that what disturbs the machine disturbs
both. Where the pages of a process and of its files lie decides over a tenth of the time of some works, for as long as it
runs; so rounds are shared out to several pairs of processes. A worktree of the other commit is enough:
`git worktree add --detach ../old COMMIT`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from benchmarks import machine, spark, store_2gb
from benchmarks.__main__ import SECTIONS
from benchmarks.checkouts import environment
from benchmarks.large_store import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE: Final = Path(__file__).with_name("SIDE_BY_SIDE.md")
_PARTS: Final = "audit", "spark"
_SESSIONS: Final = "engine-1", "engine-2", "local[1]", "local[2]", "workers-1", "workers-2"
_LIMIT: Final = 1.05
_PAIRS: Final = 3
_KEEPING: Final = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
    "MALLOC_TOP_PAD_": str(256 << 20),
    "MIMALLOC_PURGE_DELAY": "-1",
}
"""Settings of both allocators that give no memory back to the system."""
_HEAD: Final = """\
# Two commits side by side

Measured on {date} by `{command}`, which writes this page: commit {other} against {this}.
Each work runs in one process for each commit; the two take turns for {rounds} rounds (memory: {pairs}), after one that
does not count. They do so in {pairs} pairs of processes, one after the other, each with files of its own for RESULTS and for
what jobs write, which share the rounds: where the pages of a process lie changes its times for as long as it runs. The table has
the median times in seconds (memory: MB). A round's ratio is the second commit's figure divided
by the first one's; the table has the median ratio and the quartiles. A ratio under 1 is less time. The bar is {limit}. In the
sections of RESULTS, memory and start aside, both commits keep the memory that they free (`MALLOC_MMAP_MAX_=0` and its like):
the time in which the system hands out pages varies more than the code.

{machine}

| work | {other} | {this} | median | quartiles | at most {limit} |
|---|---:|---:|---:|---:|---|
"""


class _Row(NamedTuple):
    """Figures of a work: of the other checkout and of this one, round by round."""

    name: str
    other: list[float]
    this: list[float]

    def line(self) -> str:
        """Its line of the table."""
        ratios = [this / other for other, this in zip(self.other, self.this, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        return (
            f"| {self.name} | {statistics.median(self.other):.3g} | {statistics.median(self.this):.3g} "
            f"| {middle:.2f} | {low:.2f} - {high:.2f} | {'yes' if middle <= _LIMIT else 'no'} |\n"
        )


class _Side:
    """The process of one checkout."""

    def __init__(
        self, checkout: Path, arguments: Sequence[str], caches: Path, settings: dict[str, str]
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("measured_child.py")), *arguments],
            env=environment(checkout, caches) | settings,
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def heard(self) -> dict[str, Any]:
        """The next thing that it says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a side ended with {self._process.wait()}")
        said: dict[str, Any] = json.loads(line)
        return said

    def round(self) -> float:
        """One round."""
        self.say("go")
        seconds: float = self.heard()["seconds"]
        return seconds

    def say(self, word: str) -> None:
        """Sends it a word."""
        print(word, file=self._process.stdin, flush=True)

    def __enter__(self) -> _Side:  # noqa: PYI034 - final in fact
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def _together(pairs: Sequence[Sequence[_Row]]) -> Iterator[_Row]:
    """The rows of several pairs of processes that ran the same, as one."""
    for rows in zip(*pairs, strict=True):
        row = _Row(
            rows[0].name, [x for one in rows for x in one.other], [x for one in rows for x in one.this]
        )
        print(row.line(), end="", file=sys.stderr, flush=True)
        yield row


def _taken_in_turn(title: str, sides: tuple[_Side, _Side], rounds: int) -> Iterator[_Row]:
    """Each work of two processes that run the same."""
    while True:
        steps = [side.heard().get("step") for side in sides]
        if steps == [None, None]:
            return
        if steps[0] != steps[1]:
            raise SystemExit(f"the two differ: {steps}")
        row = _Row(f"{title}: {steps[0]}", [], [])
        for number in range(rounds + 1):
            figures = [0.0, 0.0]
            for place in (0, 1) if number % 2 else (1, 0):
                figures[place] = sides[place].round()
            if number:
                row.other.append(figures[0])
                row.this.append(figures[1])
        for side in sides:
            side.say("next")
        yield row


class _Run:
    """The two checkouts, and where their data lies."""

    def __init__(self, other: Path, scratch: Path, share: int, *, quick: bool) -> None:
        self._checkouts = other, Path(__file__).parents[1]
        self._scratch = scratch
        self._share = share  # rounds of one pair of processes
        self._quick = quick

    def _rows(
        self, title: str, *arguments: str, share: int | None = None, keeping: bool = False
    ) -> Iterator[_Row]:
        """The rows of works, their rounds shared out to several pairs of processes."""
        settings: dict[str, str] = _KEEPING if keeping else {}
        rounds = share or self._share
        return _together([list(self._pair(title, arguments, rounds, settings)) for _ in range(_PAIRS)])

    def _pair(
        self, title: str, arguments: Sequence[str], rounds: int, settings: dict[str, str]
    ) -> Iterator[_Row]:
        with ExitStack() as stack:
            sides = tuple(
                stack.enter_context(_Side(checkout, arguments, self._scratch, settings))
                for checkout in self._checkouts
            )
            yield from _taken_in_turn(title, (sides[0], sides[1]), rounds)

    def results(self, section: str) -> Iterator[_Row]:
        """The rows of a section of RESULTS.md."""
        sizes = "QUICK" if self._quick else "PINNED"
        keeping = section not in {"memory", "start"}
        share = 1 if section == "memory" else None
        return self._rows(section, "results", section, sizes, share=share, keeping=keeping)

    def audit(self) -> Iterator[_Row]:
        """The rows of AUDIT.md: healthy stores, and one with each damage."""
        for body_size in (0, 1024):
            root = self._scratch / "store"
            size = spark.QUICK[1] if self._quick else spark.STORE_BYTES
            make_store(root, size, file_size=size // 2, body_size=body_size)
            yield from self._rows(f"audit of {size:,} bytes, bodies of {body_size or 58}", "audit", str(root))
            for name, store in () if body_size or self._quick else store_2gb.with_each_damage(root):
                yield from self._rows(f"the same, {name}", "audit", str(store))
            shutil.rmtree(root)

    def spark(self) -> Iterator[_Row]:
        """The rows of SPARK.md."""
        scratch = self._scratch / "spark"
        spark.make(scratch, *(spark.QUICK if self._quick else (spark.ENTRIES, spark.STORE_BYTES)))
        for session in _SESSIONS:
            yield from self._rows(session, "spark", session, str(scratch))
        shutil.rmtree(scratch)


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(arguments: Sequence[str]) -> None:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="the other checkout")
    parser.add_argument(
        "--only",
        action="append",
        choices=(*SECTIONS, *_PARTS),
        help="this part, or section of RESULTS, alone; repeat for several [default: all]",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=9,
        help=f"rounds that count, the next multiple of {_PAIRS} [default: 9]",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all of it runs")
    parser.add_argument("--scratch", type=Path, help="where the data is made [default: the system's]")
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    share = -(-given.rounds // _PAIRS)
    text = _HEAD.format(
        date=datetime.now(UTC).date(),
        command=f"python -m benchmarks.side_by_side --rounds {given.rounds}"
        + "".join(f" --only {part}" for part in given.only or ())
        + " --quick" * given.quick,
        other=_commit(given.other),
        this=_commit(Path(__file__).parent),
        rounds=share * _PAIRS,
        pairs=_PAIRS,
        limit=_LIMIT,
        machine="\n".join(f"- {name}: {value}" for name, value in machine.describe().items()),
    )
    with tempfile.TemporaryDirectory(dir=given.scratch) as scratch:
        run = _Run(given.other.resolve(), Path(scratch), share, quick=given.quick)
        for part in given.only or (*SECTIONS, *_PARTS):
            for row in run.results(part) if part in SECTIONS else getattr(run, part)():
                text += row.line()
                given.output.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
