"""The files of `config/`, as a broker reads them: its lenient JSON, and the tables in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from rocket_spec.errors import FormatError, MalformedError
from rocket_spec.printable import printable
from rocket_spec.tables import TABLES

from rocket_columnar.store import CONFIG_TABLES, Reader, open_reader, raise_of_process

_COMMENT: Final = r"//[^\n]*+|/\*.*?\*/"
_BLANK: Final = re.compile(rf"(?:[\0-\x19\x1b-\x20\x7f]++|{_COMMENT})*+", re.DOTALL)
_BLANK_BEFORE_NAME: Final = re.compile(rf"(?:[ \t\n\r\f\b]++|{_COMMENT})*+", re.DOTALL)
_OPEN_COMMENT: Final = re.compile(r"/\*(?!.*\*/)", re.DOTALL)
_NUMBER: Final = re.compile(r"\+?(-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)")
_NUMBER_NAME: Final = re.compile(r"\+?(-?[0-9]+)(?![\w$.])")
_NAME: Final = re.compile(r"(?!null\b)[A-Za-z_$\u0100-\U0010ffff][A-Za-z0-9_\u0100-\U0010ffff]*")
_WORD: Final = re.compile(r"(null(?!/)|true|false)(?=[ \t\n\r\f\b,\]}/]|$)")
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPES: Final = {
    **{character: character for character in "\"'/\\"},
    **{str(code): chr(code) for code in range(8)},
    "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "F": "\f", "r": "\r",
}  # fmt: skip
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_SURROGATE_BYTES: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")  # one U+FFFD in Java
_DEPTH: Final = 64
_DIGITS: Final = 4000  # of a number; Python's int takes 4,300
_EMPTY_LIST: Final = re.compile(r"\[[ \t\n\r\f\b]*+\]")
_TABLE_NAMES: Final = (
    "offsetTable",
    "topicConfigTable",
    "subscriptionGroupTable",
    "filterDataByTopic",
    "dataVersion",
)


def parse(raw: bytes, file: str) -> Any:
    """The value of a text: dict with names as str, or int if without quotes, list, str, int, Decimal, bool or None, which blanks alone are too.

    Bytes that are not UTF-8 become U+FFFD, as in Java. MalformedError, with the name `file`, for no such text.
    """
    text = _SURROGATE_BYTES.sub(b"\xef\xbf\xbd", raw).decode("utf-8", "replace")
    if text and not text.strip(" \t\n\r\f\b"):
        return None
    return _Parser(text.removeprefix("\ufeff"), file).whole()


def _again(name: str | int, first: Any, second: Any) -> Any:
    """The value of a table that a file has twice: of groups both, of others the last, but the first of a name in another spelling."""
    if name not in _TABLE_NAMES or not isinstance(first, dict):
        return first
    if name == "subscriptionGroupTable" and isinstance(second, dict):
        return first | second
    return second


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._at = 0

    def whole(self) -> Any:
        value = self._value(0)
        if self._next() and not _OPEN_COMMENT.match(self._text, self._at):
            self._fail("the end of the file")
        return value

    def _fail(self, expected: str) -> NoReturn:
        rest = self._text[self._at : self._at + 12]
        found = repr(rest) if rest else "the end of the file"
        offset = len(self._text[: self._at].encode("utf-8", "surrogatepass"))
        raise MalformedError(file=self._file, offset=offset, found=found, expected=expected, clause="CFG-2")

    def _next(self, blanks: re.Pattern[str] = _BLANK) -> str:
        """The next character that counts, "" at the end."""
        blank = blanks.match(self._text, self._at)
        self._at = self._at if blank is None else blank.end()
        return self._text[self._at : self._at + 1]

    def _takes(self, wanted: str) -> bool:
        found = self._next() == wanted
        self._at += found
        return found

    def _value(self, depth: int) -> Any:
        first = self._next()
        if depth > _DEPTH:
            self._fail(f"at most {_DEPTH} brackets inside one another")
        if first == "{":
            return self._object(depth)
        if first == "[":
            return self._array(depth)
        if first and first in "\"'":
            return self._string()
        number = _NUMBER.match(self._text, self._at)
        if number is not None and number.end() - self._at <= _DIGITS:
            return self._number(number)
        word = _WORD.match(self._text, self._at)
        if word is None:
            self._fail("a value")
        self._at = word.end()
        return _WORDS[word[0]]

    def _number(self, found: re.Match[str]) -> int | Decimal:
        try:
            value = Decimal(found[1]) if set(found[1]) & set(".eE") else int(found[1])
        except InvalidOperation:
            self._fail("an exponent of 18 digits or fewer")
        self._at = found.end()
        if self._text[self._at : self._at + 1] in ("L", "S", "B"):  # a Java literal's suffix
            self._at += 1
        return value

    def _object(self, depth: int) -> dict[str | int, Any]:
        self._at += 1
        values: dict[str | int, Any] = {}
        while self._next(_BLANK_BEFORE_NAME) != "}":
            name = self._name()
            if name in ("@type", "$ref"):
                self._fail("a name other than @type and $ref")
            if not self._takes(":"):
                self._fail("':'")
            value = self._value(depth + 1)
            before = values.pop(name, value) if depth else values.get(name, value)
            values[name] = value if depth else _again(name, before, value)
            if not self._takes(",") and self._next() != "}":
                self._fail("',' or '}'")
        self._at += 1
        return values

    def _array(self, depth: int) -> list[Any]:
        if not depth and not _EMPTY_LIST.match(self._text, self._at):
            self._fail("an object")
        self._at += 1
        values: list[Any] = []
        while not self._takes("]"):
            values.append(self._value(depth + 1))
            if not self._takes(",") and self._next() != "]":
                self._fail("',' or ']'")
        return values

    def _name(self) -> str | int:
        first = self._next(_BLANK_BEFORE_NAME)
        if first and first in "\"'":
            return self._string()
        number = _NUMBER_NAME.match(self._text, self._at)
        if number is not None and number.end() - self._at <= _DIGITS:
            self._at = number.end()
            return int(number[1])
        name = _NAME.match(self._text, self._at)
        if name is None:
            self._fail("a name")
        self._at = name.end()
        return name[0]

    def _string(self) -> str:
        quote = self._text[self._at]
        special = re.compile(rf"[\\{quote}]")
        parts, start = [], self._at + 1
        while (found := special.search(self._text, start)) is not None:
            parts.append(self._text[start : found.start()])
            if found[0] == quote:
                self._at = found.end()
                text = "".join(parts)
                if _SURROGATE.search(text) is None:
                    return text
                # A pair becomes one character; a surrogate alone U+FFFD, as undecodable bytes do.
                return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            escaped = self._text[found.end() : found.end() + 1]
            digits = {"u": 4, "x": 2}.get(escaped, 0)
            start = found.end() + 1 + digits
            parts.append(self._escape(escaped, self._text[found.end() + 1 : start], digits))
        self._at = len(self._text)
        return self._fail(f"{quote} at the end of a text")

    def _escape(self, escaped: str, code: str, digits: int) -> str:
        if not digits:
            if escaped not in _ESCAPES:
                self._fail("an escape of JSON or Java in a text")
            return _ESCAPES[escaped]
        if len(code) != digits or not set(code) <= set("0123456789abcdefABCDEF"):
            self._fail(f"a text whose \\{escaped} has {digits} hexadecimal digits")
        return chr(int(code, 16))


# The files of `config/`, and which of two a start of the broker takes (CFG-1).


# The rows of the tables that the files of `config/` hold.


Row: TypeAlias = "dict[str, Any]"

_LIGHT_OFFSETS: Final = "lmqConsumerOffset.json"
_FILTER_TYPES: Final = ("SINGLE_TAG", "MULTI_TAG")

_SHOWN: Final = 40  # maximum length of a name in a message

_INT: Final = range(-(1 << 31), 1 << 31)
_LONG: Final = range(-(1 << 63), 1 << 63)

_SCALES: Final = range(-100, 101)
"""Scales of decimal numbers that Java truncates without a check (`TypeUtils.longValue`)."""

_TRUE: Final = re.compile(r"(?i:true|y)|1|T")
_FALSE: Final = re.compile(r"(?i:false|f)|0|N")

_NO_TEXT: Final = ("", "null", "NULL")  # texts that mean null


@dataclass(frozen=True, slots=True)
class _Field:
    """A value inside an object: the field that has it or the name of the file, its name there, and what it is."""

    above: _Field | str
    key: str | int
    value: Any

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.above if isinstance(self.above, str) else self.above.file

    @property
    def name(self) -> str:
        """Its own name after those of the objects around it, each of a length that a message can have."""
        own = printable(str(self.key), limit=_SHOWN)
        return own if isinstance(self.above, str) else f"{self.above.name}.{own}"

    def wrong(self, expected: str) -> MalformedError:
        value = f"{self.value!r:.40}" if not isinstance(self.value, dict | list) else "an object or a list"
        return MalformedError(file=self.file, found=f"{self.name} {value}", expected=expected, clause="CFG-3")

    def pairs(self) -> Iterator[tuple[str | int, _Field]]:
        """The fields of an object, in order; a name without quotes may be a number."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        return ((name, _Field(self, name, value)) for name, value in self.value.items())

    def table(self) -> dict[str, _Field]:
        """The fields of an object whose names are texts."""
        fields: dict[str, _Field] = {}
        for name, field in self.pairs():
            if not isinstance(name, str):
                raise self.wrong(f"an object whose names are texts, not {printable(str(name), limit=_SHOWN)}")
            fields[name] = field
        return fields

    def number(self, limits: range) -> int:
        """A number as Java takes it: written as one or as text; of one with a point or an exponent the lowest bits of the whole part."""
        value = self.value
        if isinstance(value, str):
            value = _number_in(value, zeros=limits is _INT)
        if isinstance(value, Decimal):
            value = _whole(value, limits)
        if not isinstance(value, int) or value not in limits:
            raise self.wrong(f"a number of {32 if limits is _INT else 64} bits")
        return int(value)


