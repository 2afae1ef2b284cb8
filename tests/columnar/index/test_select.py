"""Batches of selects, by every way, against single ones: whole and damaged files, one and many."""

from __future__ import annotations

import os
import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rocket_columnar.formats import hash_key, hash_keys
from rocket_columnar.index import Hits, IndexFile
from rocket_columnar.index.pass_select import IndexWords, join_keys
from rocket_spec.errors import InvalidError
from rocket_spec.layout import Geometry

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = 1_700_000_000_000
FOREVER = (1 << 63) - 1
NAME = "20260101000000000"
WAYS = {
    "walk": (1 << 60, 1 << 60, 1, 1 << 18, 0),
    "numpy": (0, 1 << 60, 1, 1 << 18, 0),
    "compiled": (0, 0, 1, 1 << 18, 0),
    "threads": (0, 0, 2, 37, 0),
    "join": (0, 0, 1, 10, 1 << 40),
    "join by threads": (0, 0, 3, 10, 1 << 40),
}


def lists(hits: Hits) -> list[list[int]]:
    return [hits.phy_offsets[a:b].tolist() for a, b in zip(hits.bounds, hits.bounds[1:], strict=False)]


def every_way(
    monkeypatch: pytest.MonkeyPatch,
    file: IndexFile,
    hashes: NDArray[np.int32],
    room: int | NDArray[np.int64],
    begin: int,
    end: int,
) -> list[list[int]] | None:
    """The hits, after all ways gave the same ones; None where all say that a chain never ends."""
    results: list[list[list[int]] | None] = []
    for walk_below, compiled_from, threads, part, sparse in WAYS.values():
        monkeypatch.setattr("rocket_columnar.index.index_file.WALK_BELOW", walk_below)
        monkeypatch.setattr("rocket_columnar.index.index_file.COMPILED_FROM", compiled_from)
        monkeypatch.setattr("rocket_columnar.index.chain_select._PART", part)
        monkeypatch.setattr("rocket_columnar.index.chain_select._PIECE", part)
        monkeypatch.setattr("rocket_columnar.index.pass_select._PART", part)
        monkeypatch.setattr("rocket_columnar.index.pass_select._BLOCK", part)
        monkeypatch.setattr("rocket_columnar.index.chain_select._SPARSE", sparse)
        try:
            results.append(lists(file.select_many(hashes, room, begin, end, threads=threads)))
        except InvalidError:
            results.append(None)
    assert all(result == results[0] for result in results)
    return results[0]


def filled(path: Path, geometry: Geometry, count: int, dice: random.Random) -> list[str]:
    keys = [f"T#{dice.randrange(30)}" for _ in range(count)]
    with IndexFile(path, *geometry, end_timestamp=T) as file:
        times = [T + 1000 * number + dice.randrange(3000) for number in range(count)]
        file.put_many(keys, [dice.randrange(1 << 50) for _ in range(count)], times)
    return keys


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize(
    "geometry", [Geometry(7, 200), Geometry(1, 300), Geometry(-3, 100), Geometry(500, 120)]
)
def test_every_way_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, geometry: Geometry
) -> None:
    dice = random.Random(seed)  # noqa: S311
    path = tmp_path / NAME
    filled(path, geometry, 90, dice)
    hashes = hash_keys([f"T#{number % 35}" for number in range(110)])
    begin = dice.choice([0, T, T + 30_000])
    end = dice.choice([FOREVER, T + 60_000])
    rooms = np.array([dice.choice([-1, 0, 1, 2, 64]) for _ in hashes], np.int64)
    with IndexFile.open_for_reading(path, geometry) as file:
        for room in (0, 1, 5, FOREVER):
            assert every_way(monkeypatch, file, hashes, room, begin, end) is not None
        found = every_way(monkeypatch, file, hashes, rooms, begin, end)
        keys = [f"T#{number % 35}" for number in range(110)]
        singles = [file.select(key, room, begin, end) for key, room in zip(keys, rooms.tolist(), strict=True)]
        assert found == singles


@pytest.mark.parametrize("seed", range(30))
def test_every_way_gives_the_same_on_damaged_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
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
            every_way(monkeypatch, file, hashes, room, dice.choice([0, T + 20_000]), FOREVER)


@pytest.mark.parametrize("size", [41, 900, 1600, 2222])
def test_every_way_reads_zeros_after_the_end_of_a_short_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
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
        path.write_bytes(whole)
        expected = [longer.select(key, 64, 0, FOREVER) for key in keys]
        assert every_way(monkeypatch, file, hash_keys(keys), 64, 0, FOREVER) == expected
        assert size < 1600 or any(expected)


