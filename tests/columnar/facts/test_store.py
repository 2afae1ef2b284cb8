"""The one object that stands for a store, and what an audit, a rebuild and a prediction make of its facts."""

import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from one_at_a_time import broker_lock
from rocket_columnar.facts import Store
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_columnar.store import read_broker_conf
from store_bytes import put, record


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
    put(tmp_path, f"commitlog/{0:020}", record(0))
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


def test_with_a_configuration_the_log_is_where_it_says(tmp_path: Path) -> None:
    """A second log of the same names, left in the store, is not one of its files."""
    store = rocket_golden.open_store("mixed", tmp_path)
    shutil.copytree(store / "commitlog", tmp_path / "log")
    conf = read_broker_conf(put(tmp_path, "broker.conf", f"storePathCommitLog={tmp_path / 'log'}\n".encode()))
    logs = Store(store, commitlog=(tmp_path / "log",), conf=conf).logs
    assert {file.path.parent for file in logs} == {tmp_path / "log"}


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
