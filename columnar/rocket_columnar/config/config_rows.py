"""The rows of the tables that the files of `config/` hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rocket_spec.errors import MalformedError
from rocket_spec.tables import TABLES

Row: TypeAlias = "dict[str, Any]"

_FILTER_TYPES: Final = ("SINGLE_TAG", "MULTI_TAG")
_INT: Final = range(-(1 << 31), 1 << 31)
_LONG: Final = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class _Field:
    """A value inside an object: where it is, and what it is."""

    file: str
    name: str
    value: Any

    def wrong(self, expected: str) -> MalformedError:
        return MalformedError(
            file=self.file, found=f"{self.name} {self.value!r:.40}", expected=expected, clause="CFG-3"
        )

    def table(self) -> dict[str, _Field]:
        """The fields of an object, by name."""
        if not isinstance(self.value, Mapping):
            raise self.wrong("an object")
        return {name: _Field(self.file, f"{self.name}.{name}", value) for name, value in self.value.items()}

    def number(self, limits: range) -> int:
        """A whole number, written as one or as text, as Java takes it."""
        value = self.value
        if isinstance(value, str):
            digits = value.strip().lstrip("+-")
            value = int(value) if digits.isdecimal() and len(digits) < 20 else None
        if isinstance(value, float) and abs(value) < float(1 << 63):
            value = int(value)
        if not isinstance(value, int) or value not in limits:
            raise self.wrong(f"a number of {32 if limits is _INT else 64} bits")
        return int(value)


def _member(fields: Mapping[str, _Field], name: str) -> _Field | None:
    """A field by its name, which fastjson takes in any case and with `_` or `-` in it; None if missing or null."""
    plain = name.lower()
    for given, field in fields.items():
        if given == name or given.replace("_", "").replace("-", "").lower() == plain:
            return None if field.value is None else field
    return None


def _column(fields: Mapping[str, _Field], name: str, kind: str, usual: object) -> object:
    """The value of one column; `usual` where the file has none, as Java's field initialiser."""
    field = _member(fields, name)
    if field is None:
        return usual
    if name == "topicFilterType":
        return _filter_type(field.value)
    if kind == "string":
        return field.value if isinstance(field.value, str) else str(field.value)
    if kind == "bool":
        return field.value in (True, 1, "true", "TRUE", "1")
    return field.number(_INT if kind == "int32" else _LONG)


def _filter_type(value: object) -> str | None:
    """A constant of TopicFilterType by its name or number; None for another, as fastjson has it."""
    if isinstance(value, int) and 0 <= value < len(_FILTER_TYPES):
        return _FILTER_TYPES[value]
    return value if value in _FILTER_TYPES else None


def _versioned(root: Mapping[str, _Field], table: str) -> dict[str, _Field]:
    """The entries of a table in a file that has a version, which may be missing but not null."""
    for name in (table, "dataVersion"):
        field = root.get(name)
        if field is not None and field.value is None:
            raise field.wrong("an object")
    field = _member(root, table)
    return {} if field is None else field.table()


def _offsets(root: Mapping[str, _Field]) -> list[Row]:
    table = _member(root, "offsetTable")
    rows = []
    for key, queues in ({} if table is None else table.table()).items():
        topic, _, group = key.partition("@")
        for number, offset in queues.table().items():
            queue_id = _Field(offset.file, f"queue number in {queues.name}", number).number(_INT)
            rows.append(
                {"topic": topic, "group": group, "queue_id": queue_id, "offset": offset.number(_LONG)}
            )
    return rows


def _levels(root: Mapping[str, _Field]) -> list[Row]:
    table = root.get("offsetTable")
    if table is not None and table.value is None:
        raise table.wrong("an object")
    return [
        {
            "delay_level": _Field(offset.file, "delay level", level).number(_INT),
            "offset": offset.number(_LONG),
        }
        for level, offset in ({} if table is None else table.table()).items()
    ]


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
    items = _versioned(root, "topicConfigTable")
    return [{"topic": topic, **_columns("topics", item, _TOPIC)} for topic, item in items.items()]


def _groups(root: Mapping[str, _Field]) -> list[Row]:
    table = root.get("subscriptionGroupTable")
    items = {} if table is None else table.table()
    return [
        {"group": group, **_columns("subscription_groups", item, _GROUP)} for group, item in items.items()
    ]


def _filters(root: Mapping[str, _Field]) -> list[Row]:
    table = _member(root, "filterDataByTopic")
    rows = []
    for topic, of_topic in ({} if table is None else table.table()).items():
        if of_topic.value is None:
            continue
        groups = _member(of_topic.table(), "groupFilterData")
        for group, item in ({} if groups is None else groups.table()).items():
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
    """The rows of a table, without `file`, from the value of one of its files (CFG-3).

    Raises:
        MalformedError: a value that 4.9.3 does not load, such as a text instead of a number.
    """
    if value is None or value == []:
        return []
    return _ROWS[table](_Field(file, "the file", value).table())
