"""The real jars as implementations under test: 4.9.3 passes, 4.7.0 breaks two clauses and no other."""

from __future__ import annotations

import pytest
from rocket_conformance.report import conclusion
from rocket_conformance.runner import Options, run
from rocket_conformance.session import open_jar

pytestmark = pytest.mark.java


@pytest.mark.usefixtures("maven")
def test_4_9_3_passes() -> None:
    with open_jar("4.9.3") as transport:
        report = run(transport, Options(seed=20))
    assert [(line.id, line.detail) for line in report.cases if line.verdict != "pass"] == []
    assert conclusion(report).startswith("conformant for index, service, queue, log, checkpoint (")
    assert {line.verdict for line in report.cases} == {"pass"}


@pytest.mark.usefixtures("maven")
def test_4_7_0_breaks_the_slot_count_and_a_separator_and_nothing_else() -> None:
    """IDX-HDR-4 counts each put; LOG-PROP-3 is new in 4.9.1."""
    with open_jar("4.7.0") as transport:
        report = run(transport, Options(examples=30, shrink_seconds=5))
    assert report.exit_code == 1
    assert {line.verdict for line in report.cases} == {"pass", "diverged"}
    diverged = [line for line in report.cases if line.verdict == "diverged"]
    assert {item["clause"] for line in diverged for item in line.divergence} == {"IDX-HDR-4", "LOG-PROP-3"}
    assert all(line.divergence for line in diverged)
    assert "IDX-HDR-4/prop-slot-count" in {line.id for line in diverged}
    named = [line for line in diverged if line.id.startswith("LOG-PROP-3/")]
    assert [item["field"] for line in named for item in line.divergence] == ["requests[0].keys"] * 2
