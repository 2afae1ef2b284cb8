"""IDX-HDR, IDX-PUT, IDX-FULL: what a put leaves in the bytes.

"Real jar" marks bytes that the IndexFile of rocketmq-store 4.9.3 left after the same calls. The key is
`a`, hash 97; T0 is 1700000000000 = 0x018bcfe56800.
"""

from __future__ import annotations

import struct
from dataclasses import astuple

import pytest
from rocket_reference import IndexFile, IndexHeader, JavaError
from rocket_reference._mapping import MappedBuffer

T0 = 1700000000000
OFFSET = 0x0102030405060708


def buffer_for(hash_slot_num: int, index_num: int) -> bytearray:
    return bytearray(40 + 4 * hash_slot_num + 20 * index_num)


def words(buffer: bytearray, start: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f">{count}i", buffer, start)


def entry(buffer: bytearray, hash_slot_num: int, number: int) -> tuple[int, ...]:
    return struct.unpack_from(">iqii", buffer, 40 + 4 * hash_slot_num + 20 * number)


def time_diff_after(begin: int, store_timestamp: int) -> int:
    """The time diff of a put into a file whose header's begin is given (loaded, count 2)."""
    buffer = buffer_for(1, 4)
    struct.pack_into(">qqqqii", buffer, 0, begin, 0, 0, 0, 0, 2)
    index = IndexFile(buffer, 1, 4)
    index.load()
    assert index.put("a", 0, store_timestamp)
    return entry(buffer, 1, 2)[2]


def test_idx_hdr_1_and_ent_1_layout() -> None:
    buffer = buffer_for(1, 3)
    assert IndexFile(buffer, 1, 3).put("a", 5, T0)
    assert buffer.hex() == (  # by hand
        "0000018bcfe56800 0000018bcfe56800 0000000000000005 0000000000000005 00000001 00000002"
        "00000001"
        "00000000 0000000000000000 00000000 00000000"
        "00000061 0000000000000005 00000000 00000000"
        "00000000 0000000000000000 00000000 00000000"
    ).replace(" ", "")


def test_idx_hdr_1_two_colliding_keys() -> None:
    buffer = buffer_for(7, 12)
    index = IndexFile(buffer, 7, 12)
    assert index.put("AaTopic#Aa", 0, T0)
    assert index.put("BBTopic#BB", 100, T0 + 1999)
    # Real jar; 10606476 = 7 * 1515210 + 6.
    assert buffer[:40].hex() == (
        "0000018bcfe568000000018bcfe56fcf000000000000000000000000000000640000000100000003"
    )
    assert words(buffer, 40, 7) == (0, 0, 0, 0, 0, 0, 2)
    assert entry(buffer, 7, 1) == (10606476, 0, 0, 0)
    assert entry(buffer, 7, 2) == (10606476, 100, 1, 1)


def test_idx_hdr_2_begin_is_the_first_puts() -> None:
    index = IndexFile(buffer_for(1, 5), 1, 5)
    index.put("a", 700, T0)
    index.put("a", 600, T0 - 5000)
    assert (index.header().begin_timestamp, index.header().begin_phy_offset) == (T0, 700)


def test_idx_hdr_2_is_set_again_by_a_put_at_count_1() -> None:
    buffer = buffer_for(1, 5)
    IndexFile(buffer, 1, 5).put("a", 700, T0)
    again = IndexFile(buffer, 1, 5)  # no load: a count of 1 over old bytes
    again.put("b", 800, T0 + 1)
    assert again.header() == IndexHeader(T0 + 1, T0 + 1, 800, 800, 0, 2)


def test_idx_hdr_3_end_is_the_last_puts_not_the_greatest() -> None:
    index = IndexFile(buffer_for(1, 5), 1, 5)
    index.put("a", 700, T0)
    index.put("a", 600, T0 - 5000)
    assert (index.header().end_timestamp, index.header().end_phy_offset) == (T0 - 5000, 600)


def test_idx_hdr_4_counts_puts_that_found_no_entry() -> None:
    index = IndexFile(buffer_for(7, 12), 7, 12)
    index.put("a", 0, T0)  # 97 mod 7 = 6
    index.put("b", 0, T0)  # 98 mod 7 = 0
    index.put("h", 0, T0)  # 104 mod 7 = 6: taken
    assert index.header().hash_slot_count == 2


