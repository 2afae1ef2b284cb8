"""Stores of real brokers of 5.3.1 and 5.5.0 with POP, timer messages, batch queues and checksums in properties.

`later/` is written by `python tests/support/later_stores.py`: per topic 60 messages or batches, half of the timers due in an hour.
"""

import shutil
import zlib
from pathlib import Path

import pytest
from later_stores import FOLDER
from release_run import FEATURES, answer, content
from rocket_columnar.query import OpenStore
from rocket_columnar.rebuild import rebuild
from rocket_columnar.report import audit
from rocket_reference import java
from table_rows import table_rows

TIMED = 60
_NAME = b"__CRC32#\1"


@pytest.fixture(params=FEATURES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.unpack_archive(FOLDER / f"{request.param}.zip", tmp_path)
    return tmp_path / "store"


def test_nothing_is_found_in_it(store: Path) -> None:
    report = audit(store, "deep")
    assert list(report) == []
    assert {"batch", "timer"} <= {sign.kind for sign in report.signs}


def test_its_files_are_rebuilt(store: Path, tmp_path: Path) -> None:
    rebuild(store, tmp_path / "again")
    assert content(tmp_path / "again") == content(store)


def test_its_queries_are_answered_as_the_broker_answered_them(store: Path) -> None:
    lines = (store.parent / "answers.txt").read_text().splitlines()
    assert len(lines) >= 6 * TIMED
    with OpenStore(store) as opened:
        for kind, topic, key, *offsets in map(str.split, lines):
            assert answer(opened, kind, topic, key) == sorted(map(int, offsets)), (kind, topic, key)


def test_each_message_with_a_timer_has_a_unit(store: Path) -> None:
    """TIM-1, TIM-3: those that are due in an hour are in the slots. What POP hid comes back by timers, too."""
    records = {row["phy_offset"]: row for row in table_rows(store, "commit_log")}
    units = table_rows(store, "timer_log")
    topics = [unit["topic_hash"] for unit in units]
    assert set(topics) == {java.string_hash("Timed"), java.string_hash("rmq_sys_REVIVE_LOG_DefaultCluster")}
    assert topics.count(java.string_hash("Timed")) == TIMED
    for unit in units:
        record = records[unit["phy_offset"]]
        assert (record["topic"], record["size"]) == ("rmq_sys_wheel_timer", unit["record_size"])
    later = [unit for unit in units if unit["delay"] > 1_000_000]
    ends = {unit["position"] for unit in later}
    slots = [slot for slot in table_rows(store, "timer_wheel") if slot["last_position"] in ends]
    assert sum(slot["num"] for slot in slots) == len(later) == TIMED // 2


def test_each_batch_has_a_unit(store: Path) -> None:
    """BCQ-3: batches of 1 to 4 messages, of which each third is a message that is sent alone."""
    units = table_rows(store, "batch_consume_queue")
    assert sorted(unit["batch_size"] for unit in units) == sorted(
        1 + number % 4 if number % 3 else 1 for number in range(TIMED)
    )


def test_each_record_ends_in_its_checksum(store: Path) -> None:
    """LOG-PROP-8: the lowest digit comes first."""
    (log,) = (store / "commitlog").iterdir()
    raw = log.read_bytes()
    for row in table_rows(store, "commit_log"):
        record = raw[row["phy_offset"] :][: row["size"]]
        assert record[-20:-11] == _NAME
        assert int(record[-11:-1][::-1]) == zlib.crc32(record[:-20]) & 0x7FFFFFFF


def test_a_wheel_with_holes_is_read(store: Path) -> None:
    """A broker writes pages of slots far from each other, and no zeros between them."""
    before = table_rows(store, "timer_wheel")
    wheel = store / "timerwheel"
    data = wheel.read_bytes()
    places = {row["slot"] * 32: data[row["slot"] * 32 :][:32] for row in before}
    first = next(iter(places))
    places[(first + 600_000 * 32) % len(data)] = places[first]
    with wheel.open("wb") as file:
        file.truncate(len(data))
        for place, slot in places.items():
            file.seek(place)
            file.write(slot)
    assert len(table_rows(store, "timer_wheel")) == len(before) + 1
    assert list(audit(store)) == []