def test_one_pass_over_a_whole_file_leaves_no_key_to_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocket_columnar.index.pass_select._BLOCK", 8)
    monkeypatch.setattr("rocket_columnar.index.pass_select._PART", 50)
    path, geometry = tmp_path / NAME, Geometry(40, 2000)
    filled(path, geometry, 1500, random.Random(3))  # noqa: S311
    words = np.fromfile(path, np.uint32)
    hashes = hash_keys([f"T#{number % 35}" for number in range(70)])
    rooms = np.array([100], np.int64)
    for threads in (1, 2):
        joined = join_keys(IndexWords.of(words, 40, 1501), (0, 1 << 31), hashes, rooms, threads)
        assert joined is not None
        bounds, offsets, left = joined
        assert not left.size
        with IndexFile.open_for_reading(path, geometry) as file:
            singles = [file.select(f"T#{number % 35}", 100, 0, FOREVER) for number in range(70)]
        assert lists(Hits(bounds, offsets)) == singles
        assert len(offsets) > 70 * 20
    assert (
        join_keys(IndexWords.of(words, 40, 1501), (1, 1 << 31), hashes, rooms, 1) is None
    )  # an entry before the window


@pytest.mark.parametrize("part", [1, 60, 1 << 14])
@pytest.mark.parametrize("slots", [1, 2, 3, 1000, 1 << 16, 99_991])
def test_hashes_of_the_whole_range_stay_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slots: int, part: int
) -> None:
    dice = random.Random(slots)  # noqa: S311
    base = [0, 1, slots, (1 << 31) - 1, (1 << 31) - slots, *(dice.randrange(1 << 31) for _ in range(20))]
    near = [number + step * slots for number in base for step in (-2, -1, 0, 1, 2)]  # of the same slot
    hashes = np.array([number for number in near if 0 <= number < 1 << 31], np.int32)
    put = hashes[[dice.randrange(len(hashes)) for _ in range(300)]]
    monkeypatch.setattr("rocket_columnar.index.pass_select._PART", part)
    path, geometry = tmp_path / NAME, Geometry(slots, 400)
    with IndexFile(path, *geometry, end_timestamp=T) as file:
        file.put_many(put, np.arange(300, dtype=np.int64) - 150, np.full(300, T))
    for threads in (1, 2):
        words = IndexWords.of(np.fromfile(path, np.uint32), slots, 301)
        joined = join_keys(words, (0, 0), hashes, np.array([99], np.int64), threads)
        assert joined is not None
        bounds, offsets, left = joined
        assert not left.size
        expected = [
            [number - 150 for number in range(299, -1, -1) if put[number] == key_hash] for key_hash in hashes
        ]
        assert lists(Hits(bounds, offsets)) == expected


def test_a_cycle_without_a_hit_is_told_by_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert every_way(monkeypatch, file, hashes, 5, 0, FOREVER) == [[3] * 5] * 3
        assert every_way(monkeypatch, file, np.append(hashes, np.int32(hash_key("a"))), 5, 0, FOREVER) is None


def test_chains_too_long_for_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocket_columnar.index.chain_select._ROUNDS", 10)
    path = tmp_path / NAME
    filled(path, Geometry(1, 2000), 1500, random.Random(1))  # noqa: S311
    with IndexFile.open_for_reading(path, Geometry(1, 2000)) as file:
        found = every_way(monkeypatch, file, hash_keys(["T#1", "T#2"] * 40), 1 << 30, 0, FOREVER)
    assert found is not None
    assert len(found[0]) > 10


@pytest.mark.parametrize("short", [0, 16])
def test_hashes_that_an_image_may_hold_are_all_that_a_walk_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int
) -> None:
    """Found on the chains of each hash, or among all entries of a short file."""
    monkeypatch.setattr("rocket_columnar.index.mapped_index._SHORT", short)
    random_ = random.Random(20)  # noqa: S311
    hashes = hash_keys([f"T#{number}" for number in range(120)])
    for turn in range(60):
        path = tmp_path / f"{turn}" / NAME
        with IndexFile(path, 16, 80) as file:
            for number in range(70):
                assert file.put(f"T#{random_.randrange(120)}", number, T + number)
        image = bytearray(path.read_bytes())
        for _ in range(random_.choice([0, 1, 8, 40])):
            at = random_.randrange(0, len(image) - 4, 4)
            struct.pack_into(
                ">i", image, at, random_.choice([-1, 0, 1, 79, random_.randrange(-(1 << 31), 1 << 31)])
            )
        path.write_bytes(image)
        with IndexFile.open_for_reading(path, Geometry(16, 80)) as file:
            assert _walked(file, hashes) <= set(file.may_hold(hashes))
            if turn == 0:
                assert len(file.may_hold(hashes)) < 120


def _walked(file: IndexFile, hashes: NDArray[np.int32]) -> set[int]:
    """Places of the hashes that are on their chain, whatever would end a broker's walk."""
    found = set()
    for place, key_hash in enumerate(hashes.tolist()):
        number, seen = file.slot(key_hash) or 0, set[int]()
        while 0 < number <= file.header().index_count and number not in seen:
            seen.add(number)
            entry = file.entry(number)
            if entry is None:
                break
            if entry.key_hash == key_hash:
                found.add(place)
            number = entry.prev_entry
    return found
