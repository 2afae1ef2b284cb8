"""The protocol's vocabulary: numbers, texts and paths as they travel, the kinds of values, the operations and the features."""

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, cast

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

    Raises NumberError: when it is not a string, not canonical (`+5`, `007`, `-0`), or beyond 64 bits.
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

    Raises NumberError: when it does not fit 64 bits.
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

    Raises ValueError: when neither field is there, or the hex is malformed.
    """
    units = op.get(f"{name}_utf16")
    if units is not None:
        return bytes.fromhex(units).decode("utf-16-be", "surrogatepass")
    key = op.get(name)
    if not isinstance(key, str):
        raise ValueError(f"operation without {name} or {name}_utf16: {op!r}")
    return key


def key_or_none(op: Op, name: str) -> str | None:
    """The key of an operation that may have none, from either field; None for null.

    Raises ValueError: as `key_of`.
    """
    return None if op.get(name, "") is None else key_of(op, name)


# --- paths --------------------------------------------------------------------------------------------

_MOST_PARTS: Final = 16
_LONGEST_PART: Final = 255

_FORBIDDEN: Final = frozenset('\\:*?"<>')
"""Separators and drive letters of Windows, and what its file names cannot hold."""


def check_path(value: object) -> str:
    r"""The value, when it is a relative path that stays inside the directory it is joined to.

    Parts are separated by `/`; none is empty, `.` or `..`, none holds a character of `\\:*?"<>` or one that cannot be
    printed; at most 16 parts of at most 255 bytes.

    Raises ValueError: when it is anything else.
    """
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.80} is not a path")
    parts = value.split("/")
    if len(parts) > _MOST_PARTS:
        raise ValueError(f"{value!r:.80} has {len(parts)} parts; at most {_MOST_PARTS} are allowed")
    for part in parts:
        _check_part(part, value)
    return value


def check_folder(value: object) -> str:
    """The value, when it is the name of one folder: a path of one part.

    Raises ValueError: when it is anything else.
    """
    if isinstance(value, str) and "/" in value:
        raise ValueError(f"{value!r:.80} is not the name of one folder")
    return check_path(value)


def _check_part(part: str, value: str) -> None:
    if part in {"", ".", ".."}:
        raise ValueError(f"{value!r:.80} is not a path inside the case's directory")
    if not part.isprintable() or not _FORBIDDEN.isdisjoint(part):
        raise ValueError(f"{value!r:.80} holds a character that file names must not hold")
    if len(part.encode("utf-8")) > _LONGEST_PART:
        raise ValueError(f"{value!r:.80} has a part longer than {_LONGEST_PART} bytes")


# --- operations ---------------------------------------------------------------------------------------

Kind = Literal[
    "i32", "i64", "i64?", "i64[]", "bool", "string", "string?", "key", "key?", "path", "folder", "base64", "texts",
    "unit?", "request[]", "index_header", "index_entry[]", "queue_unit[]", "record[]",
]  # fmt: skip
"""How a value travels: i32 a number, i64 a decimal string, a key NAME as `NAME` or `NAME_utf16`.

