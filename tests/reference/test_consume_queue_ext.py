"""CQ-EXT and CQ-TAGS-3. Bytes and addresses are those of the real jar's ConsumeQueueExt."""

import pytest
from rocket_reference import (
    ExtUnit,
    address_of,
    encode_ext_unit,
    ext_unit,
    ext_units,
    is_ext_address,
    offset_of,
)
from rocket_spec.errors import InvalidError, MalformedError

LEAST = -9223372036854775808
BIT_MAP = b"\x01\x02\xff"

# Five puts of tags codes 7 .. 11 and one of -1 without a bit map, into files of 100 bytes.
FIRST_FILE = bytes.fromhex(
    "001700000000000000070000018bcfe5680000030102ff"
    "001700000000000000080000018bcfe5680100030102ff"
    "001700000000000000090000018bcfe5680200030102ff"
    "0017000000000000000a0000018bcfe5680300030102ff"
    "ffff000000000000"
)
SECOND_FILE = bytes.fromhex(
    "0017000000000000000b0000018bcfe5680400030102ff0014ffffffffffffffff00000000000000050000"
).ljust(100, b"\0")


def test_cq_ext_1_unit() -> None:
    assert ext_unit(FIRST_FILE) == ExtUnit(23, 7, 1700000000000, BIT_MAP)
    assert encode_ext_unit(7, 1700000000000, BIT_MAP) == FIRST_FILE[:23]


def test_cq_ext_1_longest_unit() -> None:
    assert len(encode_ext_unit(0, 0, bytes(32747))) == 32767
    with pytest.raises(InvalidError, match="found 32768 bytes, expected at most 32767"):
        encode_ext_unit(0, 0, bytes(32748))


@pytest.mark.parametrize("length", [2, 19, 22])
def test_cq_ext_1_cut_off(length: int) -> None:
    with pytest.raises(MalformedError, match="expected a whole ext unit"):
        ext_unit(FIRST_FILE[:length])


def test_cq_ext_1_size_that_leads_past_the_end() -> None:
    damaged = b"\x00\x7f" + FIRST_FILE[2:]
    with pytest.raises(MalformedError, match="found a unit of 127 bytes, expected at most the 100 bytes"):
        list(ext_units(damaged))


@pytest.mark.parametrize(
    ("offset", "address"), [(0, LEAST), (100, LEAST + 100), (9223372034707292159, -2147483649)]
)
def test_cq_ext_2_address(offset: int, address: int) -> None:
    assert address_of(offset) == address
    assert offset_of(address) == offset
    assert is_ext_address(address)


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xff\x01", b"\x00\x00" + bytes(40), b"\x80\x00"])
def test_cq_ext_5_no_unit(data: bytes) -> None:
    assert ext_unit(data) is None
    assert list(ext_units(data)) == []


def test_cq_ext_5_steps_by_size_whatever_the_bit_map_says() -> None:
    loose = bytearray(FIRST_FILE)
    loose[18:20] = b"\xff\xfe"  # a bit-map size of -2
    assert [unit.bit_map for _, unit in ext_units(loose)] == [b"", BIT_MAP, BIT_MAP, BIT_MAP]