def _number_in(text: str, *, zeros: bool) -> int | None:
    """A number written as text: commas are ignored, and for an int zeros after the point; None if it is not one."""
    text = text.replace(",", "")
    plain = re.sub(r"\.0*$", "", text) if zeros else text
    return int(plain) if re.fullmatch(r"[-+]?\d{1,4000}", plain) else None


def _whole(value: Decimal, limits: range) -> int | None:
    """`BigDecimal.intValue` or `longValue` of a number with a scale of -100 to 100; of others, only what is exact."""
    exponent = value.as_tuple().exponent
    if exponent not in _SCALES:
        exact = not value or (value.adjusted() < 19 and value == value.to_integral_value())
        return int(value) if exact else None
    bits = 32 if limits is _INT else 64
    low = int(value) & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


def spelling(fields: Iterable[str], name: str, *, flag: bool = False) -> str | None:
    """The first spelling of a name among fields: fastjson takes it in any case, with `_` or `-` in it, and for a flag with `is` before it."""
    letters = "[_-]*".join(["", *name, ""])
    spelt = re.compile(f"{'(?:(?-i:is))?' * flag}{letters}", re.ASCII | re.IGNORECASE)
    return next((given for given in fields if spelt.fullmatch(given)), None)


def _named(fields: Mapping[str, _Field], name: str, *, flag: bool = False) -> _Field | None:
    given = spelling(fields, name, flag=flag)
    return None if given is None else fields[given]


