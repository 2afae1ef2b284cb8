"""Findings on the files of `config/`: what is written there by hand beside golden queues (CFG-1, CFG-4)."""

import json
import shutil
from pathlib import Path

import pytest
from broken_stores import fewer_queues, unlist
from rocket_columnar.consumers import completed_topics, moved_offsets, progress
from rocket_columnar.facts import Store
from rocket_golden import open_store, truth
from store_bytes import overwrite, put


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return open_store("mixed", tmp_path)


@pytest.mark.parametrize(("replica", "end"), [("", []), ("0:0", [0]), ("0:32", [32]), ("0:33", [32])])
def test_an_offset_beyond_a_queue_moves_to_the_replica_s_or_to_the_end_that_the_replica_has_passed(
    mixed: Path, replica: str, end: list[int]
) -> None:
    put(mixed, "config/consumerOffset.json", b'{"offsetTable":{"Orders@g":{0:33}}}')
    other = put(mixed.parent, "replica.json", b'{"offsetTable":{"Orders@g":{%s}}}' % replica.encode())
    assert [one.end for one in moved_offsets(Store(mixed), other)] == end


def test_zeros_in_a_queue_hide_no_message_before_them(mixed: Path) -> None:
    """Of the units that a group has not got, the first is that of the oldest message."""
    overwrite(mixed / f"consumequeue/Orders/0/{0:020}", 100, bytes(20))
    (mixed / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Orders@g":{0:0}}}', "ascii")
    (lag,) = progress(Store(mixed)).groups
    stored = [
        line["store_timestamp"]
        for line in truth("mixed")
        if line["type"] == "log_record"
        and (line["topic"], line["queue_id"], line["queue_offset"]) == ("Orders", 0, 0)
    ]
    assert [lag.first_timestamp] == stored


def test_what_expired_is_neither_behind_nor_waiting(tmp_path: Path) -> None:
    """Of queue 0 of Events the first file has units 64 to 71, and the log the records of 70 to 109: as a queue of delays and of retries."""
    store = open_store("expired", tmp_path)
    units = [
        line
        for line in truth("expired")
        if line["type"] == "queue_unit" and (line["topic"], line["queue_id"]) == ("Events", 0)
    ]
    kept = [line for line in units if line["logical_offset"] >= 70]
    records = {line["phy_offset"]: line for line in truth("expired") if line["type"] == "log_record"}
    queues = store / "consumequeue"
    for name in ("SCHEDULE_TOPIC_XXXX", "%RETRY%g"):
        shutil.copytree(queues / "Events" / "0", queues / name / "0")
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{"Events@g":{0:66}}}', "ascii")
    seen = progress(Store(store), sizes=True)
    (lag,) = seen.groups
    assert (lag.messages, lag.expired, lag.size) == (44, 4, sum(line["size"] for line in kept))
    assert lag.first_timestamp == records[kept[0]["phy_offset"]]["store_timestamp"]
    assert [(level.delay_level, level.messages) for level in seen.delays] == [(1, 40)]
    assert [(failed.group, failed.retries) for failed in seen.failed] == [("g", 40)]


def test_a_list_of_topics_is_completed_in_the_form_that_4_9_3_writes(mixed: Path) -> None:
    """Orders is not listed; then it has two of its four queues."""
    file = mixed / "config" / "topics.json"
    topics = json.loads(file.read_bytes())
    unlist(mixed, "Orders")
    assert json.loads(completed_topics(Store(mixed), {"Orders": 4})) == topics
    file.write_text(json.dumps(topics), "utf-8")
    fewer_queues(mixed, "Orders", "2")
    row = json.loads(completed_topics(Store(mixed), Store(mixed).unlisted))["topicConfigTable"]["Orders"]
    assert (row["readQueueNums"], row["writeQueueNums"]) == (4, 2)
