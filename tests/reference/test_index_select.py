"""IDX-SEL, IDX-TIME: what is found. Files to read are made by hand, byte by byte, damaged ones too."""

from __future__ import annotations

import struct

import pytest
from rocket_reference import IndexFile, JavaError, UnspecifiedError

T0 = 1700000000000
ALWAYS = (0, 9223372036854775807)
A, B = 97, 98  # key hashes of "a" and "b"


def made(
    *entries: tuple[int, int, int, int],
    slot: int | None = None,
    count: int | None = None,
    begin: int = T0,
    index_num: int = 8,
) -> IndexFile:
    """A loaded file of one slot; `entries` are (key_hash, phy_offset, time_diff, prev_entry) from 1 on."""
    buffer = bytearray(44 + 20 * index_num)
    newest = len(entries)
    struct.pack_into(">qqqqii", buffer, 0, begin, begin, 0, 0, 1, newest + 1 if count is None else count)
    struct.pack_into(">i", buffer, 40, newest if slot is None else slot)
    for number, entry in enumerate(entries, 1):
        struct.pack_into(">iqii", buffer, 44 + 20 * number, *entry)
    index = IndexFile(buffer, 1, index_num)
    index.load()
    return index


ONE = (A, 500, 0, 0)


@pytest.mark.parametrize(
    ("slot", "count", "found"),
    [
        (1, 2, [500]),
        (0, 2, []),
        (-1, 2, []),
        (3, 2, []),  # beyond the count
        (2, 2, [0]),  # equal to it: entry 2 is read, all zeros, whose hash 0 is no hit of "a"
        (1, 1, []),  # a count of 1 means no entry
    ],
)
def test_idx_sel_1_slot_value(slot: int, count: int, found: list[int]) -> None:
    index = made(ONE, slot=slot, count=count)
    key = "polygenelubricants" if found == [0] else "a"  # hash 0
    assert index.select(key, 32, *ALWAYS) == found


def test_idx_sel_2_newest_first_equal_hashes_only() -> None:
    index = made((A, 1, 0, 0), (B, 2, 0, 1), (A, 3, 0, 2), (A, 3, 0, 3))
    assert index.select("a", 32, *ALWAYS) == [3, 3, 1]
    assert index.select("b", 32, *ALWAYS) == [2]
    assert index.select("c", 32, *ALWAYS) == []


@pytest.mark.parametrize(
    ("max_num", "initial", "found"),
    [
        (2, [], [3, 2]),
        (1, [], [3]),
        (0, [], []),
        (-1, [], []),
        (2, [9], [9, 3]),
        (1, [9], [9]),
        (1, [9, 8], [9, 8]),
    ],
)
def test_idx_sel_3_the_list_has_max_num(max_num: int, initial: list[int], found: list[int]) -> None:
    index = made((A, 1, 0, 0), (A, 2, 0, 1), (A, 3, 0, 2))
    assert index.select("a", max_num, *ALWAYS, initial) == found


@pytest.mark.parametrize(
    ("begin", "end", "hit"),
    [
        (T0 + 5000, T0 + 5000, True),
        (T0 + 5001, T0 + 9999, False),
        (T0, T0 + 4999, False),
        (T0 + 5500, T0 + 5999, False),  # the true time may be there: seconds are all that is known
        (T0 + 9999, T0, False),
    ],
)
def test_idx_sel_4_window_is_inclusive(begin: int, end: int, hit: bool) -> None:  # noqa: FBT001
    assert made((A, 1, 5, 0)).select("a", 32, begin, end) == ([1] if hit else [])


def test_idx_sel_4_begin_is_the_one_in_memory() -> None:
    index = made((A, 1, 5, 0), count=2)
    index._header.begin_timestamp = 0
    assert index.select("a", 32, 5000, 5000) == [1]


def test_idx_sel_4_time_wraps() -> None:
    index = made((A, 1, 1, 0), begin=9223372036854775807)  # + 1000 = -9223372036854774809
    assert index.select("a", 32, -9223372036854774809, -9223372036854774809) == [1]


def test_idx_sel_5_negative_time_diff_ends_the_walk() -> None:
    assert made((A, 1, 0, 0), (A, 2, -1, 1), (A, 3, 0, 2)).select("a", 32, *ALWAYS) == [3]


@pytest.mark.parametrize(
    ("previous", "found"),
    [(1, [2, 1]), (0, [2]), (-1, [2]), (2, [2]), (4, [2]), (3, [2, 0])],
)
def test_idx_sel_6_previous_entry(previous: int, found: list[int]) -> None:
    # 2 is the entry itself, 4 is beyond the count of 3, and 3 equals it: an entry of zeros, a hit of hash 0.
    index = made((0, 1, 0, 0), (0, 2, 0, previous))
    assert index.select("polygenelubricants", 32, *ALWAYS) == found