def _column(fields: Mapping[str, _Field], name: str, kind: str, usual: object) -> object:
    """The value of one column; `usual` where the file has none, as Java's field initialiser."""
    field = _named(fields, name, flag=kind == "bool")
    if field is None:
        return usual
    if name == "topicFilterType":
        return _filter_type(field)
    if field.value is None or (kind != "string" and field.value in _NO_TEXT):
        return usual
    if kind == "string":
        return field.value if isinstance(field.value, str) else str(field.value)
    if kind == "bool":
        return _flag(field)
    return field.number(_INT if kind == "int32" else _LONG)


def _flag(field: _Field) -> bool:
    """A boolean as fastjson takes it: also a number, which is true if its whole part is 1, or a text."""
    value = field.value
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (_TRUE.fullmatch(value) or _FALSE.fullmatch(value)):
        return _TRUE.fullmatch(value) is not None
    if isinstance(value, int | Decimal):
        return field.number(_INT) == 1
    raise field.wrong("true or false")


def _filter_type(field: _Field) -> str | None:
    """A constant of TopicFilterType by its name in any case, or by its number; None for null and another text."""
    value = field.value
    if value is None or isinstance(value, str):
        return next((name for name in _FILTER_TYPES if name.encode() == str(value).encode().upper()), None)
    if isinstance(value, bool) or not isinstance(value, int) or value not in range(len(_FILTER_TYPES)):
        raise field.wrong(" or ".join(_FILTER_TYPES))
    return _FILTER_TYPES[value]


