"""The protocol's messages: what the suite sends, and what an adapter may answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, cast

from rocket_spec.printable import printable

from rocket_conformance.protocol._operations import (
    FEATURES,
    OPERATIONS,
    Kind,
    NumberError,
    Op,
    Operation,
    Result,
    check_path,
    checked,
    has_lone_surrogate,
    is_i32,
    key_of,
)

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
        if len(pair) != 2 or not all(is_i32(number) for number in pair):
            text = f'hello: geometry is {value!r:.80}, not "any" or a list of [slots, entries]'
            raise ProtocolError(text, _GEOMETRY)
        pairs.append((cast("int", pair[0]), cast("int", pair[1])))
    return tuple(pairs)


def _sizes(value: object) -> tuple[tuple[int], ...] | None:
    if value == "any":
        return None
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    _check_count("hello: queue_file_size", len(items), _GEOMETRY)
    sizes = tuple((item,) for item in items if isinstance(item, int) and is_i32(item) and item > 0)
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
    checked = tuple(
        _result(index, op, result) for index, (op, result) in enumerate(zip(ops, listed, strict=True), start)
    )
    return Answer(checked, _files(message.get("files", [])))


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
