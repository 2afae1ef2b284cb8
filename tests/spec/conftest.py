"""What the real store answered, and a reader for the YAML that the .ksy files keep to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocket_spec.data import find_data

Tree = dict[str, Any]


@pytest.fixture(scope="session")
def facts() -> Tree:
    """Answers of the real 4.9.3 store, made by `real/make_facts.py`."""
    loaded: Tree = json.loads((Path(__file__).parent / "real" / "facts.json").read_text("utf-8"))
    return loaded


@pytest.fixture(scope="session")
def stores() -> dict[str, list[Tree]]:
    """What real 4.9.3 stores did with the scripts' directories, made by `real/make_facts.py`."""
    loaded: dict[str, list[Tree]] = json.loads(
        (Path(__file__).parent / "real" / "restarts.json").read_text("utf-8")
    )
    return loaded


def _scalar(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


def _block(lines: list[tuple[int, str]], at: int, indent: int) -> tuple[Any, int]:
    """The list or map whose lines have this indent, from line `at` on, and the line behind it."""
    if lines[at][1].startswith("- "):
        items: list[Any] = []
        while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("- "):
            rest = lines[at][1][2:]
            if ": " in rest or rest.endswith(":"):
                lines[at] = (indent + 2, rest)
                item, at = _block(lines, at, indent + 2)
            else:
                item, at = _scalar(rest), at + 1
            items.append(item)
        return items, at
    found: Tree = {}
    while at < len(lines) and lines[at][0] == indent:
        name, _, value = lines[at][1].partition(":")
        at += 1
        if value.strip() == "|":
            text: list[str] = []
            while at < len(lines) and (lines[at][0] > indent or not lines[at][1]):
                text.append(lines[at][1])
                at += 1
            found[name] = "\n".join(text)
        elif value:
            found[name] = _scalar(value.strip())
        elif at < len(lines) and lines[at][0] > indent:
            found[name], at = _block(lines, at, lines[at][0])
    return found, at


@pytest.fixture(scope="session")
def ksy() -> Callable[[str], Tree]:
    """Reads a .ksy file by its id: maps, lists, plain and block scalars, all as strings."""

    def read(name: str) -> Tree:
        text = find_data(f"spec/{name}.ksy").read_text("utf-8")
        rows = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines()]
        tree, end = _block([row for row in rows if row[1]], 0, 0)
        assert end == len([row for row in rows if row[1]])
        assert isinstance(tree, dict)
        return tree

    return read
