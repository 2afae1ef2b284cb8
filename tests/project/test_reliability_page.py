"""`docs/reliability.md` shows the recorded figures, and these cover everything that they should."""

from __future__ import annotations

import json
from pathlib import Path

from cost_figures import FIGURES, VERBS
from engine_fuzz import TARGETS as STORES
from fuzz_figures import FIGURES as FUZZ
from fuzz_figures import Figures, merge
from fuzz_run import TARGETS
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
    expected = {*TARGETS, *(f"golden store: {name}" for name in STORES)}
    assert {name for name, one in found["targets"].items() if one["inputs"]} == expected
    assert found["failures"] == 0


def test_runs_add_up(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    first, second = Figures(7, peak=90), Figures(5, failures=1, peak=80)
    first.add("a", 10, 3000, new=True)
    first.add("a", 20, 1000, new=False)
    second.add("a", 30, 4000, new=True)
    second.add("b", 40, 1, new=False)
    for one in (first, second):
        merge(one.to_json(), path=path)
    assert json.loads(path.read_text("utf-8")) == {
        "failures": 1,
        "seeds": [5, 7],
        "peak_mib": 90,
        "targets": {
            "a": {"inputs": 3, "results": 2, "cpu_ns": 8000, "worst_ns": 4000, "worst_bytes": 30},
            "b": {"inputs": 1, "results": 0, "cpu_ns": 1, "worst_ns": 1, "worst_bytes": 40},
        },
    }
