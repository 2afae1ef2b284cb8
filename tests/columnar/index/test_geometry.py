"""The geometry that an index file doesn't record: IDX-HASH-3, IDX-PUT-6 and IDX-PUT-7 read backwards."""

import random
import tracemalloc
from pathlib import Path

import pytest
from rocket_columnar.index import resolve
from rocket_columnar.store import StoreFile, find_files
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry, parse_geometry
from store_bytes import Entry, index_file, put, write_sparse_index

DEFAULT = Geometry(5_000_000, 20_000_000)


def entries(count: int, seed: int = 1, start: int = 1000) -> list[Entry]:
    """Puts of random key hashes, 100 bytes and a tenth of a second apart."""
    dice = random.Random(seed)
    return [Entry(dice.getrandbits(31), start + 100 * n, n // 10) for n in range(count)]


def files(directory: Path, *contents: bytes) -> list[StoreFile]:
    for number, content in enumerate(contents):
        put(directory, f"index/2026010100000{number:04}", content)
    return find_files(directory / "index")


@pytest.mark.parametrize("count", [1, 2, 3, 10, 98, 99])
@pytest.mark.parametrize("slots", [1, 2, 5, 6, 50, 1000])
def test_inferred_from_one_file(tmp_path: Path, slots: int, count: int) -> None:
    guess = resolve(files(tmp_path, index_file(slots, 100, entries(count))))
    assert (guess.geometry, guess.how) == (Geometry(slots, 100), "inferred")
    assert guess.agreed == guess.checked == count


@pytest.mark.parametrize("seed", range(40))
def test_inferred_from_one_file_of_any_shape(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    slots, capacity = dice.choice([1, 3, 7, 10, 100, 5000]), dice.randint(2, 3000)
    count = dice.choice([1, 2, 3, capacity - 1, dice.randint(1, capacity - 1)])
    puts = entries(min(count, capacity - 1), seed, start=dice.choice([0, 123_456]))
    if dice.random() < 0.3:
        puts = [put._replace(key_hash=puts[0].key_hash) for put in puts]
    assert resolve(files(tmp_path, index_file(slots, capacity, puts))).geometry == (slots, capacity)


def test_default_size_without_entries_is_assumed(tmp_path: Path) -> None:
    path = tmp_path / "index" / "20260101000000000"
    path.parent.mkdir()
    write_sparse_index(path, *DEFAULT, [])
    guess = resolve(find_files(path))
    assert (guess.geometry, guess.how, guess.checked) == (DEFAULT, "assumed", 0)
    assert guess.candidates == 20_999_999  # N from 1 to (105,000,000 - 1) / 5


@pytest.mark.parametrize(
    ("slots", "capacity", "count"),
    [(*DEFAULT, 1), (*DEFAULT, 1000), (4_999_995, 20_000_001, 3), (1, 20_999_999, 5), (104_999_990, 2, 1)],
)
def test_default_size_is_inferred_in_little_memory(
    tmp_path: Path, slots: int, capacity: int, count: int
) -> None:
    path = tmp_path / "20260101000000000"
    write_sparse_index(path, slots, capacity, entries(count))
    tracemalloc.start()
    try:
        guess = resolve(find_files(path, "index"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (guess.geometry, guess.how) == ((slots, capacity), "inferred")
    assert peak < 64 << 20


@pytest.mark.parametrize("text", ["", "5", "5,", "a,b", "1,2,3", "0,5", "5,0", "-5,5", "5 5"])
def test_what_is_no_geometry_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected two positive numbers"):
        parse_geometry(text)


def test_geometry_from_text() -> None:
    assert parse_geometry("5000000, 20000000") == DEFAULT
