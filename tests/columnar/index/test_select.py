"""Batches of selects, by every way, against single ones: whole and damaged files, one and many."""

from __future__ import annotations

import random
import struct
import tracemalloc
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rocket_columnar.decode import decode
from rocket_columnar.formats import hash_key, hash_keys, index_key
from rocket_columnar.index import Hits, IndexFile, select_files
from rocket_columnar.index.pass_select import join_keys
from rocket_columnar.query import open_indexes, query
from rocket_columnar.store import find_files
from rocket_golden import open_store
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
        joined = join_keys(words, 40, 1501, (0, 1 << 31), hashes, rooms, threads)
        assert joined is not None
        bounds, offsets, left = joined
        assert not left.size
        with IndexFile.open_for_reading(path, geometry) as file:
            singles = [file.select(f"T#{number % 35}", 100, 0, FOREVER) for number in range(70)]
        assert lists(Hits(bounds, offsets)) == singles
        assert len(offsets) > 70 * 20
    assert join_keys(words, 40, 1501, (1, 1 << 31), hashes, rooms, 1) is None  # an entry before the window


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
        joined = join_keys(
            np.fromfile(path, np.uint32), slots, 301, (0, 0), hashes, np.array([99], np.int64), threads
        )
        assert joined is not None
        bounds, offsets, left = joined
        assert not left.size
        expected = [[number - 150 for number in range(299, -1, -1) if put[number] == one] for one in hashes]
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


@pytest.mark.parametrize("window", [(0, FOREVER), (T, T + 10**9), (1, 2)])
@pytest.mark.parametrize("max_num", [0, 1, 3, 64, 1000])
def test_files_of_a_store_are_searched_as_a_query_does(
    tmp_path: Path, max_num: int, window: tuple[int, int]
) -> None:
    store = open_store("small-roll", tmp_path)
    keys: list[tuple[str, str]] = []
    times: list[int] = []
    for _, batch in decode(find_files(store / "commitlog"), columns=["topic", "keys", "store_timestamp"]):
        for row in batch.to_pylist():
            keys += [(row["topic"], key) for key in (row["keys"] or "").split(" ") if key]
            times.append(row["store_timestamp"])
    keys = [*keys[:150], ("T", "no such key")]
    middle = times[len(times) // 2]
    with ExitStack() as stack:
        files = [file for _, file in open_indexes(store, None, stack).files]
        assert len(files) > 1
        hashes = hash_keys([index_key(*key) for key in keys])
        for begin, end in (window, (middle, FOREVER), (0, middle)):
            hits = select_files(files, hashes, max_num, begin, end)
            room = min(max_num, 64)
            assert lists(hits) == [
                _searched(files, key_hash, room, begin, end) for key_hash in hashes.tolist()
            ]
    if max_num == 64 and window[0] == 0:
        for (topic, key), offsets in zip(keys[:40], lists(select_all(store, keys)), strict=False):
            assert list(query(store, topic, key, begin=0, end=FOREVER, max_num=64).offsets) == offsets


def _resident(path: Path) -> int:
    """How much of a mapped file counts as this process's memory, in KiB."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text("utf-8").splitlines():
        if not line.split(" ", 1)[0].endswith(":"):
            ours = line.endswith(str(path))
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc/self/smaps")
def test_of_a_directory_of_files_one_at_a_time_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    geometry, found, hashes = Geometry(1000, 8000), 7000, np.arange(30_000, dtype=np.int32) * 65_537
    asked: list[int] = []
    select_many = IndexFile.select_many

    def watched(file: IndexFile, keys: NDArray[np.int32], *rest: Any, **named: Any) -> Hits:
        asked.append(len(keys))
        return select_many(file, keys, *rest, **named)

    monkeypatch.setattr(IndexFile, "select_many", watched)
    peaks: dict[int, int] = {}
    for count in (2, 10):  # as many hits in all, in few files and in many
        paths = [tmp_path / str(count) / str(number) for number in range(count)]
        for path, part in zip(paths, np.array_split(hashes[:found], count), strict=True):
            with IndexFile(path, *geometry) as new:
                new.put_many(part, part.astype(np.int64), np.full(len(part), T))
        with paths[0].open("r+b") as short:
            short.truncate(geometry.file_size - 20)
        with ExitStack() as stack:
            files = [stack.enter_context(IndexFile.open_for_reading(path, geometry)) for path in paths]
            asked.clear()
            tracemalloc.start()
            hits = select_files(files, hashes, 1, T, T)
            peaks[count] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert asked == [len(hashes) - found * number // count for number in range(count)]
            assert lists(hits) == [[one] for one in hashes[:found]] + [[]] * (len(hashes) - found)
            assert all(_resident(path) == 0 for path in paths)
            assert lists(select_files(files, hashes, 1, T, T)) == lists(hits)
    assert peaks[10] < 1.1 * peaks[2]


def select_all(store: Path, keys: list[tuple[str, str]]) -> Hits:
    with ExitStack() as stack:
        files = [file for _, file in open_indexes(store, None, stack).files]
        return select_files(files, hash_keys([index_key(*key) for key in keys]), 64, 0, FOREVER)


def _searched(files: list[IndexFile], key_hash: int, room: int, begin: int, end: int) -> list[int]:
    """The loop of IndexService.queryOffset, file by file."""
    found: list[int] = []
    for file in reversed(files):
        if file.time_matched(begin, end):
            file._select(key_hash, found, room, begin, end)
        if file.header().begin_timestamp < begin or len(found) >= room:
            break
    return found


def test_a_negative_number_of_hits_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        select_files([], np.empty(0, np.int32), -1, 0, FOREVER)
