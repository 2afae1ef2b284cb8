"""The kinds of values that travel, and the check of each."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from rocket_conformance.protocol._operations import OBJECTS, Kind
from rocket_conformance.protocol._paths import check_folder, check_path
from rocket_conformance.protocol._values import NumberError, to_i64

_I32_MIN: Final = -(1 << 31)
_I32_MAX: Final = (1 << 31) - 1
_LONGEST_TEXT: Final = 1 << 20


def checked(kind: Kind, value: Any) -> Any:
    """The value of a result field, of objects only the fields that the protocol knows.

    Raises:
        ValueError: when it is not of that kind; NumberError of an integer.
    """
    if kind in OBJECTS:
        if kind.endswith("?") and value is None:
            return None
        return (
            [_object(kind, item) for item in _items(value)] if kind.endswith("[]") else _object(kind, value)
        )
    _CHECKS[kind](value)
    return value


def _object(kind: Kind, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.80} is not an object")  # noqa: TRY004 - one error for one wrong value
    given = cast("dict[str, Any]", value)
    kept: dict[str, Any] = {}
    for name, field_kind in OBJECTS[kind].items():
        if name not in given:
            raise ValueError(f"no {name} in {given!r:.80}")
        try:
            kept[name] = checked(field_kind, given[name])
        except ValueError as error:
            raise type(error)(f"{name}: {error}") from None
    return kept


def is_i32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _I32_MIN <= value <= _I32_MAX


def _check_i32(value: object) -> None:
    if not is_i32(value):
        raise NumberError(f"{value!r:.80} is not a 32-bit number")


def _check_bool(value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r:.80} is neither true nor false")  # noqa: TRY004 - one error for one wrong value


def _check_text(value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is not a text")  # noqa: TRY004 - one error for one wrong value
    if len(value) > _LONGEST_TEXT:
        raise ValueError(f"a text of {len(value):,} characters; at most {_LONGEST_TEXT:,} are read")


def _check_text_or_null(value: object) -> None:
    if value is not None:
        _check_text(value)


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.80} is not a list")  # noqa: TRY004 - one error for one wrong value
    return cast("list[object]", value)


def _check_i64s(value: object) -> None:
    for item in _items(value):
        to_i64(item)


def _check_i64_or_null(value: object) -> None:
    if value is not None:
        to_i64(value)


def _check_base64(value: object) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is not a text")  # noqa: TRY004 - one error for one wrong value
    b64decode(value, validate=True)


def _check_texts(value: object) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r:.80} is not an object")  # noqa: TRY004 - one error for one wrong value
    for text in cast("dict[str, object]", value).values():
        _check_text(text)


_CHECKS: Final[Mapping[Kind, Callable[[object], object]]] = {
    "i32": _check_i32,
    "i64": to_i64,
    "i64?": _check_i64_or_null,
    "i64[]": _check_i64s,
    "bool": _check_bool,
    "string": _check_text,
    "string?": _check_text_or_null,
    "key": _check_text,
    "key?": _check_text_or_null,
    "base64": _check_base64,
    "texts": _check_texts,
    "path": check_path,
    "folder": check_folder,
}
