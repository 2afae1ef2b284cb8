"""The page of other releases' stores is of this code, and has no faults; `make soak` measures one release again."""

import json
from typing import Any

import pytest
from figures import inputs_hash
from release_run import FEATURES, INPUTS, LATER_STEPS, PAGE, RESULTS, STEPS, measure, render


def faults(row: dict[str, Any]) -> list[str]:
    """Everything that is wrong with a release: a case, a verdict, a finding, a rebuilt file or a prediction."""
    found = [f"case {name}" for name in row["differ"]]
    later = [name for name in LATER_STEPS if name in row["steps"]]
    for name in (*STEPS[:-1], *later):
        step = row["steps"][name]
        found += [f"{name}: {what}" for what in (*step["broken"], *step["findings"])]
        found += [f"{name}: queues"] * (not step["queues"])
        found += [f"{name}: index"] * (not step["index"] and "index.double_entry" not in step["notes"])
    for name in later:
        step = row["steps"][name]
        found += [f"{name}: answer to {' '.join(asked)}" for asked in step["wrong"]]
        found += [f"{name}: no answers"] * (not step["answers"])
    refused = [name for name in later if "refused" in row["steps"][name]]
    found += [f"{name}: not predicted" for name in refused if name != LATER_STEPS[1]]
    starts = [name for name in (*STEPS[1:], *later) if name not in refused]
    return found + [f"{name}: start" for name in starts if not row["steps"][name]["foretold"]]


def test_the_page_is_of_this_code_and_has_no_faults() -> None:
    shown = json.loads(RESULTS.read_text("utf-8"))
    assert shown["inputs"] == inputs_hash(INPUTS)
    assert {version: faults(row) for version, row in shown["rows"].items() if faults(row)} == {}
    assert all(set(LATER_STEPS) <= set(shown["rows"][version]["steps"]) for version in FEATURES)
    assert PAGE.read_text("utf-8") == render(shown)


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.usefixtures("maven")
def test_a_broker_of_5_3_1() -> None:
    assert faults(measure("5.3.1")) == []
