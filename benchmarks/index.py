"""Puts and selects a second: our engine, by batches on one thread and two, and the real IndexFile."""

from __future__ import annotations

import filecmp
import time
from typing import TYPE_CHECKING

from rocket_columnar.formats import hash_keys
from rocket_columnar.index import IndexFile, build

from benchmarks.bench import timed
from benchmarks.data import MAX_NUM, TOPIC, fingerprint, query_order
from benchmarks.report import Section, speed_bar, table
from benchmarks.timing import Contender, race

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from rocket_columnar.index import Hits
    from rocket_spec.layout import Geometry

    from benchmarks.bench import Bench
    from benchmarks.data import Puts

__all__ = ["build_index", "run_build", "run_select", "select_keys"]


def build_index(file: Path, geometry: Geometry, puts: Puts, threads: int = 1) -> float:
    """Makes `file` from topic and keys and removes it: seconds, making it counted."""
    columns = puts.keys, puts.phy_offsets, puts.store_timestamps
    seconds = timed(lambda: build([file], *columns, topic=TOPIC, geometry=geometry, threads=threads))
    file.unlink()
    return seconds


def select_keys(file: Path, geometry: Geometry, keys: pa.StringArray, threads: int = 1) -> tuple[float, Hits]:
    """Selects all keys of the topic: seconds, hashing counted, and the hits."""
    with IndexFile.open_for_reading(file, geometry) as index:
        start = time.perf_counter()
        hits = index.select_many(hash_keys(keys, TOPIC), MAX_NUM, 0, 2**63 - 1, threads=threads)
        return time.perf_counter() - start, hits


def run_build(bench: Bench) -> Section:
    """The race of puts; files are made in the scratch folder and removed."""
    count, geometry, puts, jar = bench.sizes.entries, bench.geometry, bench.puts, bench.jar
    file = bench.scratch / "20260101000000001"
    sides = [
        Contender(
            "engine, one thread", count, lambda: build_index(file, geometry, puts), "topic and UTF-8 keys"
        ),
        Contender("engine, two threads", count, lambda: build_index(file, geometry, puts, 2), "the same"),
    ]
    text = "The real jar was left out."
    if jar is not None:
        assert filecmp.cmp(bench.jar_index, bench.index, shallow=False)
        text = "Engine and jar make the same file, byte for byte; topic and key are joined inside the jar's loop, as a broker does."

        def real() -> float:
            seconds, accepted = jar.put(file)
            assert accepted == count
            return seconds

        sides.append(Contender("real putKey, 4.9.3", count, real, "making the file not counted"))
    results = race(sides, rounds=bench.rounds, warm_ups=bench.warm_ups)
    bars = []
    if jar is not None:
        one, two, real_puts = results
        what = f"build {count:,} entries from topics and keys"
        bars = [
            speed_bar(what, "real `putKey` loop", 2, one, real_puts),
            speed_bar(f"{what}, two threads", "the same", 3, two, real_puts),
        ]
    return Section(f"{text}\n\n{table(results, 'puts')}", bars)


def run_select(bench: Bench) -> Section:
    """The race of selects; what each side finds is held against the others."""
    count, selects, jar = bench.sizes.entries, bench.sizes.selects, bench.jar
    keys = bench.puts.keys.take(query_order(count, selects))
    file = bench.index if jar is None else bench.jar_index
    found: set[tuple[int, int]] = set()

    def agree(hits: int, code: int) -> None:
        found.add((hits, code))
        assert len(found) == 1, f"engine and jar differ: {found}"

    def engine(threads: int) -> float:
        seconds, hits = select_keys(file, bench.geometry, keys, threads)
        agree(len(hits.phy_offsets), fingerprint(hits.phy_offsets))
        return seconds

    def real() -> float:
        assert jar is not None
        seconds, hits, code = jar.select()
        agree(hits, code)
        return seconds

    sides = [
        Contender("engine, one thread", selects, lambda: engine(1), "topic and UTF-8 keys, one batch"),
        Contender("engine, two threads", selects, lambda: engine(2), "the same"),
    ]
    if jar is not None:
        sides.append(Contender("real selectPhyOffset, 4.9.3", selects, real, "all hits the same, in order"))
    results = race(sides, rounds=bench.rounds, warm_ups=bench.warm_ups)
    bars = []
    if jar is not None:
        one, two, real_selects = results
        what = f"select {selects:,} keys"
        bars = [
            speed_bar(what, "real `selectPhyOffset` loop", 3, one, real_selects),
            speed_bar(f"{what}, two threads", "the same", 5, two, real_selects),
        ]
    return Section(table(results, "selects"), bars)
