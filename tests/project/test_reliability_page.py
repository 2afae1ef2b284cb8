"""`docs/reliability.md` shows the recorded figures, and these cover everything that they should."""

from __future__ import annotations

import json
from pathlib import Path

from compiled_fuzz import KINDS
from cost_figures import FIGURES, VERBS
from engine_fuzz import TARGETS as STORES
from fuzz_figures import FIGURES as FUZZ
from fuzz_figures import add
from input_fuzz import TARGETS
from reliability_page import PAGE, page


def test_the_page_shows_the_recorded_figures() -> None:
    text = PAGE.read_text("utf-8")
    assert page(text) == text, "python tests/support/reliability_page.py"


def test_every_verb_was_measured_at_two_sizes() -> None:
    small, large = json.loads(FIGURES.read_text("utf-8"))["sizes"]
    assert set(small["costs"]) == set(large["costs"]) == set(VERBS)
    assert large["bytes"] > 2 * small["bytes"]


def test_every_target_was_fuzzed_and_nothing_failed() -> None:
    found = json.loads(FUZZ.read_text("utf-8"))
    expected = {*TARGETS, *(f"compiled: {name}" for name in KINDS), *(f"store: {name}" for name in STORES)}
    assert {name for name, count in found["inputs"].items() if count} == expected
    assert found["failures"] == 0


def test_runs_add_up(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    add({"a": 2}, 0, 7, path=path)
    add({"a": 3, "b": 1}, 1, 5, path=path)
    assert json.loads(path.read_text("utf-8")) == {"inputs": {"a": 5, "b": 1}, "failures": 1, "seeds": [5, 7]}
