"""Key hashes one by one and in batches (IDX-HASH-1, IDX-HASH-2), Java's numbers, and the IDs of messages."""

import random
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest
from rocket_columnar import formats
from rocket_golden import truth
from rocket_reference import java
from rocket_spec.errors import UsageError

# each value is worked out as s[0]*31^(n-1) + ... mod 2^32, then made positive


def test_the_index_key_joins_with_a_hash_sign() -> None:
    assert formats.index_key("AaTopic", "Aa") == "AaTopic#Aa"


def by_definition(key: str) -> int:
    raw = key.encode("utf-16-be", "surrogatepass")
    code = 0
    for high, low in zip(raw[::2], raw[1::2], strict=True):
        code = (31 * code + 256 * high + low) % 2**32
    return 0 if code == 2**31 else min(code, 2**32 - code)


def keys(alphabet: str, count: int) -> list[str]:
    source = random.Random(1)
    return ["".join(source.choices(alphabet, k=source.choice((0, 1, 9, 63, 64, 200)))) for _ in range(count)]


@pytest.mark.parametrize("alphabet", ["ab#", "ab漢😀\ud800\udfff"])
def test_lone_surrogates_and_long_keys(alphabet: str) -> None:
    sample = keys(alphabet, 1000)
    expected = [by_definition(key) for key in sample]
    assert [formats.hash_key(key) for key in sample] == expected
    assert formats.hash_keys(sample).tolist() == expected
    assert formats.hash_keys(tuple(sample)).tolist() == expected


@pytest.mark.parametrize("alphabet", ["abc#", "aé漢😀"])
def test_arrow_arrays(alphabet: str) -> None:
    sample = keys(alphabet, 500)
    expected = [by_definition(key) for key in sample]
    array = pa.array(sample)
    assert formats.hash_keys(array).tolist() == expected
    assert formats.hash_keys(array.slice(3, 100)).tolist() == expected[3:103]
    assert formats.hash_keys(array.cast(pa.large_string())).tolist() == expected
    assert formats.hash_keys(array.dictionary_encode()).tolist() == expected
    assert formats.hash_keys(pa.chunked_array([array[:7], array[7:]])).tolist() == expected


def test_empty_batches() -> None:
    assert formats.hash_keys([]).tolist() == []
    assert formats.hash_keys(pa.array([], pa.string())).tolist() == []
    assert formats.hash_keys(pa.chunked_array([], pa.string())).tolist() == []


def test_a_null_has_no_hash() -> None:
    with pytest.raises(ValueError, match="null"):
        formats.hash_keys(pa.array(["a", None]))


def test_two_byte_strings_of_every_lead_decode_as_in_the_reference() -> None:
    tails = (b"", b"a", b"\x80", b"\x8f", b"\x90", b"\x9f\x80", b"\xa0\x80", b"\xbf\xbf\xbf", b"\x80\x80a")
    for lead in range(256):
        for tail in tails:
            data = bytes([lead]) + tail
            assert formats.decode_utf8(data) == java.decode_utf8(data), data.hex()


def test_ints_end_at_32_bits() -> None:
    assert (formats.parse_int("2147483647"), formats.parse_int("2147483648")) == (2147483647, None)


def test_wrapping() -> None:
    assert formats.to_i32(1 << 31) == -(1 << 31)
    assert formats.to_i64((1 << 63) - 1 + 1000) == -(1 << 63) + 999


V4 = "C000020254BF60E53B936A633EFE0001"
V6 = "20010DB80000000000000000000000010001DEADBEEF00000001FFFF"
SPAN = 0x6A633EFE  # 20 days, 15:48:09.086


def ms(*moment: int, zone: timezone = UTC) -> int:
    return (datetime(*moment, tzinfo=zone) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)  # type: ignore[arg-type,misc]


def test_unique_keys() -> None:
    assert formats.parse_unique_key(V4) == formats.UniqueKey("192.0.2.2", 0x54BF, 0x60E53B93, SPAN, 1)
    assert formats.parse_unique_key(V6) == formats.UniqueKey("2001:db8::1", 1, 0xDEADBEEF, 1, 0xFFFF)
    assert formats.parse_unique_key(V4.lower()) == formats.parse_unique_key(V4)


def test_offset_ids() -> None:
    assert formats.parse_offset_id("7F0000010000858F00000000000007D4") == formats.OffsetId(
        "127.0.0.1:34191", 2004
    )
    v6 = "20010DB80000000000000000000000010000000A7FFFFFFFFFFFFFFF"
    assert formats.parse_offset_id(v6) == formats.OffsetId("[2001:db8::1]:10", (1 << 63) - 1)
    for text in ("7F0000010000858F00000000000007D4", v6):
        parts = formats.parse_offset_id(text)
        assert formats.make_offset_id(parts.store_host, parts.phy_offset) == text


@pytest.mark.parametrize(
    "text", ["", "id", V4[:-1], V4 + "0", "G" + V4[1:], V4[:10] + " " + V4[11:], V6[:-2], "\u0661" * 32]
)
def test_what_is_no_id(text: str) -> None:
    with pytest.raises(UsageError, match="32 hexadecimal digits"):
        formats.parse_unique_key(text)
    with pytest.raises(UsageError, match="not an offset id"):
        formats.parse_offset_id(text)


def test_the_time_of_a_unique_key_in_this_month_or_the_one_before() -> None:
    key = formats.parse_unique_key(V4)
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
        assert formats.parse_unique_key(V4).time_near(made + away) == made


def test_late_in_a_long_month_the_time_is_no_negative_number() -> None:
    made = ms(2026, 12, 31, 23, 59, 59, 999_000)
    key = formats.parse_unique_key(f"C000020254BF60E53B93{31 * 86_400_000 - 1:08X}0001")
    assert key.month_ms == 31 * 86_400_000 - 1 > 1 << 31
    assert key.time_before(made + 1, UTC) == key.time_near(made) == made


def test_the_ids_of_golden_messages() -> None:
    """The golden clients are at 127.0.0.1, and process 0x0493; keys are made right before the messages are born."""
    seen = 0
    for line in truth("mixed"):
        if line["type"] != "log_record" or line["uniq_key"] is None:
            continue
        key = formats.parse_unique_key(line["uniq_key"])
        assert (key.client_ip, key.pid) == ("127.0.0.1", 0x0493)
        assert abs(key.time_near(line["born_timestamp"]) - line["born_timestamp"]) < 60_000
        assert formats.parse_offset_id(
            formats.make_offset_id(line["store_host"], line["phy_offset"])
        ) == formats.OffsetId(line["store_host"], line["phy_offset"])
        seen += 1
    assert seen > 100
