"""Encoding of values: 64-bit integers as decimal strings, keys as text or as UTF-16 code units in hex."""

import re
from typing import Any, Final

Op = dict[str, Any]
"""One operation as it travels: `op` and that operation's fields."""

Result = dict[str, Any]
"""One result as it travels: the operation's result fields, or one of rejected, errored, unsupported, skipped."""

_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,18})\Z")
_I64_MIN: Final = -(1 << 63)
_I64_MAX: Final = (1 << 63) - 1


class NumberError(ValueError):
    """An integer that does not travel as the protocol asks, or does not fit."""


def to_i64(text: object) -> int:
    """The integer that a decimal string stands for.

    Raises:
        NumberError: when it is not a string, not canonical (`+5`, `007`, `-0`), or beyond 64 bits.
    """
    if not isinstance(text, str):
        raise NumberError(f"{text!r:.80} is not a string; 64-bit integers travel as decimal strings")
    if not _DECIMAL.match(text) or text == "-0":
        raise NumberError(f"{text!r:.80} is not a decimal integer")
    value = int(text)
    if not _I64_MIN <= value <= _I64_MAX:
        raise NumberError(f"{text} does not fit 64 bits")
    return value


def from_i64(value: int) -> str:
    """The decimal string of a 64-bit integer.

    Raises:
        NumberError: when it does not fit 64 bits.
    """
    if not _I64_MIN <= value <= _I64_MAX:
        raise NumberError(f"{value} does not fit 64 bits")
    return str(value)


def has_lone_surrogate(text: str) -> bool:
    """Whether the text holds half of a surrogate pair, which UTF-8 and so JSON cannot carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def key_fields(key: str, name: str = "key") -> dict[str, str]:
    """A key as the fields of an operation: `key`, or `key_utf16` when it holds a lone surrogate."""
    if has_lone_surrogate(key):
        return {f"{name}_utf16": key.encode("utf-16-be", "surrogatepass").hex()}
    return {name: key}


def key_of(op: Op, name: str = "key") -> str:
    """The key of an operation, from either field; pairs of surrogates are joined.

    Raises:
        ValueError: when neither field is there, or the hex is malformed.
    """
    units = op.get(f"{name}_utf16")
    if units is not None:
        return bytes.fromhex(units).decode("utf-16-be", "surrogatepass")
    key = op.get(name)
    if not isinstance(key, str):
        raise ValueError(f"operation without {name} or {name}_utf16: {op!r}")  # noqa: TRY004 - one error for a bad message
    return key


def key_or_none(op: Op, name: str) -> str | None:
    """The key of an operation that may have none, from either field; None for null.

    Raises:
        ValueError: as `key_of`.
    """
    return None if op.get(name, "") is None else key_of(op, name)
