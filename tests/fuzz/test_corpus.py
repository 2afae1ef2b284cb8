"""Inputs that once failed, and a few of each kind of damage: every function of the engine answers or says what is wrong."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from engine_fuzz import CORPUS, TARGETS, Damage, Input, failures, load, make_input

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.json")), ids=lambda path: path.stem)
def test_inputs_that_failed(path: Path) -> None:
    assert failures(load(path), seconds=120) == {}


@pytest.mark.parametrize("seed", range(3))
def test_a_few_new_ones(seed: int, tmp_path: Path) -> None:
    given = make_input(random.Random(seed), tmp_path)  # noqa: S311 - reproducible inputs
    assert failures(given, seconds=120) == {}


def test_a_failure_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: an error that is not documented, and a function that does not end."""

    def endless(_root: Path, _scratch: Path) -> None:
        while True:
            pass

    for name in list(TARGETS):
        monkeypatch.delitem(TARGETS, name)
    monkeypatch.setitem(TARGETS, "bad", lambda _root, _scratch: {"a": 1}["missing"])
    monkeypatch.setitem(TARGETS, "endless", endless)
    found = failures(Input("mixed", (Damage("truncate", "checkpoint", 0),)), seconds=1)
    assert found.keys() == {"bad", "endless"}
    assert "KeyError" in found["bad"]
    assert "more than 1 s" in found["endless"]