def test_idx_hdr_4_wraps() -> None:
    buffer = buffer_for(1, 5)
    struct.pack_into(">qqqqii", buffer, 0, 0, 0, 0, 0, 2147483647, 1)
    index = IndexFile(buffer, 1, 5)
    index.load()
    index.put("a", 0, T0)
    assert index.header().hash_slot_count == -2147483648


def test_idx_hdr_5_fresh_file_holds_zeros() -> None:
    buffer = buffer_for(1, 3)
    index = IndexFile(buffer, 1, 3)
    assert index.header() == IndexHeader(0, 0, 0, 0, 0, 1)
    assert not any(buffer)


def test_idx_hdr_5_first_put_writes_2() -> None:
    buffer = buffer_for(1, 3)
    IndexFile(buffer, 1, 3).put("a", 0, T0)
    assert words(buffer, 36, 1) == (2,)


@pytest.mark.parametrize(("index_num", "capacity"), [(-1, 0), (0, 0), (1, 0), (2, 1), (5, 4)])
def test_idx_put_1_capacity_is_n_minus_1(index_num: int, capacity: int) -> None:
    buffer = bytearray(200)
    index = IndexFile(buffer, 8, index_num)
    assert [index.put("a", 0, T0) for _ in range(capacity + 1)] == [True] * capacity + [False]
    assert index.full()


def test_idx_put_1_a_refused_put_writes_nothing() -> None:
    buffer = buffer_for(1, 2)
    index = IndexFile(buffer, 1, 2)
    index.put("a", 0, T0)
    before = bytes(buffer)
    assert not index.put("b", 9, T0 + 9)
    assert buffer == before
    assert index.header().end_phy_offset == 0


@pytest.mark.parametrize(
    ("begin", "store_timestamp", "seconds"),
    [
        (T0, T0 + 999, 0),
        (T0, T0 + 1000, 1),
        (T0, T0 + 1999, 1),
        (T0, T0 - 1, 0),
        (1000, -9223372036854775808, 2147483647),  # wraps to a large positive; real jar
        (1, 9223372036854775807, 2147483647),
    ],
)
def test_idx_put_2_whole_seconds_from_begin(begin: int, store_timestamp: int, seconds: int) -> None:
    assert time_diff_after(begin, store_timestamp) == seconds


@pytest.mark.parametrize("begin", [0, -1, -T0])
def test_idx_put_3_begin_not_positive_gives_0(begin: int) -> None:
    assert time_diff_after(begin, T0) == 0


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [
        (2147483647 * 1000, 2147483647),
        (2147483647 * 1000 + 999, 2147483647),
        (2147483648 * 1000, 2147483647),
        (-1000, 0),
        (-5_000_000, 0),
    ],
)
def test_idx_put_4_is_clamped(milliseconds: int, seconds: int) -> None:
    assert time_diff_after(T0, T0 + milliseconds) == seconds


@pytest.mark.parametrize(
    ("slot", "previous", "hash_slot_count"),
    [(0, 0, 1), (-1, 0, 1), (1, 1, 0), (2, 0, 1)],  # 1 and 2: real jar
)
def test_idx_put_5_slot_value_up_to_the_count_is_kept(slot: int, previous: int, hash_slot_count: int) -> None:
    buffer = buffer_for(1, 3)
    struct.pack_into(">i", buffer, 40, slot)
    index = IndexFile(buffer, 1, 3)  # count 1
    assert index.put("a", 5, 1)
    assert entry(buffer, 1, 1) == (97, 5, 0, previous)
    assert index.header().hash_slot_count == hash_slot_count


def test_idx_put_6_and_7_chain_of_a_slot() -> None:
    buffer = buffer_for(1, 5)
    index = IndexFile(buffer, 1, 5)
    for key, offset in (("a", -1), ("b", 9223372036854775807), ("a", 3)):
        assert index.put(key, offset, T0)
    assert [entry(buffer, 1, number) for number in (1, 2, 3)] == [
        (97, -1, 0, 0),
        (98, 9223372036854775807, 0, 1),
        (97, 3, 0, 2),
    ]
    assert words(buffer, 40, 1) == (3,)


