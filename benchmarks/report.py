"""The results as Markdown."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.timing import ratios

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.timing import Result

__all__ = ["Bar", "Section", "bar_table", "speed_bar", "table"]


@dataclass(frozen=True, slots=True)
class Bar:
    """A claim, and what was measured for it.

    Attributes:
        work: what is done.
        against: what it is held against.
        limit: the number that makes the claim true.
        values: what was measured, smallest first; the median counts.
        unit: of limit and values, as it is written behind them.
        at_most: whether the limit is an upper one.
    """

    work: str
    against: str
    limit: float
    values: list[float]
    unit: str = " x"
    at_most: bool = False

    @property
    def reached(self) -> bool:
        """Whether the median keeps to the limit."""
        median = statistics.median(self.values)
        return median <= self.limit if self.at_most else median >= self.limit


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: its text in Markdown, and the bars that it measures."""

    text: str
    bars: list[Bar]


def speed_bar(work: str, against: str, limit: float, first: Result, other: Result) -> Bar:
    """The bar that `first` is `limit` times as fast as `other`, by the ratios of their rounds."""
    return Bar(work, against, limit, ratios(first, other))


def _rate(rate: float) -> str:
    millions = rate / 1e6
    return (
        f"{millions:,.3f}" if millions < 1 else f"{millions:,.2f}" if millions < 100 else f"{millions:,.0f}"
    )


def _ratio(ratio: float) -> str:
    return f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"


def bar_table(bars: Sequence[Bar]) -> str:
    """All bars, and whether each is reached."""
    lines = [
        "| work | against | bar | median | min - max | reached |",
        "|---|---|---:|---:|---:|---|",
    ]
    for bar in bars:
        least, most = min(bar.values), max(bar.values)
        sign = "at most " if bar.at_most else ""
        lines.append(
            f"| {bar.work} | {bar.against} | {sign}{bar.limit:,g}{bar.unit} "
            f"| {_ratio(statistics.median(bar.values))}{bar.unit} "
            f"| {_ratio(least)} - {_ratio(most)} | {'yes' if bar.reached else 'no'} |"
        )
    return "\n".join(lines)


def table(results: Sequence[Result], unit: str) -> str:
    """One race as a table: medians with their spread, and how the first contender compares with each.

    Args:
        results: of the race, the reference of the ratios first.
        unit: what is counted, such as "entries".
    """
    lines = [
        f"| contender | {unit} a round | median, M {unit}/s | min - max | first : this | min - max | note |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for result in results:
        side, rates = result.contender, result.rates
        compared = ratios(results[0], result)
        lines.append(
            f"| {side.name} | {side.items:,} | {_rate(result.median)} | {_rate(rates[0])} - {_rate(rates[-1])} "
            f"| {_ratio(statistics.median(compared))} | {_ratio(compared[0])} - {_ratio(compared[-1])} | {side.note} |"
        )
    return "\n".join(lines)
