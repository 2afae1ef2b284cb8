"""The engine's index file, compared with bytes and results worked out by hand from the clauses."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rocket_columnar import fast, formats
from rocket_columnar.formats import hash_key
from rocket_columnar.index import IndexFile, IndexHeader, RejectedError
from rocket_spec.errors import InvalidError
from rocket_spec.layout import Geometry

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

T = 1_700_000_000_000
FOREVER = (1 << 63) - 1
NAME = "20260101000000000"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


def words(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(data) // 4}i", data)


def entry(path: Path, geometry: Geometry, number: int) -> tuple[int, ...]:
    return struct.unpack_from(">iqii", path.read_bytes(), geometry.entries_offset + 20 * number)


def damage(
    path: Path, geometry: Geometry, number: int, *, time_diff: int | None = None, prev: int | None = None
) -> None:
    data = bytearray(path.read_bytes())
    for value, at in ((time_diff, 12), (prev, 16)):
        if value is not None:
            struct.pack_into(">i", data, geometry.entries_offset + 20 * number + at, value)
    path.write_bytes(data)


def test_idx_file_1_a_new_file_is_zeros_of_the_size(path: Path) -> None:
    with IndexFile(path, 3, 5) as file:
        assert file.header() == IndexHeader(0, 0, 0, 0, 0, 1)
    assert path.read_bytes() == bytes(40 + 4 * 3 + 20 * 5)


def test_idx_file_1_a_shorter_file_grows_and_a_longer_one_keeps_its_length(path: Path) -> None:
    path.write_bytes(b"\x00" * 7 + b"\x05")
    with IndexFile(path, 1, 1) as file:
        file.load()
        assert file.header().begin_timestamp == 5
    assert len(path.read_bytes()) == 64
    path.write_bytes(bytes(99))
    with IndexFile(path, 1, 1):
        pass
    assert len(path.read_bytes()) == 99


def test_idx_file_2_seeds_go_to_begin_and_end_each_only_when_positive(path: Path) -> None:
    with IndexFile(path, 1, 2, end_phy_offset=7, end_timestamp=0) as file:
        assert file.header() == IndexHeader(0, 0, 7, 7, 0, 1)
    assert struct.unpack_from(">qqqqii", path.read_bytes()) == (0, 0, 7, 7, 0, 0)
    with IndexFile(path, 1, 2, end_phy_offset=-1, end_timestamp=9) as file:
        file.load()
        assert file.header() == IndexHeader(9, 9, 7, 7, 0, 1)


def test_idx_file_3_a_size_that_wraps_to_a_small_int_opens_a_tiny_file(path: Path) -> None:
    # 40 + 4 * 2^30 + 20 * 2 = 2^32 + 80, which is the int 80
    with IndexFile(path, 1 << 30, 2) as file:
        assert path.stat().st_size == 80
        # slot of hash 97 at 40 + 388 = 428: outside
        assert file.put("a", 1, T) is False
        assert file.header() == IndexHeader()
        assert file.select("a", 1, 0, FOREVER) == []


def test_idx_file_3_a_negative_size_is_rejected_after_the_file_is_made(path: Path) -> None:
    with pytest.raises(RejectedError):
        IndexFile(path, 1, 200_000_000)  # 4,000,000,044 is the int -294,967,252
    assert path.read_bytes() == b""


@pytest.mark.parametrize("name", ["x", "", "1_0", " 1", "9223372036854775808", "+", "-", "\U0001d7cf"])
def test_idx_file_4_a_name_that_is_no_long_is_rejected_and_nothing_made(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "index"
    with pytest.raises(RejectedError):
        IndexFile(folder / name if name else tmp_path / "a" / "..", 1, 1)
    assert not folder.exists()


@pytest.mark.parametrize("name", ["-5", "+5", "\u0661", "9223372036854775807", "-9223372036854775808"])
def test_idx_file_4_signs_and_other_digits_are_longs(tmp_path: Path, name: str) -> None:
    with IndexFile(tmp_path / name, 1, 1):
        assert (tmp_path / name).exists()


def test_idx_file_5_opening_without_load_keeps_old_bytes_under_a_fresh_header(path: Path) -> None:
    geometry = Geometry(1, 4)
    with IndexFile(path, *geometry) as file:
        assert file.put("a", 10, T)
        assert file.put("b", 20, T + 5000)
    with IndexFile(path, *geometry) as file:
        assert file.header() == IndexHeader()
        assert file.select("b", 9, 0, FOREVER) == []  # IDX-SEL-1: slot 2 > indexCount 1
        assert file.put("c", 30, T)  # the slot's 2 is > 1 and taken as 0
    assert entry(path, geometry, 1) == (99, 30, 0, 0)
    assert struct.unpack_from(">qqqqii", path.read_bytes()) == (T, T, 30, 30, 1, 2)


def test_idx_put_bytes_of_two_puts(path: Path) -> None:
    with IndexFile(path, 2, 4) as file:
        assert file.put("a", 1, T)  # hash 97, slot 1
        assert file.put("c", 1 << 40, T + 2999)  # hash 99, slot 1
        assert not file.full()
        assert file.put("b", 3, T - 1)  # hash 98, slot 0
        assert file.full()
        assert not file.put("d", 4, T)
    high, low = divmod(T, 1 << 32)
    high_end, low_end = divmod(T - 1, 1 << 32)

    def signed(word: int) -> int:
        return word - (1 << 32) if word >= 1 << 31 else word

    assert words(path.read_bytes()) == (
        high, signed(low), high_end, signed(low_end), 0, 1, 0, 3, 2, 4,
        3, 2,
        0, 0, 0, 0, 0,
        97, 0, 1, 0, 0,
        99, 256, 0, 2, 1,
        98, 0, 3, 0, 0,
    )  # fmt: skip


def test_idx_put_2_the_subtraction_wraps(path: Path) -> None:
    with IndexFile(path, 1, 4) as file:
        file.put("a", 0, 1000)
        file.put("a", 0, -(1 << 63))  # -2^63 - 1000 wraps to 2^63 - 1000
        file.put("a", 0, -5000)
    assert [entry(path, Geometry(1, 4), n)[2] for n in (1, 2, 3)] == [0, 2147483647, 0]


def test_idx_put_3_and_4_limits_of_the_time_diff(path: Path) -> None:
    with IndexFile(path, 1, 9) as file:
        file.put("a", 0, -7)
        file.put("a", 0, T)  # begin -7 <= 0
    with IndexFile(path, 1, 9, end_timestamp=1) as file:
        file.load()
        for time in (1 + 2147483647999, 1 + 2147483648000, 1000, 1001, 2001):
            file.put("a", 0, time)
    diffs = [entry(path, Geometry(1, 9), n)[2] for n in range(1, 8)]
    assert diffs == [0, 0, 2147483647, 2147483647, 0, 1, 2]


def test_idx_put_8_the_first_put_of_a_rolled_file_counts_from_the_seed(path: Path) -> None:
    with IndexFile(path, 1, 9, end_phy_offset=5, end_timestamp=T) as file:
        file.put("a", 6, T + 90_000)
        file.put("a", 7, T + 91_000)
        assert file.header() == IndexHeader(T + 90_000, T + 91_000, 6, 7, 1, 3)
        # a reader places entry 1 at begin + 90 s, 90 s too late
        assert file.select("a", 9, T + 91_000, T + 180_000) == [7, 6]
        assert file.select("a", 9, T + 90_000, T + 179_999) == [7]
    assert entry(path, Geometry(1, 9), 1) == (97, 6, 90, 0)


# 44 + 20 * index_num is 2^32 * m + size with m = 1, 3, 4, so entry 1, at byte 64, has 4, 12 or 16 bytes left
@pytest.mark.parametrize(
    ("index_num", "size", "left"),
    [
        (214_748_366, 68, (97,)),
        (644_245_096, 76, (97, 5, 6)),
        (858_993_461, 80, (97, 5, 6, 0)),
    ],
)
def test_idx_put_9_a_put_past_the_mapping_leaves_the_fields_that_fitted(
    path: Path, index_num: int, size: int, left: tuple[int, ...]
) -> None:
    with IndexFile(path, 1, index_num) as file:
        assert file.put("a", (5 << 32) + 6, T) is False
        assert file.put_many(["a"], [(5 << 32) + 6], [T]).tolist() == [False]
        assert file.header() == IndexHeader()
    assert words(path.read_bytes()) == (*[0] * 16, *left)
    assert len(path.read_bytes()) == size


def test_idx_put_11_the_order_of_writes_shows_where_parts_overlap(path: Path) -> None:
    # S = -2: size 40 - 8 + 20 * 2 = 72, entry 1 at 52
    with IndexFile(path, -2, 2) as file:
        assert file.put("a", 9, T)  # slot 97 mod 2 = 1, at 44
    assert words(path.read_bytes()[44:72]) == (1, 0, 97, 0, 9, 0, 0)
    # S = 2^30 - 7: 4 * S is -28, entry 1 at 32, over the header's counts and slots 0 to 2
    with IndexFile(path.with_name("2"), (1 << 30) - 7, 3) as file:
        assert file.put("", 9, T)  # hash 0: slot at 40
    # entry: hash 0 at 32, offset 9 at 36, diff 0 at 44, prev 0 at 48; then slot 0 at 40, then the counts at 32
    assert words(path.with_name("2").read_bytes()[32:52]) == (1, 2, 1, 0, 0)


def test_idx_put_10_and_sel_10_zero_slots_are_rejected_but_a_full_file_just_refuses(path: Path) -> None:
    with IndexFile(path, 0, 2) as file:
        with pytest.raises(RejectedError):
            file.put("a", 1, T)
        with pytest.raises(RejectedError):
            file.select("a", 1, 0, FOREVER)
    with IndexFile(path, 0, 1) as file:
        assert not file.put("a", 1, T)


def test_a_mapping_without_room_for_the_header_is_rejected_where_it_is_touched(path: Path) -> None:
    with IndexFile(path, -10, 0) as file:  # 0 bytes
        with pytest.raises(RejectedError):
            file.load()
        with pytest.raises(RejectedError):
            file.flush()
        assert file.full()
    with pytest.raises(RejectedError):
        IndexFile(path, -10, 0, end_timestamp=1)


def test_idx_load_2_and_flush_1(path: Path) -> None:
    path.write_bytes(struct.pack(">qqqqii", 1, 2, 3, 4, 5, -6) + bytes(24))
    with IndexFile(path, 1, 1) as file:
        file.load()
        assert file.header() == IndexHeader(1, 2, 3, 4, 5, 1)
        file.flush()
    assert struct.unpack_from(">qqqqii", path.read_bytes()) == (1, 2, 3, 4, 5, 1)


def test_idx_time_1_to_3(path: Path) -> None:
    with IndexFile(path, 1, 3) as file:
        file.put("a", 0, 10)
        file.put("a", 0, 20)
        cases = {(9, 21): True, (9, 20): True, (10, 99): True, (20, 99): True, (21, 99): False, (0, 9): False,
                 (0, 10): True, (12, 15): True, (21, 10): True, (21, 9): False}  # fmt: skip
        assert {window: file.time_matched(*window) for window in cases} == cases


def test_idx_sel_3_the_initial_list_counts(path: Path) -> None:
    with IndexFile(path, 1, 9) as file:
        for number in range(5):
            file.put("a", number, T)
        assert file.select("a", 3, 0, FOREVER, [70, 71]) == [70, 71, 4]
        assert file.select("a", 2, 0, FOREVER, [70, 71]) == [70, 71]
        assert file.select("a", -1, 0, FOREVER) == []
        assert file.select("b", 9, 0, FOREVER) == []


def test_idx_sel_4_times_are_whole_seconds_after_begin(path: Path) -> None:
    with IndexFile(path, 1, 9) as file:
        file.put("a", 1, T)
        file.put("a", 2, T + 1999)  # placed at T + 1000
        assert file.select("a", 9, T + 1500, T + 2500) == []
        assert file.select("a", 9, T + 1000, T + 1000) == [2]
        assert file.select("a", 9, T, T) == [1]


def test_idx_sel_5_a_negative_time_diff_stops(path: Path) -> None:
    geometry = Geometry(1, 9)
    with IndexFile(path, *geometry) as file:
        for number in range(1, 5):
            file.put("a", number, T)
    damage(path, geometry, 3, time_diff=-1)
    with IndexFile.open_for_reading(path, geometry) as file:
        assert file.select("a", 9, 0, FOREVER) == [4]


@pytest.mark.parametrize("prev", [0, -1, 6, 3])
def test_idx_sel_6_a_previous_entry_out_of_range_or_itself_ends_the_chain_after_the_hit(
    path: Path, prev: int
) -> None:
    geometry = Geometry(1, 9)
    with IndexFile(path, *geometry) as file:
        for number in range(1, 5):
            file.put("a", number, T)
    damage(path, geometry, 3, prev=prev)
    with IndexFile.open_for_reading(path, geometry) as file:
        assert file.select("a", 9, 0, FOREVER) == [4, 3]


def test_idx_sel_7_an_entry_before_the_window_ends_the_walk(path: Path) -> None:
    with IndexFile(path, 1, 9) as file:
        for number, seconds in enumerate((0, 50, 10, 60)):
            file.put("a", number, T + seconds * 1000)
        assert file.select("a", 9, T + 40_000, FOREVER) == [3]


def test_idx_sel_8_an_entry_outside_the_mapping_ends_with_the_hits_so_far(path: Path) -> None:
    geometry = Geometry(1, 9)
    with IndexFile(path, *geometry) as file:
        file.put("a", 1, T)
        file.put("a", 2, T)
    data = bytearray(path.read_bytes())
    struct.pack_into(">i", data, 36, 100)  # index count
    path.write_bytes(data)
    damage(path, geometry, 2, prev=50)
    with IndexFile.open_for_reading(path, geometry) as file:
        assert file.select("a", 9, 0, FOREVER) == [2]


def test_idx_sel_9_the_four_colliding_keys_are_one(path: Path) -> None:
    keys = ["AaTopic#Aa", "AaTopic#BB", "BBTopic#Aa", "BBTopic#BB"]
    with IndexFile(path, 7, 9) as file:
        for number, key in enumerate(keys):
            file.put(key, number, T)
        for key in keys:
            assert file.select(key, 9, 0, FOREVER) == [3, 2, 1, 0]


def test_a_cycle_gives_its_hits_again_and_a_miss_in_it_is_an_error(path: Path) -> None:
    geometry = Geometry(1, 9)
    with IndexFile(path, *geometry) as file:
        for number, key in enumerate("abcd", 1):
            file.put(key, number, T)
    damage(path, geometry, 2, prev=4)  # 4 -> 3 -> 2 -> 4
    with IndexFile.open_for_reading(path, geometry) as file:
        assert file.select("c", 5, 0, FOREVER) == [3, 3, 3, 3, 3]
        with pytest.raises(InvalidError, match="IDX-SEL-6"):
            file.select("a", 5, 0, FOREVER)


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


def test_large_batches_are_compiled_and_give_the_same(path: Path) -> None:
    keys, offsets, times = random_puts(7, 500)
    with IndexFile(path, 11, 600, end_timestamp=T) as file:
        file.put_many(keys, offsets, times)
        small: list[NDArray[Any]] = [formats.hash_keys(keys), *file.select_many(keys, 7, T, 1 << 61)]
        with fast.forced(compiled=True):
            large: list[NDArray[Any]] = [formats.hash_keys(keys), *file.select_many(keys, 7, T, 1 << 61)]
    for one, other in zip(small, large, strict=True):
        assert np.array_equal(one, other)
        assert one.dtype == other.dtype


def test_put_many_refuses_columns_of_different_length(path: Path) -> None:
    with IndexFile(path, 1, 9) as file, pytest.raises(ValueError, match="2 keys, 1 offsets, 2 timestamps"):
        file.put_many(["a", "b"], [1], [T, T])


def test_the_hash_of_a_put_by_number_is_that_of_its_key(path: Path) -> None:
    with IndexFile(path, 1, 9) as file:
        file.put_many(np.array([hash_key("a")], np.int32), [1], [T])
        assert file.select("a", 9, 0, FOREVER) == [1]
