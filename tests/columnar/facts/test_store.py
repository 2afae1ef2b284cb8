"""The one object that stands for a store, and what an audit, a rebuild and a prediction make of its facts."""

import shutil
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from one_at_a_time import broker_lock
from rocket_columnar.facts import Store
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_columnar.store import read_broker_conf
from store_bytes import BEGIN, Entry, blank, checkpoint, contents, index_file, overwrite, put, record, unit

ON = "enableDLegerCommitLog=true\n"
TOPICS = b'{"dataVersion":{"counter":1,"timestamp":1},"topicConfigTable":{"Kept":{"topicName":"Kept"}}}'


def store_of(
    root: Path, messages: list[tuple[bytes, int, bytes, int]], size: int = 4096
) -> list[tuple[int, int]]:
    """A log of messages, each with its topic, logical offset, properties and queue; where each is, and its length."""
    data, places = b"", []
    for number, (topic, logical, properties, queue_id) in enumerate(messages):
        one = record(
            len(data),
            topic=topic,
            queue_offset=logical,
            properties=properties,
            queue_id=queue_id,
            store_timestamp=BEGIN + 1000 * number,
        )
        places.append((len(data), len(one)))
        data += one
    put(root, f"commitlog/{0:020}", data.ljust(size, b"\0"))
    return places


@pytest.fixture
def opened() -> Counter[str]:
    """The number of times that each file is opened, by its path."""
    seen: Counter[str] = Counter()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            seen[arguments[0]] += 1

    sys.addaudithook(hook)
    return seen


def test_an_audit_opens_each_file_at_most_twice(tmp_path: Path, opened: Counter[str]) -> None:
    store = rocket_golden.open_store("mixed", tmp_path)
    files = [path for path in store.rglob("*") if path.is_file()]
    opened.clear()
    assert list(audit(store)) == []
    counts = {str(path): opened[str(path)] for path in files}
    assert max(counts.values()) <= 2
    assert sum(counts.values()) >= len([path for path in files if path.parent.name != "mixed"])


def test_only_a_process_that_holds_the_lock_makes_a_store_live(tmp_path: Path) -> None:
    store_of(tmp_path, [(b"T", 0, b"", 0)])
    assert Store(tmp_path).state == "stopped"
    (tmp_path / "abort").touch()
    (tmp_path / "lock").touch()
    assert Store(tmp_path).state == "killed"
    with broker_lock(tmp_path) as holder:
        assert (Store(tmp_path).state, Store(tmp_path).holder) == ("live", holder)


def test_a_killed_store_without_its_index_lost_what_no_start_dispatches_again(tmp_path: Path) -> None:
    """A recovery begins with the last file of the log; the keys before it are in no index file any more."""
    store = rocket_golden.open_store("mixed", tmp_path)
    (store / "abort").touch()
    (store / "lock").touch()
    shutil.rmtree(store / "index")
    predicted = restart(store)
    logs = sorted(int(path.name) for path in (store / "commitlog").iterdir())
    assert predicted.dispatch_from == logs[-1]
    lost = [finding for finding in audit(store) if finding.code == "index.missing_key"]
    assert [f"{len(predicted.lost):,} keys" in finding.message for finding in lost] == [True]
    assert {key.phy_offset < logs[-1] for key in predicted.lost} == {True}


def test_a_topic_that_was_deleted_and_made_again_keeps_its_live_messages(tmp_path: Path) -> None:
    """Four messages, then two of the second life, whose units alone are in the queue; as `mqadmin deleteTopic` leaves it."""
    root = tmp_path / "store"
    places = store_of(root, [(b"Kept", logical, b"", 0) for logical in (0, 1, 2, 3, 0, 1)])
    put(root, f"consumequeue/Kept/0/{0:020}", (unit(*places[4]) + unit(*places[5])).ljust(200, b"\0"))
    put(root, "config/topics.json", TOPICS)
    found = [finding for finding in audit(root) if finding.file.startswith("consumequeue")]
    assert [(finding.code, finding.severity) for finding in found] == [("queue.missing_unit", "note")]
    rebuild(root, tmp_path / "new")
    assert contents(tmp_path / "new/consumequeue") == contents(root / "consumequeue")


