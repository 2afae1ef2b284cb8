"""Failures in plain text: what differs, the clause, and the input as small as it was made.

What an adapter or a case file chose, keys, file names, messages, is shown escaped and cut.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final, cast

from rocket_spec.clauses import clauses
from rocket_spec.errors import MalformedError
from rocket_spec.printable import printable

from rocket_conformance.comparison import describe_file
from rocket_conformance.files import Allowance, image_from_base64
from rocket_conformance.report.lines import CaseLine

_MOST_OPS: Final = 40
_LONGEST_VALUE: Final = 200
_MOST_PARTS: Final = 8
_UNPACKED: Final = 1 << 23
_MOST_LINES: Final = 12


def value_text(value: object) -> str:
    """A value of a report: a text as it is, a rejection in words, anything else as JSON; escaped and cut."""
    if isinstance(value, str):
        return printable(value, limit=_LONGEST_VALUE)
    reason = _rejection(value)
    return json_text(value) if reason is None else f"rejected ({value_text(reason)})"


def _rejection(value: object) -> object:
    """The reason why an operation was rejected; None for any other result."""
    fields = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    return fields["rejected"] if list(fields) == ["rejected"] else None


def describe_divergence(divergence: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text for each difference."""
    lines: list[str] = []
    for item in divergence:
        where = f"operation {item['op']}" if item["op"] is not None else f"file {value_text(item['file'])}"
        at = "" if item["offset"] is None else f" at byte {item['offset']}"
        if item["field"] == "size" and None in (item["expected"], item["actual"]):
            is_missing = item["actual"] is None
            size = value_text(item["expected" if is_missing else "actual"])
            what = f"is missing, {size} bytes expected" if is_missing else f"of {size} bytes is not expected"
            lines.append(f"{item['clause']}: {where} {what}")
            continue
        texts = item.get("texts", {})
        want, got = (
            value_text(item[name]) + (f" (of {value_text(texts[name])})" if name in texts else "")
            for name in ("expected", "actual")
        )
        lines.append(
            f"{item['clause']}: {where}, {value_text(item['field'])}{at}: {item['kind']}, expected {want}, actual {got}"
        )
    return lines


def happened(line: CaseLine) -> list[str]:
    """Describes what happened in a case, in lines: the adapter's last words first, then the end of what it wrote to stderr."""
    first, *rest = line.detail.rstrip().split("\n")
    if rest:
        first = f"{first.removesuffix('; the end of its stderr:')}: {rest[-1].strip()}"
    lines = [first, *(f"  {text}" for text in rest[-_MOST_LINES:])]
    return [printable(text, limit=_LONGEST_VALUE) for text in lines if text.strip()] or [""]


def describe_files(document: Mapping[str, Any]) -> list[str]:
    """The files that a replay file has at the start: each with what is in it, a line for each entry or unit."""
    lines: list[str] = []
    for path, packed in document["files"].items():
        lines.append(f"file {value_text(path)} exists at the start")
        try:
            image = image_from_base64(packed["zstd_base64"], Allowance(size=_UNPACKED))
        except MalformedError:
            continue
        found = list(islice(describe_file(path, document["ops"], image), _MOST_PARTS + 1))
        lines += [f"  {printable(text, limit=_LONGEST_VALUE)}" for text in found[:_MOST_PARTS]]
        lines += ["  and more"] if len(found) > _MOST_PARTS else []
    return lines


def describe_operations(document: Mapping[str, Any], *, most: int = _MOST_OPS) -> list[str]:
    """One line for each operation of a replay file, and one for each file that exists at the start."""
    ops: list[Mapping[str, Any]] = document["ops"]
    lines = [f"    {text}" for text in describe_files(document)]
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
    first, *rest = happened(line)
    lines = [f"{line.verdict}: {line.id}" + (f": {first}" if first else ""), *rest]
    lines += [f"  {text}" for text in describe_divergence(line.divergence[:5])]
    if line.divergence:
        clause = clauses().get(line.divergence[0]["clause"])
        if clause is not None:
            lines += ["", f"{clause.id} ({clause.level}; {clause.source}): {clause.summary}"]
    if line.description:
        lines.append(printable(line.description, limit=None))
    if document is not None:
        lines += ["", "The input:", *(f"  {text}" for text in describe_operations(document))]
    return "\n".join(lines)
