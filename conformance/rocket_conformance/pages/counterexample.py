"""The counterexample of a failed case, from its replay file: operations, results side by side, and bytes in hex."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from rocket_spec.errors import MalformedError
from rocket_spec.printable import printable, shell_word

from rocket_conformance.comparison import locate
from rocket_conformance.files import Allowance, image_from_base64
from rocket_conformance.report import CaseLine, describe_divergence, describe_files, happened, value_text

_MOST_OPS: Final = 12
_MOST_FIELDS: Final = 8
_MOST_DIFFERENCES: Final = 4
_LONGEST: Final = 300

_LARGEST_REPLAY: Final = 1 << 20
"""Maximum size of a replay file that is read."""

_UNPACKED: Final = 1 << 23
"""Maximum size of the unpacked files of a replay."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """What is shown of a failed case; without a replay file only the differences.

    Attributes:
        id: of the case.
        detail: what happened, in words.
        differences: the first ones, one line each.
        files: the files that exist at the start.
        operations: the first ones, and each that differs: place, name and fields, what is expected and was returned, as text.
        more: the number of operations that are left out.
        bytes: the first differing fields of files; each byte in hex, with whether it differs.
        command: a shell command that runs the case again; empty without a replay file.
    """

    id: str
    detail: str
    differences: Sequence[str] = ()
    files: Sequence[str] = ()
    operations: Sequence[Mapping[str, Any]] = ()
    more: int = 0
    bytes: Sequence[Mapping[str, Any]] = ()
    command: str = ""


def counterexample_of(line: CaseLine, folder: Path | None, command: Sequence[str]) -> Counterexample:
    """The counterexample of a failed case.

    Args:
        line: of the report.
        folder: the report's folder, which holds the replay files; None shows what the line holds alone.
        command: of the adapter, as the report's header has it.
    """
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
    """A shell command that works from any directory."""
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
    return printable(text, limit=_LONGEST)


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
        name = printable(f"{item['file']} {item['field']}", limit=_LONGEST)
        sides = {"expected": expected, "actual": actual}
        marked = {side: list(zip(found, differs, strict=False)) for side, found in sides.items()}
        yield {"name": name, "offset": start, **marked}
