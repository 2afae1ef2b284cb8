"""The verdict on a store in the form of every other report: a line per clause, and what they come to."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from rocket_spec.clauses import clauses

from rocket_conformance.judging import Verdict
from rocket_conformance.protocol import Hello
from rocket_conformance.report import (
    Baseline,
    CaseLine,
    Report,
    ReportWriter,
    footer_line,
    header_line,
    known_text,
    release_text,
)
from rocket_conformance.store_verdict.judgement import Outcome, StoreVerdict
from rocket_conformance.store_verdict.observations import Place

FAMILIES: Final = {
    "index": ("IDX-",),
    "service": ("IDX-SVC-",),
    "queue": ("CQ-",),
    "log": ("LOG-", "DLG-"),
    "checkpoint": ("CKP-",),
}
"""The clauses of the families that `--require` names, by the beginnings of their ids."""

_VERDICTS: Final[dict[Outcome, Verdict]] = {
    "held": "pass",
    "broken": "diverged",
    "not exercised": "not_applicable",
}
_SHOWN: Final = 3


def store_report(
    judged: StoreVerdict,
    *,
    level: str = "observed",
    require: Sequence[str] = (),
    baseline: Baseline | None = None,
    folder: Path | None = None,
) -> Report:
    """The report of a judged store, written to `folder` if one is given.

    A clause is a case `CLAUSE/store`: pass where it held, not applicable where the store does not exercise it. A broken one is a
    diverged case `CLAUSE/store-KIND` for each kind of place, by the field or the wrong reading: a baseline excuses one kind.

    Args:
        judged: what `judge_store` found.
        level: "must" leaves OBSERVED clauses out.
        require: families of which at least one clause has to be exercised.
        baseline: known failures.
        folder: where report.jsonl goes, made if it is missing.
    """
    excuses = baseline or Baseline()
    hello = Hello("store", judged.store, "", frozenset(), None, frozenset(), 1)
    header = header_line(hello, ["--store", judged.store], 0, 0, judged.observations.profile.version)
    lines = [line for clause in _compared(level) for line in _lines(judged, clause.id, clause.level, excuses)]
    exercised = [*judged.with_outcome("held"), *judged.with_outcome("broken")]
    families = [
        family for family, heads in FAMILIES.items() if any(clause.startswith(heads) for clause in exercised)
    ]
    missing = [family for family in require if family not in families]
    more = {"ops": [], "families": families, "narrowed": ["--level must"] if level == "must" else []}
    footer = footer_line(lines, excuses, missing=missing, cut_short=None, more=more)
    report = Report(header, tuple(lines), footer)
    with ReportWriter(folder) as writer:
        for line in report.to_lines():
            writer.write(line)
    return report


def _compared(level: str) -> Iterator[Any]:
    for clause in clauses().values():
        if clause.level == "MUST" or (clause.level == "OBSERVED" and level != "must"):
            yield clause


def _lines(judged: StoreVerdict, clause: str, level: str, excuses: Baseline) -> Iterator[CaseLine]:
    seen = judged.observations
    verdict = _VERDICTS[judged.outcome(clause)]
    held = seen.held[clause]
    if verdict != "diverged":
        detail = "" if held else "not exercised by this store"
        yield CaseLine(f"{clause}/store", (clause,), level, verdict, examples=held, detail=detail)
        return
    for kind, count in seen.kinds[clause].items():
        name = f"{clause}/store-{kind}"
        places = [place for place in seen.broken[clause] if place.kind == kind]
        others = f", and {count - 1:,} more places" if count > 1 else ""
        line = CaseLine(
            id=name,
            clauses=(clause,),
            level=level,
            verdict=verdict,
            examples=held + count,
            detail=f"{places[0]}{others}; held in {held:,} places",
            divergence=tuple(_divergence(clause, place) for place in places),
        )
        yield replace(line, baselined=excuses.excuses(line))


def _divergence(clause: str, place: Place) -> dict[str, Any]:
    return {
        "op": None,
        "field": place.field,
        "file": place.file,
        "offset": place.offset,
        "kind": "wrong bytes",
        "expected": _plain(place.expected),
        "actual": _plain(place.found),
        "clause": clause,
    }


def _plain(value: object) -> object:
    return value if isinstance(value, int | str | None) else str(value)


def verdict_lines(judged: StoreVerdict, report: Report) -> list[str]:
    """The output on a terminal: the broken clauses with their first places, notes, and the verdict last."""
    seen = judged.observations
    found: list[str] = []
    for line in report.cases:
        if line.verdict != "diverged":
            continue
        known = ", known" if line.baselined else ""
        clause, kind = line.clauses[0], line.id.partition("/store-")[2]
        found.append(
            f"broken {clause} ({line.level}{known}): {seen.kinds[clause][kind]:,} places, held in {seen.held[clause]:,}"
        )
        places = (place for place in seen.broken[clause] if place.kind == kind)
        found += [f"  {place}" for place in islice(places, _SHOWN)]
    found += [
        f"note: {text}" + (f" ({count:,} times)" if count > 1 else "") for text, count in seen.notes.items()
    ]
    return [*found, _conclusion(judged, report)]


def _conclusion(judged: StoreVerdict, report: Report) -> str:
    held = sum(line.verdict == "pass" for line in report.cases)
    broken = [line for line in report.cases if line.verdict == "diverged"]
    rest = len(report.cases) - held - len(broken)
    number = len({line.clauses for line in broken})
    counts = f"{held} clauses held, {number} broken, {rest} not exercised, by {judged.records:,} records"
    if not held and not broken:
        return f"no verdict: the store exercises no clause ({counts})"
    failing = list(dict.fromkeys(line.clauses[0] for line in broken if not line.baselined))
    footer = report.footer or {}
    if failing:
        return f"not conformant{release_text(report)}: {', '.join(failing)} ({counts})"
    if footer.get("stale"):
        return f"no verdict: the baseline is stale: {'; '.join(footer['stale'])} ({counts})"
    if footer.get("missing"):
        return f"incomplete: required and not exercised: {', '.join(footer['missing'])} ({counts})"
    if known := known_text(report):
        return f"conformant{release_text(report)} but for {known} ({counts})"
    if footer["narrowed"]:
        return f"partial run: as {report.profile} in every MUST clause that the store exercises ({counts}; OBSERVED behaviour was not tested)"
    return f"conformant{release_text(report)} in every clause that the store exercises ({counts})"
