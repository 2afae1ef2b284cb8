"""Streams over the store of a real broker, while it writes and rolls its files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import stream_run
from kill_cycle import Load, make_topics, start_load
from real_broker import RealBroker
from rocket_spec.errors import UsageError
from streams import TABLES, Row, engine_rows, ordered, stream, trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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


def wait(ready: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Waits until something is so, however slow the machine is, while a process runs."""
    deadline = time.monotonic() + SLOW
    while not ready():
        assert time.monotonic() < deadline, f"not in {SLOW:.0f} s"
        assert process is None or process.poll() is None, "the stream has ended"
        time.sleep(0.2)


class Queries:
    """The streams of a process of their own, and what they have committed."""

    def __init__(self, store: Path, folder: Path) -> None:
        self.store = store
        self.folder = folder
        folder.mkdir()

    def command(self, how: str) -> list[str]:
        return [sys.executable, stream_run.__file__, str(self.store), str(self.folder), how, *TABLES]

    def batches(self) -> int:
        """The number of batches that the table with the fewest of them has committed."""
        return min(
            sum(path.name.isdigit() for path in (self.folder / f"{table}-checkpoint" / "commits").glob("*"))
            for table in TABLES
        )

    @contextmanager
    def until_killed(self) -> Iterator[subprocess.Popen[bytes]]:
        """Runs them; at the end of the block Python and its JVM are killed, whatever they are doing."""
        with (
            (self.folder / "log").open("ab") as log,
            subprocess.Popen(self.command("on"), stdout=log, stderr=log, start_new_session=True) as process,
        ):
            try:
                yield process
            finally:
                os.killpg(process.pid, signal.SIGKILL)

    def more(self, process: subprocess.Popen[bytes], count: int = 2) -> None:
        """Waits for more batches of each table."""
        before = self.batches()
        wait(lambda: self.batches() >= before + count, process)


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
        with queries.until_killed() as running:
            queries.more(running)
        with queries.until_killed() as running:
            queries.more(running)
            broker.kill()
            acknowledged = {message.offset for message in broker.stop_load()}
            broker.start()
            make_topics(broker)
            start_load(broker, Load(seed=20, per_second=200, seconds=0))
            queries.more(running)
        acknowledged |= {message.offset for message in broker.stop_load()}
        broker.ask("log")
        broker.stop()
        subprocess.run(queries.command("end"), check=True, capture_output=True, timeout=SLOW)
        rows = {
            table: spark.read.parquet(str(queries.folder / table)).toArrow().to_pylist() for table in TABLES
        }
        for table, found in rows.items():
            assert ordered(found) == ordered(engine_rows(broker.store, table))
    assert len(acknowledged) > 0
    assert {row["phy_offset"] for row in rows["commit_log"]} >= acknowledged
