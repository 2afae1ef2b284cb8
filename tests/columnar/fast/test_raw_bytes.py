"""Numbers, marks, copies, hashes and distinct strings of compiled loops, by hand and against Python.

Compiled anew in each run: of code that is kept, Numba does not tell when a part of it that is in another file changed.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rocket_columnar.fast import SLACK
from rocket_columnar.fast.compiled import intrinsics, raw_bytes
from rocket_columnar.fast.compiled.compilation import inlined
from rocket_columnar.fast.compiled.log_records import frame
from rocket_columnar.formats import Record, check_frame_head, parse_record, string_hash
from store_bytes import record

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inlined
def _numbers(data: NDArray[np.uint8], at: int) -> Any:
    at += raw_bytes.address(data)
    return intrinsics.byte(at), intrinsics.i32(at), intrinsics.i64(at), intrinsics.word(at)


@inlined
def _items(narrow: NDArray[np.int32], wide: NDArray[np.int64], number: int) -> Any:
    # What is fetched need not be there.
    intrinsics.fetch(0)
    intrinsics.fetch(-64)
    return (
        intrinsics.own_i32(raw_bytes.address(narrow) + 4 * number),
        intrinsics.own_i64(raw_bytes.address(wide) + 8 * number),
    )


@inlined
def _marks(data: NDArray[np.uint8], at: int) -> Any:
    at += raw_bytes.address(data)
    return intrinsics.marks(at), intrinsics.high_marks(at)


@inlined
def _more_marks(data: NDArray[np.uint8], at: int) -> Any:
    at += raw_bytes.address(data)
    return intrinsics.separators(at), intrinsics.spaces(at)


@inlined
def _until(bits: Any, length: int) -> Any:
    return raw_bytes.until(bits, length)


@inlined
def _lowest(mask: Any) -> Any:
    return intrinsics.lowest(mask)


@inlined
def _copy(target: NDArray[np.uint8], to: int, data: NDArray[np.uint8], at: int, length: int) -> None:
    raw_bytes.copy(raw_bytes.address(target) + to, raw_bytes.address(data) + at, length)


@inlined
def _same(data: NDArray[np.uint8], at: int, other: int, length: int) -> Any:
    base = raw_bytes.address(data)
    return raw_bytes.same(base + at, base + other, length)


@inlined
def _hash(data: NDArray[np.uint8], at: int, end: int, code: int) -> Any:
    base = raw_bytes.address(data)
    return raw_bytes.byte_hash(base + at, base + end, code)


@inlined
def _frame(data: NDArray[np.uint8], at: int, end: int, room: int, position: int) -> Any:
    base = raw_bytes.address(data)
    total, after_born, body, body_length, topic, topic_length, properties = frame(
        base + at, base + end, room, position
    )
    return total, after_born - base, body - base, body_length, topic - base, topic_length, properties - base


def array(data: bytes) -> NDArray[np.uint8]:
    """The bytes, and as many behind them as compiled loops may look at."""
    return np.frombuffer(bytearray(data + bytes(SLACK)), np.uint8)


@pytest.mark.parametrize(
    ("data", "byte", "i32", "i64", "word"),
    [
        (b"\0\0\0\1\0\0\0\2", 0, 1, (1 << 32) + 2, 0x0200000001000000),
        (b"\x80\0\0\0\0\0\0\0", 128, -(1 << 31), -(1 << 63), 0x80),
        (b"\xff\xff\xff\xff\xff\xff\xff\xfe", 255, -1, -2, 0xFEFFFFFFFFFFFFFF),
        (b"ABCDEFGH", 65, 0x41424344, 0x4142434445464748, 0x4847464544434241),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 13])
def test_numbers(data: bytes, byte: int, i32: int, i64: int, word: int, at: int) -> None:
    assert _numbers(array(bytes(at) + data), at) == (byte, i32, i64, word)


def test_items_of_arrays() -> None:
    narrow, wide = np.array([5, -1, -(1 << 31)], np.int32), np.array([6, -2, -(1 << 63)], np.int64)
    assert [_items(narrow, wide, number) for number in range(3)] == [
        (5, 6),
        (-1, -2),
        (-(1 << 31), -(1 << 63)),
    ]


def test_marks_are_bits_from_the_first_byte_up() -> None:
    data = array(b"\2" + b"a" * 8 + b"\2\x80" + b"b" * 52 + b"\xff" + b"\2\xff")
    assert _marks(data, 0) == (1 | 1 << 9, 1 << 10 | 1 << 63)
    assert _marks(data, 1) == (1 << 8 | 1 << 63, 1 << 9 | 1 << 62)


def test_separators_and_spaces() -> None:
    assert _more_marks(array(b"\1\2 \1" + b"x" * 59 + b" \1"), 0) == (1 | 1 << 3, 1 << 2 | 1 << 63)


def test_marks_up_to_a_length_and_one_behind() -> None:
    bits = np.uint64(0b10110)
    assert [_until(bits, length) for length in (0, 1, 2, 3, 6)] == [1, 0b10, 0b110, 0b1110, 0b1010110]
    assert _until(bits, 63) == 0b10110 | 1 << 63
    assert [_until(bits, length) for length in (64, 65, 1000)] == [0b10110] * 3


def test_lowest_bit() -> None:
    assert [_lowest(np.uint64(mask)) for mask in (1, 2, 0b101000, 1 << 63)] == [0, 1, 3, 63]


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 64, 1000])
def test_copy_leaves_what_lies_before_and_far_behind(length: int) -> None:
    data = array(bytes(number % 251 for number in range(length + 7)))
    target = np.full(5 + length + SLACK, 255, np.uint8)
    _copy(target, 5, data, 7, length)
    assert target[:5].tolist() == [255] * 5
    assert target[5 : 5 + length].tolist() == data[7 : 7 + length].tolist()
    assert target[5 + length + 31 :].tolist() == [255] * (SLACK - 31)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 16, 40])
def test_strings_are_the_same_up_to_their_length_only(length: int) -> None:
    text = bytes(range(1, length + 1))
    data = array(text + b"x" + text + b"y")
    assert _same(data, 0, length + 1, length)
    for place in range(length):
        data[place] ^= 0x80
        assert not _same(data, 0, length + 1, length)
        data[place] ^= 0x80


def test_byte_hash_by_hand() -> None:
    assert _hash(array(b"AaBB"), 0, 4, 0) == (2031744, True)  # "AaAa".hashCode(), as "AaBB" and "BBBB"
    assert _hash(array(b"ab"), 0, 2, 1) == ((31 * (31 + 97) + 98), True)
    assert _hash(array(b""), 0, 0, 7) == (7, True)
    assert _hash(array(b"1234567\xff"), 0, 8, 0)[1] == 0
    assert _hash(array(b"12345678\xff"), 0, 9, 0)[1] == 0
    assert _hash(array(b"12345678\xff"), 0, 8, 0)[1] == 1


def test_byte_hash_is_that_of_java() -> None:
    dice = random.Random(3)  # noqa: S311
    for length in range(70):
        text = "".join(chr(dice.randrange(128)) for _ in range(length))
        assert _hash(array(text.encode()), 0, length, 0) == (string_hash(text) & 0xFFFFFFFF, True)


def test_frame_of_a_record_by_hand() -> None:
    # 91 bytes, a body of 4 at 88, the length of the topic, "To", the length of the properties, "k\1v\2".
    data = b"??" + record(1000, body=b"body", topic=b"To", properties=b"k\1v\2")
    assert len(data) == 2 + 91 + 4 + 2 + 4
    assert _frame(array(data), 2, len(data), 5000, 1000) == (101, 2 + 56, 2 + 88, 4, 2 + 93, 2, 2 + 97)
    assert _frame(array(data), 2, len(data) - 1, 5000, 1000)[0] == 0  # it ends behind the window
    assert _frame(array(data), 2, len(data), 100, 1000)[0] == 0  # behind the file
    assert _frame(array(data), 2, len(data), 5000, 1001)[0] == 0  # it lies elsewhere
    long_hosts = record(0, sys_flag=48, born=bytes(16), store=bytes(16))
    assert _frame(array(long_hosts), 0, len(long_hosts), 5000, 0)[:3] == (len(long_hosts), 68, 112)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_frames_verify_where_those_of_python_do(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311
    for _ in range(300):
        sys_flag = dice.choice([0, 16, 32, 48])
        made = record(
            77, body=bytes(dice.randrange(300)), topic=bytes(dice.randrange(128)), properties=bytes(dice.randrange(50)),
            sys_flag=sys_flag, born=bytes(16 if sys_flag & 16 else 4), store=bytes(16 if sys_flag & 32 else 4),
        )  # fmt: skip
        data = bytearray(made)
        for _ in range(dice.choice([0, 1, 1, 2])):
            # What frames are made of: the first 40 bytes, the body's length, and what lies behind the body.
            place = dice.choice(
                [dice.randrange(40), dice.randrange(84, min(118, len(data))), -dice.randrange(1, 60)]
            )
            data[place] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, data[place] ^ 1, data[place] ^ 16])
        room = dice.choice([len(data), len(data) - 1, 10_000])
        window = bytes(data)
        verified = check_frame_head(window, 0, room, 77) is None and int.from_bytes(window[:4]) <= len(window)
        found = parse_record(window, 0) if verified else None
        total, *places = _frame(array(window), 0, len(window), room, 77)
        assert (total > 0) == isinstance(found, Record)
        if isinstance(found, Record):
            assert total == found.fixed.total_size
            assert places[1:] == [
                found.body, max(found.fixed.body_length, 0), found.topic, found.topic_length, found.properties,
            ]  # fmt: skip
