"""What a report comes to: the last lines of a run, the causes, and counts by family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rocket_spec.clauses import clauses

from rocket_conformance.protocol import FAMILIES, OPERATIONS
from rocket_conformance.verdicts import FAILING, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rocket_conformance.report.lines import CaseLine, Report

__all__ = [
    "FamilyVerdict",
    "broken_clause",
    "causes_of",
    "conclusion",
    "conclusions",
    "family_counts",
    "family_verdicts",
]

_FAMILY_OF: Final = {
    "IDX-SVC": "service",
    "IDX": "index",
    "CQ": "queue",
    "LOG": "log",
    "UTF8": "log",
    "CKP": "checkpoint",
}
"""The part of the format that a clause is about, by the beginning of its id, the longest first."""


def conclusions(report: Report) -> list[str]:
    """The last lines of a run: one on the levels where only OBSERVED clauses differ, then the verdict."""
    line = _levels(report)
    return [conclusion(report)] if line is None else [line, conclusion(report)]


def conclusion(report: Report) -> str:
    """The last line of a run: the verdict, what it is for, every broken clause, and what cut the run short."""
    footer = report.footer
    total = len(report.cases)
    applicable = sum(line.verdict != "not_applicable" for line in report.cases)
    share = f"({applicable} of {total} cases applicable)"
    if footer is None:
        return f"cut off: no verdict ({total} cases ran)"
    code = int(footer["exit_code"])
    failed = _failed(report)
    if code == INTERRUPTED:
        return f"{footer['cut_short']}: no verdict, {len(failed)} failures so far {share}"
    if code == 7:
        disputed = sum(line.verdict == "disputed" for line in report.cases)
        return (
            f"no verdict: the suite's own error, reference and real jar disagree on {disputed} cases {share}"
        )
    if code == 1:
        listed = ", ".join(_in_order({broken_clause(line) for line in failed}))
        cut_short = f"; cut short: {footer['cut_short']}" if footer["cut_short"] else ""
        return f"not conformant: {len(failed)} of {applicable} cases failed: {listed} {share}{cut_short}"
    if code == 6:
        return f"no verdict: the baseline is stale in {len(footer['stale'])} places {share}"
    if code == 5:
        return f"no verdict: nothing ran {share}"
    if code == 4:
        return f"incomplete: {_left_out(report, footer)} {share}"
    known = sum(line.baselined for line in report.cases)
    excused = f", {known} known failures aside" if known else ""
    return f"conformant {_what_for(footer)}{excused} {share}"


def _failed(report: Report) -> list[CaseLine]:
    return [line for line in report.cases if line.verdict in FAILING and not line.baselined]


def _levels(report: Report) -> str | None:
    """That every MUST clause is met and which OBSERVED ones are not; None where anything else is the case."""
    footer = report.footer
    failed = _failed(report)
    if footer is None or int(footer["exit_code"]) != 1 or footer["cut_short"]:
        return None
    if any(line.level != "OBSERVED" for line in failed):
        return None
    if any(line.level == "MUST" and line.verdict in {"skipped", "unsupported"} for line in report.cases):
        return None
    differing = _in_order({broken_clause(line) for line in failed})
    behaviours = "behaviour differs" if len(differing) == 1 else "behaviours differ"
    return (
        f"conformant in every MUST clause {_what_for(footer)}; "
        f"{len(differing)} OBSERVED {behaviours}: {', '.join(differing)}"
    )


def broken_clause(line: CaseLine) -> str:
    """The clause that a failed case breaks: that of its cause; of a crash, hang or error the case's own."""
    return str(line.divergence[0]["clause"]) if line.divergence else line.clauses[0]


def _in_order(names: Iterable[str]) -> list[str]:
    """Clause ids in the order of SPEC.md."""
    places = {name: place for place, name in enumerate(clauses())}
    return sorted(names, key=lambda name: (places.get(name, len(places)), name))


