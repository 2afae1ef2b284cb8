"""What the real store answered, and the .ksy files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from rocket_spec.data import find_data

Tree = dict[str, Any]


def recorded(name: str) -> Any:
    """Facts of the real 4.9.3 that `real/make_facts.py` recorded."""
    return json.loads((Path(__file__).parent / "real" / f"{name}.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def facts() -> Tree:
    """Answers of single classes."""
    return dict(recorded("facts"))


@pytest.fixture(scope="session")
def stores() -> dict[str, list[Tree]]:
    """Results of stores in the scripts' directories."""
    return dict(recorded("restarts"))


@pytest.fixture(scope="session")
def dledger() -> dict[str, Tree]:
    """Results of recoveries in DLedger mode of damaged stores."""
    return dict(recorded("dledger"))


@pytest.fixture(scope="session")
def ksy() -> Callable[[str], Tree]:
    """Reads a .ksy file by its id, all scalars as strings."""

    def read(name: str) -> Tree:
        text = find_data(f"spec/{name}.ksy").read_text("utf-8")
        tree: Tree = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it makes strings alone
        return tree

    return read
