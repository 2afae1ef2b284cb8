"""Streams over the store of a real broker, while it writes and rolls its files."""

import shutil
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from scenario import Scenario
from streams import TABLES, appended, expected, killed_increment, ordered, stream, trigger
from table_rows import Row, table_rows
from verb_run import Run

CONFIG = {"mappedFileSizeCommitLog": "65536", "mappedFileSizeConsumeQueue": "2000"}
PATIENCE = 600.0  # seconds


def rolled(rows: dict[str, list[Row]]) -> bool:
    """Whether rows of a third log file have come, and of a second file of a queue."""
    logs, queues = ({row["file"] for row in rows[table]} for table in TABLES)
    return len(logs) > 2 and len({file.rpartition("/")[0] for file in queues}) < len(queues)


@pytest.mark.java
@pytest.mark.parametrize("kills", [0, pytest.param(3, marks=pytest.mark.soak)])
def test_every_row_of_a_real_broker_once(maven: str, java: str, tmp_path: Path, kills: int) -> None:
    """It writes and rolls while each trigger takes what is there; killed, it starts again over the same store."""
    del maven  # asked for so that its absence skips
    with Scenario(tmp_path / "site", java, CONFIG) as broker:
        followed = Followed(broker.store)
        acknowledged: set[int] = set()
        for number in range(kills + 1):
            broker.do("start", f"send {8 + number} 400")
            followed.until_rolled()
            if number < kills:
                broker.kill()
            acknowledged |= {message.offset for message in broker.stop_load()}
            followed.trigger()
        broker.ask("log")
        broker.stop()
        followed.trigger()
        for table, found in followed.rows.items():
            assert ordered(found) == ordered(table_rows(broker.store, table))
    assert {row["phy_offset"] for row in followed.rows["commit_log"]} >= acknowledged


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.spark
def test_increments_that_are_killed_beside_a_real_broker(
    spark: SparkSession, verb: Run, maven: str, java: str, golden: dict[str, Path], tmp_path: Path
) -> None:
    """It writes and rolls meanwhile; a store that comes later is picked up; no row is lost or doubled."""
    del maven  # asked for so that its absence skips
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    glob = f"{tmp_path}/broker-*/store"
    shutil.copytree(golden["small-roll"], tmp_path / "broker-b/store")
    with Scenario(tmp_path / "broker-a", java, CONFIG) as broker:
        assert broker.store == tmp_path / "broker-a/store"
        broker.do("start", "send 8 200")
        acknowledged: set[int] = set()
        for number in range(5):
            killed_increment(glob, out, checkpoint)
            if number == 2:
                shutil.copytree(golden["lmq"], tmp_path / "broker-c/store")
        acknowledged |= {message.offset for message in broker.stop_load()}
        broker.ask("log")
        broker.stop()
    stores = [tmp_path / f"broker-{letter}/store" for letter in "abc"]
    done = verb("decode", glob, "-o", out, "--increment", checkpoint)
    assert done.code == 0, done.err
    for table in TABLES:
        found, whole = appended(spark, out, table), expected(stores, table)
        assert found == whole
    written = {row["phy_offset"] for row in table_rows(stores[0], "commit_log")}
    assert len(acknowledged) > 100
    assert acknowledged <= written


class Followed:
    """Streams of a store, each trigger with a reader of its own, as after a restart."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.rows: dict[str, list[Row]] = {table: [] for table in TABLES}
        self.offsets: dict[str, dict[str, int]] = {}

    def trigger(self) -> None:
        """One micro-batch of each table, as soon as there is anything to follow."""
        for table in TABLES:
            reader = stream(table, self.store)
            if table not in self.offsets:
                offsets = reader.initialOffset()
                if not offsets:  # nothing written yet
                    continue
                (self.offsets[table],) = offsets.values()
            self.offsets[table], more = trigger(reader, self.offsets[table])
            self.rows[table] += more

    def until_rolled(self) -> None:
        """Triggers until files have rolled since, however slow the machine is."""
        before = {table: len(found) for table, found in self.rows.items()}
        deadline = time.monotonic() + PATIENCE
        while not rolled({table: found[before[table] :] for table, found in self.rows.items()}):
            assert time.monotonic() < deadline, f"no roll in {PATIENCE:.0f} s"
            self.trigger()
