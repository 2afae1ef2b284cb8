"""Entries decoded a second: our engine, the Kaitai reader, Construct, and a plain copy of the same bytes."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.construct_schemas import index_file
from rocket_spec.kaitai import Indexfile, stream

from benchmarks.bench import timed
from benchmarks.report import Section, speed_bar, table
from benchmarks.timing import Contender, race

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_spec.layout import Geometry

    from benchmarks.bench import Bench

__all__ = ["decode_index", "run"]


def decode_index(file: Path, geometry: Geometry, threads: int = 1) -> None:
    """Streams all columns of an index file's entries to a consumer that drops them."""
    files = find_files(file, "index")
    batches = decode(files, tables=["index_entries"], geometry=geometry, threads=threads)
    rows = sum(batch.num_rows for _, batch in batches)
    assert rows == geometry.index_num - 1


def _keep_index(file: Path, geometry: Geometry) -> None:
    """Decodes all columns into memory that is fresh from the system."""
    files = find_files(file, "index")
    kept = list(decode(files, tables=["index_entries"], geometry=geometry))
    assert sum(batch.num_rows for _, batch in kept) == geometry.index_num - 1


def _copy(file: Path) -> None:
    """Copies the file's bytes into memory that is fresh from the system."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        view = np.frombuffer(mapping, np.uint8)
        copy = view.copy()
        del view
    assert len(copy) == file.stat().st_size


def _kaitai(file: Path, geometry: Geometry) -> None:
    entries = Indexfile.Table(*geometry, stream(file.read_bytes())).entries
    assert len(entries) == geometry.index_num - 1


def _construct(file: Path, geometry: Geometry) -> None:
    entries = index_file(geometry).construct.parse(file.read_bytes()).entries
    assert len(entries) == geometry.index_num


def run(bench: Bench) -> Section:
    """The race, on the large file."""
    file, geometry, entries = bench.index, bench.geometry, bench.sizes.entries
    kaitai, construct = (bench.make_index(count) for count in (bench.sizes.kaitai, bench.sizes.construct))
    size = f"{file.stat().st_size:,} bytes"
    sides = [
        Contender(
            "engine, one thread", entries, lambda: timed(lambda: decode_index(file, geometry)), "all columns"
        ),
        Contender(
            "engine, two threads",
            entries,
            lambda: timed(lambda: decode_index(file, geometry, 2)),
            "the same",
        ),
        Contender(
            "engine, columns kept",
            entries,
            lambda: timed(lambda: _keep_index(file, geometry)),
            "one thread, into fresh memory",
        ),
        Contender("NumPy copy", entries, lambda: timed(lambda: _copy(file)), f"{size} into fresh memory"),
        Contender(
            "Kaitai-compiled reader",
            bench.sizes.kaitai,
            lambda: timed(lambda: _kaitai(*kaitai)),
            "smaller file",
        ),
        Contender(
            "Construct schema",
            bench.sizes.construct,
            lambda: timed(lambda: _construct(*construct)),
            "smaller file",
        ),
    ]
    one, two, _, copy, *readers = results = race(sides, rounds=bench.rounds, warm_ups=bench.warm_ups)
    what = "decode an index file to Arrow"
    bars = [
        speed_bar(what, "NumPy copying its bytes", 0.5, one, copy),
        speed_bar(f"{what}, two threads", "the same", 0.8, two, copy),
        speed_bar(what, "the Kaitai-compiled reader", 300, one, readers[0]),
        speed_bar(what, "Construct", 1000, one, readers[1]),
    ]
    return Section(table(results, "entries"), bars)
