"""How the values of a cause's cases differ, as one rule: `actual = expected - size` in 92 of 97 cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocket_conformance.attribution.symptom import number_of, symptom_of
from rocket_conformance.protocol import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rocket_conformance.attribution.evidence import Failure
    from rocket_conformance.compare import Difference
    from rocket_conformance.protocol import Op

__all__ = ["Pattern", "pattern_of"]

_NUMBERS: Final = frozenset(("i32", "i64"))
_NEEDED: Final = 0.6
"""The share of the cases in which a rule has to hold."""
_WORDS: Final = {
    "less": "the actual value is less than expected",
    "more": "the actual value is more than expected",
    "zero": "actual = 0",
    "true": "true where false is expected",
    "false": "false where true is expected",
    "missing": "nothing where a value is expected",
    "unexpected": "a value where none is expected",
    "ends early": "the list ends early",
    "goes on": "the list goes on after its end",
    "another order": "the items are in another order",
    "lacks items": "items are missing",
    "other items": "other items",
    "other value": "another value",
    "wrongly accepted": "accepted, but must be rejected",
    "wrongly rejected": "rejected, but must be accepted",
    "crash": "the adapter crashed",
    "timeout": "no answer in time",
    "errored": "the adapter reported an error, or answered wrongly",
    "unstable": "another outcome when run again",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """What most cases of a cause show first.

    Attributes:
        place: operation or kind of file, and the field.
        rule: how the values differ, in words or as an equation.
        cases: the number of cases in which that place differs by the rule.
        only: the number of cases that differ nowhere else.
    """

    place: str
    rule: str
    cases: int
    only: int


def pattern_of(failures: Sequence[Failure], clause: str) -> Pattern:
    """The pattern of failures, at least one, that a clause explains: where its own cases differ first."""
    own = [failure for failure in failures if failure.clauses[0] == clause]
    symptoms = Counter(failure.symptom.place for failure in own or failures)
    if set(symptoms) == {""}:
        symptoms = Counter(failure.symptom.place for failure in failures)
    if len(symptoms) > 1:
        del symptoms[""]
    place = max(symptoms, key=lambda name: symptoms[name])
    shown = [(failure, difference) for failure in failures for difference in _first(failure, place)]
    only = sum(failure.places == frozenset((place,)) for failure in failures)
    if not shown:
        return Pattern(place, _WORDS.get(failures[0].symptom.change, ""), len(failures), len(failures))
    rules = Counter(rule for failure, item in shown for rule in _rules(item, failure.case.ops))
    for rule, cases in sorted(rules.items(), key=_preference):
        if cases >= _NEEDED * len(shown):
            return Pattern(place, rule, cases, only)
    changes = Counter(symptom_of(item, failure.case.ops).change for failure, item in shown)
    change, cases = changes.most_common(1)[0]
    return Pattern(place, _WORDS[change], cases, only)


def _preference(counted: tuple[str, int]) -> tuple[int, bool, int]:
    """What holds most often first; then what relates to the expected value, and is short."""
    rule, cases = counted
    return -cases, not rule.startswith("actual = expected"), len(rule)


def _first(failure: Failure, place: str) -> Iterator[Difference]:
    """The first difference at a place, if there is one."""
    for difference in failure.judgement.found:
        if symptom_of(difference, failure.case.ops).place == place:
            yield difference
            return


def _rules(difference: Difference, ops: Sequence[Op]) -> set[str]:
    """The equations that the values fulfil."""
    expected, actual = number_of(difference.expected), number_of(difference.actual)
    if expected is None or actual is None:
        return set()
    if actual == 0:
        return {"actual = 0"}
    rules = {f"actual = expected {'+' if actual > expected else '-'} {abs(actual - expected)}"}
    if actual == -expected:
        rules.add("actual = -expected")
    for name, value in _arguments(ops, difference.op):
        if value == actual:
            rules.add(f"actual = {name}")
        if value and abs(value) > 1 and value == abs(actual - expected):
            rules.add(f"actual = expected {'+' if actual > expected else '-'} {name}")
    return rules


def _arguments(ops: Sequence[Op], last: int | None) -> Iterator[tuple[str, int]]:
    """The numbers that operations were given, up to the one that differs."""
    for op in ops if last is None else ops[: last + 1]:
        for name, kind in OPERATIONS[op["op"]].fields.items():
            value = number_of(op.get(name)) if kind in _NUMBERS else None
            if value is not None:
                yield name, value
