"""LOG-DSP: what checkMessageAndReturnSize makes of bytes.

`test_real_jar` compares the same function with the real jar's over thousands of damaged records.
"""

from __future__ import annotations

import struct
from dataclasses import astuple

import pytest
from rocket_reference import (
    DELAY_LEVELS,
    DispatchRequest,
    dispatch_request,
    dispatch_requests,
    encode_blank,
    encode_record,
)

T0 = 1700000000000
REFUSED = DispatchRequest(msg_size=-1)
BLANK = DispatchRequest(success=True)
BODY_LENGTH = 84  # its position in a record with IPv4 hosts
SCHEDULE = "SCHEDULE_TOPIC_XXXX"


def made(properties: dict[str, str] | bytes = b"", *, topic: str = "T", body: bytes = b"") -> bytes:
    return encode_record(
        topic,
        body,
        properties,
        queue_id=3,
        queue_offset=5,
        phy_offset=700,
        sys_flag=8,
        store_timestamp=T0,
        prepared_transaction_offset=9,
    )


def patched(data: bytes, position: int, value: int) -> bytes:
    return data[:position] + struct.pack(">i", value) + data[position + 4 :]


def test_log_dsp_1_request() -> None:
    data = made({"KEYS": "k1 k2", "UNIQ_KEY": "u", "TAGS": "TagA"}, body=b"body")
    assert dispatch_request(data) == DispatchRequest(
        topic="T",
        queue_id=3,
        commit_log_offset=700,  # as recorded, wherever it lies
        msg_size=len(data),
        tags_code=2598919,
        store_timestamp=T0,
        consume_queue_offset=5,
        keys="k1 k2",
        uniq_key="u",
        sys_flag=8,
        prepared_transaction_offset=9,
        properties={"KEYS": "k1 k2", "UNIQ_KEY": "u", "TAGS": "TagA"},
        success=True,
    )


@pytest.mark.parametrize(
    ("properties", "keys"),
    [
        (b"", ""),  # no properties
        (b"x", None),  # some, and none of them KEYS
        ({"TAGS": "TagA"}, None),
        ({"KEYS": " "}, " "),
    ],
)
def test_log_dsp_2_keys(properties: dict[str, str] | bytes, keys: str | None) -> None:
    assert dispatch_request(made(properties)).keys == keys


def test_log_dsp_2_no_properties_is_no_map() -> None:
    assert dispatch_request(made()).properties is None
    assert dispatch_request(made(b"x")).properties == {}


@pytest.mark.parametrize(("properties", "uniq_key"), [(b"", None), ({"UNIQ_KEY": "u"}, "u"), (b"x", None)])
def test_log_dsp_3_unique_key(properties: dict[str, str] | bytes, uniq_key: str | None) -> None:
    assert dispatch_request(made(properties)).uniq_key == uniq_key


@pytest.mark.parametrize(
    ("properties", "code"),
    [(b"", 0), (b"x", 0), ({"TAGS": "polygenelubricants"}, -2147483648), ({"TAGS": "TagA"}, 2598919)],
)
def test_log_dsp_4_tags_code(properties: dict[str, str] | bytes, code: int) -> None:
    assert dispatch_request(made(properties)).tags_code == code


