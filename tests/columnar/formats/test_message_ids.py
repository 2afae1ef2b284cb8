"""Unique keys and offset ids taken apart, byte by byte."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from rocket_columnar.formats import OffsetId, UniqueKey, make_offset_id, parse_offset_id, parse_unique_key
from rocket_golden import truth
from rocket_spec.errors import UsageError

V4 = "C000020254BF60E53B936A633EFE0001"
V6 = "20010DB80000000000000000000000010001DEADBEEF00000001FFFF"
SPAN = 0x6A633EFE  # 20 days, 15:48:09.086


def ms(*moment: int, zone: timezone = UTC) -> int:
    return (datetime(*moment, tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)  # type: ignore[arg-type,misc]


def test_unique_keys() -> None:
    assert parse_unique_key(V4) == UniqueKey("192.0.2.2", 0x54BF, 0x60E53B93, SPAN, 1)
    assert parse_unique_key(V6) == UniqueKey("2001:db8::1", 1, 0xDEADBEEF, 1, 0xFFFF)
    assert parse_unique_key(V4.lower()) == parse_unique_key(V4)


def test_offset_ids() -> None:
    assert parse_offset_id("7F0000010000858F00000000000007D4") == OffsetId("127.0.0.1:34191", 2004)
    v6 = "20010DB80000000000000000000000010000000A7FFFFFFFFFFFFFFF"
    assert parse_offset_id(v6) == OffsetId("[2001:db8::1]:10", (1 << 63) - 1)
    for text in ("7F0000010000858F00000000000007D4", v6):
        parts = parse_offset_id(text)
        assert make_offset_id(parts.store_host, parts.phy_offset) == text


@pytest.mark.parametrize(
    "text", ["", "id", V4[:-1], V4 + "0", "G" + V4[1:], V4[:10] + " " + V4[11:], V6[:-2], "\u0661" * 32]
)
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(UsageError, match="32 hexadecimal digits"):
        parse_unique_key(text)
    with pytest.raises(UsageError, match="not an offset id"):
        parse_offset_id(text)


def test_the_time_of_a_unique_key_in_this_month_or_the_one_before() -> None:
    key = parse_unique_key(V4)
    made = ms(2026, 11, 21, 15, 48, 9, 86_000)
    assert key.time_before(ms(2026, 11, 30), UTC) == made
    assert key.time_before(made + 1, UTC) == made
    assert key.time_before(made, UTC) == ms(2026, 10, 21, 15, 48, 9, 86_000)
    assert key.time_before(ms(2026, 1, 5), UTC) == ms(2025, 12, 21, 15, 48, 9, 86_000)
    east = timezone(timedelta(hours=8))
    assert key.time_before(ms(2026, 11, 30), east) == ms(2026, 11, 21, 15, 48, 9, 86_000, zone=east)


@pytest.mark.parametrize("minutes", [0, 480, -210, 345])
def test_the_time_of_a_unique_key_by_its_message(minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    made = ms(2026, 11, 21, 15, 48, 9, 86_000, zone=zone)
    for away in (-200_000, 0, 3, 200_000):
        assert parse_unique_key(V4).time_near(made + away) == made


def test_late_in_a_long_month_the_time_is_no_negative_number() -> None:
    made = ms(2026, 12, 31, 23, 59, 59, 999_000)
    key = parse_unique_key(f"C000020254BF60E53B93{31 * 86_400_000 - 1:08X}0001")
    assert key.month_ms == 31 * 86_400_000 - 1 > 1 << 31
    assert key.time_before(made + 1, UTC) == key.time_near(made) == made


def test_the_ids_of_golden_messages() -> None:
    """The golden clients are at 127.0.0.1, and process 0x0493; keys are made right before the messages are born."""
    seen = 0
    for line in truth("mixed"):
        if line["type"] != "log_record" or line["uniq_key"] is None:
            continue
        key = parse_unique_key(line["uniq_key"])
        assert (key.client_ip, key.pid) == ("127.0.0.1", 0x0493)
        assert abs(key.time_near(line["born_timestamp"]) - line["born_timestamp"]) < 60_000
        assert parse_offset_id(make_offset_id(line["store_host"], line["phy_offset"])) == OffsetId(
            line["store_host"], line["phy_offset"]
        )
        seen += 1
    assert seen > 100