def _what_for(footer: Mapping[str, Any]) -> str:
    families: list[str] = footer["families"]
    others = [op for op in footer["ops"] if op in OPERATIONS and OPERATIONS[op].family not in families]
    if not families:
        return f"in part, for {', '.join(others)} only"
    return "for " + ", ".join(families) + (f" and in part {', '.join(others)}" if others else "")


def _left_out(report: Report, footer: Mapping[str, Any]) -> str:
    parts: list[str] = []
    if footer["cut_short"]:
        parts.append(f"cut short, {footer['cut_short']}")
    if footer["missing"]:
        parts.append(f"required and not declared: {', '.join(footer['missing'])}")
    for verdict in ("skipped", "unsupported"):
        count = sum(line.verdict == verdict for line in report.cases)
        if count:
            parts.append(f"{count} {verdict}")
    return "; ".join(parts)


# --- causes -------------------------------------------------------------------------------------------


def causes_of(report: Report) -> list[Mapping[str, Any]]:
    """The causes of the footer; of a report without any, a cause for each broken clause, what breaks most first."""
    if report.footer is not None and "causes" in report.footer:
        return list(report.footer["causes"])
    groups: dict[str, list[CaseLine]] = {}
    for line in report.cases:
        if line.verdict in FAILING:
            groups.setdefault(broken_clause(line), []).append(line)
    return [
        _plain_cause(name, lines) for name, lines in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]


def _plain_cause(clause: str, lines: Sequence[CaseLine]) -> dict[str, Any]:
    first = lines[0]
    return {
        "clause": clause,
        "level": first.level,
        "verdict": first.verdict,
        "place": str(first.divergence[0]["field"]) if first.divergence else "",
        "rule": str(first.divergence[0]["kind"]) if first.divergence else first.verdict,
        "rule_cases": len(lines),
        "only": 0,
        "like": None,
        "exact": False,
        "instead": [],
        "releases": None,
        "own": sum(line.clauses[0] == clause for line in lines),
        "cases": [line.id for line in lines],
    }


# --- families -----------------------------------------------------------------------------------------


def family_counts(report: Report) -> dict[str, dict[str, int]]:
    """Cases by family of clauses (`IDX-PUT`) and verdict."""
    counts: dict[str, dict[str, int]] = {}
    for line in report.cases:
        family = counts.setdefault(line.clauses[0].rpartition("-")[0], {})
        family[line.verdict] = family.get(line.verdict, 0) + 1
    return dict(sorted(counts.items()))


class FamilyVerdict(NamedTuple):
    """What cases of one part of the format and one level come to.

    Attributes:
        family: index, service, queue, log or checkpoint.
        level: MUST or OBSERVED.
        passed: cases that passed.
        failed: cases that failed, known failures aside.
        known: failures that the baseline excuses.
        left_out: cases that were skipped, unsupported or disputed.
        not_applicable: cases that the adapter lacks something for.
    """

    family: str
    level: str
    passed: int
    failed: int
    known: int
    left_out: int
    not_applicable: int


def family_verdicts(report: Report) -> list[FamilyVerdict]:
    """By part of the format and level; parts that do not apply at all come last."""
    found: list[FamilyVerdict] = []
    for family in map(str, FAMILIES):
        for level in ("MUST", "OBSERVED"):
            lines = [line for line in report.cases if _family_of(line) == family and line.level == level]
            failing = [line for line in lines if line.verdict in FAILING]
            known = sum(line.baselined for line in failing)
            passed = sum(line.verdict == "pass" for line in lines)
            aside = sum(line.verdict == "not_applicable" for line in lines)
            left_out = len(lines) - passed - len(failing) - aside
            if lines:
                found.append(
                    FamilyVerdict(family, level, passed, len(failing) - known, known, left_out, aside)
                )
    return sorted(found, key=lambda item: not (item.passed or item.failed or item.known or item.left_out))


def _family_of(line: CaseLine) -> str:
    return next((family for head, family in _FAMILY_OF.items() if line.id.startswith(f"{head}-")), "index")
