"""The page of one report: the verdict, what to mend in order with an example each, then everything else.

Every text is escaped by the templates; what an adapter chose is made printable before (`rocket_spec.printable`). The
policy of the page admits its one style and its one script by their hashes, and no address at all.
"""

import base64
import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

import jinja2
from rocket_spec.clauses import clauses
from rocket_spec.errors import MalformedError
from rocket_spec.outputs import write_whole
from rocket_spec.printable import printable, shell_word

from rocket_conformance.comparison import locate
from rocket_conformance.files import Allowance, image_from_base64
from rocket_conformance.report import (
    Account,
    CaseLine,
    Report,
    account_of,
    describe_divergence,
    describe_files,
    family_verdicts,
    happened,
    render_junit,
    render_markdown,
    tone_of,
    value_text,
)
from rocket_conformance.rocketmq import difference_of, releases_alike

_MOST_OPS: Final = 12
_MOST_FIELDS: Final = 8
_MOST_DIFFERENCES: Final = 4
_LONGEST_TEXT: Final = 300

_LARGEST_REPLAY: Final = 1 << 20
"""Maximum size of a replay file that is read."""

_UNPACKED: Final = 1 << 23
"""Maximum size of the unpacked files of a replay."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The shown parts of a failed case; without a replay file only the differences."""

    id: str  # of the case
    detail: str  # what happened, in words
    differences: Sequence[str] = ()  # the first ones, one line each
    files: Sequence[str] = ()  # the files that exist at the start
    # the first ones, and each that differs: place, name and fields, what is expected and was returned, as
    # text
    operations: Sequence[Mapping[str, Any]] = ()
    more: int = 0  # the number of operations that are left out
    # the first differing fields of files; each byte in hex, with whether it differs
    bytes: Sequence[Mapping[str, Any]] = ()
    command: str = ""  # a shell command that runs the case again; empty without a replay file


def counterexample_of(line: CaseLine, folder: Path | None, command: Sequence[str]) -> Counterexample:
    """The counterexample of a failed case: without the report's folder, which holds the replay files, what the line holds alone."""
    detail = happened(line)[0]
    differences = describe_divergence(line.divergence[:_MOST_DIFFERENCES])
    path = folder / line.replay if folder is not None and line.replay is not None else None
    if path is None or not path.is_file():
        return Counterexample(line.id, detail, differences)
    again = _command(path, command)
    if path.stat().st_size > _LARGEST_REPLAY:
        return Counterexample(line.id, detail, differences, command=again)
    document = json.loads(path.read_bytes())
    operations = list(_operations(document, {item["op"] for item in line.divergence}))
    shown = [row for row in operations if row["differs"] or row["place"] < _MOST_OPS]
    return Counterexample(
        line.id,
        detail,
        differences,
        files=describe_files(document),
        operations=shown,
        more=len(operations) - len(shown),
        bytes=list(_differing_bytes(document, line.divergence)),
        command=again,
    )


def _command(path: Path, command: Sequence[str]) -> str:
    words = ["rocketspec", "replay", str(path.resolve())]
    if not command:
        return " ".join(map(shell_word, words))
    words += command if command[0].startswith("--") else ["--", *command]
    return f"cd {shell_word(str(Path.cwd()))} && {' '.join(map(shell_word, words))}"


def _operations(document: Mapping[str, Any], differing: set[int | None]) -> Iterator[Mapping[str, Any]]:
    expected = cast("list[Any]", document["expected"]["results"])
    actual = cast("list[Any]", document["actual"].get("results") or [None] * len(expected))
    for place, (op, want, got) in enumerate(zip(document["ops"], expected, actual, strict=False)):
        fields = {name: value for name, value in op.items() if name != "op"}
        shown = "no answer" if got is None else _compact(got)
        texts = {"fields": _compact(fields), "expected": _compact(want), "actual": shown}
        yield {"place": place, "op": op["op"], **texts, "differs": place in differing}


def _compact(value: object) -> str:
    """A JSON value in one line, an object's fields without braces; escaped and cut."""
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if "rejected" in fields:
        return value_text(fields)
    if fields:
        text = ", ".join(f"{name} {json.dumps(item, ensure_ascii=False)}" for name, item in fields.items())
    else:
        text = json.dumps(value, ensure_ascii=False)
    return printable(text, limit=_LONGEST_TEXT)


def _differing_bytes(
    document: Mapping[str, Any], divergence: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    fields = [item for item in divergence if item["offset"] is not None]
    for item in fields[:_MOST_FIELDS]:
        packed = [document[side].get("files", {}).get(item["file"]) for side in ("expected", "actual")]
        if None in packed:
            continue
        try:
            allowance = Allowance(size=_UNPACKED)
            want, got = (image_from_base64(image["zstd_base64"], allowance) for image in packed)
        except MalformedError:
            continue
        _, start, length = locate(item["file"], document["ops"], item["offset"])
        expected, actual = (image.at(start, length).hex(" ").split() for image in (want, got))
        differs = [one != two for one, two in zip(expected, actual, strict=False)]
        name = printable(f"{item['file']} {item['field']}", limit=_LONGEST_TEXT)
        sides = {"expected": expected, "actual": actual}
        marked = {side: list(zip(found, differs, strict=False)) for side, found in sides.items()}
        yield {"name": name, "offset": start, **marked}


# --- report page --------------------------------------------------------------------------------------

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
    """The page; the counterexamples are in the replay files of the report's folder, without which they are left out."""
    implementation = report.header["implementation"]
    geometry = implementation["geometry"]
    families = family_verdicts(report)
    account = account_of(report, most_named=0)
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
        }
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
