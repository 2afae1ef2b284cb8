"""Many reports side by side: which clauses each implementation breaks."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rocket_spec.clauses import clauses

from rocket_conformance.judging import FAILING
from rocket_conformance.report.lines import Report


def compare_implementations(reports: Sequence[Report]) -> dict[str, Any]:
    """The names of the implementations, equal ones with a number, and a row for each clause that any report has cases of.

    The state of an implementation is `differs` where a case of the clause fails, `passes`, or `none` where no case ran.
    """
    names: list[str] = []
    for report in reports:
        implementation = report.header["implementation"]
        name = f"{implementation['name']} {implementation['version']}".strip()
        names.append(f"{name} ({names.count(name) + 1})" if name in names else name)
    cells = [_cells(report) for report in reports]
    rows = [
        {
            "clause": clause.id,
            "level": clause.level,
            "summary": clause.summary,
            "implementations": [cell.get(clause.id, _cell(0, 0)) for cell in cells],
        }
        for clause in clauses().values()
        if any(clause.id in cell for cell in cells)
    ]
    return {"implementations": names, "clauses": rows}


def _cells(report: Report) -> dict[str, dict[str, Any]]:
    passed = Counter(line.clauses[0] for line in report.cases if line.verdict == "pass")
    failed = Counter(line.clauses[0] for line in report.cases if line.verdict in FAILING)
    return {name: _cell(passed[name], failed[name]) for name in {*passed, *failed}}


def _cell(passed: int, failed: int) -> dict[str, Any]:
    return {
        "state": "differs" if failed else "passes" if passed else "none",
        "passed": passed,
        "failed": failed,
    }
