"""What the vectors cannot ask of an index file: files that are only read, and batches."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from rocket_columnar.index import IndexFile
from rocket_spec.layout import Geometry

if TYPE_CHECKING:
    from pathlib import Path


T = 1_700_000_000_000
FOREVER = (1 << 63) - 1
NAME = "20260101000000000"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


def test_reading_pads_a_short_file_and_leaves_it_alone(path: Path) -> None:
    geometry = Geometry(2, 4)
    with IndexFile(path, *geometry) as file:
        file.put("a", 10, T)
        file.put("c", 20, T)
    data = path.read_bytes()[: geometry.entries_offset + 2 * 20]
    path.write_bytes(data)
    with IndexFile.open_for_reading(path, geometry) as file:
        assert file.header().index_count == 3
        # entry 2 reads as zeros: hash 0, prev 0
        assert file.select("a", 9, 0, FOREVER) == []
    assert path.read_bytes() == data


def random_puts(seed: int, count: int) -> tuple[list[str], list[int], list[int]]:
    source = random.Random(seed)  # noqa: S311 - a sample
    keys = [source.choice("abcdefgh漢😀") * source.randrange(4) for _ in range(count)]
    times = [source.choice((0, -5, T, 1 << 62, -(1 << 63))) + source.randrange(10**6) for _ in range(count)]
    return keys, [source.randrange(-9, 1 << 40) for _ in range(count)], times


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("geometry", [(3, 30), (1, 9), (50, 200), (-3, 40)])
def test_a_batch_of_selects_gives_the_same_as_single_ones(
    path: Path, seed: int, geometry: tuple[int, int]
) -> None:
    keys, offsets, times = random_puts(seed, 60)
    last, time = (5, T) if seed % 2 else (0, 0)
    with IndexFile(path, *geometry, end_phy_offset=last, end_timestamp=time) as file:
        for put in zip(keys, offsets, times, strict=True):
            file.put(*put)
        window = (4, T, T + 500_000)
        hits = file.select_many(keys, *window)
        parts = [hits.phy_offsets[a:b].tolist() for a, b in zip(hits.bounds, hits.bounds[1:], strict=False)]
        assert parts == [file.select(key, *window) for key in keys]
