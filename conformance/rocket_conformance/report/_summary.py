"""What a report comes to in one line, and its counts by family of clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocket_conformance.protocol import OPERATIONS
from rocket_conformance.verdicts import FAILING, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocket_conformance.report._lines import Report

__all__ = ["conclusion", "family_counts"]


def conclusion(report: Report) -> str:
    """The last line of a run: the verdict, and what for."""
    footer = report.footer
    total = len(report.cases)
    applicable = sum(line.verdict != "not_applicable" for line in report.cases)
    share = f"({applicable} of {total} cases applicable)"
    if footer is None:
        return f"cut off: no verdict ({total} cases ran)"
    code = int(footer["exit_code"])
    failed = [line for line in report.cases if line.verdict in FAILING and not line.baselined]
    if code == INTERRUPTED:
        return f"{footer['cut_short']}: no verdict, {len(failed)} failures so far {share}"
    if code == 7:
        disputed = sum(line.verdict == "disputed" for line in report.cases)
        return (
            f"no verdict: the suite's own error, reference and real jar disagree on {disputed} cases {share}"
        )
    if code == 1:
        clauses = sorted({item["clause"] for line in failed for item in line.divergence[:1]})
        listed = f": {', '.join(clauses[:6])}{' and others' if len(clauses) > 6 else ''}" if clauses else ""
        cut_short = f"; cut short: {footer['cut_short']}" if footer["cut_short"] else ""
        return f"not conformant: {len(failed)} of {applicable} cases failed{listed} {share}{cut_short}"
    if code == 6:
        return f"no verdict: the baseline is stale in {len(footer['stale'])} places {share}"
    if code == 5:
        return f"no verdict: nothing ran {share}"
    if code == 4:
        return f"incomplete: {_left_out(report, footer)} {share}"
    known = sum(line.baselined for line in report.cases)
    excused = f", {known} known failures aside" if known else ""
    return f"conformant {_what_for(footer)}{excused} {share}"


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


def family_counts(report: Report) -> dict[str, dict[str, int]]:
    """Cases by family of clauses (`IDX-PUT`) and verdict."""
    counts: dict[str, dict[str, int]] = {}
    for line in report.cases:
        family = counts.setdefault(line.clauses[0].rpartition("-")[0], {})
        family[line.verdict] = family.get(line.verdict, 0) + 1
    return dict(sorted(counts.items()))
