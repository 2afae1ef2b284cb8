"""The option `filters`: which files, ranges and rows of a store a read needs.

Spark's own push-down (`DataSourceReader.pushFilters`) is not used, since it cannot be used correctly: Spark keeps one plan
of a Python source for every query over one `load()`, and a query without filters reads what the filtered one before it
planned. An option belongs to its `load()` alone.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.decode import Where
from rocket_columnar.formats import LONG_MAX, LONG_MIN
from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa


_LONG: Final = (LONG_MIN, LONG_MAX)
_ORDERS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SIGNS: Final = ("=", "==", *_ORDERS, "in")
_TYPES: Final[dict[str, type]] = {"int16": int, "int32": int, "int64": int, "string": str, "bool": bool}
_FORM: Final = (
    'a JSON list of [column, sign, value], such as [["topic", "=", "Orders"], ["queue_id", "in", [0, 1]]]'
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a column: with a value, or with several for `in`, which `=` is too."""

    column: str
    sign: str
    value: Any

    def expression(self) -> Any:
        """For `pyarrow.RecordBatch.filter`."""
        import pyarrow.compute as pc

        field = pc.field(self.column)
        return field.isin(list(self.value)) if self.sign == "in" else _ORDERS[self.sign](field, self.value)

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest whole number that pass."""
        if self.sign == "in":
            return min(self.value), max(self.value)
        if self.sign in (">", ">="):
            return self.value + (self.sign == ">"), LONG_MAX
        return LONG_MIN, self.value - (self.sign == "<")


def conditions(text: str, table: str) -> tuple[Condition, ...]:
    """The comparisons in the option `filters` of a read of `table`; a row passes if all of them are true.

    Raises:
        UsageError: not a JSON list of [column, sign, value], an unknown column or sign, or a value of another type.
    """
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, list) and len(part) == 3 for part in parts):
        raise UsageError(f"option filters: {text[:80]!r} is not {_FORM}")
    return tuple(_condition(column, sign, value, table) for column, sign, value in parts)


def _condition(column: Any, sign: Any, value: Any, table: str) -> Condition:
    types = {"store": str} | {
        field.name: _TYPES[field.type] for field in TABLES[table] if field.type in _TYPES
    }
    if not isinstance(column, str) or column not in types:
        raise UsageError(
            f"option filters: {column!r} cannot be filtered on in {table}; expected one of {', '.join(types)}"
        )
    if not isinstance(sign, str) or sign not in _SIGNS:
        raise UsageError(f"option filters: {sign!r} is not a comparison; expected one of {', '.join(_SIGNS)}")
    listed = value if sign == "in" and isinstance(value, list) else [value]
    if (sign == "in") != isinstance(value, list) or not listed:
        raise UsageError(
            f"option filters: {column} {sign}: expected a list of values after `in`, and only there"
        )
    for item in listed:
        if type(item) is not types[column] or (type(item) is int and not _LONG[0] <= item <= _LONG[1]):
            raise UsageError(
                f"option filters: {column} {sign} {item!r}: expected a value of type {types[column].__name__}"
            )
    return Condition(column, sign, value) if sign in _ORDERS else Condition(column, "in", tuple(listed))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows and files that satisfy all conditions."""

    conditions: tuple[Condition, ...] = ()

    def bounds(self, column: str) -> tuple[int, int]:
        """The least and the greatest value of a column of whole numbers that pass."""
        low, high = _LONG
        for condition in self.conditions:
            if condition.column == column:
                one_low, one_high = condition.bounds()
                low, high = max(low, one_low), min(high, one_high)
        return low, high

    def names(self, column: str) -> set[Any] | None:
        """The values of a column that pass; None if they cannot be listed."""
        found: set[Any] | None = None
        for condition in self.conditions:
            if condition.column == column and condition.sign == "in":
                found = set(condition.value) if found is None else found & set(condition.value)
        return found

    def store(self, name: str) -> bool:
        """Whether the name of a store passes; `rows` need not check it."""
        return all(
            name in condition.value
            if condition.sign == "in"
            else _ORDERS[condition.sign](name, condition.value)
            for condition in self.conditions
            if condition.column == "store"
        )

    def file(self, file: StoreFile) -> bool:
        """Whether rows of `file` can pass, judging by its name."""
        told: dict[str, Any] = {"file": file.name}
        if file.kind in ("queue", "ext"):
            told |= {"topic": file.topic, "queue_id": file.queue_id}
        for column, value in told.items():
            names = self.names(column)
            if names is not None and value not in names:
                return False
        return True

    def where(self, table: str) -> Where | None:
        """The part of the filter that the engine applies to a commit log itself, before it reads the rest of a record."""
        if table != "commit_log":
            return None
        low, high = self.bounds("store_timestamp")
        topics = self.names("topic")
        times = (low, high) if (low, high) != _LONG else None
        return Where(times=times, topics=topics) if times or topics is not None else None

    def columns(self) -> list[str]:
        """The columns that `rows` checks."""
        return list(dict.fromkeys(condition.column for condition in self._of_rows()))

    def _of_rows(self) -> list[Condition]:
        """The conditions that are checked row by row."""
        return [condition for condition in self.conditions if condition.column != "store"]

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of `batch`, which has every column of `columns()`, that pass."""
        own = self._of_rows()
        if not own or not batch.num_rows:
            return batch
        passing = own[0].expression()
        for condition in own[1:]:
            passing &= condition.expression()
        return batch.filter(passing)
