"""Puts and selects a second: our engine, one by one and in batches, and the real IndexFile."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc
from rocket_columnar.hashing import index_key
from rocket_columnar.index_file import IndexFile

from benchmarks.data import MAX_NUM, TOPIC, Puts, geometry_for, query_order
from benchmarks.timing import Contender

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa
    from rocket_spec.layout import Geometry

    from benchmarks.real_jar import RealJar

__all__ = ["build", "put_contenders", "select_contenders"]

SINGLE_SLICE: Final = 100_000
WINDOW: Final = (0, 2**63 - 1)


def joined(keys: pa.StringArray) -> Any:
    """Index keys of the pinned topic: the join that 4.9.3 makes for each key, for all at once."""
    join: Any = pc.binary_join_element_wise
    return join(TOPIC, keys, "#")


def build(file: Path, geometry: Geometry, puts: Puts) -> float:
    """Makes `file` by one batch of puts, joined keys included: seconds, opening and closing not counted."""
    with IndexFile(file, *geometry) as index:
        start = time.perf_counter()
        accepted = index.put_many(joined(puts.keys), puts.phy_offsets, puts.store_timestamps)
        seconds = time.perf_counter() - start
        assert bool(accepted.all())
    return seconds


def put_contenders(directory: Path, geometry: Geometry, puts: Puts, jar: RealJar | None) -> list[Contender]:
    """The sides of the put race, the engine's batch first; files are made in `directory` and removed."""
    count = len(puts.keys)
    single = min(SINGLE_SLICE, count)

    def batch() -> float:
        file = directory / "1"
        seconds = build(file, geometry, puts)
        file.unlink()
        return seconds

    def one_by_one() -> float:
        keys = [str(key) for key in puts.keys[:single].to_pylist()]
        rows = list(
            zip(
                keys, puts.phy_offsets[:single].tolist(), puts.store_timestamps[:single].tolist(), strict=True
            )
        )
        file = directory / "2"
        with IndexFile(file, *geometry_for(single)) as index:
            start = time.perf_counter()
            for key, phy_offset, store_timestamp in rows:
                index.put(index_key(TOPIC, key), phy_offset, store_timestamp)
            seconds = time.perf_counter() - start
        file.unlink()
        return seconds

    sides = [
        Contender("rocketspec engine, batch", count, batch, "keys from an Arrow array"),
        Contender("rocketspec engine, one by one", single, one_by_one, "smaller file"),
    ]
    if jar is not None:
        sides.append(Contender("real IndexFile.putKey, 4.9.3", count, _jar_put(jar, directory / "3", count)))
    return sides


def _jar_put(jar: RealJar, file: Path, count: int) -> Callable[[], float]:
    def run() -> float:
        seconds, accepted = jar.put(file)
        assert accepted == count
        return seconds

    return run


def select_contenders(file: Path, geometry: Geometry, puts: Puts, jar: RealJar | None) -> list[Contender]:
    """The sides of the select race over a full `file`, the engine's batch first; their results are held together."""
    count = len(puts.keys)
    single = min(SINGLE_SLICE, count)
    queries = puts.keys.take(query_order(count))
    some = [str(key) for key in queries[:single].to_pylist()]
    found: set[tuple[int, int]] = set()

    def agree(hits: int, total: int) -> None:
        found.add((hits, total))
        assert len(found) == 1, f"engine and jar differ: {found}"

    def batch() -> float:
        with IndexFile.open_for_reading(file, geometry) as index:
            start = time.perf_counter()
            hits = index.select_many(joined(queries), MAX_NUM, *WINDOW)
            seconds = time.perf_counter() - start
        agree(len(hits.phy_offsets), int(np.sum(hits.phy_offsets)))
        return seconds

    def one_by_one() -> float:
        with IndexFile.open_for_reading(file, geometry) as index:
            start = time.perf_counter()
            for key in some:
                index.select(index_key(TOPIC, key), MAX_NUM, *WINDOW)
            return time.perf_counter() - start

    def jar_select() -> float:
        assert jar is not None
        seconds, hits, total = jar.select()
        agree(hits, total)
        return seconds

    sides = [
        Contender("rocketspec engine, batch", count, batch, "keys from an Arrow array"),
        Contender("rocketspec engine, one by one", single, one_by_one, "same file, fewer keys"),
    ]
    if jar is not None:
        sides.append(Contender("real IndexFile.selectPhyOffset, 4.9.3", count, jar_select))
    return sides
