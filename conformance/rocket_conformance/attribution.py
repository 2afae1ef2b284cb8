"""The table from a difference to the clause that it breaks.

Each field has the clauses that can make it differ, the likeliest in this situation first. A directed case
is written to break one clause: when that is among them, it is the one. A property takes the first.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rocket_reference import key_hash
from rocket_reference.java import I32_MAX, I32_MIN, string_hash

from rocket_conformance._facts import Facts, OpFacts, gather
from rocket_conformance._situations import gather_situations
from rocket_conformance._store_clauses import file_clauses, is_store_operation, result_clauses
from rocket_conformance.protocol import key_of
from rocket_conformance.protocol import to_i64 as from_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference, DifferenceKind
    from rocket_conformance.protocol import Op

__all__ = ["Divergence", "attribute"]

_HEADER_CLAUSE: Final = {
    "begin_timestamp": "IDX-HDR-2",
    "begin_phy_offset": "IDX-HDR-2",
    "end_timestamp": "IDX-HDR-3",
    "end_phy_offset": "IDX-HDR-3",
    "hash_slot_count": "IDX-HDR-4",
    "index_count": "IDX-HDR-5",
}
_STOP_CLAUSE: Final = {
    "slot": "IDX-SEL-1",
    "max_num": "IDX-SEL-3",
    "time_diff": "IDX-SEL-5",
    "previous": "IDX-SEL-6",
    "before": "IDX-SEL-7",
    "outside": "IDX-SEL-8",
    "bound": "IDX-SEL-2",
}
_SELECT: Final = tuple(f"IDX-SEL-{number}" for number in (2, 3, 4, 6, 7, 1, 5, 8, 9))
_HASH: Final = ("IDX-HASH-1", "IDX-HASH-2", "IDX-HASH-3")
_FILE: Final = tuple(f"IDX-FILE-{number}" for number in (1, 2, 3, 4, 5))
_STATE: Final = (
    "IDX-LOAD-1",
    "IDX-LOAD-2",
    "IDX-FILE-2",
    "IDX-FILE-5",
    "IDX-FLUSH-1",
    "IDX-HDR-1",
    "IDX-FILE-3",
)
_ENTRY_NAME: Final = re.compile(r"entry\[(\d+)\]\.(\w+)\Z")


@dataclass(frozen=True, slots=True)
class Divergence:
    """A difference, and the clause that it breaks; the other attributes are those of `Difference`."""

    op: int | None
    field: str
    file: str | None
    offset: int | None
    kind: DifferenceKind
    expected: Any
    actual: Any
    clause: str

    def to_json(self) -> dict[str, Any]:
        """As replay files and reports hold it."""
        return {name: getattr(self, name) for name in self.__slots__}


def attribute(
    case: Case, found: Sequence[Difference], directory: Path, *, directed: bool
) -> list[Divergence]:
    """The differences with their clauses.

    Args:
        case: the case they are of.
        found: as `differences` gave them, not empty.
        directory: a path for one more run of the reference; made and removed.
        directed: whether the case was written for its first clause.
    """
    families = {op["op"].partition(".")[0] for op in case.ops}
    facts = gather(case, directory) if families & {"index", "key"} else Facts()
    own = case.clauses[0] if directed and case.clauses else None
    drawn = gather_situations(case, directory) if not directed and families - {"index", "key"} else None
    divergences: list[Divergence] = []
    for difference in found:
        clauses = _clauses(case, difference, found, facts)
        likely = drawn.likely(case, difference, found) if drawn is not None else None
        if likely is not None:
            clauses = (likely, *clauses)
        clause = own if own is not None and own in clauses else clauses[0]
        divergences.append(
            Divergence(
                op=difference.op,
                field=difference.field,
                file=difference.file,
                offset=difference.offset,
                kind=difference.kind,
                expected=difference.expected,
                actual=difference.actual,
                clause=clause,
            )
        )
    return divergences


def _clauses(
    case: Case, difference: Difference, found: Sequence[Difference], facts: Facts
) -> tuple[str, ...]:
    """The clauses that can explain a difference, the likeliest first; never empty."""
    if difference.op is not None:
        if is_store_operation(case.ops[difference.op]["op"]):
            return result_clauses(case, difference)
        return _of_result(case.ops[difference.op], difference, facts.ops[difference.op])
    assert difference.file is not None  # noqa: S101 - a difference is in a result or in a file
    of_file = file_clauses(case, difference, found)
    if of_file is not None:
        return of_file
    if difference.field == "size":
        return ("IDX-FILE-1", "IDX-FILE-3", *_FILE)
    if difference.field.startswith("header."):
        return _of_header_bytes(case, difference, facts)
    if difference.field.startswith("slot["):
        return _of_slot(difference, found)
    return _of_entry(case, difference, facts)


# --- results ------------------------------------------------------------------------------------------


def _of_result(op: Op, difference: Difference, facts: OpFacts) -> tuple[str, ...]:
    name = op["op"]
    if name == "key.hash":
        return _of_hash(key_of(op))
    if name == "index.open":
        return _of_open(op, difference)
    if facts.header is None:  # nothing is open: the failed open is what differs
        return ("IDX-FILE-3", "IDX-FILE-4", *_FILE)
    if name == "index.put":
        return _of_put(facts)
    if name == "index.select":
        return _of_select(op, difference, facts)
    if name == "index.time_matched":
        return _of_time_matched(op, difference, facts)
    if name == "index.header":
        return _of_header(difference.field, facts, facts.puts)
    if name == "index.full":
        return ("IDX-FULL-1", "IDX-HDR-5", *_STATE, "IDX-PUT-1")
    return ("IDX-FLUSH-1", "IDX-FILE-3", *_FILE)


def _of_hash(key: str) -> tuple[str, ...]:
    return ("IDX-HASH-2", "IDX-HASH-1") if string_hash(key) == I32_MIN else ("IDX-HASH-1", "IDX-HASH-2")


def _of_open(op: Op, difference: Difference) -> tuple[str, ...]:
    numeric = re.fullmatch(r"[0-9]{1,18}", op["file"]) is not None
    if difference.kind == "wrongly accepted":
        return ("IDX-FILE-3" if numeric else "IDX-FILE-4", *_FILE)
    return ("IDX-FILE-1" if numeric else "IDX-FILE-4", *_FILE, *_STATE)


def _of_put(facts: OpFacts) -> tuple[str, ...]:
    assert facts.header is not None  # noqa: S101 - the caller looked
    assert facts.opened is not None  # noqa: S101 - a file is open
    slots, entries = facts.opened["hash_slot_num"], facts.opened["index_num"]
    if slots == 0:
        return ("IDX-PUT-10", "IDX-PUT-1")
    if facts.header.index_count >= entries - 1:
        return ("IDX-PUT-1", "IDX-FULL-1", "IDX-HDR-5", "IDX-PUT-9", *_STATE)
    return ("IDX-PUT-9", "IDX-FILE-3", "IDX-PUT-1", "IDX-HDR-5", *_STATE)


def _of_header(name: str, facts: OpFacts, puts: int) -> tuple[str, ...]:
    """The clauses behind a header field, in memory or in the bytes."""
    clause = _HEADER_CLAUSE.get(name, "IDX-HDR-1")
    if clause == "IDX-HDR-4" and puts:
        return (clause,)  # nothing but a put moves it
    opened = facts.opened
    likely: list[str] = []
    if not puts and opened is not None:
        seeds = {
            "begin_phy_offset": "end_phy_offset",
            "end_phy_offset": "end_phy_offset",
            "begin_timestamp": "end_timestamp",
            "end_timestamp": "end_timestamp",
        }
        if opened["load"]:
            loaded = facts.header is not None and name == "index_count" and facts.header.index_count == 1
            likely += ["IDX-LOAD-2", "IDX-LOAD-1"] if loaded else ["IDX-LOAD-1"]
        elif name in seeds and opened[seeds[name]] != "0":
            likely.append("IDX-FILE-2")
        elif facts.header is not None and facts.header.index_count == 1 and name == "index_count":
            likely.append("IDX-HDR-5")
        else:
            likely.append("IDX-FILE-5")
    return (*likely, clause, "IDX-PUT-8", *_STATE, "IDX-PUT-1", "IDX-PUT-9", "IDX-PUT-11")


def _of_time_matched(op: Op, difference: Difference, facts: OpFacts) -> tuple[str, ...]:
    assert facts.header is not None  # noqa: S101 - the caller looked
    first, last = facts.header.begin_timestamp, facts.header.end_timestamp
    begin, end = from_text(op["begin"]), from_text(op["end"])
    if difference.expected is True:
        tests = (begin < first and end > last, first <= begin <= last, first <= end <= last)
    else:  # what a wrong reading of one test would have let in
        tests = (begin <= first and end >= last, begin in (first - 1, last + 1), end in (first - 1, last + 1))
    order = sorted(range(3), key=lambda number: not tests[number])
    return (*(f"IDX-TIME-{number + 1}" for number in order), "IDX-HDR-2", "IDX-HDR-3", *_STATE)


def _of_select(op: Op, difference: Difference, facts: OpFacts) -> tuple[str, ...]:
    if difference.field == "rejected":
        slots = facts.opened["hash_slot_num"] if facts.opened is not None else 1
        first = "IDX-SEL-10" if slots == 0 else _STOP_CLAUSE[facts.stop or "previous"]
        return (first, "IDX-SEL-10", *_SELECT)
    expected: list[str] = difference.expected
    actual: list[str] = difference.actual
    if len(actual) > len(expected) and actual[: len(expected)] == expected:
        return (_longer(op, actual[len(expected) :], facts), *_SELECT, *_STATE, *_HASH)
    if Counter(actual) == Counter(expected):
        return ("IDX-SEL-2", *_SELECT, *_STATE, *_HASH)
    return (_shorter(op, expected, actual, facts), *_SELECT, *_STATE, *_HASH)


def _longer(op: Op, extra: list[str], facts: OpFacts) -> str:
    """Hits were reported behind those expected: outside the window, or past the end of the walk."""
    outside = {
        str(step.phy_offset)
        for step in facts.steps
        if not from_text(op["begin"]) <= step.time_read <= from_text(op["end"])
    }
    if extra[0] in outside:
        return "IDX-SEL-4"
    return _STOP_CLAUSE[facts.stop or "previous"]


def _shorter(op: Op, expected: list[str], actual: list[str], facts: OpFacts) -> str:
    """Hits are missing, or others lie among them."""
    begin, end = from_text(op["begin"]), from_text(op["end"])
    at_edge = {str(step.phy_offset) for step in facts.steps if step.time_read in {begin, end}}
    missing = [offset for offset in expected if offset not in actual]
    if expected[: len(actual)] == actual:
        early = _ended_early(op, len(actual) - len(op.get("initial", ())), facts)
        if early is not None:
            return early
    if missing and all(offset in at_edge for offset in missing):
        return "IDX-SEL-4"
    if facts.stop == "max_num" and expected[: len(actual)] == actual:
        return "IDX-SEL-3"
    if not actual[len(op.get("initial", ())) :] and facts.header is not None:
        if facts.slot_value == facts.header.index_count:
            return "IDX-SEL-1"
        if len(facts.steps) == 1:
            return "IDX-SEL-4"
    return "IDX-SEL-2"


def _ended_early(op: Op, found: int, facts: OpFacts) -> str | None:
    """The clause by which a walk may have ended after `found` hits, judged by what it passed then."""
    begin, end, hash_ = from_text(op["begin"]), from_text(op["end"]), key_hash(key_of(op))
    hits = [
        place
        for place, step in enumerate(facts.steps)
        if step.key_hash == hash_ and begin <= step.time_read <= end
    ]
    if not 0 <= found < len(hits) or facts.header is None:
        return None
    last, missed = (hits[found - 1] if found else 0), hits[found]
    if any(step.time_read == begin for step in facts.steps[last:missed]):
        return "IDX-SEL-7"
    if any(step.entry == facts.header.index_count for step in facts.steps[last + 1 : missed + 1]):
        return "IDX-SEL-6"
    return None


# --- bytes --------------------------------------------------------------------------------------------


def _of_header_bytes(case: Case, difference: Difference, facts: Facts) -> tuple[str, ...]:
    name = difference.field.removeprefix("header.")
    last: OpFacts | None = None
    for op_facts in facts.ops:
        if op_facts.file == difference.file:
            last = op_facts
    puts = sum(file == difference.file for file, _ in facts.writer)
    if last is None:
        opened = next((op for op in reversed(case.ops) if op.get("file") == difference.file), None)
        last = OpFacts(difference.file, None, 0, opened)
    if not puts and difference.file in facts.flushed:
        return ("IDX-FLUSH-1", *_of_header(name, last, puts))
    return _of_header(name, last, puts)


def _of_slot(difference: Difference, found: Sequence[Difference]) -> tuple[str, ...]:
    slots = [other for other in found if other.file == difference.file and other.field.startswith("slot[")]
    wanted, got = Counter(other.expected for other in slots), Counter(other.actual for other in slots)
    moved = len(slots) > 1 and bool((wanted & got).keys() - {"0"})
    return (*(("IDX-HASH-3", "IDX-PUT-7") if moved else ("IDX-PUT-7", "IDX-HASH-3")), "IDX-SLOT-1", *_HASH,
            "IDX-PUT-1", "IDX-PUT-9", "IDX-PUT-11", "IDX-FILE-5", "IDX-FILE-1")  # fmt: skip


def _of_entry(case: Case, difference: Difference, facts: Facts) -> tuple[str, ...]:
    match = _ENTRY_NAME.match(difference.field)
    if match is None:  # a byte of a file that nothing should write to
        return _FILE
    assert difference.file is not None  # noqa: S101 - the field of a file
    entry, name = int(match[1]), match[2]
    rest = ("IDX-PUT-6", "IDX-ENT-1", "IDX-PUT-9", "IDX-PUT-11", "IDX-FILE-3", *_STATE)
    place = facts.writer.get((difference.file, entry))
    if entry == 0:
        return ("IDX-ENT-1", *rest)
    if place is None:
        return ("IDX-PUT-1", *rest)
    put = facts.ops[place]
    if name == "key_hash":
        return (*_of_hash(key_of(case.ops[place])), *rest)
    if name == "time_diff":
        return (_of_time_diff(put), *(f"IDX-PUT-{number}" for number in (2, 3, 4, 8)), "IDX-HDR-2", *rest)
    if name == "prev_entry":
        header, slot_value = put.header, put.slot_value
        taken = header is not None and slot_value is not None and 0 < slot_value < header.index_count
        empty = slot_value == 0
        return ("IDX-PUT-6" if taken or empty else "IDX-PUT-5", "IDX-PUT-5", "IDX-HASH-3", "IDX-PUT-7", *rest)
    return rest


def _of_time_diff(put: OpFacts) -> str:
    header, seconds = put.header, put.seconds
    if header is None or seconds is None:
        return "IDX-PUT-2"
    if header.begin_timestamp <= 0:
        return "IDX-PUT-3"
    if put.wrapped:
        return "IDX-PUT-2"
    if not 0 <= seconds <= I32_MAX:
        return "IDX-PUT-4"
    return "IDX-PUT-8" if header.index_count <= 1 else "IDX-PUT-2"
