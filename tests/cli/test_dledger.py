"""Each verb on a store that a real 4.9.3 wrote in DLedger mode; what the engine reads there is held by tests/columnar/test_dledger.py."""

import json
from pathlib import Path

import pytest
from rocket_golden import open_store, truth
from verb_run import Verb

LOG = f"dledger-n0/data/{0:020}"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("dledger", tmp_path_factory.mktemp("dledger"))


def test_inspect(verb: Verb, store: Path) -> None:
    java = list(truth("dledger"))
    found = json.loads(verb("inspect", store, "--json").out)
    queues = [
        [line[name] for name in ("topic", "queue_id", "min", "max")]
        for line in java
        if line["type"] == "queue"
    ]
    names = ("topic", "queue_id", "min_offset", "max_offset")
    assert [[queue[name] for name in names] for queue in found["queues"]] == queues
    (end,) = (line["write_pos"] for line in java if line["type"] == "dledger")
    assert (found["kind"], found["log"]["end"], found["findings"]) == ("DLedger", end, [])
    records = [line for line in java if line["type"] == "log_record" and line["file"] == LOG]
    assert json.loads(verb("inspect", store / LOG, "--json").out)["records"] == len(records)
    for at, structure in ((0, "DLedger entry"), (records[0]["phy_offset"], "commit-log record")):
        assert json.loads(verb("inspect", store / LOG, "--at", at, "--json").out)["structure"] == structure
