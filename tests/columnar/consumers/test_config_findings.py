"""Findings on the files of `config/`: what is written there by hand beside golden queues (CFG-1, CFG-4)."""

import json
import shutil
from pathlib import Path

import pytest
from broken_stores import fewer_queues
from rocket_columnar.consumers import completed_topics, config_findings, moved_offsets, progress
from rocket_columnar.describe import queue_views
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import restart
from rocket_golden import open_store, truth
from store_bytes import overwrite, put, record


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return open_store("mixed", tmp_path)


def found(store: Path) -> list[Finding]:
    return list(config_findings(Store(store)))


def codes(store: Path) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in found(store)]


@pytest.mark.parametrize("name", ["mixed", "transactions", "dledger", "expired", "killed-restarted"])
def test_nothing_is_wrong_with_what_a_broker_left(name: str, tmp_path: Path) -> None:
    assert codes(open_store(name, tmp_path)) == []


def test_a_topic_that_is_not_listed(mixed: Path) -> None:
    """Queues 0 to 3 of Orders hold 32, 14, 28 and 11 units; the list is completed in the form that 4.9.3 writes."""
    file = mixed / "config" / "topics.json"
    topics = json.loads(file.read_bytes())
    orders = topics["topicConfigTable"].pop("Orders")
    file.write_text(json.dumps(topics), "utf-8")
    (missing,) = found(mixed)
    told = missing.code, missing.severity, missing.file
    assert told == ("topic.missing", "warning", "config/topics.json")
    assert "topic Orders has queues 0 to 3 with 85 messages" in missing.message
    assert Store(mixed).unlisted == {"Orders": 4}
    completed = json.loads(completed_topics(Store(mixed), {"Orders": 4}))
    assert completed["topicConfigTable"].pop("Orders") == orders
    assert completed == topics


def test_a_topic_of_which_the_list_has_fewer_queues(mixed: Path) -> None:
    """The real broker answers no pull of queues 2 and 3 (`PullMessageProcessor` 144); queues without a message do no harm."""
    fewer_queues(mixed, "Orders", "2")
    (missing,) = found(mixed)
    assert missing.message.startswith("topic Orders has queues 0 to 3, and 2 to read")
    assert "the 39 messages of the others" in missing.message
    assert restart(mixed).unlisted == {"Orders": 2}
    row = json.loads(completed_topics(Store(mixed), Store(mixed).unlisted))["topicConfigTable"]["Orders"]
    assert (row["readQueueNums"], row["writeQueueNums"]) == (4, 2)
    for queue in ("2", "3"):
        for path in (mixed / "consumequeue/Orders" / queue).iterdir():
            path.write_bytes(bytes(path.stat().st_size))
    assert Store(mixed).unlisted == {}


def test_no_file_at_all(mixed: Path) -> None:
    for file in (mixed / "config").iterdir():
        file.unlink()
    missing = found(mixed)
    assert {finding.code for finding in missing} == {"topic.missing", "config.unreadable"}
    files = {f"config/{name}.json" for name in ("topics", "delayOffset", "consumerOffset")}
    assert {finding.file for finding in missing} == files
    assert len(restart(mixed).forgotten) == 2


def test_a_file_whose_backup_alone_is_there(mixed: Path) -> None:
    (mixed / "config" / "consumerOffset.json").unlink()
    (note,) = found(mixed)
    assert (note.file, note.severity) == ("config/consumerOffset.json", "note")
    assert "the file is missing; a start takes consumerOffset.json.bak, last written" in note.message
    assert restart(mixed).forgotten == ()


@pytest.mark.parametrize(
    ("offset", "code", "said"),
    [
        (-1, "consumer.offset_below_minimum", "offset -1, which a broker takes for none"),
        (69, "consumer.offset_below_minimum", "the queue begins at 70: 1 message expired unread"),
        (70, None, ""),
        (110, None, ""),
        (
            111,
            "consumer.offset_beyond_queue",
            "the queue ends at 110; a pull there is answered with offset 110",
        ),
    ],
)
def test_offsets_outside_a_queue(tmp_path: Path, offset: int, code: str | None, said: str) -> None:
    """Queue 0 of Events in `expired` has units 70 to 109, as its truth says."""
    store = open_store("expired", tmp_path)
    text = f'{{"offsetTable":{{"Events@late":{{0:{offset}}}}}}}'
    (store / "config" / "consumerOffset.json").write_text(text, "ascii")
    assert [(finding.code, said in finding.message) for finding in found(store)] == (
        [] if code is None else [(code, True)]
    )


def test_an_offset_of_a_queue_that_is_behind_the_log(mixed: Path) -> None:
    """The last units of a queue are zeros: the log has their records, and the next start dispatches them."""
    overwrite(mixed / f"consumequeue/Orders/0/{400:020}", 10 * 20, bytes(2 * 20))
    assert Store(mixed).once(queue_views)["Orders", 0].max_offset == 30
    offsets = {"offsetTable": {"Orders@g": {"0": 32}}}
    (mixed / "config" / "consumerOffset.json").write_text(json.dumps(offsets), "ascii")
    assert codes(mixed) == []
    offsets["offsetTable"]["Orders@g"]["0"] = 33
    (mixed / "config" / "consumerOffset.json").write_text(json.dumps(offsets), "ascii")
    assert codes(mixed) == [("consumer.offset_beyond_queue", "warning")]


