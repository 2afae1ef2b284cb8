"""CQ-UNIT, CQ-FILE: units read from bytes that were made by hand."""

import pytest
from rocket_reference import (
    PRE_BLANK,
    QueueUnit,
    encode_queue_unit,
    queue_unit,
    queue_units,
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


def test_cq_file_4_logical_offset() -> None:
    assert [number for number, _ in queue_units(BYTES + BYTES, 6000000)] == [300000, 300001]
