"""CQ-UNIT, CQ-FILE, CQ-TAGS. Sizes and names are those that the real jar printed."""

from __future__ import annotations

import pytest
from rocket_reference import (
    PRE_BLANK,
    JavaError,
    QueueUnit,
    base_offset,
    encode_queue_unit,
    file_name,
    queue_file_size,
    queue_unit,
    queue_units,
    tags_code,
)
from rocket_spec.errors import MalformedError

UNIT = QueueUnit(0x0102030405060708, 91, -2)
BYTES = bytes.fromhex("0102030405060708 0000005b fffffffffffffffe")
ZEROS = bytes(20)


def test_cq_unit_1_decode_and_encode() -> None:
    assert queue_unit(b"xyz" + BYTES, 3) == UNIT
    assert encode_queue_unit(UNIT) == BYTES
    assert not UNIT.pre_blank


@pytest.mark.parametrize("position", [-1, 1, 20])
def test_cq_unit_1_cut_off(position: int) -> None:
    with pytest.raises(MalformedError, match="expected a unit of 20 bytes"):
        queue_unit(BYTES, position)


def test_cq_unit_2_pre_blank() -> None:
    assert encode_queue_unit(PRE_BLANK).hex() == "0000000000000000" + "7fffffff" + "0000000000000000"
    assert PRE_BLANK.pre_blank
    assert PRE_BLANK.valid


@pytest.mark.parametrize(
    ("unit", "valid"),
    [((0, 1, 0), True), ((0, 0, 0), False), ((-1, 1, 0), False), ((5, -1, 0), False)],
)
def test_cq_unit_3_valid(unit: tuple[int, int, int], valid: bool) -> None:  # noqa: FBT001
    assert QueueUnit(*unit).valid is valid


def test_cq_unit_3_units_end_at_the_first_that_is_not_valid() -> None:
    assert list(queue_units(BYTES + BYTES + ZEROS + BYTES)) == [(0, UNIT), (1, UNIT)]


def test_cq_file_1_whole_units() -> None:
    with pytest.raises(
        MalformedError, match=r"found 41 bytes, expected a multiple of 20 bytes \(CQ-FILE-1\)"
    ):
        list(queue_units(bytes(41)))


@pytest.mark.parametrize(
    ("configured", "size"),
    [
        *((6000000, 6000000), (5999999, 6000000), (1, 20), (20, 20), (21, 40), (0, 0), (-5, 0)),
        *((2147483630, 2147483640), (2147483647, -2147483636)),
    ],
)
def test_cq_file_1_configured_size_is_rounded_up(configured: int, size: int) -> None:
    assert queue_file_size(configured) == size


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0, "00000000000000000000"),
        (6000000, "00000000000006000000"),
        (-60, "-00000000000000000060"),
        (9223372036854775807, "09223372036854775807"),
        (-9223372036854775808, "-09223372036854775808"),
    ],
)
def test_cq_file_2_name(offset: int, name: str) -> None:
    assert file_name(offset) == name
    assert base_offset(name) == offset


def test_cq_file_2_name_that_is_no_number() -> None:
    with pytest.raises(JavaError, match="NumberFormatException"):
        base_offset("00000000000000000000.bak")


def test_cq_file_4_logical_offset() -> None:
    assert [number for number, _ in queue_units(BYTES + BYTES, 6000000)] == [300000, 300001]


@pytest.mark.parametrize(
    ("tags", "code"),
    [
        (None, 0),
        ("", 0),
        ("TagA", 2598919),
        ("polygenelubricants", -2147483648),  # sign-extended, and no absolute value is taken
        ("AaTopic#Aa", -10606476),
        ("a || b", -1484572639),  # the whole text
    ],
)
def test_cq_tags_1(tags: str | None, code: int) -> None:
    assert tags_code(tags) == code
