"""The table of broken stores is of these stores, and of what the verbs print about them now."""

from pathlib import Path

import pytest
from broken_stores import INCIDENTS, Incident
from incident_run import PAGE, look, page, recorded, stage, worse


@pytest.mark.parametrize("incident", INCIDENTS, ids=[incident.name for incident in INCIDENTS])
def test_a_row_is_of_the_store_and_of_what_is_printed_now(incident: Incident, tmp_path: Path) -> None:
    """`python tests/support/incident_run.py` measures the rows that are not."""
    row, now = recorded()[incident.name], look(stage(incident, tmp_path / "it"))
    assert {name: row[name] for name in now} == now


def test_no_advice_leaves_clients_less_than_doing_nothing() -> None:
    rows = recorded()
    assert list(rows) == [incident.name for incident in INCIDENTS]
    assert len(rows) >= 60
    assert [name for name, row in rows.items() if worse(row)] == []


def test_the_page_shows_the_rows() -> None:
    assert page() == PAGE.read_text("utf-8")
