"""Reports side by side: what changed in one implementation, and which clauses each of several breaks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocket_spec.clauses import clauses
from rocket_spec.errors import MalformedError

from rocket_conformance.judging import FAILING, Verdict
from rocket_conformance.report.conclusion import cases_of, cause_title, causes_of
from rocket_conformance.report.lines import CaseLine, Report, describe_divergence, read_report

_COMPARED: Final = ("suite", "seed", "examples")
"""Of the header: what draws other lists, or other cases, and so explains a difference."""


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose verdict is another one now."""

    id: str  # of the case
    old: Verdict | None  # its verdict in the old report; None where it is not in it
    new: Verdict | None  # its verdict in the new report; None where it is not in it
    line: CaseLine  # the case's line: the new one, else the old one

    @property
    def fails(self) -> bool:
        """Whether it fails in the new report."""
        return self.new in FAILING

    @property
    def why(self) -> str:
        """The first difference, or what happened, in words; empty for a pass."""
        lines = describe_divergence(self.line.divergence[:1])
        return lines[0] if lines else self.line.detail

    def to_json(self) -> dict[str, Any]:
        """As `conform-diff --json` prints it."""
        return {
            "id": self.id,
            "old": self.old,
            "new": self.new,
            "clause": self.line.clauses[0],
            "why": self.why,
            "replay": self.line.replay,
        }


@dataclass(frozen=True, slots=True)
class ReportDiff:
    """Changes from one report to another, each list in the order of the case ids."""

    # passed, and does not pass now: it fails, or it is not run any more although the suite has it
    broken: tuple[Change, ...]
    fixed: tuple[Change, ...]  # failed, and passes
    changed: tuple[Change, ...]  # fails, as before, in another way; or either report disputes it
    added: tuple[Change, ...]  # runs now and did not before
    # ran before and does not now: it is not in the new report, or failed and is not run any more
    removed: tuple[Change, ...]
    notes: tuple[str, ...]  # differences of the runs themselves, in words
    causes: tuple[str, ...]  # the causes that the new report states of what broke, in words

    def to_json(self) -> dict[str, Any]:
        """As `conform-diff --json` prints it."""
        names = ("broken", "fixed", "changed", "added", "removed")
        return {name: [change.to_json() for change in getattr(self, name)] for name in names} | {
            "notes": list(self.notes),
            "causes": list(self.causes),
        }


def read_whole_report(path: Path) -> Report:
    """A report that has its footer, from report.jsonl or the folder that holds it.

    Raises MalformedError: when it is none, or was cut off: what is missing in it would look removed.
    Raises OSError: when it cannot be read.
    """
    file = path / "report.jsonl" if path.is_dir() else path
    report = read_report(file)
    if report.footer is None:
        raise MalformedError(
            file=str(file), found="no footer: the run was cut off", expected="a whole report"
        )
    return report


def compare_reports(old: Report, new: Report) -> ReportDiff:
    """Changes from `old` to `new`; a case that the baseline excuses still counts as a failure."""
    before, after = ({line.id: line for line in report.cases} for report in (old, new))
    found: dict[str, list[Change]] = {name: [] for name in ("broken", "fixed", "changed", "added", "removed")}
    for case in sorted(before.keys() | after.keys()):
        one, two = before.get(case), after.get(case)
        line, kind = two or one, _kind(one, two)
        if kind is not None and line is not None:
            found[kind].append(Change(case, one.verdict if one else None, two.verdict if two else None, line))
    broken = {change.id for change in found["broken"]}
    causes = [cause_title(cause) for cause in causes_of(new) if broken & cases_of(cause)]
    changes = {name: tuple(changes) for name, changes in found.items()}
    return ReportDiff(**changes, notes=_notes(old, new), causes=tuple(causes))


def _kind(one: CaseLine | None, two: CaseLine | None) -> str | None:
    """The list that a case belongs in; None where nothing changed."""
    old, new = (one.verdict if one else None), (two.verdict if two else None)
    if old == new:
        return None
    if "disputed" in {old, new} and None not in {old, new}:
        return "changed"
    old_ran, new_ran = (verdict == "pass" or verdict in FAILING for verdict in (old, new))
    if old == "pass" and new is not None:
        return "broken"
    if old_ran and new_ran:
        return "fixed" if new == "pass" else "changed"
    if old_ran or new_ran:
        return "added" if new_ran else "removed"
    return None


def _notes(old: Report, new: Report) -> tuple[str, ...]:
    notes = [
        f"{name}: {old.header[name]} and {new.header[name]}"
        for name in _COMPARED
        if old.header[name] != new.header[name]
    ]
    names = [str(report.header["implementation"]["name"]) for report in (old, new)]
    if names[0] != names[1]:
        notes.insert(0, f"the implementation: {names[0]} and {names[1]}")
    return tuple(notes)


# --- comparison ---------------------------------------------------------------------------------------


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
            "implementations": [cell.get(clause.id, _state(0, 0)) for cell in cells],
        }
        for clause in clauses().values()
        if any(clause.id in cell for cell in cells)
    ]
    return {"implementations": names, "clauses": rows}


def _cells(report: Report) -> dict[str, dict[str, Any]]:
    passed = Counter(line.clauses[0] for line in report.cases if line.verdict == "pass")
    failed = Counter(line.clauses[0] for line in report.cases if line.verdict in FAILING)
    return {name: _state(passed[name], failed[name]) for name in {*passed, *failed}}


def _state(passed: int, failed: int) -> dict[str, Any]:
    return {
        "state": "differs" if failed else "passes" if passed else "none",
        "passed": passed,
        "failed": failed,
    }
