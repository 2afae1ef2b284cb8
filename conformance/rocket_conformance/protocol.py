"""Adapter protocol 1: numbers, texts and paths as they travel, the operations and features, and the messages of both directions."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, cast

from rocket_spec.printable import printable

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


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation."""

    name: str  # as it travels, `family.verb`
    family: str  # what `--require` and the last line call the part of the format that it belongs to
    fields: dict[str, Kind]  # the fields it always has, and how each travels
    result: dict[str, Kind]  # the fields of its result
    optional: dict[str, Kind]  # fields that may be left out
    decodes: bool  # whether it is for tools that only read: a family is complete without it


def _read_table() -> tuple[dict[str, dict[str, Kind]], dict[str, Operation]]:
    """The objects and the operations of `operations.txt`, by name."""
    objects: dict[str, dict[str, Kind]] = {}
    operations: dict[str, Operation] = {}
    text = Path(__file__).with_name("operations.txt").read_text("utf-8")
    for block in re.findall(r"^[a-z].*\n(?:  .*\n)*", text, re.MULTILINE):
        heading, _, body = block.partition("\n")
        family, name, *reads = heading.split()
        given, _, result = body.partition("->")
        fields = _fields(given)
        if family == "object":
            objects[name] = fields
            continue
        optional: dict[str, Kind] = {
            field[:-1]: fields.pop(field) for field in list(fields) if field.endswith("?")
        }
        operations[name] = Operation(name, family, fields, _fields(result), optional, bool(reads))
    return objects, operations


def _fields(text: str) -> dict[str, Kind]:
    words = text.replace(",", " ").split()
    return dict(zip(words[::2], cast("list[Kind]", words[1::2]), strict=True))


OBJECTS, OPERATIONS = _read_table()
"""The fields of the objects that results hold, those of the readers being columns of the tables of `rocket_spec`; and every
operation that the suite sends, by name."""

FAMILIES: Final = tuple(dict.fromkeys(operation.family for operation in OPERATIONS.values()))
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


def _is_i32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _I32_MIN <= value <= _I32_MAX


def _check_i32(value: object) -> None:
    if not _is_i32(value):
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


# --- checks of operations ---------------------------------------------------------------------------

_MOST_RESULTS: Final = 1_000_000
_KEYS: Final = frozenset({"key", "key?"})


def check_operation(value: object) -> None:
    """Checks one operation: its name, that all its fields are there, and what each holds.

    Raises ValueError: naming the first thing that is wrong.
    """
    op = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    name = op.get("op")
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    if operation is None:
        raise ValueError(f"{value if name is None else name!r:.80} is not an operation of the protocol")
    missing = [
        field
        for field, kind in operation.fields.items()
        if field not in op and not (kind in _KEYS and f"{field}_utf16" in op)
    ]
    if missing:
        raise ValueError(f"{name} without {', '.join(missing)}")
    fields = operation.fields | operation.optional
    for field, content in op.items():
        if field != "op":
            try:
                _check_field(fields, field, op, content)
            except ValueError as error:
                raise ValueError(f"{name}: {field}: {error}") from None


def _check_field(fields: dict[str, Kind], field: str, op: dict[str, Any], value: object) -> None:
    kind = fields.get(field)
    if kind is None and fields.get(field.removesuffix("_utf16")) in _KEYS:
        if not isinstance(value, str):
            raise ValueError(f"{value!r:.80} is not hexadecimal text")
        key_of(op, field.removesuffix("_utf16"))
        return
    if kind is None:
        raise ValueError("no such field")
    checked(kind, value)
    if isinstance(value, str) and has_lone_surrogate(value):
        raise ValueError(f"holds a lone surrogate; send it as {field}_utf16")
    if field == "max_num" and cast("int", value) > _MOST_RESULTS:
        raise ValueError(f"{value} is over {_MOST_RESULTS:,}, which is never sent")


# --- messages -----------------------------------------------------------------------------------------

PROTOCOL: Final = 1
"""The version that this suite speaks."""

MAX_LINE: Final = 16 * 1024 * 1024
"""Greatest length of an answer line, bytes."""

BYE: Final = {"cmd": "bye"}
"""The last message of a run."""

_MOST_IN_FLIGHT: Final = 1024
_MOST_SHOWN: Final = 400
_LONGEST_NAME: Final = 100
_MOST_LISTED: Final = 1_000

