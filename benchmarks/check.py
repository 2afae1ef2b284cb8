"""A short form of the races, against committed ratios: `python -m benchmarks.check`, or `make bench-check`.

It prints every bar that got worse by more than a fifth against `CHECK.json`, and then exits with 1. Run it on a quiet machine
before a release, and after each change to the engine; `--write` commits to what it measures. Ratios are of rounds side by
side in one run, so that they compare across machines of one kind; the real jar is left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_columnar.audit import audit
from rocket_columnar.decode import decode, decoding_threads, write
from rocket_columnar.describe import digest
from rocket_columnar.rebuild import rebuild
from rocket_columnar.store import find_files

from benchmarks import decoding, index, logs, memory, parquet, startup
from benchmarks.bench import Bench, Sizes, say, timed
from benchmarks.large_store import make_store
from benchmarks.report import Section, speed_bar
from benchmarks.timing import Contender, race

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.report import Bar

KEPT: Final = Path(__file__).with_name("CHECK.json")
_WORSE: Final = 1.2
_SIZES: Final = Sizes(
    entries=2_000_000,
    selects=1_000_000,
    records=1 << 17,
    small=100_000,
    kaitai=10_000,
    construct=2_000,
    starts=2,
)
_STORE: Final = 200_000_000


def _read_all(store: Path) -> None:
    for file in find_files(store):
        with file.open() as reader:
            for begin, end in reader.extents():
                for at in range(begin, end, 1 << 20):
                    reader.read(at, min(1 << 20, end - at))


def _store(bench: Bench) -> Section:
    """Verbs on a store, against a plain read of its bytes."""
    store, out = bench.scratch / "store", bench.scratch / "out"
    records = make_store(store, _STORE, file_size=_STORE, body_size=0)
    log = find_files(store, "log")

    def to_parquet(threads: int) -> Callable[[], object]:
        return lambda: write(
            decode(log, threads=decoding_threads("parquet", threads)), out, "parquet", threads=threads
        )

    works: dict[str, Callable[[], object]] = {
        "audit of a store": lambda: list(audit(store, threads=1)),
        "audit of a store, two threads": lambda: list(audit(store, threads=2)),
        "rebuild": lambda: rebuild(store, out, threads=1),
        "rebuild, two threads": lambda: rebuild(store, out, threads=2),
        "digest": lambda: list(digest(store)),
        "log to Parquet": to_parquet(1),
        "log to Parquet, two threads": to_parquet(2),
    }

    def fresh(work: Callable[[], object]) -> Callable[[], float]:
        def run() -> float:
            shutil.rmtree(out, ignore_errors=True)
            return timed(work)

        return run

    sides = [Contender("read", records, lambda: timed(lambda: _read_all(store)))]
    sides += [Contender(name, records, fresh(work)) for name, work in works.items()]
    base, *results = race(sides, rounds=bench.rounds, warm_ups=1)
    bars = [speed_bar(one.contender.name, "a plain read of the store", 0.0, one, base) for one in results]
    return Section("", bars)


_SECTIONS: Final[dict[str, Callable[[Bench], Section]]] = {
    "store": _store,
    "decode": decoding.run,
    "build": index.run_build,
    "select": index.run_select,
    "log": logs.run,
    "parquet": parquet.run,
    "memory": memory.run,
    "start": startup.run,
}


def _name(bar: Bar) -> str:
    return f"{bar.work}, against {bar.against}"


def worse(before: dict[str, float], bars: Sequence[Bar]) -> list[str]:
    """A line for each bar whose median is worse than before by more than a fifth.

    Args:
        before: medians by name of the bar.
        bars: as measured now; those without a median before are passed over.
    """
    lines = []
    for bar in bars:
        median, old = statistics.median(bar.values), before.get(_name(bar))
        if old is None or not (old and median):
            continue
        factor = median / old if bar.at_most else old / median
        if factor > _WORSE:
            lines.append(
                f"{_name(bar)}: {median:,.3g}{bar.unit}, was {old:,.3g}{bar.unit}: {factor:.2f} times worse"
            )
    return lines


def main() -> None:
    """Measures and compares; exits with 1 if a bar got worse."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write CHECK.json instead of comparing with it")
    parser.add_argument(
        "--only", action="append", choices=_SECTIONS, metavar="NAME", help=", ".join(_SECTIONS)
    )
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    bars: list[Bar] = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-check-")))
        bench = Bench(_SIZES, scratch, stack, rounds=given.rounds, warm_ups=1, jars=None, java=False)
        for name in given.only or _SECTIONS:
            say(name)
            bars += _SECTIONS[name](bench).bars
    medians = {_name(bar): statistics.median(bar.values) for bar in bars}
    before: dict[str, float] = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    if given.write:
        KEPT.write_text(json.dumps(before | medians, indent=1, sort_keys=True) + "\n", "utf-8")
        return
    lines = worse(before, bars)
    for line in lines:
        print(line)
    compared = sum(name in before for name in medians)
    print(f"{compared} of {len(bars)} bars compared, {len(lines)} worse by more than a fifth")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
