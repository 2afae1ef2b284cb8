"""UTF8-1, IDX-FILE-4, CQ-TAGS-1: text and numbers as Java reads them."""

from rocket_columnar.formats import decode_utf8, parse_int, to_i32, to_i64
from rocket_reference import java

MARK = "\ufffd"


def test_two_byte_strings_of_every_lead_decode_as_in_the_reference() -> None:
    tails = (b"", b"a", b"\x80", b"\x8f", b"\x90", b"\x9f\x80", b"\xa0\x80", b"\xbf\xbf\xbf", b"\x80\x80a")
    for lead in range(256):
        for tail in tails:
            data = bytes([lead]) + tail
            assert decode_utf8(data) == java.decode_utf8(data), data.hex()


def test_ints_end_at_32_bits() -> None:
    assert (parse_int("2147483647"), parse_int("2147483648")) == (2147483647, None)


def test_wrapping() -> None:
    assert to_i32(1 << 31) == -(1 << 31)
    assert to_i64((1 << 63) - 1 + 1000) == -(1 << 63) + 999