def test_idx_put_8_first_put_into_a_seeded_file() -> None:
    buffer = buffer_for(1, 3)
    index = IndexFile(buffer, 1, 3, end_phy_offset=77, end_timestamp=T0)
    assert index.header() == IndexHeader(T0, T0, 77, 77, 0, 1)
    assert index.put("a", 5, T0 + 5999)
    assert entry(buffer, 1, 1) == (97, 5, 5, 0)  # 5 s from the seed; real jar
    assert index.header() == IndexHeader(T0 + 5999, T0 + 5999, 5, 5, 1, 2)


# The size wraps so that it ends inside entry 1, which begins at 40 + 4 * 3 + 20 = 72. Real jar, all three.
@pytest.mark.parametrize(
    ("index_num", "size", "tail"),
    [
        (214748366, 76, "00000061"),  # 20 N mod 2^32 = 24
        (644245096, 84, "00000061 0102030405060708"),  # 32
        (858993461, 88, "00000061 0102030405060708 00000000"),  # 36
    ],
)
def test_idx_put_9_writes_before_the_end_stay(index_num: int, size: int, tail: str) -> None:
    buffer = bytearray(size)
    index = IndexFile(buffer, 3, index_num)
    assert not index.put("a", OFFSET, T0)
    assert buffer == bytes(72) + bytes.fromhex(tail)
    assert index.header() == IndexHeader(0, 0, 0, 0, 0, 1)


def test_idx_put_9_slot_outside() -> None:
    buffer = bytearray(100)
    assert not IndexFile(buffer, 1 << 30, 3).put("a", 5, T0)  # slot at 40 + 4 * 97 = 428
    assert not any(buffer)


def test_idx_put_10_no_slots() -> None:
    buffer = bytearray(140)
    index = IndexFile(buffer, 0, 5)
    with pytest.raises(JavaError) as caught:
        index.put("a", 5, T0)
    assert caught.value.name == "ArithmeticException"
    assert not any(buffer)


def test_idx_put_10_no_slots_and_full() -> None:
    assert not IndexFile(bytearray(60), 0, 1).put("a", 5, T0)  # the division is never reached


def test_idx_put_11_order_of_writes() -> None:
    class Recorder(MappedBuffer):
        """Remembers position and length of each write."""

        __slots__ = ("writes",)
        writes: list[tuple[int, int]]

        def put_int(self, position: int, value: int) -> None:
            self.writes.append((position, 4))
            super().put_int(position, value)

        def put_long(self, position: int, value: int) -> None:
            self.writes.append((position, 8))
            super().put_long(position, value)

    recorder = Recorder(buffer_for(1, 4), 124)
    recorder.writes = []
    index = IndexFile(bytearray(124), 1, 4)
    index._buffer = index._header._bytes = recorder
    index.put("a", 5, T0)
    index.put("a", 6, T0)
    assert recorder.writes == [
        *((64, 4), (68, 8), (76, 4), (80, 4)),  # entry 1: hash, offset, time diff, previous
        (40, 4),  # slot
        *((16, 8), (0, 8)),  # first put: begin offset, begin timestamp
        (32, 4),  # hash slot count, as the slot was empty
        *((36, 4), (24, 8), (8, 8)),  # index count, end offset, end timestamp
        *((84, 4), (88, 8), (96, 4), (100, 4)),  # entry 2
        (40, 4),
        *((36, 4), (24, 8), (8, 8)),
    ]


def test_idx_put_11_slot_is_written_over_the_entry() -> None:
    # S = -5 puts entry 1 at 40 - 20 + 20 = 40, over the slots; `a` has slot 97 mod 5 = 2 at 48. Real jar.
    buffer = bytearray(140)
    assert IndexFile(buffer, -5, 6).put("a", OFFSET, T0)
    assert buffer[40:60].hex() == "00000061" + "01020304" + "00000001" + "00000000" * 2


def test_idx_put_11_header_is_written_over_the_entry() -> None:
    # S = -10 puts entry 1 at 20; the header covers it afterwards. Real jar.
    buffer = bytearray(120)
    index = IndexFile(buffer, -10, 6)
    assert index.put("a", OFFSET, T0)
    assert struct.unpack_from(">qqqqii", buffer) == astuple(index.header())
    assert index.header() == IndexHeader(T0, T0, OFFSET, OFFSET, 1, 2)


def test_idx_full_1() -> None:
    index = IndexFile(buffer_for(1, 3), 1, 3)
    assert [index.full(), index.put("a", 0, 0), index.full(), index.put("a", 0, 0), index.full()] == [
        *(False, True, False, True, True)
    ]
