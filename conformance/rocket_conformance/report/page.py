"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

import jinja2
from rocket_spec.clauses import clauses

from rocket_conformance.report.conclusion import conclusion, family_counts
from rocket_conformance.verdicts import FAILING, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rocket_conformance.report.lines import CaseLine, Report

__all__ = ["render_html"]

_SHOWN_OPS = 30
_MOST_INPUTS = 100


def render_html(report: Report, folder: Path | None = None) -> str:
    """The page.

    Args:
        report: what to show.
        folder: the report's folder, whose replay files hold the counterexamples; None leaves them out.
    """
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    source = files("rocket_conformance.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    counts = family_counts(report)
    known = clauses()
    failed = sorted(
        (line for line in report.cases if line.verdict in FAILING or line.verdict == "disputed"),
        key=lambda line: (line.divergence[0]["clause"] if line.divergence else "", _distance(line), line.id),
    )
    return environment.from_string(source).render(
        header=report.header,
        implementation=report.header["implementation"],
        conclusion=conclusion(report),
        tone=_tone(report),
        cut_off=report.footer is None,
        totals=Counter(line.verdict for line in report.cases),
        verdicts=[verdict for verdict in VERDICTS if any(verdict in family for family in counts.values())],
        families=counts,
        failed=[
            (line, _counterexample(line, folder) if place < _MOST_INPUTS else [])
            for place, line in enumerate(failed)
        ],
        again=_again(report),
        cases=sorted(report.cases, key=lambda line: line.id),
        broken=Counter(line.divergence[0]["clause"] for line in failed if line.divergence).most_common(),
        clauses={name: clause.summary for name, clause in known.items()},
        failing=FAILING,
        stale=(report.footer or {}).get("stale", []),
    )


def _distance(line: CaseLine) -> tuple[bool, bool]:
    """Sorts the most telling failure of a clause first: its own directed case, then its own property."""
    own = bool(line.divergence) and line.id.startswith(f"{line.divergence[0]['clause']}/")
    return not own, "/prop-" in line.id


def _again(report: Report) -> str:
    """What follows the case file on the command line that runs it again."""
    command: list[str] = report.header["command"]
    if not command:
        return ""
    return " " + ("" if command[0].startswith("--") else "-- ") + " ".join(command)


def _tone(report: Report) -> str:
    if report.exit_code == 0:
        return "good"
    return "bad" if report.exit_code in {1, 7} else "unclear"


def _counterexample(line: CaseLine, folder: Path | None) -> list[Mapping[str, Any]]:
    """The operations of the replay file with their results, one row each."""
    if folder is None or line.replay is None or not (folder / line.replay).is_file():
        return []
    document = json.loads((folder / line.replay).read_bytes())
    expected = cast("list[Any]", document["expected"]["results"])
    actual = cast("list[Any]", document["actual"].get("results") or [None] * len(expected))
    differing = {item["op"] for item in line.divergence}
    rows: list[Mapping[str, Any]] = []
    for place, (op, want, got) in enumerate(zip(document["ops"], expected, actual, strict=False)):
        fields = {name: value for name, value in op.items() if name != "op"}
        rows.append(
            {
                "place": place,
                "op": op["op"],
                "fields": _compact(fields),
                "expected": _compact(want),
                "actual": "" if got is None else _compact(got),
                "differs": place in differing,
            }
        )
    if len(rows) > _SHOWN_OPS:
        rows = [row for row in rows if row["differs"] or row["place"] < _SHOWN_OPS]
    return rows


def _compact(value: Any) -> str:
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    fields = cast("dict[str, Any]", value)
    text = ", ".join(f"{name} {json.dumps(item, ensure_ascii=False)}" for name, item in fields.items())
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= 300 else text[:297] + "..."