_HELLO, _GEOMETRY, _FILES, _OPERATIONS = "rule 3", "rule 9", "rule 7", "Operations"
"""Places in PROTOCOL.md."""

_OUTCOMES: Final = ("rejected", "errored", "unsupported", "skipped")


class ProtocolError(ValueError):
    """A message that breaks the protocol; the text, safe to show, describes how."""

    def __init__(self, text: str, place: str = "rule 1") -> None:
        super().__init__(printable(text, limit=_MOST_SHOWN))
        self.place = place  # the place in PROTOCOL.md that it breaks: `rule 2`, `Operations`


def suite_version() -> str:
    """The version of this suite."""
    try:
        return version("rocketspec")
    except PackageNotFoundError:
        return "0"


@dataclass(frozen=True, slots=True)
class Hello:
    """An adapter's declaration about itself."""

    name: str  # name of the implementation under test
    version: str  # its version, as it writes it
    language: str  # what it is written in
    ops: frozenset[str]  # the operations that it can do
    # the (hash_slot_num, index_num) that it can do; None for any
    geometries: tuple[tuple[int, int], ...] | None
    features: frozenset[str]  # optional abilities, such as lone_surrogates
    max_in_flight: int  # how many cases it takes before it has answered the first
    # the lengths of queue files that it can do, each in a tuple of its own; None for any
    queue_file_sizes: tuple[tuple[int], ...] | None = None

    def unknown(self) -> list[str]:
        """The operations and features that it declares and the protocol does not know."""
        return [*sorted(self.ops - OPERATIONS.keys()), *sorted(self.features - FEATURES.keys())]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a case: one result per operation, and the files that it lists."""

    results: tuple[Result, ...]
    files: tuple[tuple[str, str], ...]


def hello_message(suite: str) -> dict[str, Any]:
    """The first message of a run; `suite` is the version of this package."""
    return {"cmd": "hello", "protocol": PROTOCOL, "suite": suite}


def case_message(token: str, directory: str, ops: Sequence[Op]) -> dict[str, Any]:
    """The message of a case: its token in this run, its directory, its operations; never what is expected."""
    return {"cmd": "case", "id": token, "dir": directory, "ops": list(ops)}


def encode_line(message: Mapping[str, Any]) -> bytes:
    """A message as a line: ASCII, so that no code page on the way can harm it, and a line feed."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def decode_line(line: bytes) -> dict[str, Any]:
    """The object on a line; a carriage return at its end is accepted.

    Raises ProtocolError: when it is not UTF-8, not JSON, or not an object.
    """
    try:
        value: Any = json.loads(line.decode("utf-8"))
    except ValueError as error:
        raise ProtocolError(f"line is not JSON in UTF-8: {_shown(line)}") from error
    except RecursionError as error:
        raise ProtocolError(f"line nests too deeply: {_shown(line)}") from error
    if not isinstance(value, dict):
        raise ProtocolError(f"line is JSON but not an object: {_shown(line)}")
    return cast("dict[str, Any]", value)


def _shown(line: bytes) -> str:
    text = line[:80].decode("utf-8", "replace").rstrip("\r\n")
    return repr(text) + ("..." if len(line) > 80 else "")


def parse_hello(message: Mapping[str, Any]) -> Hello:
    """The adapter's answer to hello.

    Raises ProtocolError: when a field is missing, of the wrong kind, or the protocol is another.
    """
    protocol = message.get("protocol")
    if protocol != PROTOCOL:
        raise ProtocolError(
            f"hello answered with protocol {protocol!r:.80}; this suite speaks {PROTOCOL}", _HELLO
        )
    in_flight = message.get("max_in_flight", 1)
    if not isinstance(in_flight, int) or isinstance(in_flight, bool) or in_flight < 1:
        raise ProtocolError(
            f"hello: max_in_flight is {in_flight!r:.80}, not a number of at least 1", "rule 10"
        )
    texts = {name: message.get(name, "") for name in ("name", "version", "language")}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ProtocolError(f"hello: {name} is not a text", _HELLO)
    if not texts["name"]:
        raise ProtocolError("hello: name is missing", _HELLO)
    return Hello(
        **{name: printable(text, limit=_LONGEST_NAME) for name, text in texts.items()},
        ops=_names("ops", message.get("ops")),
        geometries=_geometries(message.get("geometry", "any")),
        features=_names("features", message.get("features", [])),
        max_in_flight=min(in_flight, _MOST_IN_FLIGHT),
        queue_file_sizes=_sizes(message.get("queue_file_size", "any")),
    )


