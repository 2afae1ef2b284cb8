"""Where a case differs, and which way, without its numbers: what cases of one defect have in common."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from rocket_conformance.file_fields import FileKind, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocket_conformance.compare import Difference
    from rocket_conformance.protocol import Op

__all__ = ["Symptom", "number_of", "places_of", "symptom_of"]

_NUMBER: Final = re.compile(r"\[\d+\]")
_FILE_NAMES: Final[dict[FileKind, str]] = {
    "index": "index file",
    "service": "index file",
    "queue": "queue file",
    "checkpoint": "checkpoint",
    "other": "another file",
}


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a difference shows.

    Attributes:
        place: operation or kind of file, and the field: `index.select offsets`, `index file entry[].time_diff`.
        change: how the actual value stands to the expected one: `less`, `more`, `zero`, `ends early`, ...
    """

    place: str
    change: str


def symptom_of(difference: Difference, ops: Sequence[Op]) -> Symptom:
    """The symptom of a difference of a case with these operations."""
    if difference.op is not None:
        where = ops[difference.op]["op"]
    else:
        where = _FILE_NAMES[kind_of(difference.file or "", ops)]
    return Symptom(f"{where} {_NUMBER.sub('[]', difference.field)}", _change(difference))


def places_of(found: Iterable[Difference], ops: Sequence[Op]) -> frozenset[str]:
    """The places of all differences of a case."""
    return frozenset(symptom_of(difference, ops).place for difference in found)


def number_of(value: object) -> int | None:
    """The integer that a value is, as a number or in decimal digits; None for any other value."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,20}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _change(difference: Difference) -> str:
    if difference.kind.startswith("wrongly"):
        return difference.kind
    want, got = difference.expected, difference.actual
    if want is None or got is None:
        return "unexpected" if want is None else "missing"
    if isinstance(want, list) and isinstance(got, list):
        return _change_of_list(cast("list[object]", want), cast("list[object]", got))
    if isinstance(want, bool) and isinstance(got, bool):
        return "true" if got else "false"
    expected, actual = number_of(difference.expected), number_of(difference.actual)
    if expected is None or actual is None:
        return "other value"
    return "zero" if actual == 0 else "less" if actual < expected else "more"


def _change_of_list(want: list[object], got: list[object]) -> str:
    if want[: len(got)] == got:
        return "ends early"
    if got[: len(want)] == want:
        return "goes on"
    ours, others = (Counter(map(repr, items)) for items in (want, got))
    if ours == others:
        return "another order"
    return "lacks items" if others < ours else "other items"
