"""A cause as the report's footer holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocket_conformance.attribution.pattern import pattern_of
from rocket_conformance.plan import level_of
from rocket_conformance.recorded_releases import difference_of, releases_alike

if TYPE_CHECKING:
    from rocket_conformance.attribution.causes import Cause

__all__ = ["record_of"]


def record_of(cause: Cause) -> dict[str, Any]:
    """The record: the clause, the pattern of the differences, the case ids, the releases that do the same.

    `cases` has the most telling case first; the first `own` of them are named after the clause, the others are carried:
    they fail only through it. `only` is the number of cases that differ nowhere but at `place`.
    """
    pattern = pattern_of(cause.failures, cause.clause)
    own = sum(failure.clauses[0] == cause.clause for failure in cause.failures)
    shown = [
        difference_of(failure.id, item.to_json(cause.clause))
        for failure in cause.failures
        for item in failure.judgement.found[:1]
    ]
    return {
        "clause": cause.clause,
        "level": level_of(cause.clause),
        "verdict": cause.verdict,
        "place": pattern.place,
        "rule": pattern.rule,
        "rule_cases": pattern.cases,
        "only": pattern.only,
        "like": cause.like,
        "exact": cause.exact,
        "instead": list(cause.instead),
        "releases": releases_alike(shown),
        "own": own,
        "cases": [failure.id for failure in cause.failures],
    }