def _names(field: str, value: object) -> frozenset[str]:
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    names = [printable(item, limit=_LONGEST_NAME) for item in items if isinstance(item, str)]
    if len(names) != len(items):
        raise ProtocolError(f"hello: {field} is not a list of names", _HELLO)
    _check_count(f"hello: {field}", len(names), _HELLO)
    return frozenset(names)


def _check_count(what: str, count: int, place: str) -> None:
    if count > _MOST_LISTED:
        raise ProtocolError(f"{what} lists {count:,} items; at most {_MOST_LISTED:,} are read", place)


def _geometries(value: object) -> tuple[tuple[int, int], ...] | None:
    if value == "any":
        return None
    pairs: list[tuple[int, int]] = []
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    _check_count("hello: geometry", len(items), _GEOMETRY)
    for item in items:
        pair = cast("list[object]", item) if isinstance(item, list) else []
        if len(pair) != 2 or not all(_is_i32(number) for number in pair):
            text = f'hello: geometry is {value!r:.80}, not "any" or a list of [slots, entries]'
            raise ProtocolError(text, _GEOMETRY)
        pairs.append((cast("int", pair[0]), cast("int", pair[1])))
    return tuple(pairs)


def _sizes(value: object) -> tuple[tuple[int], ...] | None:
    if value == "any":
        return None
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    _check_count("hello: queue_file_size", len(items), _GEOMETRY)
    sizes = tuple((item,) for item in items if isinstance(item, int) and _is_i32(item) and item > 0)
    if len(sizes) != len(items) or not sizes:
        text = f'hello: queue_file_size is {value!r:.80}, not "any" or a list of lengths in bytes'
        raise ProtocolError(text, _GEOMETRY)
    return sizes


def parse_answer(message: Mapping[str, Any], ops: Sequence[Op], *, start: int = 0) -> Answer:
    """The answer to a case with these operations, the first of number `start`; fields that the protocol does not know are dropped.

    Raises ProtocolError: naming the first result that is missing or of the wrong form.
    """
    listed = _list(message.get("results"), "results of the answer", "rule 4")
    if len(listed) != len(ops):
        raise ProtocolError(f"{len(listed)} results for {len(ops)} operations", "rule 4")
    results = tuple(
        _result(index, op, result) for index, (op, result) in enumerate(zip(ops, listed, strict=True), start)
    )
    return Answer(results, _files(message.get("files", [])))


def _list(value: object, what: str, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise ProtocolError(f"{what}: missing, or not a list", place)
    return value  # pyright: ignore[reportUnknownVariableType] # its items are checked one by one


def _files(value: object) -> tuple[tuple[str, str], ...]:
    files: list[tuple[str, str]] = []
    listed = _list(value, "files of the answer", _FILES)
    _check_count("files of the answer", len(listed), _FILES)
    for item in listed:
        entry = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        role, path = entry.get("role"), entry.get("path")
        if not isinstance(role, str) or not isinstance(path, str):
            raise ProtocolError(f"files of the answer: {item!r:.80} is not a role and a path", _FILES)
        try:
            files.append((role, check_path(path)))
        except ValueError as error:
            raise ProtocolError(f"files of the answer: {error}", _FILES) from None
    return tuple(files)


def _reason(value: object) -> str | bool:
    """The reason why an operation has no result, safe to show."""
    if isinstance(value, bool):
        return value
    return printable(value if isinstance(value, str) else json.dumps(value))


def _result(index: int, op: Op, value: Any) -> Result:
    if not isinstance(value, dict):
        raise ProtocolError(f"result {index} ({op['op']}) is not an object", _OPERATIONS)
    result = cast("Result", value)
    for outcome in _OUTCOMES:
        if outcome in result:
            return {outcome: _reason(result[outcome])}
    operation: Operation = OPERATIONS[op["op"]]
    kept: Result = {}
    for name, kind in operation.result.items():
        if name not in result:
            raise ProtocolError(f"result {index} ({op['op']}) has no {name}", _OPERATIONS)
        try:
            kept[name] = checked(kind, result[name])
        except ValueError as error:
            place = "rule 2" if isinstance(error, NumberError) else _OPERATIONS
            raise ProtocolError(f"result {index} ({op['op']}): {name}: {error}", place) from None
    return kept
