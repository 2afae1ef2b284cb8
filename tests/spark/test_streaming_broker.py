"""Streams over the store of a real broker, while it writes and rolls its files."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import stream_run
from kill_cycle import Load, make_topics, start_load
from real_broker import RealBroker
from rocket_spec.errors import UsageError
from streams import TABLES, Row, engine_rows, ordered, stream, trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONFIG = {"mappedFileSizeCommitLog": "65536", "mappedFileSizeConsumeQueue": "2000"}
PATIENCE = 120.0  # seconds
SLOW = 900.0  # seconds, for what starts Spark


def rolled(rows: dict[str, list[Row]]) -> bool:
    """Whether rows of a third log file have come, and of a second file of a queue."""
    logs, queues = ({row["file"] for row in rows[table]} for table in TABLES)
    return len(logs) > 2 and len({file.rpartition("/")[0] for file in queues}) < len(queues)


@pytest.mark.java
@pytest.mark.parametrize("kills", [0, pytest.param(3, marks=pytest.mark.soak)])
def test_every_row_of_a_real_broker_once(maven: str, java: str, tmp_path: Path, kills: int) -> None:
    """It writes and rolls while each trigger takes what is there; killed, it starts again over the same store."""
    del maven  # asked for so that its absence skips
    with RealBroker(tmp_path / "site", java, CONFIG) as broker:
        followed = Followed(broker.store)
        acknowledged: set[int] = set()
        for number in range(kills + 1):
            broker.start()
            make_topics(broker)
            start_load(broker, Load(seed=8 + number, per_second=400, seconds=0))
            followed.until_rolled()
            if number < kills:
                broker.kill()
            acknowledged |= {message.offset for message in broker.stop_load()}
            followed.trigger()
        broker.ask("log")
        broker.stop()
        followed.trigger()
        for table, found in followed.rows.items():
            assert ordered(found) == ordered(engine_rows(broker.store, table))
    assert {row["phy_offset"] for row in followed.rows["commit_log"]} >= acknowledged


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
                try:
                    self.offsets[table] = reader.initialOffset()
                except UsageError:  # nothing written yet
                    continue
            self.offsets[table], more = trigger(reader, self.offsets[table])
            self.rows[table] += more

    def until_rolled(self) -> None:
        """Triggers until files have rolled since, however slow the machine is."""
        before = {table: len(found) for table, found in self.rows.items()}
        deadline = time.monotonic() + PATIENCE
        while not rolled({table: found[before[table] :] for table, found in self.rows.items()}):
            assert time.monotonic() < deadline, f"no roll in {PATIENCE:.0f} s"
            self.trigger()


def wait(ready: Callable[[], bool]) -> None:
    """Waits until something is so, however slow the machine is."""
    deadline = time.monotonic() + SLOW
    while not ready():
        assert time.monotonic() < deadline, f"not in {SLOW:.0f} s"
        time.sleep(0.2)


class Queries:
    """The streams of a process of their own, and what they have committed."""

    def __init__(self, store: Path, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.starts = 0
        folder.mkdir()

    def start(self, how: str = "on") -> None:
        self.starts += 1
        self.how = how
        command = [sys.executable, stream_run.__file__, str(self.store), str(self.folder), how, *TABLES]
        with self.log().open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """Kills Python and its JVM, whatever they are doing."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def log(self) -> Path:
        return self.folder / f"{self.starts}.log"

    def batches(self) -> int:
        """The number of batches that the table with the fewest of them has committed."""
        return min(
            sum(path.name.isdigit() for path in (self.folder / f"{table}-checkpoint" / "commits").glob("*"))
            for table in TABLES
        )

    def ended(self) -> bool:
        """Whether they have read everything. If Spark took too long to start them, they are started again."""
        if self.process.poll() in (None, 0):
            return self.process.poll() == 0
        self.kill()  # its JVM may still run
        log = self.log().read_text("utf-8", "replace")
        assert "Python worker failed to connect back" in log, log[-4000:]
        self.start(self.how)
        return False

    def more(self) -> None:
        """Waits for two more batches of each table."""
        wanted = self.batches() + 2
        wait(lambda: self.ended() or self.batches() >= wanted)


def written(store: Path) -> bool:
    """Whether a broker has written a log and a queue."""
    return all(any(store.glob(f"{folder}/**/[0-9]*")) for folder in ("commitlog", "consumequeue"))


@pytest.mark.java
@pytest.mark.spark
@pytest.mark.soak
def test_spark_queries_killed_twice_and_the_broker_once(
    maven: str, java: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Nothing lost, nothing doubled: the files that the queries have committed are the rows of the store."""
    del maven  # asked for so that its absence skips
    with RealBroker(tmp_path / "site", java, CONFIG) as broker:
        queries = Queries(broker.store, tmp_path / "followed")
        broker.start()
        make_topics(broker)
        start_load(broker, Load(seed=19, per_second=200, seconds=0))
        wait(lambda: written(broker.store))
        try:
            queries.start()
            queries.more()
            queries.kill()
            queries.start()
            queries.more()
            broker.kill()
            acknowledged = {message.offset for message in broker.stop_load()}
            broker.start()
            make_topics(broker)
            start_load(broker, Load(seed=20, per_second=200, seconds=0))
            queries.more()
            queries.kill()
            acknowledged |= {message.offset for message in broker.stop_load()}
            broker.ask("log")
            broker.stop()
            queries.start("end")
            wait(queries.ended)
        finally:
            queries.kill()
        rows = {
            table: spark.read.parquet(str(queries.folder / table)).toArrow().to_pylist() for table in TABLES
        }
        for table, found in rows.items():
            assert ordered(found) == ordered(engine_rows(broker.store, table))
    assert len(acknowledged) > 0
    assert {row["phy_offset"] for row in rows["commit_log"]} >= acknowledged