def test_log_dsp_5_delay_levels() -> None:
    assert [level // 1000 for level in DELAY_LEVELS] == [
        *(1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
    ]


@pytest.mark.parametrize(
    ("delay", "code"),
    [
        ("1", T0 + 1000),
        ("3", T0 + 10_000),
        ("18", T0 + 7_200_000),
        ("19", T0 + 7_200_000),  # the highest
        ("2147483647", T0 + 7_200_000),
        ("+1", T0 + 1000),
        ("\u0663", T0 + 10_000),  # Arabic-Indic 3
        ("0", 2598919),
        ("-1", 2598919),
    ],
)
def test_log_dsp_5_delivery_time(delay: str, code: int) -> None:
    data = made({"TAGS": "TagA", "DELAY": delay}, topic=SCHEDULE)
    assert dispatch_request(data).tags_code == code


@pytest.mark.parametrize("delay", ["x", " 3", "1.0", "2147483648"])
def test_log_dsp_5_delay_that_is_no_int(delay: str) -> None:
    assert dispatch_request(made({"DELAY": delay}, topic=SCHEDULE)) == REFUSED


def test_log_dsp_5_only_under_the_schedule_topic() -> None:
    assert dispatch_request(made({"TAGS": "TagA", "DELAY": "3"})).tags_code == 2598919
    assert dispatch_request(made({"DELAY": "x"})).success


def test_log_dsp_5_empty_table_as_during_recovery() -> None:
    data = made({"TAGS": "TagA", "DELAY": "3"}, topic=SCHEDULE)
    assert dispatch_request(data, delay_levels=()).tags_code == 2598919


def test_log_dsp_6_request_without_a_record() -> None:
    # DispatchRequest 86-100: all zeros, an empty topic, empty keys, no unique key, no properties.
    assert astuple(BLANK) == ("", 0, 0, 0, 0, 0, 0, "", None, 0, 0, None, True)
    assert astuple(REFUSED) == ("", 0, 0, -1, 0, 0, 0, "", None, 0, 0, None, False)


def test_log_dsp_6_magic() -> None:
    assert dispatch_request(patched(made(), 4, -626843477)) == REFUSED  # that of 5.1.0


@pytest.mark.parametrize(
    ("check_crc", "read_body", "refused"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_log_dsp_6_checksum(check_crc: bool, read_body: bool, refused: bool) -> None:  # noqa: FBT001
    data = patched(made(body=b"body"), 8, 0)
    request = dispatch_request(data, check_crc=check_crc, read_body=read_body)
    assert (request == REFUSED) is refused
    assert request.success is not refused


def test_log_dsp_6_checksum_of_no_body_is_not_looked_at() -> None:
    assert dispatch_request(patched(made(), 8, 99), check_crc=True).success


@pytest.mark.parametrize("size", [91, 93, 1000])
def test_log_dsp_6_lengths_do_not_add_up(size: int) -> None:
    assert dispatch_request(patched(made(), 0, size)) == DispatchRequest(msg_size=size)


def test_log_dsp_6_lengths_do_not_add_up_and_something_throws() -> None:
    data = made({"DELAY": "x"}, topic=SCHEDULE)
    assert dispatch_request(patched(data, 0, len(data) + 1)) == REFUSED


@pytest.mark.parametrize("size", [-2147483648, -1, 0, 7])
def test_log_dsp_6_no_room_for_a_host(size: int) -> None:
    assert dispatch_request(patched(made(), 0, size)) == REFUSED


@pytest.mark.parametrize("length", [1, 5, 93, 2147483647])
def test_log_dsp_6_body_beyond_the_end_or_the_record(length: int) -> None:
    assert dispatch_request(patched(made(), BODY_LENGTH, length)) == REFUSED
    assert dispatch_request(patched(made(), BODY_LENGTH, length), read_body=False) == REFUSED


def test_log_dsp_6_body_longer_than_the_record_is_stepped_over() -> None:
    # 100 bytes of body are there, but the record says it has 99 in all.
    data = patched(made(body=bytes(100)), 0, 99)
    assert dispatch_request(data) == REFUSED
    assert dispatch_request(data, read_body=False) == DispatchRequest(msg_size=99)


@pytest.mark.parametrize("length", [-1, -2147483648])
def test_log_dsp_6_negative_body_is_none(length: int) -> None:
    assert dispatch_request(patched(made(), BODY_LENGTH, length)).success


def test_log_dsp_6_negative_topic() -> None:
    assert dispatch_request(made(topic="x" * 200)) == REFUSED


def test_log_dsp_6_negative_properties_are_none() -> None:
    data = made()
    request = dispatch_request(data[:-2] + b"\xff\xff")
    assert request.success
    assert request.properties is None
    assert request.keys == ""


def test_walk_ends_with_the_blank() -> None:
    data = made()
    requests = list(dispatch_requests(data + data + encode_blank(-7) + data))
    assert [request.msg_size for request in requests] == [92, 92, 0]
    assert requests[-1] == BLANK  # LOG-BLANK-2


@pytest.mark.parametrize("rest", [bytes(1), bytes(7), bytes(8), bytes(500), b"\xff" * 30])
def test_walk_ends_with_a_failure(rest: bytes) -> None:
    requests = list(dispatch_requests(made() + rest))
    assert [request.success for request in requests] == [True, False]
    assert requests[-1] == REFUSED


def test_walk_ends_at_a_length_that_does_not_add_up() -> None:
    requests = list(dispatch_requests(patched(made(), 0, 93) + made()))
    assert requests == [DispatchRequest(msg_size=93)]


def test_walk_of_nothing() -> None:
    assert list(dispatch_requests(b"")) == []
