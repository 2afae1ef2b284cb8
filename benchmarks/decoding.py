"""Entries decoded a second: our engine, the Kaitai reader, Construct, and a plain copy of the same bytes."""

from __future__ import annotations

import mmap
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.construct_schemas import index_file
from rocket_spec.kaitai import Indexfile, stream

from benchmarks.timing import Contender

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rocket_spec.layout import Geometry

__all__ = ["contenders"]

# Rounds of about half a second each.
KAITAI_SLICE: Final = 100_000
CONSTRUCT_SLICE: Final = 20_000


def contenders(
    file: Path, geometry: Geometry, make: Callable[[int], tuple[Path, Geometry]]
) -> list[Contender]:
    """The four sides, the engine first.

    Args:
        file: a full index file of `geometry`.
        geometry: its slots and entries.
        make: makes a full file of so many puts, for those that a whole one would keep too long.
    """
    entries = geometry.index_num - 1
    kaitai, construct = min(KAITAI_SLICE, entries), min(CONSTRUCT_SLICE, entries)
    whole = f"{file.stat().st_size:,} bytes"
    return [
        Contender(
            "rocketspec engine to Arrow", entries, lambda: _engine(file, geometry), f"{whole}, all columns"
        ),
        Contender("NumPy copy of the bytes", entries, lambda: _copy(file), f"{whole} into fresh memory"),
        Contender("Kaitai-compiled reader", kaitai, _kaitai(*make(kaitai)), "smaller file"),
        Contender("Construct schema", construct, _construct(*make(construct)), "smaller file"),
    ]


def _engine(file: Path, geometry: Geometry) -> float:
    files = find_files(file, "index")
    start = time.perf_counter()
    rows = sum(batch.num_rows for _, batch in decode(files, tables=["index_entries"], geometry=geometry))
    seconds = time.perf_counter() - start
    assert rows == geometry.index_num - 1
    return seconds


@contextmanager
def _mapped(file: Path) -> Iterator[mmap.mmap]:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        yield mapping


def _copy(file: Path) -> float:
    start = time.perf_counter()
    with _mapped(file) as mapping:
        view = np.frombuffer(mapping, np.uint8)
        copy = view.copy()
        del view
    seconds = time.perf_counter() - start
    assert len(copy) == file.stat().st_size
    return seconds


def _kaitai(file: Path, geometry: Geometry) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        entries = Indexfile(*geometry, stream(file.read_bytes())).entries
        seconds = time.perf_counter() - start
        assert len(entries) == geometry.index_num - 1
        return seconds

    return run


def _construct(file: Path, geometry: Geometry) -> Callable[[], float]:
    def run() -> float:
        start = time.perf_counter()
        entries = index_file(geometry).construct.parse(file.read_bytes()).entries
        seconds = time.perf_counter() - start
        assert len(entries) == geometry.index_num
        return seconds

    return run
