"""Writes and compares files of vectors: JSON with an operation a line, so that a reader and a diff can follow."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from rocket_golden import zstd

LEVEL: Final = 19


def write(path: Path, cases: Sequence[dict[str, Any]]) -> None:
    """Writes the cases as a JSON array; in a Zstandard frame where the name ends in `.zst`."""
    text = "[\n" + ",\n".join(_case(case) for case in cases) + "\n]\n"
    data = text.encode()
    path.write_bytes(zstd.compress(data, LEVEL) if path.suffix == ".zst" else data)


def read(path: Path) -> list[dict[str, Any]]:
    """The cases of a file that `write` wrote."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstd.decompress(data)
    cases: list[dict[str, Any]] = json.loads(data)
    return cases


def differing_ids(one: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> list[str]:
    """Ids of the cases that differ, or that only one side has.

    Packed bytes are compared unpacked: another version of the compressor may pack them otherwise.
    """
    mine, theirs = ({case["id"]: _unpacked(case) for case in cases} for cases in (one, other))
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {name: _bytes(item) if name == "zstd_base64" else _unpacked(item) for name, item in members}
    return value


def _bytes(packed: str) -> bytes:
    return zstd.decompress(base64.b64decode(packed))


def _case(case: dict[str, Any]) -> str:
    """A case, its members and its operations each on a line."""
    expected = case["expected"]
    members = {
        **{name: _line(value) for name, value in case.items()},
        "files": _lines({name: _line(value) for name, value in case["files"].items()}, 2),
        "ops": _list(case["ops"], 2),
        "expected": _lines(
            {
                "results": _list(expected["results"], 3),
                "files": _lines({name: _line(value) for name, value in expected["files"].items()}, 3),
            },
            2,
        ),
    }
    return " " + _lines(members, 1)


def _line(value: Any) -> str:
    """JSON on one line; what a reader could not see on the screen is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _lines(members: dict[str, str], depth: int) -> str:
    """An object of members that are JSON already, one a line."""
    if not members:
        return "{}"
    indent = "\n" + "  " * depth
    return (
        "{"
        + indent
        + f",{indent}".join(f"{_line(name)}: {text}" for name, text in members.items())
        + indent[:-2]
        + "}"
    )


def _list(items: Sequence[Any], depth: int) -> str:
    if not items:
        return "[]"
    indent = "\n" + "  " * depth
    return "[" + indent + f",{indent}".join(map(_line, items)) + indent[:-2] + "]"
