"""What the vectors cannot ask of an index file: endless chains, files that are only read, and batches."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rocket_columnar.formats import hash_key
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
def test_batches_give_the_same_bytes_and_results_as_single_operations(
    tmp_path: Path, seed: int, geometry: tuple[int, int]
) -> None:
    keys, offsets, times = random_puts(seed, 60)
    one, many = tmp_path / "1", tmp_path / "2"
    last, time = (5, T) if seed % 2 else (0, 0)
    cut = seed % 60
    with (
        IndexFile(one, *geometry, end_phy_offset=last, end_timestamp=time) as single,
        IndexFile(many, *geometry, end_phy_offset=last, end_timestamp=time) as batch,
    ):
        puts = [single.put(*put) for put in zip(keys, offsets, times, strict=True)]
        done = [*batch.put_many(keys[:cut], offsets[:cut], times[:cut])]
        done += [*batch.put_many(keys[cut:], offsets[cut:], times[cut:])]
        assert puts == done
        assert single.header() == batch.header()
        window = (4, T, T + 500_000)
        hits = batch.select_many(keys, *window)
        parts = [hits.phy_offsets[a:b].tolist() for a, b in zip(hits.bounds, hits.bounds[1:], strict=False)]
        assert parts == [single.select(key, *window) for key in keys]
    assert one.read_bytes() == many.read_bytes()


def test_put_many_refuses_columns_of_different_length(path: Path) -> None:
    with IndexFile(path, 1, 9) as file, pytest.raises(ValueError, match="2 keys, 1 offsets, 2 timestamps"):
        file.put_many(["a", "b"], [1], [T, T])


def test_the_hash_of_a_put_by_number_is_that_of_its_key(path: Path) -> None:
    with IndexFile(path, 1, 9) as file:
        file.put_many(np.array([hash_key("a")], np.int32), [1], [T])
        assert file.select("a", 9, 0, FOREVER) == [1]