def test_the_lives_of_a_queue_are_told_apart_in_other_files_too(tmp_path: Path) -> None:
    """The second life begins in the second file of the log, whose first file has a queue that is gone."""
    root = tmp_path / "store"
    size = 1024
    first = [(b"Kept", 0, b"", 0), (b"Kept", 1, b"", 0), (b"Kept", 0, b"", 1)]
    store_of(root, first, size)
    whole = sum(len(record(0, topic=topic)) for topic, *_ in first)
    path = root / f"commitlog/{0:020}"
    path.write_bytes(
        path.read_bytes()[:whole] + struct.pack(">ii", size - whole, -0x344BCE6C) + bytes(size - whole - 8)
    )
    again = record(size, topic=b"Kept", queue_offset=0, store_timestamp=BEGIN + 9000)
    put(root, f"commitlog/{size:020}", again.ljust(size, b"\0"))
    put(root, f"consumequeue/Kept/0/{0:020}", unit(size, len(again)).ljust(200, b"\0"))
    put(root, "config/topics.json", TOPICS)
    found = [finding for finding in audit(root) if finding.code.startswith("queue.")]
    assert [(finding.severity, finding.file) for finding in found] == [("note", "consumequeue/Kept")]
    rebuild(root, tmp_path / "new")
    assert contents(tmp_path / "new/consumequeue/Kept/0") == contents(root / "consumequeue/Kept/0")


def test_a_topic_in_neither_the_list_nor_the_queues_was_deleted(tmp_path: Path) -> None:
    root = tmp_path / "store"
    places = store_of(root, [(b"Gone", 0, b"", 0), (b"Kept", 0, b"", 0)])
    put(root, f"consumequeue/Kept/0/{0:020}", unit(*places[1]).ljust(200, b"\0"))
    put(root, "config/topics.json", TOPICS)
    found = [finding for finding in audit(root) if finding.code == "queue.missing_unit"]
    assert [(finding.severity, finding.file) for finding in found] == [("note", "consumequeue/Gone")]
    rebuild(root, tmp_path / "new")
    assert [path.name for path in (tmp_path / "new/consumequeue").iterdir()] == ["Kept"]
    (root / "config/topics.json").unlink()  # nothing shows that it was deleted
    found = [finding for finding in audit(root) if finding.code == "queue.missing_unit"]
    assert [finding.severity for finding in found] == ["warning"]


@pytest.mark.parametrize("delay", [3_600_000 * 3, 5000])
def test_delays_of_a_level_are_those_that_its_units_wait(tmp_path: Path, delay: int) -> None:
    """Level 1 waits 1 s by default; a broker with its own messageDelayLevel writes other times."""
    root, topic = tmp_path / "store", "SCHEDULE_TOPIC_XXXX"
    places = store_of(root, [(topic.encode(), logical, b"DELAY\x011\x02", 0) for logical in range(3)])
    units = [unit(*place, BEGIN + 1000 * number + delay) for number, place in enumerate(places)]
    put(root, f"consumequeue/{topic}/0/{0:020}", b"".join(units).ljust(200, b"\0"))
    assert [finding.code for finding in audit(root) if finding.code == "queue.tags_code"] == []
    rebuild(root, tmp_path / "new")
    assert contents(tmp_path / "new/consumequeue") == contents(root / "consumequeue")
    units[1] = unit(*places[1], BEGIN + 1000 + delay + 1)
    put(root, f"consumequeue/{topic}/0/{0:020}", b"".join(units).ljust(200, b"\0"))
    assert [finding.offset for finding in audit(root) if finding.code == "queue.tags_code"] == [20 + 12]


def test_delays_of_a_store_without_delayed_messages_are_those_of_its_broker(tmp_path: Path) -> None:
    store_of(tmp_path / "store", [(b"T", 0, b"", 0)])
    conf = put(tmp_path, "broker.conf", b"messageDelayLevel=5s 20s 1m 3h\n")
    assert Store(tmp_path / "store", conf=read_broker_conf(conf)).delays == (5000, 20_000, 60_000, 10_800_000)
    assert Store(tmp_path / "store").delays[:3] == (1000, 5000, 10_000)


def test_units_of_another_configuration_are_a_note(tmp_path: Path) -> None:
    """Of a real broker with the default delays: what its messages of level 2 and 18 wait is not what this configuration states."""
    store = rocket_golden.open_store("mixed", tmp_path)
    conf = read_broker_conf(put(tmp_path, "broker.conf", b"messageDelayLevel=1s" + b" 10s" * 17 + b"\n"))
    found = [
        (one.severity, one.file, one.offset) for one in audit(store, conf=conf) if one.clause == "CQ-TAGS-2"
    ]
    queues = f"consumequeue/SCHEDULE_TOPIC_XXXX/1/{0:020}", f"consumequeue/SCHEDULE_TOPIC_XXXX/17/{0:020}"
    assert found == [("note", file, 12) for file in queues]


