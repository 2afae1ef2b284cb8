"""Java's handling of text and numbers, as far as decoding needs it; deliberately separate from the reference's.

Names become numbers as by `Long.parseLong` and `Integer.parseInt`, bytes become text as by
`new String(bytes, UTF_8)`, tags become codes by `String.hashCode`.
"""

import codecs
import unicodedata
from datetime import UTC, datetime, tzinfo
from typing import Final

# Times as text.


_zone: tzinfo | None = UTC


def show_times_in(zone: tzinfo | None) -> None:
    """Has `iso` give times of this zone from now on; None is that of the system."""
    global _zone  # noqa: PLW0603 - one process, one reader
    _zone = zone


def iso(timestamp: int) -> str:
    """A time in ms as ISO 8601, by default in UTC, or as a number if it is outside the calendar."""
    try:
        moment = datetime.fromtimestamp(timestamp // 1000, UTC).astimezone(_zone)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp} ms"
    moment = moment.replace(microsecond=timestamp % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The range of a Java long (`Long.MIN_VALUE`, `Long.MAX_VALUE`).
LONG_MIN: Final = -(1 << 63)
LONG_MAX: Final = (1 << 63) - 1

_REPLACEMENT: Final = "\ufffd"
_PLAIN: Final = (
    20  # digits of which a number is parsed at once; any longer one is out of range or has leading zeros
)


def to_i32(value: int) -> int:
    """`value` wrapped to 32 bits, as a Java int."""
    return (value + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def to_i64(value: int) -> int:
    """`value` wrapped to 64 bits, as a Java long."""
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def string_hash(text: str) -> int:
    """`String.hashCode` of `text` as an i32: over UTF-16 code units, so a pair of surrogates counts twice."""
    if text.isascii():
        units = text.encode("ascii")
        value = 0
        for unit in units:
            value = value * 31 + unit & 0xFFFF_FFFF
    else:
        raw = text.encode("utf-16-be", "surrogatepass")
        value = 0
        for position in range(0, len(raw), 2):
            value = value * 31 + (raw[position] << 8 | raw[position + 1]) & 0xFFFF_FFFF
    return to_i32(value)


def _parse(text: str, bits: int) -> int | None:
    if len(text) <= _PLAIN and text.isascii() and text.isdigit():
        value = int(text)
        return value if value < 1 << bits - 1 else None
    sign = text[:1]
    digits = text[1:] if sign in ("+", "-") else text
    if not digits:
        return None
    value = 0
    for character in digits:
        # Java checks UTF-16 units one by one, so digits beyond the BMP are none.
        digit = unicodedata.decimal(character, -1) if character <= "\uffff" else -1
        if digit < 0:
            return None
        value = value * 10 + digit
    if sign == "-":
        value = -value
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def parse_long(text: str) -> int | None:
    """`Long.parseLong(text)`, or None if it throws: signs and non-ASCII decimal digits are accepted."""
    return _parse(text, 64)


def parse_int(text: str) -> int | None:
    """`Integer.parseInt(text)`, or None if it throws."""
    return _parse(text, 32)


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for a whole encoded surrogate (ED A0..BF, and its third byte if there is one).

    Java replaces everything else as Python does: one mark for each maximal part of a sequence.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    if data[start] == 0xED and start + 1 < len(data) and 0xA0 <= data[start + 1] <= 0xBF:
        third = start + 2 < len(data) and 0x80 <= data[start + 2] <= 0xBF
        return _REPLACEMENT, start + 2 + third
    return _REPLACEMENT, error.end


codecs.register_error("rocket_columnar.java", _replace_as_java)


def decode_utf8(data: bytes) -> str:
    """`new String(data, UTF_8)`: malformed bytes become as many U+FFFD as in Java (UTF8-1)."""
    return data.decode("utf-8", "rocket_columnar.java")