def test_idx_sel_7_entry_before_the_window_ends_the_walk() -> None:
    index = made((A, 1, 9, 0), (A, 2, 1, 1), (A, 3, 9, 2))
    assert index.select("a", 32, T0 + 5000, T0 + 9000) == [3]


def test_idx_sel_7_entry_behind_the_window_does_not() -> None:
    index = made((A, 1, 5, 0), (A, 2, 99, 1), (A, 3, 5, 2))
    assert index.select("a", 32, T0 + 5000, T0 + 9000) == [3, 1]


def test_idx_sel_8_entry_outside_the_file() -> None:
    index = made((A, 1, 0, 1000), (A, 2, 0, 1), slot=2, count=2000)  # entry 1000 at 20044 of 204 bytes
    assert index.select("a", 32, *ALWAYS) == [2, 1]


def test_idx_sel_8_position_wraps_into_the_file() -> None:
    # 20 * (2^30 + 1) = 20 * 2^30 + 20, and 20 * 2^30 = 5 * 2^32: entry 2^30 + 1 is read where entry 1 lies.
    index = made((A, 1, 0, 0), (A, 2, 0, (1 << 30) + 1), count=2147483647)
    assert index.select("a", 32, *ALWAYS) == [2, 1]


def test_idx_sel_8_slot_outside_the_file() -> None:
    buffer = bytearray(100)
    struct.pack_into(">i", buffer, 36, 3)
    index = IndexFile(buffer, 1 << 30, 3)  # size 40 + 0 + 60, slot of "a" at 40 + 4 * 97
    index.load()
    assert index.select("a", 32, *ALWAYS, [7]) == [7]


def test_idx_sel_9_another_key_with_the_hash_is_a_hit() -> None:
    index = IndexFile(bytearray(40 + 28 + 240), 7, 12)
    index.put("AaTopic#Aa", 0, T0)
    index.put("BBTopic#BB", 100, T0 + 1999)
    assert index.select("AaTopic#BB", 32, *ALWAYS) == [100, 0]  # real jar


def test_idx_sel_10_no_slots() -> None:
    with pytest.raises(JavaError) as caught:
        IndexFile(bytearray(140), 0, 5).select("a", 32, *ALWAYS)
    assert caught.value.name == "ArithmeticException"


def test_idx_sel_11_circle_without_a_hit() -> None:
    index = made((B, 1, 0, 3), (B, 2, 0, 1), (B, 3, 0, 2), (A, 4, 0, 3))
    with pytest.raises(UnspecifiedError, match="never ends"):
        index.select("a", 32, *ALWAYS)


def test_idx_sel_11_circle_with_a_hit_ends_at_max_num() -> None:
    index = made((A, 1, 0, 2), (B, 2, 0, 1))
    assert index.select("a", 64, *ALWAYS) == [1] * 64


def test_idx_sel_11_circle_that_fills_the_memory() -> None:
    index = made((A, 1, 0, 2), (B, 2, 0, 1))
    with pytest.raises(UnspecifiedError):
        index.select("a", 2147483647, *ALWAYS)


def test_idx_sel_11_circle_that_time_ends() -> None:
    index = made((A, 1, 0, 2), (B, 2, 9, 1))
    assert index.select("a", 32, T0 + 1, T0 + 9000) == []


@pytest.mark.parametrize(
    ("begin", "end", "matched"),
    [
        (99, 201, True),  # IDX-TIME-1
        (99, 200, True),  # not strictly, but IDX-TIME-3
        (100, 300, True),  # IDX-TIME-2
        (200, 300, True),
        (201, 300, False),
        (0, 100, True),  # IDX-TIME-3
        (0, 99, False),
        (150, 0, True),  # a window the wrong way round meets by one end
        (300, 0, False),
    ],
)
def test_idx_time_window_and_file(begin: int, end: int, matched: bool) -> None:  # noqa: FBT001
    index = IndexFile(bytearray(104), 1, 3)
    index.put("a", 0, 100)
    index.put("a", 0, 200)
    assert index.time_matched(begin, end) is matched


@pytest.mark.parametrize(
    ("begin", "end", "matched"),
    [(99, 201, True), (150, 150, True), (199, 101, True), (0, 100, False), (200, 300, False)],
)
def test_idx_time_end_before_begin(begin: int, end: int, matched: bool) -> None:  # noqa: FBT001
    index = IndexFile(bytearray(104), 1, 3)
    index.put("a", 0, 200)
    index.put("a", 0, 100)
    assert index.time_matched(begin, end) is matched
