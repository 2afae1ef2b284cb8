"""Records scanned a second: our engine, the real checkMessageAndReturnSize, and a plain read of the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files

from benchmarks.bench import timed
from benchmarks.data import RECORD
from benchmarks.report import Section, speed_bar, table
from benchmarks.timing import Contender, race

if TYPE_CHECKING:
    from benchmarks.bench import Bench

__all__ = ["DISPATCH", "run"]

DISPATCH: Final = [
    "phy_offset",
    "size",
    "topic",
    "queue_id",
    "queue_offset",
    "sys_flag",
    "store_timestamp",
    "keys",
    "uniq_key",
    "tags_code",
]
"""The columns that a dispatch request has."""

_BUFFER: Final = 8 << 20


def run(bench: Bench) -> Section:
    """The race, on a log of one gibibyte at the pinned sizes."""
    file, records, jar = bench.log, bench.sizes.records, bench.jar
    files = find_files(file, "log")
    codes = sum(pc.sum(batch.column(0)).as_py() or 0 for _, batch in decode(files, columns=["tags_code"]))

    def engine(threads: int) -> float:
        return timed(lambda: _scan(threads))

    def _scan(threads: int) -> None:
        rows = sum(batch.num_rows for _, batch in decode(files, columns=DISPATCH, threads=threads))
        assert rows == records

    def plain() -> None:
        buffer = bytearray(_BUFFER)
        with file.open("rb", buffering=0) as source:
            while source.readinto(buffer):
                pass

    def real() -> float:
        assert jar is not None
        seconds, *found = jar.scan(file)
        assert found == [records, codes]
        return seconds

    sides = [
        Contender(
            "engine, one thread", records, lambda: engine(1), f"dispatch columns, {RECORD} bytes a record"
        ),
        Contender("engine, two threads", records, lambda: engine(2), "the same"),
        Contender("plain read", records, lambda: timed(plain), "the same bytes, 8 MiB at a time"),
    ]
    if jar is not None:
        note = "bodies skipped, no CRC, as a dispatch reads; mapped"
        sides.append(Contender("real checkMessageAndReturnSize, 4.9.3", records, real, note))
    results = race(sides, rounds=bench.rounds, warm_ups=bench.warm_ups)
    one, _, plain_read, *real_scan = results
    what = "scan a commit log to the dispatch columns"
    bars = [speed_bar(what, "a plain read of the same bytes", 0.3, one, plain_read)]
    bars += [speed_bar(what, "real `checkMessageAndReturnSize` loop", 5, one, other) for other in real_scan]
    return Section(table(results, "records"), bars)
