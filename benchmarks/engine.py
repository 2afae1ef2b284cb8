"""The compiled paths, one thread and two: `python -m benchmarks.engine [--entries N] [--rounds N]` writes `ENGINE.md`."""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_columnar.build import build
from rocket_columnar.decode import decode
from rocket_columnar.hashing import hash_keys
from rocket_columnar.index_file import IndexFile
from rocket_columnar.store import find_files
from rocket_spec.layout import MESSAGE_MAGIC

from benchmarks import machine
from benchmarks.data import BEGIN, MAX_NUM, TOPIC, Puts, geometry_for, make_puts, query_order
from benchmarks.real_jar import RealJar
from benchmarks.report import table
from benchmarks.timing import Contender, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocket_spec.layout import Geometry

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
RECORD: Final = 1024

HEAD: Final = """\
# Benchmarks of the compiled paths

Measured on {date} by `python -m benchmarks.engine --entries {entries} --rounds {rounds}`, which writes this page; rounds
as in RESULTS.md: contenders in turn, medians, ratios round by round, files in the page cache. The load says how much
other work the machine did meanwhile; where it is above the number of cores, more threads gain nothing.

{machine}

"""


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _decoding(file: Path, geometry: Geometry) -> list[Contender]:
    files, entries = find_files(file, "index"), geometry.index_num - 1

    def engine(threads: int) -> float:
        def whole() -> int:
            batches = decode(files, tables=["index_entries"], geometry=geometry, threads=threads)
            return sum(batch.num_rows for _, batch in batches)

        return _timed(whole)

    return [
        Contender("engine, one thread", entries, lambda: engine(1), "all columns"),
        Contender("engine, two threads", entries, lambda: engine(2), "all columns"),
        Contender(
            "NumPy copy", entries, lambda: _timed(np.memmap(file, np.uint8, "r").copy), "into fresh memory"
        ),
    ]


def _building(scratch: Path, geometry: Geometry, puts: Puts, jar: RealJar | None) -> list[Contender]:
    count, file = len(puts.keys), scratch / "1"

    def engine(threads: int) -> float:
        columns = puts.keys, puts.phy_offsets, puts.store_timestamps
        seconds = _timed(lambda: build([file], *columns, topic=TOPIC, geometry=geometry, threads=threads))
        file.unlink()
        return seconds

    sides = [
        Contender(
            "engine, one thread", count, lambda: engine(1), "topic and UTF-8 keys; making the file counted"
        ),
        Contender("engine, two threads", count, lambda: engine(2), "the same"),
    ]
    if jar is not None:
        sides.append(Contender("real putKey, 4.9.3", count, lambda: jar.put(scratch / "2")[0]))
    return sides


def _selecting(file: Path, geometry: Geometry, puts: Puts, jar: RealJar | None) -> list[Contender]:
    count = len(puts.keys)
    queries = puts.keys.take(query_order(count))

    def engine(threads: int) -> float:
        with IndexFile.open_for_reading(file, geometry) as index:
            return _timed(
                lambda: index.select_many(hash_keys(queries, TOPIC), MAX_NUM, 0, 2**63 - 1, threads=threads)
            )

    sides = [
        Contender("engine, one thread", count, lambda: engine(1), "topic and UTF-8 keys"),
        Contender("engine, two threads", count, lambda: engine(2), "the same"),
    ]
    if jar is not None:
        sides.append(Contender("real selectPhyOffset, 4.9.3", count, lambda: jar.select()[0]))
    return sides


def make_log(file: Path, count: int) -> None:
    """A commit log of `count` records of 1 KiB with keys, a unique key and tags."""
    with file.open("wb") as out:
        for number in range(count):
            properties = b"KEYS\1key%08d\2UNIQ_KEY\0017F00000100002A9F%016X\2WAIT\1true\2TAGS\1tag%d\2" % (
                number,
                number,
                number % 7,
            )
            body = RECORD - 91 - len(TOPIC) - len(properties)
            head = struct.pack(
                ">iiiiiqqiq", RECORD, MESSAGE_MAGIC, 0, 0, 0, number, RECORD * number, 0, BEGIN
            )
            hosts = struct.pack(">8sq8siqi", b"", BEGIN + number, b"", 0, 0, body)
            topic = bytes([len(TOPIC)]) + TOPIC.encode()
            out.write(head + hosts + bytes(body) + topic + struct.pack(">h", len(properties)) + properties)


def _scanning(file: Path, count: int) -> list[Contender]:
    files = find_files(file, "log")

    def engine() -> float:
        return _timed(lambda: sum(batch.num_rows for _, batch in decode(files, columns=DISPATCH)))

    def plain() -> None:
        buffer = bytearray(8 << 20)
        with file.open("rb", buffering=0) as source:
            while source.readinto(buffer):
                pass

    return [
        Contender("engine, dispatch columns", count, engine, "records of 1 KiB"),
        Contender("plain read", count, lambda: _timed(plain), "the same bytes, 8 MiB at a time"),
    ]


def main() -> None:
    """Runs the races and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("--entries", type=int, default=19_999_999)
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-ups", type=int, default=1)
    parser.add_argument("--jars", type=Path)
    parser.add_argument("--scratch", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).with_name("ENGINE.md"))
    given = parser.parse_args()
    geometry, puts = geometry_for(given.entries), make_puts(given.entries)
    facts = machine.describe()
    sections: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rocketspec-bench-", dir=given.scratch) as name:
        scratch = Path(name)
        file, log = scratch / "20260101000000000", scratch / "00000000000000000000"
        make_log(log, given.records)
        with RealJar(geometry, given.entries, given.jars) as jar:
            jar.keep(file)
            for title, unit, sides in (
                ("Decode an index file", "entries", _decoding(file, geometry)),
                ("Build", "puts", _building(scratch, geometry, puts, jar)),
                ("Select", "selects", _selecting(file, geometry, puts, jar)),
                ("Scan a commit log", "records", _scanning(log, given.records)),
            ):
                print(title, file=sys.stderr, flush=True)
                results = race(sides, rounds=given.rounds, warm_ups=given.warm_ups)
                sections.append(f"## {title}\n\n{table(results, unit)}\n")
    head = HEAD.format(
        date=datetime.now(UTC).date(),
        entries=given.entries,
        rounds=given.rounds,
        machine="\n".join(f"- {fact}: {value}" for fact, value in facts.items()),
    )
    given.output.write_text(head + "\n".join(sections), "utf-8")


if __name__ == "__main__":
    main()
