"""The table of broken stores is of these stores, and of what the verbs print about them now; the cures work."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import pytest
from broken_stores import INCIDENTS, Incident
from incident_run import PAGE, audited, look, page, recorded, run, stage, worse

LOST = {"log.gap", "queue.dangling", "index.entry_dangling"}
LEFT = {
    "the commit log was deleted; there is a replica": set(),
    "a log file in the middle was deleted; there is a replica": set(),
    "the last log file was deleted; there is a replica": set(),
    "the last log file was deleted; there is no replica": set(),
    "the last log file was deleted; the one made ahead is there; there is a replica": set(),
    "the last log file was cut; there is a replica": set(),
    "the first log file was deleted": {"log.gap"},
    "a log file of another store in the middle": LOST,
    "a log file of another store at the end": set(),
    "a log file was packed": set(),
    "a log file was renamed": set(),
    "the next log file has 0 bytes": set(),
    "a file of another program among the log files": set(),
    "records of 5.x at the log's end": set(),
    "the index folder was deleted": set(),
    "all index files are empty": set(),
    "two indexes of one geometry were mixed": set(),
    "the clock was a year ahead for a while": set(),
    "index and queues were deleted": set(),
    "a queue file was cut": set(),
    "a topic's queues were deleted": set(),
    "a copy of a queue under another topic": set(),
    "dispatch stayed at a record of a light queue, and the broker was killed": set(),
    "the checkpoint was filled with zeros, and the broker was killed": set(),
    "the broker's configuration was changed": set(),
    "The last record cut off before its topic; zeros follow": {"log.torn"},
}
"""Codes above notes that no advice clears, since messages are lost or a start has to follow: of incidents whose advice is run here."""

SAID = {
    "the last log file was deleted; the one made ahead is there; there is a replica": "no file holds physical offsets 98,304 to",
    "the first log file was deleted": "6 whole files of queues and index point below it",
    "a log file of another store in the middle": "no queue points to 93 of the file's 93 records",
    "a log file of another store at the end": "first record states physical offset 0: it is another one under this name",
}
"""Text of findings and cures, of which a row has the first line only."""


@pytest.mark.parametrize("incident", INCIDENTS, ids=[incident.name for incident in INCIDENTS])
def test_a_row_is_of_the_store_and_of_what_is_printed_now(incident: Incident, tmp_path: Path) -> None:
    """`python tests/support/incident_run.py` measures the rows that are not."""
    staged = stage(incident, tmp_path / "it")
    row, now = recorded()[incident.name], look(staged)
    assert {name: row[name] for name in now} == now
    if incident.name in LEFT:
        with chdir(staged.folder):
            assert incident.name not in SAID or SAID[incident.name] in audited(incident)
        staged.follow()
        with chdir(staged.folder):
            lines = audited(incident, "--json").splitlines()
        found = [json.loads(line) for line in lines if line.startswith("{")]
        assert {one["code"] for one in found if one["severity"] != "note"} == LEFT[incident.name]


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
    assert set(LEFT) <= set(rows)
    assert [name for name, row in rows.items() if worse(row)] == []


def test_the_page_shows_the_rows() -> None:
    assert page() == PAGE.read_text("utf-8")
