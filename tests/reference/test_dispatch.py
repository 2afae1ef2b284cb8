"""LOG-DSP: the fields of a request that no vector has, and the table of delays.

The vectors hold what checkMessageAndReturnSize makes of whole and of damaged bytes; `test_real_jar` compares thousands more with
the real jar.
"""

from dataclasses import astuple

import pytest
from rocket_reference import DELAY_LEVELS, DispatchRequest, dispatch_request, encode_record

T0 = 1700000000000
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


def test_log_dsp_1_request() -> None:
    properties = {"KEYS": "k1 k2", "UNIQ_KEY": "u", "TAGS": "TagA"}
    data = made(properties, body=b"body")
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
        properties=properties,
        success=True,
    )


@pytest.mark.parametrize(("properties", "known"), [(b"", None), (b"x", {}), (b"\xff\xff", {})])
def test_log_dsp_2_no_properties_is_no_map(properties: bytes, known: dict[str, str] | None) -> None:
    assert dispatch_request(made(properties)).properties == known


def test_log_dsp_5_delay_levels() -> None:
    assert [level // 1000 for level in DELAY_LEVELS] == [
        *(1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
    ]


def test_log_dsp_5_empty_table_as_during_recovery() -> None:
    data = made({"TAGS": "TagA", "DELAY": "3"}, topic=SCHEDULE)
    assert dispatch_request(data, delay_levels=()).tags_code == 2598919


def test_log_dsp_6_request_without_a_record() -> None:
    # DispatchRequest 86-100: all zeros, an empty topic, empty keys, no unique key, no properties.
    assert astuple(DispatchRequest(success=True)) == ("", 0, 0, 0, 0, 0, 0, "", None, 0, 0, None, True)
    assert astuple(DispatchRequest(msg_size=-1)) == ("", 0, 0, -1, 0, 0, 0, "", None, 0, 0, None, False)