def test_a_folder_of_dledger_mode_without_an_entry_is_no_log(tmp_path: Path) -> None:
    """A broker in plain mode starts beside it, and delivers all."""
    store = rocket_golden.open_store("mixed", tmp_path)
    put(store, f"dledger-n0/data/{0:020}", bytes(100))
    assert [(finding.severity, finding.file) for finding in audit(store)] == [("note", "dledger-n0/data")]
    assert restart(store).refused is None


def test_with_a_configuration_the_log_is_where_it_says(tmp_path: Path) -> None:
    """A second log of the same names, left in the store, is not one of its files."""
    store = rocket_golden.open_store("mixed", tmp_path)
    shutil.copytree(store / "commitlog", tmp_path / "log")
    conf = read_broker_conf(put(tmp_path, "broker.conf", f"storePathCommitLog={tmp_path / 'log'}\n".encode()))
    logs = Store(store, commitlog=(tmp_path / "log",), conf=conf).logs
    assert {file.path.parent for file in logs} == {tmp_path / "log"}


def test_an_empty_index_in_rocksdb_hides_no_missing_key(tmp_path: Path) -> None:
    """5.5.0 makes `rocksdbstore` in every store."""
    store = rocket_golden.open_store("mixed", tmp_path)
    shutil.rmtree(store / "index")
    for name, data in {"CURRENT": b"MANIFEST-000005\n", "000004.log": b"", "MANIFEST-000005": b"\1"}.items():
        put(store, f"rocksdbstore/{name}", data)
    assert {finding.code for finding in audit(store)} == {"index.missing_key"}


def test_files_of_the_configuration_that_cannot_be_loaded_refuse_a_start(tmp_path: Path) -> None:
    store = rocket_golden.open_store("mixed", tmp_path)
    for name in ("subscriptionGroup.json", "subscriptionGroup.json.bak"):
        put(store, f"config/{name}", b"<nil>")
    refused = restart(store).refused
    assert refused is not None
    assert refused.startswith("config/subscriptionGroup.json: ")
    assert [finding.file for finding in audit(store)] == ["config/subscriptionGroup.json"]


def test_a_broker_with_light_queues_keeps_all_offsets_in_a_file_of_its_own(tmp_path: Path) -> None:
    """`LmqConsumerOffsetManager`: `lmqConsumerOffset.json` with offsets of light queues beside the others."""
    store = rocket_golden.open_store("mixed", tmp_path)
    text = b'{"lmqOffsetTable":{"%LMQ%a@g":7},"offsetTable":{"Orders@g":{1:2}}}'
    put(store, "config/lmqConsumerOffset.json", text)
    conf = read_broker_conf(put(tmp_path, "broker.conf", b"enableLmq=true\n"))
    rows = Store(store, conf=conf).config("consumer_offsets").rows
    assert [tuple(row.values()) for row in rows] == [("Orders", "g", 1, 2), ("%LMQ%a", "g", 0, 7)]
    without = read_broker_conf(put(tmp_path, "other.conf", b"brokerId=0\n"))
    (row,) = Store(store, conf=without).config("consumer_offsets").rows
    assert row["group"] == "golden-group"


@pytest.mark.parametrize("name", ["small-roll", "mixed", "dledger"])
@pytest.mark.parametrize("broken", ["slots", "links", "hashes"])
def test_the_geometry_follows_from_the_log_whatever_slots_links_and_hashes_are(
    name: str, broken: str, tmp_path: Path
) -> None:
    """Each wrong value is one that a wrong broker may write: the slot or hash beside the right one, or no link."""
    store = rocket_golden.open_store(name, tmp_path)
    slots, _ = geometry = rocket_golden.manifest().stores[name].geometry
    for path in (store / "index").iterdir():
        data = bytearray(path.read_bytes())
        count, begin = int.from_bytes(data[36:40]), 40 + 4 * slots
        if broken == "slots":
            data[40:begin] = data[44:begin] + data[40:44]
        for at in range(begin + 20, begin + 20 * count, 20) if broken != "slots" else ():
            value = (int.from_bytes(data[at : at + 4]) ^ 5) & 0x7FFFFFFF
            data[at : at + 4], data[at + 16 : at + 20] = (
                (value.to_bytes(4), data[at + 16 : at + 20])
                if broken == "hashes"
                else (data[at : at + 4], bytes(4))
            )
        path.write_bytes(data)
    assert Store(store).geometry == tuple(geometry)
    assert "index.geometry" not in {found.code for found in audit(store)}


