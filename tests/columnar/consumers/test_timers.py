"""Messages of 5.x with a delivery time of their own, compared with the broker's own count and with their records."""

import json
import zipfile
from pathlib import Path

import pytest
from later_stores import FOLDER
from rocket_columnar.consumers import Timers, progress
from rocket_columnar.decode import decode
from rocket_columnar.facts import Store
from rocket_golden import open_store


@pytest.mark.parametrize("version", ["5.3.1", "5.5.0"])
def test_what_waits_in_the_timer_wheel(version: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(FOLDER / f"{version}.zip") as packed:
        packed.extractall(tmp_path)
    store = Store(tmp_path / "store")
    counts = json.loads((tmp_path / "store" / "config" / "timermetrics").read_text("utf-8"))["timingCount"]
    rows = [
        row
        for _, batch in decode(store.logs, tables=["commit_log"], columns=["topic", "properties"])
        for row in batch.to_pylist()
        if row["topic"] == "rmq_sys_wheel_timer"
    ]
    stopped = store.newest or 0
    due = [time for row in rows if (time := int(dict(row["properties"])["TIMER_OUT_MS"])) > stopped]
    assert len(due) == sum(topic["count"] for topic in counts.values()) == 30
    slots = [-(-time // 1000) * 1000 for time in due]  # a slot is a second
    last = max(slots)
    assert progress(store).timers == Timers(30, 30, min(slots), last)
    for read, left in ((last, slots.count(last)), (last + 1, 0)):
        (tmp_path / "store" / "config" / "timercheck").write_bytes(read.to_bytes(8))
        timers = progress(store).timers
        assert timers is not None
        assert timers.messages == left


def test_a_store_of_4_9_3_has_none(tmp_path: Path) -> None:
    assert progress(Store(open_store("mixed", tmp_path))).timers is None
