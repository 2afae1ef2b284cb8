"""A failure in plain text: what differs, the clause, and the input as small as it was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rocket_spec.clauses import clauses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocket_conformance.report._lines import CaseLine

__all__ = ["describe_divergence", "describe_operations", "failure_text"]

_MOST_OPS = 40


def describe_divergence(divergence: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text for each difference."""
    lines: list[str] = []
    for item in divergence:
        where = f"operation {item['op']}" if item["op"] is not None else f"file {item['file']}"
        at = "" if item["offset"] is None else f" at byte {item['offset']}"
        want, got = (_short(item[name]) for name in ("expected", "actual"))
        lines.append(
            f"{item['clause']}: {where}, {item['field']}{at}: {item['kind']}, expected {want}, actual {got}"
        )
    return lines


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else text[:197] + "..."


def describe_operations(document: Mapping[str, Any], *, most: int = _MOST_OPS) -> list[str]:
    """One line for each operation of a replay file, and one for the files that lay there beforehand."""
    ops: list[Mapping[str, Any]] = document["ops"]
    lines = [f"    a file {path} lies there beforehand" for path in document["files"]]
    for place, op in enumerate(ops[:most]):
        fields = " ".join(f"{name}={json.dumps(value)}" for name, value in op.items() if name != "op")
        lines.append(f"{place:>3} {op['op']} {fields}".rstrip())
    if len(ops) > most:
        lines.append(f"    and {len(ops) - most} more operations")
    return lines


def failure_text(line: CaseLine, document: Mapping[str, Any] | None) -> str:
    """All that a test's failure says."""
    lines = [f"{line.verdict}: {line.id}" + (f": {line.detail}" if line.detail else "")]
    lines += [f"  {text}" for text in describe_divergence(line.divergence[:5])]
    if line.divergence:
        clause = clauses().get(line.divergence[0]["clause"])
        if clause is not None:
            lines += ["", f"{clause.id} ({clause.level}; {clause.source}): {clause.summary}"]
    if document is not None:
        lines += ["", "The input:", *(f"  {text}" for text in describe_operations(document))]
    return "\n".join(lines)