def _offsets(root: Mapping[str, _Field]) -> list[Row]:
    table = _named(root, "offsetTable")
    rows = []
    for key, queues in ({} if table is None or table.value is None else table.table()).items():
        topic, _, group = key.partition("@")
        offsets = {
            _Field(queues, "queue number", number).number(_INT): offset.number(_LONG)
            for number, offset in queues.pairs()
        }
        rows += [
            {"topic": topic, "group": group, "queue_id": queue_id, "offset": offset}
            for queue_id, offset in offsets.items()
        ]
    light = _named(root, "lmqOffsetTable")  # of light queues, which have the number 0
    if light is not None and not Path(light.file).name.startswith(_LIGHT_OFFSETS):
        light = None
    for key, offset in ({} if light is None or light.value is None else light.table()).items():
        topic, _, group = key.partition("@")
        rows.append({"topic": topic, "group": group, "queue_id": 0, "offset": offset.number(_LONG)})
    return rows


def _levels(root: Mapping[str, _Field]) -> list[Row]:
    table = _named(root, "offsetTable")
    offsets = {
        _Field(offset, "delay level", level).number(_INT): offset.number(_LONG)
        for level, offset in (() if table is None else table.pairs())
    }
    return [{"delay_level": level, "offset": offset} for level, offset in offsets.items()]


_TOPIC: Final = {
    "read_queue_nums": ("readQueueNums", 16),
    "write_queue_nums": ("writeQueueNums", 16),
    "perm": ("perm", 6),
    "topic_filter_type": ("topicFilterType", "SINGLE_TAG"),
    "topic_sys_flag": ("topicSysFlag", 0),
    "order": ("order", False),
}
_GROUP: Final = {
    "consume_enable": ("consumeEnable", True),
    "consume_from_min_enable": ("consumeFromMinEnable", True),
    "consume_broadcast_enable": ("consumeBroadcastEnable", True),
    "retry_queue_nums": ("retryQueueNums", 1),
    "retry_max_times": ("retryMaxTimes", 16),
    "broker_id": ("brokerId", 0),
    "which_broker_when_consume_slowly": ("whichBrokerWhenConsumeSlowly", 1),
    "notify_consumer_ids_changed_enable": ("notifyConsumerIdsChangedEnable", True),
}
_FILTER: Final = {
    "expression": ("expression", None),
    "expression_type": ("expressionType", None),
    "born_timestamp": ("bornTime", 0),
    "dead_timestamp": ("deadTime", 0),
    "client_version": ("clientVersion", 0),
}


def _columns(of: str, item: _Field, names: Mapping[str, tuple[str, object]]) -> Row:
    types = {column.name: column.type for column in TABLES[of]}
    fields = item.table()
    return {column: _column(fields, name, types[column], usual) for column, (name, usual) in names.items()}


def _topics(root: Mapping[str, _Field]) -> list[Row]:
    table, version = _named(root, "topicConfigTable"), _named(root, "dataVersion")
    settings = {} if version is None else version.table()
    counter, timestamp = _named(settings, "counter"), _named(settings, "timestamp")
    if counter is not None:
        counter.number(_LONG)  # for `DataVersion.assignNewOne`
    if timestamp is not None and timestamp.value not in (None, *_NO_TEXT):
        timestamp.number(_LONG)
    return [
        {"topic": topic, **_columns("topics", item, _TOPIC)}
        for topic, item in ({} if table is None else table.table()).items()
    ]


def _groups(root: Mapping[str, _Field]) -> list[Row]:
    table = _named(root, "subscriptionGroupTable")
    if table is not None and table.value == [{}]:
        return []
    return [
        {"group": group, **_columns("subscription_groups", item, _GROUP)}
        for group, item in ({} if table is None else table.table()).items()
    ]


def _filters(root: Mapping[str, _Field]) -> list[Row]:
    table = _named(root, "filterDataByTopic")
    rows = []
    for topic, of_topic in ({} if table is None or table.value is None else table.table()).items():
        if of_topic.value is None:
            continue
        groups = _named(of_topic.table(), "groupFilterData")
        for group, item in ({} if groups is None or groups.value is None else groups.table()).items():
            if item.value is not None:
                rows.append({"topic": topic, "group": group, **_columns("consumer_filters", item, _FILTER)})
    return rows


_ROWS: Final[dict[str, Callable[[Mapping[str, _Field]], list[Row]]]] = {
    "consumer_offsets": _offsets,
    "delay_offsets": _levels,
    "topics": _topics,
    "subscription_groups": _groups,
    "consumer_filters": _filters,
}