A path stays inside the case's directory, a folder is the name of one in it; base64 is bytes, texts an object of texts.
A kind with a question mark may be null. The kinds in `OBJECTS` are objects, those that end in `[]` lists of them.
"""

OBJECTS: Final[dict[str, dict[str, Kind]]] = {
    "unit?": {"offset": "i64", "size": "i32", "tags_code": "i64"},
    "request[]": {
        "topic": "string",
        "queue_id": "i32",
        "commit_log_offset": "i64",
        "msg_size": "i32",
        "tags_code": "i64",
        "store_timestamp": "i64",
        "consume_queue_offset": "i64",
        "keys": "string?",
        "uniq_key": "string?",
        "sys_flag": "i32",
        "success": "bool",
    },
    "index_header": {
        "begin_timestamp": "i64",
        "end_timestamp": "i64",
        "begin_phy_offset": "i64",
        "end_phy_offset": "i64",
        "hash_slot_count": "i32",
        "index_count": "i32",
    },
    "index_entry[]": {
        "entry": "i32",
        "slot": "i32",
        "key_hash": "i32",
        "phy_offset": "i64",
        "time_diff": "i32",
        "prev_entry": "i32",
        "store_timestamp": "i64",
    },
    "queue_unit[]": {
        "logical_offset": "i64",
        "phy_offset": "i64",
        "size": "i32",
        "tags_code": "i64",
        "pre_blank": "bool",
    },
    "record[]": {
        "phy_offset": "i64",
        "size": "i32",
        "topic": "string",
        "queue_id": "i32",
        "queue_offset": "i64",
        "sys_flag": "i32",
        "flag": "i32",
        "born_timestamp": "i64",
        "born_host": "string",
        "store_timestamp": "i64",
        "store_host": "string",
        "reconsume_times": "i32",
        "prepared_transaction_offset": "i64",
        "body": "base64",
        "body_crc": "i64",
        "crc_ok": "bool",
        "keys": "string?",
        "uniq_key": "string?",
        "tags": "string?",
        "tags_code": "i64?",
        "properties": "texts",
    },
}
"""The fields of the objects that results hold; those of the readers are columns of the tables of `rocket_spec`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation."""

    name: str  # as it travels, `family.verb`
    family: str  # what `--require` and the last line call the part of the format that it belongs to
    fields: dict[str, Kind]  # the fields it always has, and how each travels
    result: dict[str, Kind]  # the fields of its result
    optional: dict[str, Kind] = field(default_factory=dict[str, Kind])  # fields that may be left out
    decodes: bool = False  # whether it is for tools that only read: a family is complete without it


_WINDOW: Final[dict[str, Kind]] = {"begin": "i64", "end": "i64"}
_BOUNDS: Final[dict[str, Kind]] = {"min": "i64", "max": "i64", "max_physic_offset": "i64"}
_TIMES: Final[dict[str, Kind]] = {
    "physic_msg_timestamp": "i64",
    "logics_msg_timestamp": "i64",
    "index_msg_timestamp": "i64",
}

_TABLE: Final = (
    Operation("key.hash", "index", {"key": "key"}, {"hash": "i32"}),
    Operation(
        "index.open",
        "index",
        {
            "file": "path",
            "hash_slot_num": "i32",
            "index_num": "i32",
            "end_phy_offset": "i64",
            "end_timestamp": "i64",
            "load": "bool",
        },
        {},
    ),
    Operation(
        "index.put", "index", {"key": "key", "phy_offset": "i64", "store_timestamp": "i64"}, {"put": "bool"}
    ),
    Operation(
        "index.select",
        "index",
        {"key": "key", "max_num": "i32", **_WINDOW},
        {"offsets": "i64[]"},
        optional={"initial": "i64[]"},
    ),
    Operation("index.time_matched", "index", _WINDOW, {"matched": "bool"}),
    Operation("index.header", "index", {}, OBJECTS["index_header"]),
    Operation("index.full", "index", {}, {"full": "bool"}),
    Operation("index.flush", "index", {}, {}),
    Operation("index.close", "index", {}, {}),
    Operation(
        "service.open",
        "service",
        {"hash_slot_num": "i32", "index_num": "i32", "last_exit_ok": "bool", "index_msg_timestamp": "i64"},
        {"files": "i32"},
    ),
    Operation(
        "service.build",
        "service",
        {
            "topic": "string",
            "uniq_key": "key?",
            "keys": "key?",
            "commit_log_offset": "i64",
            "store_timestamp": "i64",
            "sys_flag": "i32",
        },
        {},
    ),
    Operation(
        "service.query",
        "service",
        {"topic": "string", "key": "key", "max_num": "i32", **_WINDOW},
        {"offsets": "i64[]", "last_update_timestamp": "i64", "last_update_phy_offset": "i64"},
    ),
    Operation("service.delete_expired", "service", {"offset": "i64"}, {"files": "i32"}),
    Operation("service.settle", "service", {}, {"index_msg_timestamp": "i64"}),
    Operation("tags.code", "queue", {"tags": "key?"}, {"tags_code": "i64"}),
    Operation(
        "queue.open", "queue", {"topic": "folder", "queue_id": "i32", "file_size": "i32", "load": "bool"}, {}
    ),
    Operation(
        "queue.put",
        "queue",
        {"offset": "i64", "size": "i32", "tags_code": "i64", "cq_offset": "i64"},
        {"put": "bool"},
    ),
    Operation("queue.get", "queue", {"cq_offset": "i64"}, {"unit": "unit?"}),
    Operation("queue.bounds", "queue", {}, _BOUNDS),
    Operation("queue.recover", "queue", {}, _BOUNDS),
    Operation("queue.truncate", "queue", {"phy_offset": "i64"}, _BOUNDS),
    Operation("queue.correct_min", "queue", {"phy_min_offset": "i64"}, _BOUNDS),
    Operation("queue.delete_expired", "queue", {"phy_offset": "i64"}, {"deleted": "i32", **_BOUNDS}),
    Operation("queue.last_offset", "queue", {}, {"last_offset": "i64"}),
    Operation(
        "log.dispatch",
        "log",
        {"file": "path", "check_crc": "bool"},
        {"requests": "request[]"},
        optional={"read_body": "bool"},
    ),
    Operation("checkpoint.read", "checkpoint", {}, _TIMES),
    Operation("checkpoint.write", "checkpoint", _TIMES, _TIMES),
    Operation(
        "index.read",
        "index",
        {"file": "path", "hash_slot_num": "i32", "index_num": "i32"},
        {"header": "index_header", "entries": "index_entry[]"},
        decodes=True,
    ),
    Operation("queue.read", "queue", {"file": "path"}, {"units": "queue_unit[]"}, decodes=True),
    Operation("log.read", "log", {"file": "path"}, {"records": "record[]"}, decodes=True),
)

OPERATIONS: Final = {operation.name: operation for operation in _TABLE}
"""Every operation that the suite sends, by name."""

FAMILIES: Final = ("index", "service", "queue", "log", "checkpoint")
"""The parts of the format, in the order in which a verdict names them."""


# --- features -----------------------------------------------------------------------------------------

LIMITS: Final = {
    "no_seeds": "`end_phy_offset` and `end_timestamp` of `index.open` are always 0",
    "no_reload_choice": "a file or queue that exists is always loaded: `load` is never false for one",
    "positive_geometry": "`hash_slot_num`, `index_num` and `file_size` are at least 1",
    "unsigned_sizes": "no unit has a negative size, neither in `queue.put` nor in a result",
    "read_only": "a checkpoint that is missing or short is never read: `checkpoint.read` would make or extend it",
    "no_tags_code": "`tags_code` of `log.read` is always null: it is what a dispatch computes, not what a record holds",
    "non_null_keys": "`keys`, `uniq_key` and `tags` are never null; results hold an empty text instead",
}
"""By feature, the requests that an implementation cannot serve: cases that make them are not applicable."""

FEATURES: Final = {
    "lone_surrogates": "keys, tags and unique keys may hold a lone surrogate, sent in hexadecimal",
    **LIMITS,
}
"""Every feature, and what declaring it means."""


# --- kinds --------------------------------------------------------------------------------------------

_Value = TypeVar("_Value")
_I32_MIN: Final = -(1 << 31)
_I32_MAX: Final = (1 << 31) - 1
_LONGEST_TEXT: Final = 1 << 20


def checked(kind: Kind, value: Any) -> Any:
    """The value of a result field, of objects only the fields that the protocol knows.

    Raises ValueError: when it is not of that kind; NumberError of an integer.
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
        raise ValueError(f"{value!r:.80} is {otherwise}")
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
