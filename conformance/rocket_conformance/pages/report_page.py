"""The page of one report: the verdict, what to mend in order with an example each, then everything else.

Every text is escaped by the templates; what an adapter chose is made printable before (`rocket_spec.printable`). The
policy of the page admits its one style and its one script by their hashes, and no address at all.
"""

import base64
import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import jinja2
from rocket_spec.clauses import clauses
from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable

from rocket_conformance.pages.counterexample import counterexample_of
from rocket_conformance.report import (
    Account,
    CaseLine,
    Report,
    account_of,
    describe_divergence,
    family_verdicts,
    render_junit,
    render_markdown,
    tone_of,
)
from rocket_conformance.rocketmq import difference_of, releases_alike

_LONGEST: Final = 160
_MOST_OPEN: Final = 3
_COLUMNS: Final = (
    {"field": "passed", "name": "passed", "tone": "good"},
    {"field": "failed", "name": "failed", "tone": "bad"},
    {"field": "known", "name": "known failures", "tone": "unclear"},
    {"field": "left_out", "name": "left out", "tone": "unclear"},
    {"field": "not_applicable", "name": "not applicable", "tone": "soft"},
)
_OTHERS: Final = {
    "disputed": "Disputed: reference and real jar disagree",
    "skipped": "Skipped",
    "unsupported": "Unsupported",
    "pass": "Passed",
    "not_applicable": "Not applicable",
}


def write_renderings(report: Report, folder: Path) -> None:
    """Writes report.html, report.md and junit.xml, each whole or not at all."""
    write_whole(folder / "report.html", render_report(report, folder))
    write_whole(folder / "report.md", render_markdown(report))
    write_whole(folder / "junit.xml", render_junit(report))


def render_report(report: Report, folder: Path | None = None) -> str:
    """The page.

    Args:
        report: what to show.
        folder: the report's folder, whose replay files hold the counterexamples; None leaves them out.
    """
    implementation = report.header["implementation"]
    geometry = implementation["geometry"]
    families = family_verdicts(report)
    account = account_of(report, named=False)
    return _render(
        {
            "header": report.header,
            "profile": report.profile,
            "name": printable(
                f"{implementation['name']} {implementation['version']}".strip(), limit=_LONGEST
            ),
            "language": printable(implementation["language"], limit=_LONGEST),
            "command": printable(shlex.join(report.header["command"]), limit=_LONGEST),
            "geometry": geometry
            if geometry == "any"
            else ", ".join(f"{s} slots, {n} entries" for s, n in geometry),
            "features": printable(", ".join(implementation["features"]) or "none"),
            "conclusions": [printable(text) for text in account.verdict],
            "tone": tone_of(report),
            "cut_off": report.footer is None,
            "stale": (report.footer or {}).get("stale", []),
            "families": [row._asdict() for row in families],
            "columns": [
                column for column in _COLUMNS if any(getattr(row, column["field"]) for row in families)
            ],
            "items": list(_items(account, folder, report.header["command"])),
            "others": list(_others(report)),
        },
    )


def _items(account: Account, folder: Path | None, command: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    known = clauses()
    for place, item in enumerate(account.items):
        clause = known.get(item.clause)
        cases = item.cases or [item.example]
        first = [difference_of(line.id, line.divergence[0]) for line in cases if line.divergence]
        yield {
            "anchor": f"clause-{item.clause}" if item.kind in {"clause", "follows"} else f"item-{place}",
            "title": item.title,
            "notes": item.notes,
            "kind": item.kind,
            "text": clause.summary.split("`") if clause is not None else [],
            "source": clause.source if clause is not None else "",
            "releases": releases_alike(first),
            "known": item.known,
            "open": place < _MOST_OPEN and item.kind != "follows",
            "example": counterexample_of(item.example, folder, command),
            "cases": [_case(line) for line in item.cases],
        }


def _case(line: CaseLine) -> Mapping[str, Any]:
    first = describe_divergence(line.divergence[:1])
    return {
        "id": line.id,
        "verdict": line.verdict,
        "known": line.baselined,
        "first": printable(first[0] if first else line.detail, limit=_LONGEST),
        "detail": printable(line.detail, limit=_LONGEST),
    }


def _others(report: Report) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The cases that did not fail, by verdict; what does not apply comes last."""
    for verdict, title in _OTHERS.items():
        cases = [
            _case(line) for line in sorted(report.cases, key=lambda line: line.id) if line.verdict == verdict
        ]
        if cases:
            yield title, cases


def _render(values: Mapping[str, Any]) -> str:
    style, script = _text("page.css"), _text("page.js")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    template = environment.get_template("report.html.j2")
    return template.render(style=style, script=script, policy=policy, **values)


def _text(name: str) -> str:
    return files("rocket_conformance.pages").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
