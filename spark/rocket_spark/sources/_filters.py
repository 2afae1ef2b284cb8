"""Filters that Spark pushes down: what they leave of a store's files, and of the rows of a batch.

They only ever narrow down: Spark applies each of them again to the rows that come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.filters import Where

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from rocket_columnar.store import StoreFile

__all__ = ["Condition", "Wanted", "conditions"]

_LONG: Final = (-(1 << 63), (1 << 63) - 1)
_COMPARED: Final = {
    "EqualTo": "==",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "In": "in",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison of a column with a value, or with several for `in`."""

    column: str
    sign: str
    value: Any

    def expression(self) -> Any:
        """For `pyarrow.RecordBatch.filter`."""
        import pyarrow.compute as pc

        field = pc.field(self.column)
        if self.sign == "in":
            return field.isin(list(self.value))
        return {
            "==": field == self.value,
            ">": field > self.value,
            ">=": field >= self.value,
            "<": field < self.value,
            "<=": field <= self.value,
        }[self.sign]

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest whole number that pass."""
        if self.sign == "in":
            return min(self.value), max(self.value)
        low, high = _LONG
        if self.sign in ("==", ">=", ">"):
            low = self.value + (self.sign == ">")
        if self.sign in ("==", "<=", "<"):
            high = self.value - (self.sign == "<")
        return low, high

    def names(self) -> set[Any] | None:
        """The values that pass where these can be listed."""
        return {self.value} if self.sign == "==" else set(self.value) if self.sign == "in" else None


def conditions(filters: Iterable[Filter]) -> tuple[Condition, ...]:
    """Those of `filters` that compare one column with constants."""
    found = []
    for one in filters:
        sign = _COMPARED.get(type(one).__name__)
        attribute: tuple[str, ...] = getattr(one, "attribute", ())
        value = getattr(one, "value", None)
        if sign is None or len(attribute) != 1 or value is None:
            continue
        if sign == "in":
            value = tuple(item for item in value if item is not None)
            if not value:
                continue
        if all(isinstance(item, int | str | bool | bytes) for item in (value if sign == "in" else (value,))):
            found.append(Condition(attribute[0], sign, value))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What all conditions together leave."""

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
        """The values of a column that pass; None where they cannot be listed."""
        found: set[Any] | None = None
        for condition in self.conditions:
            names = condition.names() if condition.column == column else None
            if names is not None:
                found = names if found is None else found & names
        return found

    def file(self, file: StoreFile) -> bool:
        """Whether rows of `file` can pass, by what its name tells of all of them."""
        told: dict[str, Any] = {"file": file.name}
        if file.kind in ("queue", "ext"):
            told |= {"topic": file.topic, "queue_id": file.queue_id}
        for column, value in told.items():
            names = self.names(column)
            if names is not None and value not in names:
                return False
        return True

    def where(self, table: str) -> Where | None:
        """What the engine itself can leave out of a commit log, before it reads the rest of a record."""
        if table != "commit_log":
            return None
        low, high = self.bounds("store_timestamp")
        topics = self.names("topic")
        times = (low, high) if (low, high) != _LONG else None
        return Where(times=times, topics=topics) if times or topics is not None else None

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of `batch` that pass."""
        wanted = [c.expression() for c in self.conditions if c.column in batch.schema.names]
        if not wanted or not batch.num_rows:
            return batch
        every = wanted[0]
        for one in wanted[1:]:
            every &= one
        return batch.filter(every)
