"""LOG-REC, LOG-BLANK, LOG-FILE-2: records that were written by hand, byte by byte."""

import struct

import pytest
from rocket_reference import Record, encode_blank, encode_record, host_text, record, records
from rocket_spec.errors import InvalidError, MalformedError

T0 = 1700000000000
BYTES = bytes.fromhex(
    "00000075"  # total size: 91 + 9 + 1 + 16
    "daa320a7"
    "4bf43926"  # CRC-32 of 123456789 is cbf43926
    "00000003"  # queue number
    "00000007"  # flag
    "0000000000000005"  # queue offset
    "0102030405060708"  # physical offset
    "00000000"  # sys flag
    "0000018bcfe56800"  # born
    "01020304 0000303a"  # 1.2.3.4:12346
    "0000018bcfe56bcf"  # stored 975 ms later
    "7f000001 00002a9f"  # 127.0.0.1:10911
    "00000002"  # reconsume times
    "0000000000000009"  # prepared transaction offset
    "00000009 313233343536373839"
    "01 54"
    "0010 4b455953016b02544147530154616741"  # KEYS \1 k \2 TAGS \1 TagA
)
ROW = Record(
    phy_offset=0x0102030405060708,
    size=117,
    topic="T",
    queue_id=3,
    queue_offset=5,
    sys_flag=0,
    flag=7,
    born_timestamp=T0,
    born_host="1.2.3.4:12346",
    store_timestamp=T0 + 975,
    store_host="127.0.0.1:10911",
    reconsume_times=2,
    prepared_transaction_offset=9,
    body=b"123456789",
    body_crc=0x4BF43926,
    crc_ok=True,
    keys="k",
    uniq_key=None,
    tags="TagA",
    tags_code=2598919,
    properties={"KEYS": "k", "TAGS": "TagA"},
)


def test_log_rec_1_decode() -> None:
    assert record(BYTES) == ROW
    assert record(memoryview(b"junk" + BYTES + b"junk"), 4) == ROW


@pytest.mark.parametrize("length", range(0, 117, 4))
def test_log_rec_1_cut_off(length: int) -> None:
    with pytest.raises(MalformedError, match="expected a whole record"):
        record(BYTES[:length])


def test_log_rec_1_magic() -> None:
    damaged = BYTES[:4] + b"\xda\xa3\x20\xa8" + BYTES[8:]
    with pytest.raises(InvalidError, match=r"at byte 4: found magic 0xdaa320a8, expected 0xdaa320a7"):
        record(damaged)


def test_log_rec_2_port_is_signed() -> None:
    assert host_text(bytes.fromhex("7f000001 ffffffff")) == "127.0.0.1:-1"


@pytest.mark.parametrize("size", [116, 118])
def test_log_rec_3_lengths_do_not_add_up(size: int) -> None:
    damaged = struct.pack(">i", size) + BYTES[4:]
    with pytest.raises(InvalidError, match=f"found total size {size}, expected 117, the sum of the parts"):
        record(damaged)


@pytest.mark.parametrize("size", [-1, -2147483648, 0, 7, 15])
def test_log_rec_3_size_too_small_for_a_part(size: int) -> None:
    with pytest.raises(MalformedError):
        record(struct.pack(">i", size) + BYTES[4:])


def test_log_rec_3_negative_topic_length() -> None:
    made = encode_record("x" * 128)  # 128 as an i8 is -128
    assert len(made) == 91 + 128
    with pytest.raises(MalformedError, match="IndexOutOfBoundsException: -128 of 219"):
        record(made)


@pytest.mark.parametrize(
    ("stored", "ok"), [(0x4BF43926, True), (0xCBF43926, False), (0, False), (0x4BF43927, False)]
)
def test_log_rec_4_checksum(stored: int, ok: bool) -> None:  # noqa: FBT001
    row = record(BYTES[:8] + struct.pack(">I", stored) + BYTES[12:])
    assert (row.body_crc, row.crc_ok) == (stored, ok)


def test_log_prop_5_longest_properties() -> None:
    assert record(encode_record("T", b"", b"a\x01" + b"x" * 32765)).properties == {"a": "x" * 32765}
    with pytest.raises(InvalidError, match=r"properties of 32768 bytes, expected at most 32767"):
        encode_record("T", b"", bytes(32768))


def test_log_file_2_records_up_to_the_blank() -> None:
    second = encode_record("U")
    log = BYTES + second + encode_blank(50) + b"left over"
    assert list(records(log)) == [(0, ROW), (117, record(second))]


@pytest.mark.parametrize("rest", [b"", bytes(5), bytes(300)])
def test_log_file_2_records_up_to_what_is_not_written(rest: bytes) -> None:
    assert list(records(BYTES + rest)) == [(0, ROW)]


def test_log_file_2_a_bad_record_is_named() -> None:
    walk = records(BYTES + b"junkjunk")
    assert next(walk) == (0, ROW)
    with pytest.raises(InvalidError, match="at byte 121: found magic 0x6a756e6b"):
        next(walk)
