"""Many reports side by side: which clauses each implementation breaks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rocket_spec.clauses import clauses

from rocket_conformance.judging import FAILING
from rocket_conformance.report.lines import Report


@dataclass(frozen=True, slots=True)
class Comparison:
    """Reports with the names of their implementations, all different."""

    names: tuple[str, ...]
    reports: tuple[Report, ...]

    def to_json(self) -> dict[str, Any]:
        """A row for each clause that at least one report has cases of, in the order of SPEC.md.

        The state of an implementation is `differs` where a case of the clause fails, `passes`, or `none` where no case ran.
        """
        cells = [_cells(report) for report in self.reports]
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
        return {"implementations": list(self.names), "clauses": rows}


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


def compare_implementations(reports: Sequence[Report]) -> Comparison:
    """The comparison; equal names get a number."""
    names: list[str] = []
    for report in reports:
        implementation = report.header["implementation"]
        name = f"{implementation['name']} {implementation['version']}".strip()
        names.append(f"{name} ({names.count(name) + 1})" if name in names else name)
    return Comparison(tuple(names), tuple(reports))
