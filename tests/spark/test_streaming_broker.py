"""Streams over the store of a real broker, while it writes and rolls its files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from kill_cycle import Load, make_topics, start_load
from real_broker import RealBroker
from streams import TABLES, Row, engine_rows, ordered, stream, trigger

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = {"mappedFileSizeCommitLog": "65536", "mappedFileSizeConsumeQueue": "6000"}
SECONDS = 5.0


@pytest.mark.java
def test_every_row_of_a_real_broker_once(maven: str, java: str, tmp_path: Path) -> None:
    del maven  # asked for so that its absence skips
    rows: dict[str, list[Row]] = {table: [] for table in TABLES}
    offsets: dict[str, dict[str, int]] = {}
    triggers = 0
    with RealBroker(tmp_path / "site", java, CONFIG) as broker:
        broker.start()
        make_topics(broker)
        start_load(broker, Load(seed=8, per_second=400, seconds=SECONDS))
        deadline = time.monotonic() + SECONDS
        acknowledged = None
        while acknowledged is None:
            if time.monotonic() >= deadline and triggers > 4:  # once more behind the last message
                acknowledged = broker.stop_load()
                broker.ask("log")
                broker.stop()
            for table in TABLES:
                try:
                    reader = stream(table, broker.store)
                    start = offsets.get(table) or reader.initialOffset()
                except ValueError:  # nothing written yet
                    continue
                offsets[table], more = trigger(reader, start)
                rows[table] += more
                triggers += bool(more)
        for table, found in rows.items():
            assert ordered(found) == ordered(engine_rows(broker.store, table))
    assert len({row["file"] for row in rows["commit_log"]}) > 2
    assert {row["phy_offset"] for row in rows["commit_log"]} >= {one.offset for one in acknowledged}
