"""Lines of reports, a case with a verdict or with a wrong result, and a cause."""

from collections.abc import Sequence
from typing import Any

from rocket_conformance.judging import Verdict
from rocket_conformance.report import CaseLine


def line(name: str, verdict: Verdict = "diverged", *, level: str = "MUST", **more: Any) -> CaseLine:
    """The line of a case of the clause that its id begins with."""
    return CaseLine(name, (name.partition("/")[0],), level, verdict, **more)


def differing(name: str, *fields: str, level: str = "MUST", **more: Any) -> CaseLine:
    """The line of a case in which these fields of a result, or one, are wrong."""
    found = {"op": 1, "file": None, "offset": None, "kind": "wrong value", "expected": [1], "actual": 2}
    clause = name.partition("/")[0]
    divergence = tuple(found | {"field": field, "clause": clause} for field in fields or ("min",))
    return line(name, level=level, divergence=divergence, **more)


def cause_of(clause: str, name: str, cases: Sequence[str], **more: object) -> dict[str, object]:
    """A sure cause of a report that these cases show, the first of them as its example."""
    usual = {
        "clause": clause,
        "misreadings": [f"{name} ({clause})"],
        "sure": True,
        "shows": len(cases),
        "cases": cases,
    }
    others: dict[str, list[str]] = {"properties": [], "together": [], "hidden": []}
    return {**usual, **others, "example": next(iter(cases), ""), **more}
