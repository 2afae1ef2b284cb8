"""Failures in plain text: what differs, the clause, the cause, and the input as small as it was made.

What an adapter or a case file chose, keys, file names, messages, is shown escaped and cut.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.clauses import clauses
from rocket_spec.printable import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocket_conformance.report.lines import CaseLine

__all__ = [
    "carried_text",
    "cause_lines",
    "cause_title",
    "describe_divergence",
    "describe_operations",
    "failure_text",
    "value_text",
]

_MOST_OPS: Final = 40
_LONGEST_VALUE: Final = 200
_LONGEST_DETAIL: Final = 600
_MOST_CARRIED: Final = 6


def value_text(value: object, *, limit: int = _LONGEST_VALUE) -> str:
    """A value of a report: a text as it is, anything else as JSON; escaped, and cut to `limit` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return printable(text, limit=limit)


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


# --- causes -------------------------------------------------------------------------------------------


def cause_title(cause: Mapping[str, Any]) -> str:
    """A cause in one line: the clause, where it shows first, how the values differ, and in how many cases."""
    count = len(cause["cases"])
    cases = "1 case" if count == 1 else f"{count} cases"
    place = f"{cause['place']}: " if cause["place"] else ""
    share = "" if cause["rule_cases"] == count else f" in {cause['rule_cases']} of them"
    return f"{cause['clause']} ({cause['level']}), {cases}: {place}{cause['rule']}{share}"


def cause_lines(cause: Mapping[str, Any]) -> list[str]:
    """What else is known of a cause: the misreading that it is like, the releases that do the same, what is carried."""
    lines: list[str] = []
    clause = clauses().get(cause["clause"])
    if clause is not None:
        lines.append(f"{clause.summary} ({clause.source})")
    if cause["like"]:
        name = str(cause["like"]).replace("-", " ")
        lines.append(f"exactly as: {name}" if cause["exact"] else f"much as: {name}")
    if cause["instead"]:
        lines.append(f"nearly as likely: {', '.join(cause['instead'])}")
    if cause["releases"]:
        lines.append(f"as RocketMQ {cause['releases']} does")
    if 2 * cause["only"] > len(cause["cases"]) > 1 and cause["place"]:
        lines.append(f"{cause['only']} of {len(cause['cases'])} cases differ nowhere else")
    carried = carried_text(cause)
    return [*lines, carried] if carried else lines


def carried_text(cause: Mapping[str, Any]) -> str:
    """The cases of other clauses that fail only through this one, by clause; empty where there are none."""
    carried: dict[str, int] = {}
    for name in cause["cases"]:
        clause = str(name).partition("/")[0]
        if clause != cause["clause"]:
            carried[clause] = carried.get(clause, 0) + 1
    if not carried:
        return ""
    most = sorted(carried.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{clause} ({count})" for clause, count in most[:_MOST_CARRIED])
    more = f" and {len(most) - _MOST_CARRIED} more clauses" if len(most) > _MOST_CARRIED else ""
    return f"carried: {sum(carried.values())} cases of {listed}{more}"
