"""The results as Markdown."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.timing import Result

__all__ = ["table"]


def _rate(rate: float) -> str:
    millions = rate / 1e6
    return (
        f"{millions:,.3f}" if millions < 1 else f"{millions:,.2f}" if millions < 100 else f"{millions:,.0f}"
    )


def _ratio(ratio: float) -> str:
    return f"{ratio:,.2f}" if ratio < 10 else f"{ratio:,.0f}"


def _ratios(first: Result, result: Result) -> list[float]:
    """How many times faster the first contender was than this one, round by round, least first."""
    own, other = ([side.contender.items / seconds for seconds in side.seconds] for side in (first, result))
    return sorted(one / two for one, two in zip(own, other, strict=True))


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
        ratios = _ratios(results[0], result)
        lines.append(
            f"| {side.name} | {side.items:,} | {_rate(result.median)} | {_rate(rates[0])} - {_rate(rates[-1])} "
            f"| {_ratio(statistics.median(ratios))} | {_ratio(ratios[0])} - {_ratio(ratios[-1])} | {side.note} |"
        )
    return "\n".join(lines)