def test_a_start_indexes_from_the_end_of_the_last_index_file(tmp_path: Path) -> None:
    store = rocket_golden.open_store("mixed", tmp_path)
    ends = [int.from_bytes(path.read_bytes()[24:32]) for path in sorted((store / "index").iterdir())]
    assert ends == sorted(set(ends))
    assert Store(store).indexed_from(0) == ends[-1]
    assert Store(store).indexed_from(ends[-1] + 1) == ends[-1] + 1


def test_names_of_sound_index_files_are_found_once(tmp_path: Path) -> None:
    """They are asked for each file: thousands of index files would make an audit take minutes."""
    store = Store(rocket_golden.open_store("mixed", tmp_path))
    assert store.sound_indexes is store.sound_indexes
    assert store.with_present_indexes().sound_indexes is not store.sound_indexes


@pytest.mark.parametrize(
    ("times", "physic", "walk_from"),
    [
        ((0, 1000, 2000), 5000, 2048),
        ((0, 1000, 2000), 4999, 1024),
        ((0, 1000, None), 5000, 1024),
        ((0, 1000, 2000), 2999, 0),
    ],
)
def test_the_log_file_from_which_a_start_recovers_after_a_kill(
    times: tuple[int | None, ...], physic: int, walk_from: int, tmp_path: Path
) -> None:
    """The newest whose first record was stored 3 s before the checkpoint; one of time 0 is none (`CommitLog.isMappedFileMatchedRecover`)."""
    for number, time in enumerate(times):
        made = record(1024 * number, queue_offset=number, store_timestamp=0 if time is None else BEGIN + time)
        put(tmp_path, f"commitlog/{1024 * number:020}", (made + blank(1024 - len(made))).ljust(1024, b"\0"))
    put(tmp_path, "abort", b"")
    put(tmp_path, "checkpoint", checkpoint(BEGIN + physic, BEGIN + physic, 0))
    assert Store(tmp_path).dispatched_again_from == walk_from


@pytest.mark.parametrize(
    ("settings", "member"),
    [
        ("", "n0"),
        ("dLegerSelfId=n0\n", "n0"),
        (f"{ON}", None),
        (f"{ON}dLegerSelfId=n0\n", None),
        (f"{ON}dLegerSelfId=n1\n", "n0"),
    ],
)
def test_the_member_whose_log_the_configured_broker_does_not_read(
    settings: str, member: str | None, tmp_path: Path
) -> None:
    """Without dLegerSelfId it is not known to be another one."""
    store = rocket_golden.open_store("dledger", tmp_path)
    conf = read_broker_conf(put(tmp_path, "broker.conf", settings.encode() or b"\n"))
    assert Store(store, conf=conf).unread_member == member


@pytest.mark.parametrize(
    ("entries", "foreign"),
    [([0], False), ([1], True), ([0, 1], False), ([4096], False), ([4096, 1], True)],
)
def test_an_index_of_which_no_file_begins_with_its_record_is_another_stores(
    entries: list[int], tmp_path: Path, *, foreign: bool
) -> None:
    """Files that begin after the log's end show nothing: the log may have lost it."""
    put(tmp_path, f"commitlog/{0:020}", (record(0) + record(len(record(0)))).ljust(1024, b"\0"))
    for number, at in enumerate(entries):
        put(tmp_path, f"index/2023111422132000{number}", index_file(16, 10, [Entry(3, at, 0)]))
    assert Store(tmp_path).foreign_index == foreign
    for path in (tmp_path / "index").iterdir():
        overwrite(path, 0, (BEGIN + 1).to_bytes(8))
    assert Store(tmp_path).foreign_index == (entries != [4096]), "no record was stored then"


def test_a_topic_with_one_queue_more_than_are_read(tmp_path: Path) -> None:
    """Of 0 to 3, say, queue 3, if 3 are read; of an unlisted topic queue 0 (`PullMessageProcessor` 144)."""
    for topic, queue_id in ((b"Read", 1), (b"Lone", 0), (b"Kept", 0)):
        put(tmp_path, f"consumequeue/{topic.decode()}/{queue_id}/{0:020}", unit(0, 96).ljust(200, b"\0"))
    names = b",".join(
        b'"%s":{"topicName":"%s","readQueueNums":1}' % (name, name) for name in (b"Read", b"Kept")
    )
    put(tmp_path, "config/topics.json", b'{"topicConfigTable":{%s}}' % names)
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(1024, b"\0"))
    assert Store(tmp_path).unlisted == {"Lone": 1, "Read": 2}
