"""Rounds of all contenders in turn, so that what disturbs the machine disturbs each of them; bars; and tables of both."""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


def report(text: str) -> None:
    """Prints one line on stderr."""
    print(text, file=sys.stderr, flush=True)


def timed(work: Callable[[], object]) -> float:
    """Seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Contender:
    """One side of a race."""

    name: str
    items: int
    run: Callable[[], float]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The rounds of one contender."""

    contender: Contender
    seconds: list[float] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """Items a second of each round, slowest first."""
        return sorted(self.contender.items / seconds for seconds in self.seconds)


def race(contenders: Sequence[Contender], *, rounds: int, warm_ups: int = 1) -> list[Result]:
    """Runs `warm_ups` uncounted and then `rounds` counted rounds, each contender once a round."""
    results = [Result(contender) for contender in contenders]
    for number in range(warm_ups + rounds):
        for result in results:
            gc.collect()
            seconds = result.contender.run()
            if number >= warm_ups:
                result.seconds.append(seconds)
    return results


def ratios(first: Result, other: Result) -> list[float]:
    """Speed of the first relative to the other, of each round, in ascending order."""
    own, its = ([side.contender.items / seconds for seconds in side.seconds] for side in (first, other))
    return sorted(one / two for one, two in zip(own, its, strict=True))


@dataclass(frozen=True, slots=True)
class Bar:
    """A claim, and what was measured for it."""

    work: str
    against: str
    limit: float  # the number that makes the claim true
    values: list[float]  # what was measured; the median counts
    unit: str = " x"  # of limit and values, as it is written after them
    at_most: bool = False  # whether the limit is an upper one
    # whether it is measured on the same thing in every run; the other bars hold at the sizes of `RESULTS.md`
    any_size: bool = False

    @property
    def reached(self) -> bool:
        """Whether the median keeps to the limit."""
        median = statistics.median(self.values)
        return median <= self.limit if self.at_most else median >= self.limit


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page: its text in Markdown, and the bars that it measures."""

    text: str
    bars: list[Bar]


def _number(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def bar_table(bars: Sequence[Bar]) -> str:
    """All bars, and whether each is reached."""
    lines = ["| work | compared with | bar | median | min - max | reached |", "|---|---|---:|---:|---:|---|"]
    for bar in bars:
        sign = "at most " if bar.at_most else ""
        lines.append(
            f"| {bar.work} | {bar.against} | {sign}{bar.limit:,g}{bar.unit} "
            f"| {_number(statistics.median(bar.values))}{bar.unit} "
            f"| {_number(min(bar.values))} - {_number(max(bar.values))} | {'yes' if bar.reached else 'no'} |"
        )
    return "\n".join(lines)


def table(results: Sequence[Result], unit: str) -> str:
    """One race as a table: medians with their spread, and how the first contender compares with each."""
    lines = [
        f"| contender | {unit} a round | median, M {unit}/s | min - max | first : this | min - max | note |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for result in results:
        side, rates = result.contender, [rate / 1e6 for rate in result.rates]
        compared = ratios(results[0], result)
        lines.append(
            f"| {side.name} | {side.items:,} | {_number(statistics.median(rates))} "
            f"| {_number(rates[0])} - {_number(rates[-1])} | {_number(statistics.median(compared))} "
            f"| {_number(compared[0])} - {_number(compared[-1])} | {side.note} |"
        )
    return "\n".join(lines)
