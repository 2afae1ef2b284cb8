"""Java's integers, strings and charset, as far as the store's formats depend on them.

Theory of operation. Python's integers do not overflow, its division rounds down, its strings count
code points and its UTF-8 decoder replaces malformed bytes differently. Every such difference shows in
the bytes of a store or in a key's hash, so each Java operation that matters is one function here:

- A Java `int` or `long` is a Python int in range; `to_i32` and `to_i64` bring one back into it.
- A Java `String` is a Python str. It may hold lone surrogates, and a character outside the Basic
  Multilingual Plane counts as the two UTF-16 units that Java makes of it.
- A Java exception that leaves the method is a `JavaError`.

Checked against OpenJDK 17; the malformed-input rules of UTF-8 against a run over 4.3 million inputs.
"""

import unicodedata
from functools import lru_cache
from struct import unpack
from typing import Final

from rocket_reference.errors import JavaError

I32_MIN: Final = -(1 << 31)
I32_MAX: Final = (1 << 31) - 1
I64_MIN: Final = -(1 << 63)
I64_MAX: Final = (1 << 63) - 1

_CONTROL_SPACES: Final = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
_NON_BREAKING: Final = "\xa0\u2007\u202f"
_SEPARATORS: Final = frozenset({"Zs", "Zl", "Zp"})
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


# --- int and long -------------------------------------------------------------------------------------


