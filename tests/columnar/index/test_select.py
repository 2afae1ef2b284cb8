"""Batches of selects, plain and compiled, against single ones: whole and damaged files, one and many."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rocket_columnar import fast
from rocket_columnar.formats import hash_key, hash_keys
from rocket_columnar.index import Hits, IndexFile
from rocket_spec.errors import InvalidError
from rocket_spec.layout import Geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = 1_700_000_000_000
FOREVER = (1 << 63) - 1
NAME = "20260101000000000"


def lists(hits: Hits) -> list[list[int]]:
    return [hits.phy_offsets[a:b].tolist() for a, b in zip(hits.bounds, hits.bounds[1:], strict=False)]


def every_way(
    file: IndexFile, hashes: NDArray[np.int32], room: int | NDArray[np.int64], begin: int, end: int
) -> list[list[int]] | None:
    """The hits, after both ways gave the same ones; None where both say that a chain never ends."""
    results: list[list[list[int]] | None] = []
    for compiled in (False, True):
        with fast.forced(compiled=compiled):
            try:
                results.append(lists(file.select_many(hashes, room, begin, end)))
            except InvalidError:
                results.append(None)
    assert results[0] == results[1]
    return results[0]


def filled(path: Path, geometry: Geometry, count: int, dice: random.Random) -> list[str]:
    keys = [f"T#{dice.randrange(30)}" for _ in range(count)]
    with IndexFile(path, *geometry, end_timestamp=T) as file:
        for number, key in enumerate(keys):
            file.put(key, dice.randrange(1 << 50), T + 1000 * number + dice.randrange(3000))
    return keys


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize(
    "geometry", [Geometry(7, 200), Geometry(1, 300), Geometry(-3, 100), Geometry(500, 120)]
)
def test_every_way_gives_the_same(tmp_path: Path, seed: int, geometry: Geometry) -> None:
    dice = random.Random(seed)  # noqa: S311
    path = tmp_path / NAME
    filled(path, geometry, 90, dice)
    hashes = hash_keys([f"T#{number % 35}" for number in range(110)])
    begin = dice.choice([0, T, T + 30_000])
    end = dice.choice([FOREVER, T + 60_000])
    rooms = np.array([dice.choice([-1, 0, 1, 2, 64]) for _ in hashes], np.int64)
    with IndexFile.open_for_reading(path, geometry) as file:
        for room in (0, 1, 5, FOREVER):
            assert every_way(file, hashes, room, begin, end) is not None
        found = every_way(file, hashes, rooms, begin, end)
        keys = [f"T#{number % 35}" for number in range(110)]
        singles = [file.select(key, room, begin, end) for key, room in zip(keys, rooms.tolist(), strict=True)]
        assert found == singles


@pytest.mark.parametrize("seed", range(30))
def test_every_way_gives_the_same_on_damaged_files(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    geometry = Geometry(11, 150)
    path = tmp_path / NAME
    filled(path, geometry, 100, dice)
    data = bytearray(path.read_bytes())
    for _ in range(dice.choice([1, 4, 30])):
        word = dice.randrange(10, len(data) // 4)
        value = dice.choice(
            [0, -1, 1, 100, 101, 149, 150, 1 << 30, (1 << 31) - 1, -(1 << 31), dice.randrange(100)]
        )
        struct.pack_into(">i", data, 4 * word, value)
    struct.pack_into(">i", data, 36, dice.choice([0, 2, 90, 101, 150, 1 << 30]))
    path.write_bytes(data)
    hashes = hash_keys([f"T#{number % 35}" for number in range(70)])
    with IndexFile.open_for_reading(path, geometry) as file:
        for room in (1, 7, 64):
            every_way(file, hashes, room, dice.choice([0, T + 20_000]), FOREVER)


@pytest.mark.parametrize("size", [41, 900, 1600, 2222])
def test_every_way_reads_zeros_after_the_end_of_a_short_file(tmp_path: Path, size: int) -> None:
    """In the slots, in the entries, and inside one; what a broker appends after the opening is not read."""
    path, geometry = tmp_path / NAME, Geometry(60, 120)
    filled(path, geometry, 110, random.Random(size))  # noqa: S311
    whole = path.read_bytes()
    os.truncate(path, size)
    zeros = tmp_path / "zeros" / NAME
    zeros.parent.mkdir()
    zeros.write_bytes(whole[:size] + bytes(len(whole) - size))
    keys = [f"T#{number % 35}" for number in range(110)]
    with IndexFile.open_for_reading(path, geometry) as file, IndexFile(zeros, *geometry) as longer:
        longer.load()
        assert path.stat().st_size == size
        path.write_bytes(whole)
        expected = [longer.select(key, 64, 0, FOREVER) for key in keys]
        assert every_way(file, hash_keys(keys), 64, 0, FOREVER) == expected
        assert size < 1600 or any(expected)


def test_a_cycle_without_a_hit_is_told_by_every_way(tmp_path: Path) -> None:
    geometry = Geometry(1, 9)
    path = tmp_path / NAME
    with IndexFile(path, *geometry) as file:
        for number, key in enumerate("abcd", 1):
            file.put(key, number, T)
    data = bytearray(path.read_bytes())
    struct.pack_into(">i", data, geometry.entries_offset + 20 * 2 + 16, 4)  # 4 -> 3 -> 2 -> 4
    path.write_bytes(data)
    with IndexFile.open_for_reading(path, geometry) as file:
        hashes = np.array([hash_key("c")] * 3, np.int32)
        assert every_way(file, hashes, 5, 0, FOREVER) == [[3] * 5] * 3
        assert every_way(file, np.append(hashes, np.int32(hash_key("a"))), 5, 0, FOREVER) is None


def test_more_hits_than_there_was_room_for(tmp_path: Path) -> None:
    path = tmp_path / NAME
    filled(path, Geometry(1, 2000), 1500, random.Random(1))  # noqa: S311
    with IndexFile.open_for_reading(path, Geometry(1, 2000)) as file:
        found = every_way(file, hash_keys(["T#1", "T#2"] * 40), 1 << 30, 0, FOREVER)
    assert found is not None
    assert len(found[0]) > 10
