"""The geometry that an index file doesn't record: IDX-HASH-3, IDX-PUT-6 and IDX-PUT-7 read backwards."""

import random
import struct
import tracemalloc
from pathlib import Path

import pytest
from rocket_columnar.index import resolve, resolve_each
from rocket_columnar.store import StoreFile, find_files
from rocket_spec.errors import MalformedError, UsageError
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


def test_one_entry_of_hash_zero_at_offset_zero_is_all_zeros_and_tells_nothing(tmp_path: Path) -> None:
    # 40 + 4 * 7 + 20 * 12 = 308 bytes: D = 67, so S = 67 - 5 N, and N is at least the index count, 2.
    with pytest.raises(UsageError) as caught:
        resolve(files(tmp_path, index_file(7, 12, [Entry(0, 0, 0)])))
    assert "12 make 308 bytes: 57,2 52,3 47,4 42,5 37,6 32,7 27,8 22,9 ..." in str(caught.value)


def test_files_without_entries_follow_the_one_that_has_some(tmp_path: Path) -> None:
    listed = files(
        tmp_path, index_file(50, 100, []), index_file(50, 100, entries(5)), index_file(50, 100, [])
    )
    assert [guess.geometry for guess in resolve_each(listed).values()] == [(50, 100)] * 3


def test_a_count_beyond_the_room_of_others_rules_geometries_out(tmp_path: Path) -> None:
    # 64 bytes: S = 1, N = 1 is the only geometry.
    guess = resolve(files(tmp_path, bytes(64)))
    assert (guess.geometry, guess.how, guess.candidates) == ((1, 1), "inferred", 1)


def test_no_entries_is_undecidable_and_names_the_candidates(tmp_path: Path) -> None:
    # 400 bytes: D = 90, S = 90 - 5 N for N = 1 .. 17.
    listed = files(tmp_path, bytes(400))
    with pytest.raises(UsageError) as caught:
        resolve(listed)
    assert str(caught.value) == (
        f"{listed[0].path}: it has no entries to infer the geometry from; give --geometry SLOTS,ENTRIES "
        "(17 make 400 bytes: 85,1 80,2 75,3 70,4 65,5 60,6 55,7 50,8 ...)"
    )


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


def test_entries_beyond_the_index_count_do_not_mislead(tmp_path: Path) -> None:
    # A torn put leaves an entry at number indexCount; a header written back leaves several.
    data = bytearray(index_file(50, 100, entries(40)))
    struct.pack_into(">i", data, 36, 31)
    assert resolve(files(tmp_path, bytes(data))).geometry == (50, 100)


def test_some_damaged_entries_do_not_mislead(tmp_path: Path) -> None:
    data = bytearray(index_file(50, 100, entries(60)))
    begin = 40 + 4 * 50 + 20 * 20
    data[begin : begin + 200] = b"\xee" * 200
    guess = resolve(files(tmp_path, bytes(data)))
    assert guess.geometry == (50, 100)
    assert 40 <= guess.agreed < guess.checked == 60


def test_given_is_taken(tmp_path: Path) -> None:
    guess = resolve(files(tmp_path, index_file(50, 100, entries(60))), Geometry(50, 100))
    assert (guess.geometry, guess.how, guess.agreed) == ((50, 100), "given", 60)


def test_given_of_another_size_is_refused(tmp_path: Path) -> None:
    listed = files(tmp_path, index_file(50, 100, entries(60)))
    with pytest.raises(UsageError) as caught:
        resolve(listed, Geometry(50, 101))
    assert str(caught.value) == f"{listed[0].path}: found 2,240 bytes, but geometry 50,101 makes 2,260"


def test_given_of_the_right_size_that_the_chains_contradict_is_refused(tmp_path: Path) -> None:
    listed = files(tmp_path, index_file(50, 100, entries(60)))
    with pytest.raises(UsageError, match=r"geometry 55,99 does not fit: .* with 50,100, 60 do"):
        resolve(listed, Geometry(55, 99))


def test_given_is_believed_where_nothing_fits(tmp_path: Path) -> None:
    data = bytearray(index_file(50, 100, entries(60)))
    data[40 : 40 + 200] = bytes(200)
    guess = resolve(files(tmp_path, bytes(data)), Geometry(50, 100))
    assert (guess.how, guess.agreed, guess.checked) == ("given", 0, 60)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "found an empty file, expected an index file, which begins with a header of 40 bytes"),
        (bytes(39), "found 39 bytes, expected an index file, which begins with a header of 40 bytes"),
        (bytes(40), "found 40 bytes, expected 40 + 4 * slots + 20 * entries bytes"),
        (bytes(401), "found 401 bytes, expected 40 + 4 * slots + 20 * entries bytes"),
        (b"text, not a store!\n " * 20, "at byte 36: found an index count of 1,"),
    ],
)
def test_no_index_file_at_all_is_malformed(tmp_path: Path, data: bytes, found: str) -> None:
    listed = files(tmp_path, data)
    with pytest.raises(MalformedError) as caught:
        resolve(listed)
    assert str(caught.value).startswith(f"{listed[0].path}: {found}")


@pytest.mark.parametrize(("size", "clause"), [(1996, "IDX-FILE-1"), (1000, "IDX-HDR-5")])
def test_a_torn_file_among_whole_ones_is_malformed(tmp_path: Path, size: int, clause: str) -> None:
    whole = index_file(50, 100, entries(60))
    listed = files(tmp_path, whole, whole[:size])
    with pytest.raises(MalformedError) as caught:
        resolve_each(listed)
    assert (caught.value.file, caught.value.clause) == (str(listed[1].path), clause)


def test_files_of_two_geometries_have_one_each(tmp_path: Path) -> None:
    listed = files(tmp_path, index_file(50, 100, entries(60)), index_file(7, 12, entries(11)))
    assert [guess.geometry for guess in resolve_each(listed).values()] == [(50, 100), (7, 12)]
    with pytest.raises(MalformedError, match="found geometry 7,12, expected 50,100"):
        resolve(listed)


@pytest.mark.parametrize("text", ["", "5", "5,", "a,b", "1,2,3", "0,5", "5,0", "-5,5", "5 5"])
def test_what_is_no_geometry_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected two positive numbers"):
        parse_geometry(text)


def test_geometry_from_text() -> None:
    assert parse_geometry("5000000, 20000000") == DEFAULT
