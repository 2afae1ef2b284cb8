"""What an entry costs in a large file, against one in a small file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.bench import timed
from benchmarks.data import geometry_for, make_puts, query_order
from benchmarks.decoding import decode_index
from benchmarks.index import build_index, select_keys
from benchmarks.report import Bar, Section, table
from benchmarks.timing import Contender, memory_kept, race, ratios

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.bench import Bench
    from benchmarks.data import Puts

__all__ = ["run"]

_LIMIT: Final = 1.3
_NOTE: Final = (
    "Memory that a round frees stays with the process here: fresh memory is dear on a virtual machine whose host takes\n"
    "back what is free, and a large file asks for more of it at once."
)


def _decode(bench: Bench, count: int, puts: Puts) -> Callable[[], float]:
    file, geometry = bench.make_index(count, puts)
    return lambda: timed(lambda: decode_index(file, geometry))


def _build(bench: Bench, count: int, puts: Puts) -> Callable[[], float]:
    return lambda: build_index(bench.scratch / "20260101000000003", geometry_for(count), puts)


def _select(bench: Bench, count: int, puts: Puts) -> Callable[[], float]:
    file, geometry = bench.make_index(count, puts)
    keys = puts.keys.take(query_order(count, count))
    return lambda: select_keys(file, geometry, keys)[0]


_WORK: Final = {
    "decode an index file": ("entries", _decode),
    "build one": ("puts", _build),
    "select all keys of one": ("selects", _select),
}


def run(bench: Bench) -> Section:
    """The engine's own loops at two sizes; the small one as often as makes the large one's work."""
    small, large = bench.sizes.small, bench.sizes.entries
    few, times = make_puts(small), max(large // small, 1)
    texts, bars = [], []
    for what, (unit, make) in _WORK.items():
        once, whole = make(bench, small, few), make(bench, large, bench.puts)

        def several(once: Callable[[], float] = once) -> float:
            return sum(once() for _ in range(times))

        sides = [
            Contender(f"{what}, small", times * small, several, f"{times} times a file of {small:,}"),
            Contender(f"{what}, large", large, whole, f"a file of {large:,}"),
        ]
        with memory_kept():
            results = race(sides, rounds=bench.rounds, warm_ups=min(bench.warm_ups, 1))
        texts.append(table(results, unit))
        against = f"one of {small:,}"
        bars.append(
            Bar(f"time an entry, {what} of {large:,}", against, _LIMIT, ratios(*results), at_most=True)
        )
    texts.insert(0, _NOTE)
    return Section("\n\n".join(texts), bars)
