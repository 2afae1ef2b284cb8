"""Compares what an implementation did with what is expected, field by field."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any, Final, Literal, cast

from rocket_spec.printable import printable

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison.file_fields import locate
from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Op, Result

DifferenceKind = Literal["wrong value", "wrong bytes", "wrongly accepted", "wrongly rejected"]

MOST_DIFFERENCES: Final = 20
"""The most differences of a case that are listed; a wrong hash would list every entry."""

_FIELD_RANKS: Final = {
    "size": 1,
    "header.begin_timestamp": 2,
    "header.begin_phy_offset": 2,
    "entry": 3,
    "slot": 4,
    "unit": 3,
}
_RESULT_RANKS: Final = {
    **dict.fromkeys(("index.header", "index.full", "service.settle", "queue.bounds"), 5),
    **dict.fromkeys(("index.select", "index.time_matched", "service.query"), 6),
    **dict.fromkeys(("queue.get", "queue.last_offset"), 6),
}
_LONGEST_VALUE: Final = 1 << 14
_SHORT: Final = 200
_SERVICE: Final = "index/"
_NEW: Final = "index/new-"
_BY_THE_CLOCK: Final = "17 digits, the local time at which it is made"

_LAST_RANK: Final = 7
"""Ranks of fields of files and of results; a result that is not named has 0, other header fields the last."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as expected.

    Attributes:
        op: place of the operation whose result it is; None in a file.
        field: name of the result field, `unit.NAME` and `requests[N].NAME` inside one; in a file `header.NAME`, `slot[N]`, `entry[N].NAME`, `unit[N].NAME`,
            the name of a checkpoint's time, `byte[N]` or `size`.
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

    @property
    def position(self) -> tuple[int | None, str | None, str]:
        """Operation, file and field: where it is, whatever the values."""
        return self.op, self.file, self.field

    def to_json(self, clause: str) -> dict[str, Any]:
        """As replay files and reports hold it, with the clause that it breaks; values of any length are cut."""
        values = {name: _shortened(getattr(self, name)) for name in ("expected", "actual")}
        return {name: getattr(self, name) for name in self.__slots__} | values | {"clause": clause}


def _shortened(value: Any) -> Any:
    """The value, or the beginning of its JSON if that is longer than any case needs."""
    if not isinstance(value, (str, list, dict)):
        return value
    text = json.dumps(value)
    return cast("object", value) if len(text) <= _LONGEST_VALUE else printable(text, limit=_LONGEST_VALUE)


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
    misnamed = list(_misnamed(expected, actual))
    found += [
        Difference(None, "name", path, None, "wrong value", _BY_THE_CLOCK, path.rpartition("/")[2])
        for _, path in misnamed
    ]
    for path in sorted(
        (expected.files.keys() | actual.files.keys()) - {path for pair in misnamed for path in pair}
    ):
        found += _file_differences(path, case.ops, expected.files.get(path), actual.files.get(path))
    found.sort(key=lambda difference: _cause(difference, case.ops))
    return found[:MOST_DIFFERENCES]


def _misnamed(expected: Observation, actual: Observation) -> Iterator[tuple[str, str]]:
    """Files that the clock should have named, with those that are there under other names."""
    missing = [path for path in expected.files if path.startswith(_NEW) and path not in actual.files]
    others = sorted(path for path in actual.files.keys() - expected.files.keys() if path.startswith(_SERVICE))
    return zip(missing, others, strict=False)


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
                for field, one, two in _inside(name, want[name], got.get(name)):
                    yield Difference(place, field, None, None, "wrong value", one, two)


def _inside(name: str, want: Any, got: Any) -> Iterator[tuple[str, Any, Any]]:
    """The fields that differ inside a result field: `unit.size`, `requests[0].keys`.

    It is the field itself for a plain value, for null, and for lists that can be read at once; of others their lengths, and the
    first item that differs.
    """
    if want == got:
        return
    if (ours := _list(want)) and (others := _list(got)) and not (_is_short(ours) and _is_short(others)):
        if len(ours) != len(others):
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ours, others, strict=False)))
            kind = name.rpartition(".")[2]
            yield (
                name,
                f"{len(ours)} {kind}",
                f"{len(others)} {kind}, the first that differs is {name}[{same}]",
            )
        pairs = enumerate(zip(ours, others, strict=False))
        for place, (one, two) in islice(
            (pair for pair in pairs if pair[1][0] != pair[1][1]), MOST_DIFFERENCES
        ):
            yield from _inside(f"{name}[{place}]", one, two)
    elif isinstance(want, dict) and isinstance(got, dict):
        ours_by_name, theirs = cast("dict[str, Any]", want), cast("dict[str, Any]", got)
        for key in dict.fromkeys((*ours_by_name, *theirs)):
            yield from _inside(f"{name}.{key}", ours_by_name.get(key), theirs.get(key))
    else:
        yield name, want, got


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _is_short(items: list[object]) -> bool:
    """Whether a list is of plain values, and few of them."""
    return len(json.dumps(items)) <= _SHORT and not any(isinstance(item, dict) for item in items)


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
    fields: dict[str, Difference] = {}
    passed = -1
    for offset in expected.differing_bytes(actual):
        if offset < passed:  # a later byte of the field seen last
            continue
        if len(fields) >= 200 * MOST_DIFFERENCES:
            break
        name, start, length = locate(path, ops, offset)
        passed = start + length
        want_value, got_value = (
            str(int.from_bytes(image.at(start, length), "big", signed=True)) for image in (expected, actual)
        )
        fields[name] = Difference(None, name, path, start, "wrong bytes", want_value, got_value)
    return [*found, *fields.values()]


def _cause(difference: Difference, ops: Sequence[Op]) -> tuple[int, str, int]:
    """Sorts causes before effects; the header's begin, which entries are computed from, before the entries."""
    if difference.op is not None:
        rank = _RESULT_RANKS.get(ops[difference.op]["op"], 0)
        return rank, "", difference.op
    kind = difference.field.partition("[")[0]
    rank = _FIELD_RANKS.get(kind, _LAST_RANK)
    return rank, difference.file or "", difference.offset or 0