def rows_of(table: str, value: Any, file: str) -> list[Row]:
    """The rows of a table, without `file`, from the value of one of its files (CFG-3); MalformedError for one that 4.9.3 does not load."""
    if value in (None, []) or (value == "" and table != "subscription_groups"):
        return []
    return _ROWS[table](_Field(file, "the file", value).table())


_NO_GROUPS: Final = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\n\r\f\b]*+(\[[ \t\n\r\f\b]++\][ \t\n\r\f\b]*+)?")
"""Blanks alone, or inside a pair of brackets."""

_MOST: Final = 64 << 20
"""Maximum size of a file that is read: a byte may take 60 in memory, and a broker with 100,000 groups writes about 30 MB."""


def table_rows(table: str, reader: Reader) -> list[Row]:
    """The rows of a table that an open file holds, without `file`; MalformedError if 4.9.3 does not load it (CFG-2, CFG-3)."""
    if reader.size > _MOST:
        raise MalformedError(file=reader.name, found=f"{reader.size:,} bytes", expected=f"at most {_MOST:,}")
    if not reader.size:
        raise MalformedError(file=reader.name, found="an empty file", expected="JSON", clause="CFG-1")
    text = reader.read(0, reader.size).tobytes()
    if table == "subscription_groups" and _NO_GROUPS.fullmatch(text):
        raise MalformedError(file=reader.name, found="blanks alone", expected="JSON", clause="CFG-2")
    return rows_of(table, parse(text, reader.name), reader.name)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One of the two files of a name: `X.json`, or `X.json.bak`, which holds what it held before."""

    path: Path
    rows: Sequence[Row] | None  # of its table; None if it is missing, empty or cannot be loaded
    problem: FormatError | OSError | None  # why it cannot be loaded; None if it can, or is missing
    modified: float | None  # time of its last change in seconds since 1970; None if it is missing

    @property
    def passed_over(self) -> bool:
        """Whether a start passes over it without an error: it is missing, or holds no byte (CFG-1)."""
        return self.rows is None and self.problem is None

    @property
    def is_empty(self) -> bool:
        """Whether it is there and holds no byte."""
        return self.passed_over and self.modified is not None


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The two files of one name; a start of 4.9.3 loads one of them (CFG-1)."""

    table: str
    main: ConfigFile
    backup: ConfigFile

    @property
    def taken(self) -> ConfigFile | None:
        """The file that a start takes; None if it starts without any rows, or does not start."""
        return next((file for file in (self.main, self.backup) if file.rows is not None), None)

    @property
    def starts(self) -> bool:
        """Whether the broker starts: not if the `.bak` is needed and cannot be loaded."""
        return self.taken is not None or self.backup.passed_over

    @property
    def rows(self) -> Sequence[Row]:
        """The rows that the broker has after a start."""
        return () if self.taken is None else self.taken.rows or ()


def _read(table: str, path: Path) -> ConfigFile:
    try:
        with open_reader(path) as reader:
            modified = path.stat().st_mtime
            if not reader.size:
                return ConfigFile(path, None, None, modified)
            return ConfigFile(path, table_rows(table, reader), None, modified)
    except (FileNotFoundError, NotADirectoryError):  # Java's `File.exists` is false
        return ConfigFile(path, None, None, None)
    except FormatError as error:
        return ConfigFile(path, None, error, path.stat().st_mtime)
    except OSError as error:
        raise_of_process(error)
        return ConfigFile(path, None, error, 0.0)


def load_config(store: Path, table: str, *, light: bool | None = None) -> LoadedConfig:
    """Both files of a table, read as a start reads them.

    A broker with light queues (`enableLmq`) keeps all consumer offsets in a file of its own (`LmqConsumerOffsetManager` 29-107);
    where it is not known whether it has them, it is taken for one if that file was written last.
    """
    name = next(file for file, of in CONFIG_TABLES.items() if of == table)
    main = store / "config" / name
    other = main.with_name(_LIGHT_OFFSETS)
    if table == "consumer_offsets" and (_is_later(other, main) if light is None else light):
        main = other
    return LoadedConfig(table, _read(table, main), _read(table, main.with_name(f"{main.name}.bak")))


def _is_later(one: Path, other: Path) -> bool:
    """Whether a file is there, and was written after another one that may be missing."""
    times = [path.stat().st_mtime_ns if path.exists() else 0 for path in (one, other)]
    return times[0] > times[1]
