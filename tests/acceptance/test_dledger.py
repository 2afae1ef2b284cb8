"""The real 4.9.3 in DLedger mode on queues and index files that we rebuilt: it serves every message by key."""

import shutil
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from free_ports import free_port
from kill_cycle import put_in_place
from real_broker import RealBroker
from rocket_columnar.audit import audit
from rocket_golden import manifest, open_store, truth

pytestmark = pytest.mark.java

PATIENCE = 60  # s, of an election and of the registration after it
MOST = 64
"""Messages of a key that a broker answers with at most."""


def wanted(name: str, field: str) -> dict[str, dict[str, list[int]]]:
    """By topic and key, the physical offsets of the messages that Java read in the log.

    Those rolled back are left out, and those that wait for their delivery: no client asks for their topic.
    """
    found: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for line in truth(name):
        if (
            line["type"] == "log_record"
            and line["sys_flag"] & 12 != 12
            and line["topic"] != "SCHEDULE_TOPIC_XXXX"
        ):
            for key in {*(line[field] or "").split(" ")} - {""}:
                found[line["topic"]][key].append(line["phy_offset"])
    return found


def answers(broker: RealBroker, topic: str, keys: list[str]) -> list[list[int]]:
    """What the tools find, as soon as the broker has become the leader of its group."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return broker.query(topic, keys)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@pytest.mark.parametrize(
    "name",
    [
        "dledger-group-rejoined",
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("dledger", "dledger-upgraded")),
    ],
)
def test_it_serves_every_message_by_key(maven: str, java: str, tmp_path: Path, name: str) -> None:
    del maven  # asked for so that its absence skips
    known: dict[str, Any] = dict(manifest().stores[name].config)
    member = known["dLegerSelfId"]
    sizes = ("maxHashSlotNum", "maxIndexNum", "mappedFileSizeCommitLog", "mappedFileSizeConsumeQueue")
    config = {
        **{size: known[size] for size in sizes},
        "enableDLegerCommitLog": "true",
        "dLegerGroup": known["dLegerGroup"],
        "dLegerSelfId": member,
        "dLegerPeers": f"{member}-127.0.0.1:{free_port()}",
    }
    with RealBroker(tmp_path / "site", java, config) as broker:
        shutil.move(open_store(name, tmp_path / "golden"), broker.store)
        log = {path: path.read_bytes() for path in sorted(broker.store.glob("dledger-*/data/*"))}
        put_in_place(broker, tmp_path / "rebuilt", "index", "consumequeue")
        assert list(audit(broker.store, "deep")) == []
        broker.start()
        served = 0
        # Messages whose delay of two hours is over by now are delivered again, at the log's end.
        last = max(line["phy_offset"] for line in truth(name) if line["type"] == "log_record")
        for topic, keys in wanted(name, "keys").items():
            for found, offsets in zip(answers(broker, topic, list(keys)), keys.values(), strict=True):
                assert sorted(offset for offset in found if offset <= last) == offsets[-MOST:]
                served += len(found)
        for topic, ids in wanted(name, "uniq_key").items():
            assert [broker.ask("unique", topic=topic, id=unique_key) for unique_key in ids] == [
                offsets[:1] for offsets in ids.values()
            ]
            served += len(ids)
        assert served > 150
        broker.stop()
        assert [finding.code for finding in audit(broker.store, "deep") if finding.severity == "error"] == []
        assert all(path.read_bytes() == data for path, data in [*log.items()][:-1])
