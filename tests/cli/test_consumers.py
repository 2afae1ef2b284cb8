"""`inspect` with groups, and the tables of `config/`: rows from a text written by hand."""

import shlex
from pathlib import Path

import pytest
from golden_truth import lines
from rocket_golden import open_store
from verb_run import Verb


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Orders has 32, 14, 28 and 11 units in its queues; level 18 three messages that wait."""
    store = open_store("mixed", tmp_path)
    text = "{'offsetTable':{'Orders@slow':{0:30,1:4},'Orders@%even':{1:14,}}}"
    (store / "config" / "consumerOffset.json").write_text(text, "ascii")
    (store / "config" / "consumerOffset.json.bak").unlink()
    return store


def test_an_offset_by_time(verb: Verb, store: Path) -> None:
    """At the store time of unit 17 of the queue, as Java's rows of the log have it, the answer is 17."""
    (time,) = (
        row["store_timestamp"]
        for row in lines("mixed")["log_record"]
        if (row["topic"], row["queue_id"], row["queue_offset"]) == ("Orders", 0, 17)
    )
    (found,) = verb("query", store, "--topic", "Orders", "--queue", 0, "--at", time, "--json").rows
    told = found["offset"], found["store_timestamp"], found["why"]
    assert told == (17, time, "its record was stored at that time")


def test_the_commands_of_the_page(verb: Verb, store: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    shown = [line.partition(" #")[0].replace("STORE", str(store)) for line in page.splitlines()]
    commands = [shlex.split(line)[1:] for line in shown if line.startswith("rocketspec ")]
    (store / "config" / "consumerOffset.json.bak").write_text("{}", "ascii")
    for name, *arguments in commands:
        known = [{"billing": "slow", "OUT": str(tmp_path / "out")}.get(word, word) for word in arguments]
        assert verb(name, *known).code in (0, 1), (name, known)
    assert len(commands) >= 8
