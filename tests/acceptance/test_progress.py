"""Groups, delayed messages and half messages of a store that a real broker left, as the broker counts them (CFG-4, CFG-5)."""

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_broker import NAME, RealBroker, run_program
from rocket_columnar.consumers import progress
from rocket_columnar.describe import look_at
from rocket_columnar.facts import Store
from rocket_columnar.repair import Target, plan_repair, repair
from rocket_columnar.report import audit
from table_rows import table_rows

pytestmark = pytest.mark.java

OFFSETS = Path("config", "consumerOffset.json")


def asked(broker: RealBroker, what: str, answer: Path) -> dict[str, Any]:
    program = Path(__file__).with_name("Progress.java")
    run_program(program, answer.parent / "home", broker.namesrv, NAME, what, answer, broker.address)
    found: dict[str, Any] = json.loads(answer.read_bytes())
    return found


def of_group(store: Path, group: str) -> list[list[int]]:
    lags = [lag for lag in progress(Store(store)).groups if lag.group == group and lag.topic == "Lag"]
    return [[lag.queue_id, lag.offset, lag.max_offset] for lag in lags]


def ends(store: Path) -> int:
    """The sum of the queues' ends."""
    return sum(queue.max_offset for queue in look_at(store).queues if queue.topic == "Lag")


@pytest.fixture
def broker(maven: str, java: str, tmp_path: Path) -> Iterator[RealBroker]:
    """A broker that runs, with the topic Lag."""
    del maven  # asked for so that its absence skips
    config = {"transactionCheckInterval": "600000", "mappedFileSizeConsumeQueue": "6000"}
    with RealBroker(tmp_path / "broker", java, config) as started:
        started.start()
        started.ask("topic", topic="Lag", queues=2)
        yield started


def test_every_number_as_the_broker_counts(broker: RealBroker, tmp_path: Path) -> None:
    answer = asked(broker, "make", tmp_path / "made.json")
    broker.stop()
    seen = progress(Store(broker.store), sizes=True)
    for group in ("behind", "even", "ahead"):
        assert of_group(broker.store, group) == sorted(answer[group])
    behind = {lag.queue_id: lag for lag in seen.groups if lag.group == "behind"}
    assert [behind[queue].messages for queue in (0, 1)] == [
        row[2] - row[1] for row in sorted(answer["behind"])
    ]
    levels = {level.delay_level: (level.messages, level.overdue) for level in seen.delays}
    assert {level: levels[level] for level in range(6, 18)} == dict.fromkeys(range(6, 18), (1, 0))
    assert levels[18] == (3, 0)
    # Delivered already: if both in one run, the offset recorded is that after the first one.
    assert levels[1] in ((0, 0), (1, 1))
    assert (seen.open_halves, [half.topic for half in seen.halves]) == (3, ["Lag"] * 3)
    assert [half.queue_offset for half in seen.halves] == [0, 2, 4]

    # Where the group is ahead: the status and the next offset are the finding's; the pull has stored a message (STORE-27).
    assert answer["pulled"] == ["OFFSET_ILLEGAL", 0]
    moved = [row for row in table_rows(broker.store, "commit_log") if row["topic"] == "OFFSET_MOVED_EVENT"]
    assert [(row["queue_id"], row["keys"], row["tags"]) for row in moved] == [(0, "ahead", "ahead")]
    found = {finding.code: finding.message for finding in audit(broker.store)}
    assert "offset 1,000" in found["consumer.offset_beyond_queue"]
    assert "answered with offset 0" in found["consumer.offset_beyond_queue"]
    assert found.keys() == {"consumer.offset_beyond_queue", "transaction.unresolved"}

    # A file that was cut: the start takes the .bak, and both give the same offsets.
    whole = (broker.store / OFFSETS).read_bytes()
    backup = broker.store / "config" / "consumerOffset.json.bak"
    shutil.copyfile(broker.store / OFFSETS, backup)
    (broker.store / OFFSETS).write_bytes(whole[: len(whole) // 2])
    (unreadable,) = [finding for finding in audit(broker.store) if finding.code == "config.unreadable"]
    assert unreadable.severity == "warning"
    before = ends(broker.store)
    delays = broker.store / "config" / "delayOffset.json"
    delays.write_text(re.sub(r"(?<=[{,])1:\d+", "1:0", delays.read_text("ascii")), "ascii")
    broker.start()  # both are due at once: one run
    patience = time.monotonic() + 60
    while ends(broker.store) < before + 2 and time.monotonic() < patience:
        time.sleep(0.1)
    started = asked(broker, "ask", tmp_path / "started.json")
    broker.stop()
    assert ends(broker.store) == before + 2
    assert [level.messages for level in progress(Store(broker.store)).delays if level.delay_level == 1] == [1]
    assert {group: sorted(started[group]) for group in ("behind", "even")} == {
        group: of_group(broker.store, group) for group in ("behind", "even")
    }

    # Both cut: no start.
    for file in (OFFSETS, backup.relative_to(broker.store)):
        (broker.store / file).write_bytes(whole[:-1])
    (unreadable,) = [finding for finding in audit(broker.store) if finding.code == "config.unreadable"]
    assert unreadable.severity == "error"
    assert "does not start" in unreadable.message
    with pytest.raises(AssertionError, match="did not start"):
        broker.start()


@pytest.mark.soak
def test_a_delay_offset_beyond_its_queue(broker: RealBroker, tmp_path: Path) -> None:
    """The broker goes on at the queue's end, as the finding says: what waited is never delivered (CFG-5)."""
    asked(broker, "delay", tmp_path / "sent.json")
    broker.kill()  # before the 10 s are over
    before = ends(broker.store)
    file = broker.store / "config" / "delayOffset.json"
    file.write_text('{"offsetTable":{3:900}}', "ascii")
    (found,) = [item.message for item in audit(broker.store) if item.code == "delay.offset_beyond_queue"]
    assert "goes on at 2" in found
    broker.start()
    time.sleep(14)
    broker.stop()
    assert ends(broker.store) == before


@pytest.mark.soak
def test_topics_that_are_not_listed(broker: RealBroker, tmp_path: Path) -> None:
    """Without the list nothing is delivered; after a repair a new group gets every message once."""
    asked(broker, "make", tmp_path / "made.json")
    broker.stop()
    queues = [queue for queue in look_at(broker.store).queues if queue.topic == "Lag"]
    sent = {(queue.queue_id, offset) for queue in queues for offset in range(queue.max_offset)}
    for name in ("topics.json", "topics.json.bak"):
        file = broker.store / "config" / name
        topics = json.loads(file.read_bytes())
        topics["topicConfigTable"].pop("Lag", None)
        file.write_text(json.dumps(topics), "utf-8")
    assert "topic.missing" in {finding.code for finding in audit(broker.store)}
    broker.start()
    assert broker.ask("deliver", topics=["Lag"], group="before", broker=0) == []
    broker.stop()
    assert plan_repair(Target(broker.store)).topics == {"Lag": 2}
    assert not repair(Target(broker.store)).worse
    broker.start()
    got = broker.ask("deliver", topics=["Lag"], group="after", broker=0)
    broker.stop()
    places = {(queue, offset) for _, queue, offset, *_ in got}
    assert sent <= places  # delayed messages are delivered again by each start (CFG-5)
    assert len(places) == len(got)
