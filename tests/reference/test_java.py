"""Java semantics. Expected values are those that OpenJDK 17 printed for the same expressions."""

import pytest
from rocket_reference import JavaError, java

LEAST_INT = -2147483648
LEAST_LONG = -9223372036854775808


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient", "remainder"),
    [(-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (-1999, 1000, -1, -999), (7, LEAST_INT, 0, 7)],
)
def test_division_truncates_toward_zero(dividend: int, divisor: int, quotient: int, remainder: int) -> None:
    assert java.div(dividend, divisor) == quotient
    assert java.rem(dividend, divisor) == remainder


def test_division_by_zero_leaves_the_method() -> None:
    with pytest.raises(JavaError, match="/ by zero") as caught:
        java.div(1, 0)
    assert caught.value.name == "ArithmeticException"
    with pytest.raises(JavaError, match="ArithmeticException"):
        java.rem(1, 0)


def test_integers_wrap() -> None:
    assert java.to_i16(32768) == -32768
    assert java.to_i32(2147483648) == LEAST_INT
    assert java.to_i32(-2147483649) == 2147483647
    assert java.to_i64(9223372036854775808) == LEAST_LONG
    assert java.to_i32(java.div(LEAST_INT, -1)) == LEAST_INT


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5", 5),
        ("-5", -5),
        ("\u0663\u0665", 35),  # Arabic-Indic
        ("\uff15", 5),  # full-width
        ("\u096b7", 57),  # Devanagari 5, ASCII 7
        ("00000000000000000005", 5),
        ("9223372036854775807", 9223372036854775807),
        ("-9223372036854775808", LEAST_LONG),
    ],
)
def test_parse_long_accepts(text: str, value: int) -> None:
    assert java.parse_long(text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "-", "--5", "+-5", " 5", "5 ", "1_0", "5L", "0x5", "\u00b2"),
        *("9223372036854775808", "-9223372036854775809"),
        "\U0001d7ce",  # a mathematical digit: two chars
    ],
)
def test_parse_long_rejects(text: str) -> None:
    with pytest.raises(JavaError) as caught:
        java.parse_long(text)
    assert caught.value.name == "NumberFormatException"


def test_parse_int_has_the_range_of_an_int() -> None:
    assert java.parse_int("-2147483648") == LEAST_INT
    with pytest.raises(JavaError):
        java.parse_int("2147483648")


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("\ud800", "3f"),
        ("a\udc00b", "613f62"),
        ("\ud83d\ude00", "f09f9880"),
        ("\udc00\ud83d", "3f3f"),
        ("\ud800\ud83d\ude00", "3ff09f9880"),
        ("\u4e2d", "e4b8ad"),
    ],
)
def test_a_lone_surrogate_is_encoded_as_a_question_mark(text: str, encoded: str) -> None:
    assert java.encode_utf8(text).hex() == encoded
