"""The engine against a copy, a read and the real jar: decode, build, log scan."""

import mmap
from typing import Final

import numpy as np
import pyarrow.compute as pc
from rocket_columnar.decode import decode
from rocket_columnar.index import build
from rocket_columnar.store import find_files

from benchmarks.bench import Bench
from benchmarks.data import TOPIC
from benchmarks.race import Bar, Contender, Section, race, ratios, table, timed

_DISPATCH: Final = [
    *("phy_offset", "size", "topic", "queue_id", "queue_offset"),
    *("sys_flag", "store_timestamp", "keys", "uniq_key", "tags_code"),
]
_BUFFER: Final = 8 << 20


def run_decode(bench: Bench) -> Section:
    """All columns of the index file, streamed to a consumer that drops them."""
    file, geometry, entries = bench.index, bench.geometry, bench.sizes.entries

    def engine() -> None:
        batches = decode(find_files(file, "index"), tables=["index_entries"], geometry=geometry)
        assert sum(batch.num_rows for _, batch in batches) == entries

    def copy() -> None:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            view = np.frombuffer(mapping, np.uint8)
            copied = view.copy()
            del view
        assert len(copied) == file.stat().st_size

    note = f"{file.stat().st_size:,} bytes into fresh memory"
    sides = [
        Contender("engine", entries, lambda: timed(engine), "all columns"),
        Contender("NumPy copy", entries, lambda: timed(copy), note),
    ]
    results = race(sides, rounds=bench.rounds)
    bar = Bar("decode an index file to Arrow", "NumPy copying its bytes", 0.5, ratios(*results))
    return Section(table(results, "entries"), [bar])


def run_build(bench: Bench) -> Section:
    """Puts; what engine and jar make is equal byte for byte."""
    count, puts, jar = bench.sizes.entries, bench.puts, bench.jar
    assert bench.index.exists()  # compares the files
    file = bench.scratch / "20260101000000001"
    columns = puts.keys, puts.phy_offsets, puts.store_timestamps

    def engine() -> float:
        seconds = timed(lambda: build([file], *columns, topic=TOPIC, geometry=bench.geometry))
        file.unlink()
        return seconds

    sides = [Contender("engine", count, engine, "topic and UTF-8 keys")]
    if jar is not None:

        def real() -> float:
            seconds, accepted = jar.put(file)
            assert accepted == count
            return seconds

        sides.append(Contender("real putKey, 4.9.3", count, real, "making the file not counted"))
    results = race(sides, rounds=bench.rounds)
    what = f"build {count:,} entries from topics and keys"
    bars = [Bar(what, "real `putKey` loop", 2, ratios(results[0], other)) for other in results[1:]]
    return Section(table(results, "puts"), bars)


def run_log(bench: Bench) -> Section:
    """Records to the columns that a dispatch request has."""
    file, records, jar = bench.log, bench.sizes.records, bench.jar
    files = find_files(file, "log")
    codes = sum(pc.sum(batch.column(0)).as_py() or 0 for _, batch in decode(files, columns=["tags_code"]))

    def engine() -> None:
        assert sum(batch.num_rows for _, batch in decode(files, columns=_DISPATCH)) == records

    def plain() -> None:
        buffer = bytearray(_BUFFER)
        with file.open("rb", buffering=0) as source:
            while source.readinto(buffer):
                pass

    sides = [
        Contender("engine", records, lambda: timed(engine), f"{file.stat().st_size:,} bytes"),
        Contender("plain read", records, lambda: timed(plain), "the same bytes, 8 MiB at a time"),
    ]
    if jar is not None:

        def real() -> float:
            seconds, *scanned = jar.scan(file)
            assert scanned == [records, codes]
            return seconds

        note = "bodies skipped, no CRC, as a dispatch reads; mapped"
        sides.append(Contender("real checkMessageAndReturnSize, 4.9.3", records, real, note))
    results = race(sides, rounds=bench.rounds)
    what = "scan a commit log to the dispatch columns"
    bar = Bar(what, "a plain read of the same bytes", 0.3, ratios(results[0], results[1]))
    return Section(table(results, "records"), [bar])
