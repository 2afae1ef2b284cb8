"""The table of broken stores is of these stores, and of what the verbs print about them now; the cures work."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest
from broken_stores import INCIDENTS, Incident
from incident_run import PAGE, audited, look, page, recorded, run, stage, worse

ROWS = Path(__file__).with_name("run_advice.txt").read_text("utf-8").splitlines()[3:]
RUN = {name: (set(codes.split()), said) for name, codes, said in (row.split(" |") for row in ROWS)}
"""Of incidents whose advice is run here, the codes that are left, and a text of what is printed."""


@pytest.mark.parametrize("incident", INCIDENTS, ids=[incident.name for incident in INCIDENTS])
def test_a_row_is_of_the_store_and_of_what_is_printed_now(incident: Incident, tmp_path: Path) -> None:
    """`python tests/support/incident_run.py` measures the rows that are not."""
    staged = stage(incident, tmp_path / "it")
    row, now = recorded()[incident.name], look(staged)
    assert {name: row[name] for name in now} == now
    if incident.name in RUN:
        left, said = RUN[incident.name]
        with chdir(staged.folder):
            assert said.strip() in audited(incident)
        staged.follow()
        with chdir(staged.folder):
            lines = audited(incident, "--json").splitlines()
        found = [json.loads(line) for line in lines if line.startswith("{")]
        assert {one["code"] for one in found if one["severity"] != "note"} == left


@pytest.mark.parametrize(("multi_dispatch", "starts"), [("true", False), ("false", True)])
def test_a_repair_does_not_hide_a_record_that_stops_every_start(
    multi_dispatch: str, *, starts: bool, tmp_path: Path
) -> None:
    """CQ-LMQ-5: 4.9.3's broker starts on the killed store, and on the repaired one, only if the setting is off."""
    (incident,) = (one for one in INCIDENTS if one.name.startswith("dispatch stayed at a record"))
    staged = stage(incident, tmp_path / "it")
    with (staged.folder / "broker.conf").open("a") as conf:
        conf.write(f"enableMultiDispatch={multi_dispatch}\n")
    with chdir(staged.folder):
        for _ in range(2):
            told = audited(incident)
            assert ("stops the dispatch" in told) != starts
            assert "enableMultiDispatch=true" not in told
            assert ("a broker starts" in audited(incident, "--restart")) == starts
            run("repair", "store", "--broker-conf", "broker.conf", "--apply")


def test_no_advice_leaves_clients_less_than_doing_nothing() -> None:
    rows = recorded()
    assert list(rows) == [incident.name for incident in INCIDENTS]
    assert len(rows) >= 60
    assert set(RUN) <= set(rows)
    assert [name for name, row in rows.items() if worse(row)] == []


def test_the_page_shows_the_rows() -> None:
    assert page() == PAGE.read_text("utf-8")