def to_i32(value: int) -> int:
    """`(int) value`: the low 32 bits, signed. Also what int arithmetic does when it overflows."""
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def to_i64(value: int) -> int:
    """`(long) value`: the low 64 bits, signed. Also what long arithmetic does when it overflows."""
    return ((value + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def div(dividend: int, divisor: int) -> int:
    """`dividend / divisor`, truncated toward zero (JLS 15.17.2); not wrapped, as MIN_VALUE / -1 needs.

    Raises JavaError: ArithmeticException when the divisor is zero.
    """
    if divisor == 0:
        raise JavaError("ArithmeticException", "/ by zero")
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def rem(dividend: int, divisor: int) -> int:
    """`dividend % divisor`: the sign is the dividend's (JLS 15.17.3).

    Raises JavaError: ArithmeticException when the divisor is zero.
    """
    if divisor == 0:
        raise JavaError("ArithmeticException", "/ by zero")
    remainder = abs(dividend) % abs(divisor)
    return -remainder if dividend < 0 else remainder


def abs_i32(value: int) -> int:
    """`Math.abs(int)`, which leaves Integer.MIN_VALUE as it is: negative."""
    return to_i32(abs(value))


# --- String -------------------------------------------------------------------------------------------


def utf16_units(text: str) -> tuple[int, ...]:
    """The UTF-16 code units of a string: what `charAt` gives, one by one."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    return unpack(f">{len(encoded) // 2}H", encoded)


@lru_cache(maxsize=1 << 16)
def string_hash(text: str) -> int:
    """`String.hashCode()`: s[0]*31^(n-1) + ... + s[n-1] over UTF-16 units, in int arithmetic (IDX-HASH-1)."""
    units = text.encode("ascii") if text.isascii() else utf16_units(text)
    total = 0
    for unit in units:
        total = (31 * total + unit) & 0xFFFFFFFF
    return to_i32(total)


def split(text: str, separator: str) -> list[str]:
    """`text.split(separator)`, the separator a plain char: empty parts are kept, except at the end.

    A text without the separator is its only part. With a space, "" gives [""], " " gives [],
    " a  b " gives ["", "a", "", "b"].
    """
    parts = text.split(separator)
    if len(parts) == 1:
        return parts
    while parts and not parts[-1]:
        parts.pop()
    return parts


def split_one_space(text: str) -> list[str]:
    """`text.split(" ")`: as `split`."""
    return split(text, " ")


def is_blank(text: str | None) -> bool:
    """`StringUtils.isBlank(text)` of commons-lang3: nothing in it but what `Character.isWhitespace` takes.

    That is the Unicode separators but the non-breaking ones, and nine control characters.
    """
    return all(
        char in _CONTROL_SPACES or (unicodedata.category(char) in _SEPARATORS and char not in _NON_BREAKING)
        for char in text or ""
    )


def parse_int(text: str) -> int:
    """`Integer.parseInt(text)`; see `parse_long`. Raises JavaError: NumberFormatException."""
    return _parse(text, I32_MIN, I32_MAX)


def parse_long(text: str) -> int:
    """`Long.parseLong(text)`: an optional sign, '-' or '+', then decimal digits and nothing else.

    A digit is what `Character.digit(char, 10)` takes: any decimal digit of the Basic Multilingual Plane,
    Arabic-Indic and full-width ones included. Those beyond it are two chars, and neither is a digit.

    Raises JavaError: NumberFormatException, also when the value is out of range.
    """
    return _parse(text, I64_MIN, I64_MAX)


def _parse(text: str, least: int, greatest: int) -> int:
    negative = text.startswith("-")
    digits = text[1:] if text[:1] in ("-", "+") else text
    value = 0
    for char in digits:
        digit = unicodedata.decimal(char, -1) if char <= "\uffff" else -1
        if digit < 0:
            raise JavaError("NumberFormatException", f"For input string: {text!r}")
        value = value * 10 + digit
    value = -value if negative else value
    if not digits or not least <= value <= greatest:
        raise JavaError("NumberFormatException", f"For input string: {text!r}")
    return value


# --- UTF-8 --------------------------------------------------------------------------------------------


def encode_utf8(text: str) -> bytes:
    """`text.getBytes(UTF_8)`: a lone surrogate becomes '?'; a pair becomes the character that it means."""
    joined = text.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "surrogatepass")
    return joined.encode("utf-8", "replace")


def decode_utf8(data: bytes) -> str:
    """`new String(data, UTF_8)`: well-formed bytes as everyone, malformed ones in Java's own way (UTF8-1).

    Each malformed stretch becomes one U+FFFD. How long a stretch is differs from the Unicode standard's
    advice and from Python: an encoded surrogate (ED A0 80) is one, not three. (`String.decodeUTF8_UTF16`.)
    """
    data = bytes(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    parts: list[str] = []
    position = 0
    while position < len(data):
        good = _well_formed(data, position)
        if good:
            parts.append(data[position : position + good].decode("utf-8"))
            position += good
        else:
            parts.append(_REPLACEMENT)
            position += _malformed(data[position : position + 4])
    return "".join(parts)


def _well_formed(data: bytes, position: int) -> int:
    """Length of the well-formed sequences from `position` on, in bytes; 0 when the first is malformed."""
    try:
        data[position:].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return len(data) - position


def _malformed(data: bytes) -> int:
    """How many bytes one U+FFFD stands for; `data` is up to 4 bytes that start malformed."""
    first = data[0]
    if 0xE0 <= first <= 0xEF:
        return _malformed_three(data)
    if 0xF0 <= first <= 0xF4:
        return _malformed_four(data)
    return 1  # a continuation byte, C0, C1, F5 .. FF, or a lead of two without its continuation


def _malformed_three(data: bytes) -> int:
    """A lead E0 .. EF whose sequence is malformed (`String.malformed3`, `isMalformed3_2`)."""
    if len(data) < 2 or not _is_continuation(data[1]) or (data[0] == 0xE0 and data[1] < 0xA0):
        return 1
    if len(data) < 3 or not _is_continuation(data[2]):
        return 2
    return 3  # three bytes that decode to a surrogate: ED A0 80 .. ED BF BF


def _malformed_four(data: bytes) -> int:
    """A lead F0 .. F4 whose sequence is malformed (`String.malformed4`, `isMalformed4_2`, `isMalformed4_3`)."""
    if len(data) < 2 or not _is_continuation(data[1]):
        return 1
    if (data[0] == 0xF0 and data[1] < 0x90) or (data[0] == 0xF4 and data[1] >= 0x90):
        return 1
    if len(data) < 3 or not _is_continuation(data[2]):
        return 2
    return 3


def _is_continuation(byte: int) -> bool:
    return 0x80 <= byte <= 0xBF
