"""What the real store answered, and the .ksy files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
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


@pytest.fixture(scope="session")
def ksy() -> Callable[[str], Tree]:
    """Reads a .ksy file by its id, all scalars as strings."""

    def read(name: str) -> Tree:
        text = find_data(f"spec/{name}.ksy").read_text("utf-8")
        tree: Tree = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it makes strings alone
        return tree

    return read
