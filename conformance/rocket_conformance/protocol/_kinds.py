"""The kinds of values that travel, and the check of each."""

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from rocket_conformance.protocol._operations import OBJECTS, Kind
from rocket_conformance.protocol._paths import check_folder, check_path
from rocket_conformance.protocol._values import NumberError, to_i64

_Value = TypeVar("_Value")
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


def _object(kind: Kind, value: object) -> dict[str, Any]:
    given = cast("dict[str, Any]", _of_type(dict, value, "not an object"))
    kept: dict[str, Any] = {}
    for name, field_kind in OBJECTS[kind].items():
        if name not in given:
            raise ValueError(f"no {name} in {given!r:.80}")
        try:
            kept[name] = checked(field_kind, given[name])
        except ValueError as error:
            raise type(error)(f"{name}: {error}") from None
    return kept


def _of_type(kind: type[_Value], value: object, otherwise: str) -> _Value:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r:.80} is {otherwise}")  # noqa: TRY004 - one error for one wrong value
    return value


def is_i32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _I32_MIN <= value <= _I32_MAX


def _check_i32(value: object) -> None:
    if not is_i32(value):
        raise NumberError(f"{value!r:.80} is not a 32-bit number")


def _check_text(value: object) -> None:
    text = _of_type(str, value, "not a text")
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"a text of {len(text):,} characters; at most {_LONGEST_TEXT:,} are read")


def _items(value: object) -> list[object]:
    return cast("list[object]", _of_type(list, value, "not a list"))


def _check_texts(value: object) -> None:
    for text in cast("dict[str, object]", _of_type(dict, value, "not an object")).values():
        _check_text(text)


def _or_null(check: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else check(value)


_CHECKS: Final[Mapping[Kind, Callable[[object], object]]] = {
    "i32": _check_i32,
    "i64": to_i64,
    "i64?": _or_null(to_i64),
    "i64[]": lambda value: [to_i64(item) for item in _items(value)],
    "bool": lambda value: _of_type(bool, value, "neither true nor false"),
    "string": _check_text,
    "string?": _or_null(_check_text),
    "key": _check_text,
    "key?": _or_null(_check_text),
    "base64": lambda value: b64decode(_of_type(str, value, "not a text"), validate=True),
    "texts": _check_texts,
    "path": check_path,
    "folder": check_folder,
}
