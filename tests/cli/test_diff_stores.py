"""`diff A B` of two stores: stores of a real master and its slaves, and copies that end early, begin late or differ."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from golden_truth import lines
from store_bytes import overwrite
from verb_run import Verb

LAST = "commitlog/00000000000000098304"


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    return shutil.copytree(store, tmp_path / "copy")


def differences(verb: Verb, first: Path, second: Path) -> list[dict[str, Any]]:
    done = verb("diff", first, second, "--json")
    assert done.code == bool(done.rows)
    return done.rows


def flip(path: Path, at: int) -> None:
    overwrite(path, at, bytes([path.read_bytes()[at] ^ 1]))


def test_a_master_and_its_slave(verb: Verb, tmp_path: Path) -> None:
    master, slave = (rocket_golden.open_store(name, tmp_path) for name in ("replica", "replica-slave"))
    done = verb("diff", master, slave)
    assert (done.code, done.out) == (0, "no differences\n")


def test_a_slave_that_came_late(verb: Verb, tmp_path: Path) -> None:
    master, late = (rocket_golden.open_store(name, tmp_path) for name in ("replica", "replica-late-slave"))
    begin = lines("replica-late-slave")["log_file"][0]["base_offset"]
    count = sum(record["phy_offset"] < begin for record in lines("replica")["log_record"])
    assert verb("diff", master, late).out == (
        f"log: {late} begins later: {count} records from physical offset 0 on are only in {master}\n1 difference\n"
    )


def test_a_store_without_the_last_file(store: Path, copy: Path, verb: Verb) -> None:
    (copy / LAST).unlink()
    *_, before = (record for record in lines("mixed")["log_record"] if record["file"] != LAST)
    count = sum(record["file"] == LAST for record in lines("mixed")["log_record"])
    end = before["phy_offset"] + before["size"]
    (found,) = differences(verb, store, copy)
    behind = {"part": "log", "what": "behind", "store": 2, "count": count, "offset": end, "record": None}
    assert found == behind
    assert differences(verb, copy, store) == [found | {"store": 1}]


def test_options_of_files(store: Path, copy: Path, verb: Verb) -> None:
    done = verb("diff", store, copy, "--kind", "log")
    assert done.is_one_line(2, f"rocketspec: {store}: is a directory; --kind requires two files\n")


def test_one_byte_of_a_record(store: Path, copy: Path, verb: Verb) -> None:
    record = next(record for record in lines("mixed")["log_record"] if record["phy_offset"] > 70_000)
    at = record["phy_offset"] + 90
    flip(copy / record["file"], at % 32_768)
    (found,) = differences(verb, store, copy)
    assert (found["what"], found["offset"], found["record"]) == ("content", at, record["phy_offset"])


def test_queues(store: Path, copy: Path, verb: Verb) -> None:
    """One queue is gone, one lacks its last unit, and in one a unit differs."""
    shutil.rmtree(copy / "consumequeue/Batch/0")
    shorter, damaged = copy / "consumequeue/Orders/0", copy / "consumequeue/Later/1"
    ends = {(queue["topic"], queue["queue_id"]): queue for queue in lines("mixed")["queue"]}
    last = ends["Orders", 0]["max"] - 1
    size = 400
    place = last * 20 % size
    overwrite(shorter / f"{last * 20 - place:020}", place, bytes(size - place))
    flip(damaged / f"{0:020}", 20 + 19)  # the last byte of unit 1
    found = {
        one["part"]: (one["what"], one["store"], one["count"], one["offset"])
        for one in differences(verb, store, copy)
    }
    assert found == {
        "Batch/0": ("missing", 2, ends["Batch", 0]["max"], 0),
        "Orders/0": ("behind", 2, 1, last),
        "Later/1": ("content", None, None, 1),
    }
