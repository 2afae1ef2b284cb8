"""The benchmark of the adapter protocol runs, and its figures are a section of Markdown."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest


def test_a_section_names_operations_and_cases_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    adapter = import_module("benchmarks.adapter")
    commands = [command for command in adapter.commands() if "Python" in command[0]]
    monkeypatch.setattr(adapter, "commands", lambda: commands)
    text = adapter.section(scale=0.01, rounds=1)
    assert text.startswith("## Adapter round trip\n")
    assert text.count("| contender | operations/s | cases/s |") == 3
    assert text.count("| canned answers, Python |") == 6
    assert text.count("| starter adapter, Python |") == 6
