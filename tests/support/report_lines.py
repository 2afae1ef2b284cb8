"""Lines of reports: a case with a verdict, and one with a wrong result."""

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
