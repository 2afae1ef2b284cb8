"""Failures in plain text: what differs, the clause, what is proved of it, and the input as small as it was made.

What an adapter or a case file chose, keys, file names, messages, is shown escaped and cut.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from rocket_spec.clauses import clauses
from rocket_spec.printable import printable

from rocket_conformance.report.conclusion import FailingClause
from rocket_conformance.report.lines import CaseLine

_MOST_OPS: Final = 40
_LONGEST_VALUE: Final = 200
_LONGEST_DETAIL: Final = 600
_MOST_HIDDEN: Final = 3


def value_text(value: object) -> str:
    """A value of a report: a text as it is, anything else as JSON; escaped and cut."""
    return printable(value, limit=_LONGEST_VALUE) if isinstance(value, str) else json_text(value)


def describe_divergence(divergence: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text for each difference."""
    lines: list[str] = []
    for item in divergence:
        where = f"operation {item['op']}" if item["op"] is not None else f"file {value_text(item['file'])}"
        at = "" if item["offset"] is None else f" at byte {item['offset']}"
        texts = item.get("texts", {})
        want, got = (
            value_text(item[name]) + (f" (of {value_text(texts[name])})" if name in texts else "")
            for name in ("expected", "actual")
        )
        lines.append(
            f"{item['clause']}: {where}, {value_text(item['field'])}{at}: {item['kind']}, expected {want}, actual {got}"
        )
    return lines


def describe_operations(document: Mapping[str, Any], *, most: int = _MOST_OPS) -> list[str]:
    """One line for each operation of a replay file, and one for each file that exists at the start."""
    ops: list[Mapping[str, Any]] = document["ops"]
    lines = [f"    file {value_text(path)} exists at the start" for path in document["files"]]
    for place, op in enumerate(ops[:most]):
        fields = " ".join(f"{name}={json_text(value)}" for name, value in op.items() if name != "op")
        lines.append(f"{place:>3} {op['op']} {fields}".rstrip())
    if len(ops) > most:
        lines.append(f"    and {len(ops) - most} more operations")
    return lines


def json_text(value: object) -> str:
    """A value as JSON, escaped and cut."""
    return printable(json.dumps(value, ensure_ascii=False), limit=_LONGEST_VALUE)


def failure_text(line: CaseLine, document: Mapping[str, Any] | None) -> str:
    """The whole text of a test's failure."""
    detail = printable(line.detail, limit=_LONGEST_DETAIL, lines=True)
    lines = [f"{line.verdict}: {line.id}" + (f": {detail}" if detail else "")]
    lines += [f"  {text}" for text in describe_divergence(line.divergence[:5])]
    if line.divergence:
        clause = clauses().get(line.divergence[0]["clause"])
        if clause is not None:
            lines += ["", f"{clause.id} ({clause.level}; {clause.source}): {clause.summary}"]
    if document is not None:
        lines += ["", "The input:", *(f"  {text}" for text in describe_operations(document))]
    return "\n".join(lines)


# --- clauses and causes -------------------------------------------------------------------------------


def clause_title(failing: FailingClause) -> str:
    """A failing clause in a few words: `IDX-PUT-7 (MUST): 97 of 120 cases fail`."""
    known = ", all known" if failing.known else ""
    return f"{failing.clause} ({failing.level}): {len(failing.cases)} of {failing.ran} cases fail{known}"


def clause_line(failing: FailingClause) -> str:
    """A failing clause in one line: what its example shows first, or where else its cases first differ."""
    line = failing.cases[0]
    if failing.elsewhere:
        return f"{clause_title(failing)}; first differences: {', '.join(map(value_text, failing.elsewhere))}"
    first = describe_divergence(line.divergence[:1])
    happened = line.detail.partition("\n")[0].removesuffix("; the end of its stderr:")
    shown = first[0].partition(": ")[2] if first else printable(happened, limit=_LONGEST_VALUE)
    verdict = "" if line.divergence else f"{line.verdict}, "
    return f"{clause_title(failing)}; {line.id.partition('/')[2]}: {verdict}{shown}"


def _readings(cause: Mapping[str, Any]) -> list[str]:
    """The misreadings of a cause of a report's footer, each with those that come to the same."""
    names = [str(name).replace("-", " ") for name in cause["misreadings"]]
    none: Sequence[Sequence[str]] = ((),) * len(names)
    others: Sequence[Sequence[str]] = cause.get("alternatives", none)
    return [
        " or ".join((f"{name} ({clause})", *alike))
        for name, clause, alike in zip(names, cause["clauses"], others, strict=True)
    ]


def _besides(hidden: Collection[str], there: str) -> str:
    """What misreadings would make no difference; empty without any."""
    listed = (
        " or ".join(hidden) if len(hidden) <= _MOST_HIDDEN else f"each of {len(hidden)} other misreadings"
    )
    return f"{listed} would make no difference {there}" if hidden else ""


def cause_title(cause: Mapping[str, Any]) -> str:
    """A cause of a failing case in one line: all its misreadings."""
    besides = _besides(cause.get("hidden", ()), "there")
    return "exactly as: " + " together with ".join(_readings(cause)) + (f"; {besides}" if besides else "")


def cause_lines(causes: Sequence[Mapping[str, Any]], failing: int) -> list[str]:
    """A line for each misreading that causes name, with the cases in which it matters; then what these may hide.

    Args:
        causes: of the footer of a report.
        failing: the number of cases that fail in that report.
    """
    alone: dict[str, int] = {}
    shared: dict[str, int] = {}
    for cause in causes:
        readings = _readings(cause)
        for reading in readings:
            counts = alone if len(readings) == 1 else shared
            counts[reading] = counts.get(reading, 0) + len(cause["cases"])
    lines: list[str] = []
    for reading in dict.fromkeys((*alone, *shared)):
        if reading in alone:
            more = f", and in {shared[reading]} with others of these" if reading in shared else ""
            same = f": same answers and bytes in {alone[reading]} of {failing} failing cases{more}"
        else:
            same = f", with others of these: same answers and bytes in {shared[reading]} of {failing} failing cases"
        lines.append(f"exactly as: {reading}{same}")
    besides = _besides(
        dict.fromkeys(name for cause in causes for name in cause.get("hidden", ())), "in some of these cases"
    )
    return [*lines, *([besides] if besides else [])]
