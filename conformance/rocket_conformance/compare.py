"""Holds what an implementation did against what is expected, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocket_conformance.cases import Case, Observation
    from rocket_conformance.images import FileImage
    from rocket_conformance.protocol import Op, Result

__all__ = ["Difference", "DifferenceKind", "differences", "same_results"]

DifferenceKind = Literal["wrong value", "wrong bytes", "wrongly accepted", "wrongly rejected"]

MOST_DIFFERENCES: Final = 20
"""So many differences of a case are listed; a wrong hash would list every entry."""

_FIELD_RANKS: Final = {
    "size": 1,
    "header.begin_timestamp": 2,
    "header.begin_phy_offset": 2,
    "entry": 3,
    "slot": 4,
}
_RESULT_RANKS: Final = {"index.header": 5, "index.full": 5, "index.select": 6, "index.time_matched": 6}
_LAST_RANK: Final = 7
"""Ranks of fields of files and of results; a result that is not named has 0, other header fields the last."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as expected.

    Attributes:
        op: place of the operation whose result it is; None in a file.
        field: name of the result field; in a file `header.NAME`, `slot[N]`, `entry[N].NAME` or `size`.
        file: path of the file, or None in a result.
        offset: byte offset of the field in the file, or None.
        kind: in what way it is wrong.
        expected: the value expected, as it travels; None for a file that should not be there.
        actual: the value found.
    """

    op: int | None
    field: str
    file: str | None
    offset: int | None
    kind: DifferenceKind
    expected: Any
    actual: Any


def same_results(expected: Sequence[Result], actual: Sequence[Result]) -> bool:
    """Whether all results agree, the reasons of rejections aside."""
    return all(
        one == two or ("rejected" in one and "rejected" in two)
        for one, two in zip(expected, actual, strict=True)
    )


def differences(case: Case, expected: Observation, actual: Observation) -> list[Difference]:
    """All that differs, at most 20, causes before effects.

    What writes comes first: results of opens and puts, then entries and slots. What only reads, selects and
    headers, follows from those. Within each, the order is that of the operations and of the file.
    """
    if same_results(expected.results, actual.results) and expected.files == actual.files:
        return []
    found = [*_result_differences(expected.results, actual.results)]
    for path in sorted(expected.files.keys() | actual.files.keys()):
        found += _file_differences(path, case.ops, expected.files.get(path), actual.files.get(path))
    found.sort(key=lambda difference: _cause(difference, case.ops))
    return found[:MOST_DIFFERENCES]


def _result_differences(expected: Sequence[Result], actual: Sequence[Result]) -> Iterator[Difference]:
    for place, (want, got) in enumerate(zip(expected, actual, strict=True)):
        if want == got or ("rejected" in want and "rejected" in got):
            continue
        if "rejected" in want:
            yield Difference(place, "rejected", None, None, "wrongly accepted", want, got)
        elif "rejected" in got:
            yield Difference(place, "rejected", None, None, "wrongly rejected", want, got)
        else:
            for name in want:
                if want[name] != got.get(name):
                    yield Difference(place, name, None, None, "wrong value", want[name], got.get(name))


def _file_differences(
    path: str, ops: Sequence[Op], expected: FileImage | None, actual: FileImage | None
) -> list[Difference]:
    if expected == actual:
        return []
    if expected is None or actual is None:
        want = None if expected is None else expected.size
        got = None if actual is None else actual.size
        return [Difference(None, "size", path, None, "wrong bytes", want, got)]
    found: list[Difference] = []
    if expected.size != actual.size:
        found.append(Difference(None, "size", path, None, "wrong bytes", expected.size, actual.size))
    geometry = _geometry_of(path, ops)
    fields: dict[str, Difference] = {}
    passed = -1
    for offset in expected.differing_bytes(actual):
        if offset < passed:  # a later byte of the field seen last
            continue
        if len(fields) >= 200 * MOST_DIFFERENCES:
            break
        name, start, length = _locate(offset, geometry)
        passed = start + length
        want_value, got_value = (
            str(int.from_bytes(image.at(start, length), "big", signed=True)) for image in (expected, actual)
        )
        fields[name] = Difference(None, name, path, start, "wrong bytes", want_value, got_value)
    return [*found, *fields.values()]


def _geometry_of(path: str, ops: Sequence[Op]) -> Geometry:
    for op in reversed(ops):
        if op["op"] == "index.open" and op["file"] == path:
            return Geometry(op["hash_slot_num"], op["index_num"])
    return Geometry(0, 0)


def _locate(offset: int, geometry: Geometry) -> tuple[str, int, int]:
    """Name, byte offset and length of the field that a byte lies in."""
    if offset < INDEX_HEADER.size:
        for field in INDEX_HEADER.fields:
            if field.offset is not None and field.size is not None and offset < field.offset + field.size:
                return f"header.{field.name}", field.offset, field.size
    if offset < geometry.entries_offset:
        slot = (offset - INDEX_HEADER.size) // INDEX_SLOT.size
        return f"slot[{slot}]", INDEX_HEADER.size + slot * INDEX_SLOT.size, INDEX_SLOT.size
    entry, inside = divmod(offset - geometry.entries_offset, INDEX_ENTRY.size)
    start = offset - inside
    for field in INDEX_ENTRY.fields:
        if field.offset is not None and field.size is not None and inside < field.offset + field.size:
            return f"entry[{entry}].{field.name}", start + field.offset, field.size
    raise AssertionError(f"no field at byte {offset}")  # the layout tables leave no gaps


def _cause(difference: Difference, ops: Sequence[Op]) -> tuple[int, str, int]:
    """Sorts causes before effects; the header's begin, which entries are computed from, before the entries."""
    if difference.op is not None:
        rank = _RESULT_RANKS.get(ops[difference.op]["op"], 0)
        return rank, "", difference.op
    kind = difference.field.partition("[")[0]
    rank = _FIELD_RANKS.get(kind, _LAST_RANK)
    return rank, difference.file or "", difference.offset or 0
