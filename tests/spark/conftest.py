"""One Spark session for all tests here, and a small store packed by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from far_storage import hdfs, s3  # noqa: F401 - started once a run
from in_process import InProcess
from java_programs import SHORT_LIVED
from pyspark import SparkContext
from pyspark.sql import SparkSession
from spark_servers import quick_python
from store_bytes import BEGIN, Entry, blank, checkpoint, ext_unit, index_file, put, record, unit
from verb_run import Run, runner


@pytest.fixture(scope="session")
def spark(java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores with every source registered; starting it takes seconds."""
    from rocket_spark import open_session, register

    # A few rows each: compiled stages and many partitions cost more than they save, and so does a thorough JIT.
    small = {
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.codegen.wholeStage": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", SHORT_LIVED)
        session = open_session("local[2]", app_name="rocketspec tests", conf=small)
    session.sparkContext.pythonExec = quick_python(tmp_path_factory.mktemp("python"))
    register(session)
    yield session
    session.stop()


@pytest.fixture
def here() -> SparkContext:
    """Runs the tasks of a job in this process, without Spark."""
    return InProcess()


@pytest.fixture
def verb(spark: SparkSession, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`rocketspec spark ...` in this process, with the session of the tests."""
    monkeypatch.setattr(spark, "stop", lambda: None)
    return _verb(spark, capfd, monkeypatch)


@pytest.fixture
def verb_here(here: SparkContext, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same without Spark."""
    return _verb(here, capfd, monkeypatch)


def _verb(
    spark: SparkSession | SparkContext, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Run:
    for name in ("open_session", "open_context"):
        monkeypatch.setattr(f"rocket_spark.{name}", lambda *_, **__: spark)
    return runner("spark", capfd, monkeypatch)


@pytest.fixture(scope="session")
def hand_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a file of every kind, two index files and two queues.

    The entries of an index file have the hashes 8, 9 and 15 in 7 slots: 8 and 15 share slot 1.
    """
    directory = tmp_path_factory.mktemp("hand_made")
    entries = [Entry(8, 0, 0), Entry(9, 200, 5), Entry(15, 300, 9)]
    first = record(0, body=b"one", properties=b"TAGS\1A\2KEYS\1k1 k2\2UNIQ_KEY\1U1\2")
    log = first + record(len(first), queue_offset=1, body=b"")
    units = unit(0, len(first), 65) + unit(len(first), len(log) - len(first))
    for name in ("20260101000000000", "20260101000001000"):
        put(directory, f"index/{name}", index_file(7, 12, entries))
    put(directory, f"consumequeue/T/0/{0:020}", units)
    put(directory, f"consumequeue/T/1/{40:020}", unit(0, 0x7FFFFFFF) + units[20:])
    put(
        directory, f"consumequeue_ext/T/0/{0:020}", ext_unit(65, BEGIN, b"\1\2\3\4") + b"\xff\xff" + bytes(14)
    )
    put(directory, f"commitlog/{0:020}", log + blank(1024 - len(log)))
    put(directory, "checkpoint", checkpoint(BEGIN, BEGIN + 1, 0))
    return directory


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every golden store of one log, DLedger's too, by its name, in one folder."""
    from rocket_golden import open_store
    from rocket_golden import stores as names

    folder = tmp_path_factory.mktemp("golden")
    return {name: open_store(name, folder) for name in (*names(), *names(log="dledger"))}