def test_an_offset_from_before_a_topic_was_created_again(tmp_path: Path) -> None:
    """T counted to 9, was deleted, and counts to 3 since it was created again."""
    log = b""
    for offset in (*range(9), *range(3)):
        log += record(len(log), queue_offset=offset)
    put(tmp_path, f"store/commitlog/{0:020}", log.ljust(4096, b"\0"))
    rebuild(tmp_path / "store", tmp_path / "out")
    (tmp_path / "out" / "consumequeue").rename(tmp_path / "store" / "consumequeue")
    put(tmp_path, "store/config/topics.json", b'{"topicConfigTable":{"T":{"topicName":"T"}}}')
    for offset, severity in ((9, "note"), (10, "warning")):
        put(tmp_path, "store/config/consumerOffset.json", b'{"offsetTable":{"T@g":{0:%d}}}' % offset)
        (beyond,) = found(tmp_path / "store")
        assert (beyond.code, beyond.severity) == ("consumer.offset_beyond_queue", severity)
        assert "the queue ends at 3; a pull there is answered with offset 0" in beyond.message
        assert ("before the topic was deleted" in beyond.message) == (severity == "note")
        assert moved_offsets(Store(tmp_path / "store")) == []
        assert len(moved_offsets(Store(tmp_path / "store"), to_end=True)) == (severity == "warning")


def test_half_messages_without_offsets_of_the_checker(tmp_path: Path) -> None:
    """Without an offset in both queues the broker passes over a queue of half messages: none is ever checked."""
    store = open_store("transactions", tmp_path)
    (store / "config" / "consumerOffset.json").write_text('{"offsetTable":{}}', "ascii")
    assert progress(Store(store)).open_halves > 0
    (unresolved,) = found(store)
    assert (unresolved.code, unresolved.severity) == ("transaction.unresolved", "warning")
    assert unresolved.file == "config/consumerOffset.json"
    assert (
        "CID_RMQ_SYS_TRANS has no offset in RMQ_SYS_TRANS_HALF_TOPIC and RMQ_SYS_TRANS_OP_HALF_TOPIC"
        in unresolved.message
    )


@pytest.mark.parametrize(("checks", "severity"), [(14, "note"), (15, "warning")])
def test_a_half_message_that_is_given_up(tmp_path: Path, checks: int, severity: str) -> None:
    """4.9.3 discards it at the 15th check (`transactionCheckMax`)."""
    half, op = b"RMQ_SYS_TRANS_HALF_TOPIC", b"RMQ_SYS_TRANS_OP_HALF_TOPIC"
    properties = b"REAL_TOPIC\x01T\x02TRANSACTION_CHECK_TIMES\x01%d\x02" % checks
    put(tmp_path, f"store/commitlog/{0:020}", record(0, topic=half, properties=properties).ljust(4096, b"\0"))
    rebuild(tmp_path / "store", tmp_path / "out")
    (tmp_path / "out" / "consumequeue").rename(tmp_path / "store" / "consumequeue")
    put(
        tmp_path, "store/config/topics.json", b'{"topicConfigTable":{"%s":{"topicName":"%s"}}}' % (half, half)
    )
    offsets = b'{"offsetTable":{"%s@CID_RMQ_SYS_TRANS":{0:0},"%s@CID_RMQ_SYS_TRANS":{0:0}}}' % (half, op)
    put(tmp_path, "store/config/consumerOffset.json", offsets)
    assert codes(tmp_path / "store") == [("transaction.unresolved", severity)]


def test_an_op_message_of_5_000_digits_resolves_nothing(tmp_path: Path) -> None:
    """Java reads a long (`TransactionalMessageServiceImpl.getLong`)."""
    half, op = b"RMQ_SYS_TRANS_HALF_TOPIC", b"RMQ_SYS_TRANS_OP_HALF_TOPIC"
    for body, left in ((b"0", 0), (b"9" * 5000, 1)):
        store = tmp_path / str(left)
        log = record(0, topic=half, properties=b"REAL_TOPIC\1T\2")
        log += record(len(log), topic=op, body=body, properties=b"TAGS\1d\2")
        put(store, f"commitlog/{0:020}", log.ljust(8192, b"\0"))
        rebuild(store, tmp_path / f"out{left}")
        (tmp_path / f"out{left}" / "consumequeue").rename(store / "consumequeue")
        assert progress(Store(store)).open_halves == left


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


@pytest.mark.parametrize(
    ("main", "backup", "severity", "said"),
    [
        (
            b'{"offsetTable":{',
            b'{"offsetTable":{"Orders@g":{1:3}}}',
            "warning",
            "consumerOffset.json.bak, last written",
        ),
        (b"", b'{"offsetTable":{"Orders@g":{1:3}}}', "warning", "the file is empty; a start takes"),
        (b"\0" * 90, None, "error", "without a .bak a start goes on with no rows"),
        (b"{", b"{", "error", "the broker does not start"),
        (b'{"offsetTable":{}}', b"{", "note", "a start takes that one"),
    ],
)
def test_a_file_that_cannot_be_read(
    mixed: Path, main: bytes, backup: bytes | None, severity: str, said: str
) -> None:
    file = mixed / "config" / "consumerOffset.json"
    file.write_bytes(main)
    spare = file.with_name(f"{file.name}.bak")
    spare.unlink(missing_ok=True)
    if backup is not None:
        spare.write_bytes(backup)
    (unreadable,) = found(mixed)
    assert (unreadable.code, unreadable.severity) == ("config.unreadable", severity)
    assert said in unreadable.message
