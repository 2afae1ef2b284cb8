"""One Spark session for all tests here, and a small store packed by hand."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from far_storage import hdfs, s3  # noqa: F401 - started once a run
from short_lived import SHORT_LIVED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HASH_SLOT_NUM, INDEX_NUM = 7, 12
BEGIN = 1_700_000_000_000


@pytest.fixture(scope="session")
def spark(java: str) -> Iterator[SparkSession]:
    """A session on two cores with every source registered; starting it takes seconds."""
    from rocket_spark import open_session, register

    # A few rows each: compiled stages and many partitions cost more than they save, and so does a thorough JIT.
    small = {"spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", SHORT_LIVED)
        session = open_session("local[2]", app_name="rocketspec tests", conf=small)
    register(session)
    yield session
    session.stop()


def index_file() -> bytes:
    """Three entries of hashes 8, 9 and 15 in 7 slots: 8 and 15 share slot 1."""
    header = struct.pack(">qqqqii", BEGIN, BEGIN + 9_000, 0, 300, 2, 4)
    slots = struct.pack(">7i", 0, 3, 2, 0, 0, 0, 0)
    entries = [(0, 0, 0, 0), (8, 0, 0, 0), (9, 200, 5, 0), (15, 300, 9, 1)]
    packed = b"".join(struct.pack(">iqii", *entry) for entry in entries)
    return header + slots + packed.ljust(20 * INDEX_NUM, b"\0")


def record(offset: int, topic: bytes, queue_offset: int, body: bytes, properties: bytes) -> bytes:
    """A commit-log record with IPv4 hosts."""
    crc = zlib.crc32(body) & 0x7FFFFFFF
    host = bytes([127, 0, 0, 1]) + struct.pack(">i", 10911)
    tail = struct.pack(">i", len(body)) + body + bytes([len(topic)]) + topic
    tail += struct.pack(">h", len(properties)) + properties
    fixed = struct.pack(">iiiqqiq", crc, 0, 0, queue_offset, offset, 0, BEGIN) + host
    fixed += struct.pack(">q", BEGIN + 1) + host + struct.pack(">iq", 0, 0)
    return struct.pack(">iI", 8 + len(fixed) + len(tail), 0xDAA320A7) + fixed + tail


def write_store(directory: Path) -> Path:
    """A store with a file of every kind, two index files and two queues."""
    names = ("20260101000000000", "20260101000001000")
    records = [
        record(0, b"T", 0, b"one", b"TAGS\1A\2KEYS\1k1 k2\2UNIQ_KEY\1U1\2"),
        record(0, b"T", 1, b"", b""),
    ]
    records[1] = record(len(records[0]), b"T", 1, b"", b"")
    log = b"".join(records)
    units = struct.pack(">qiq", 0, len(records[0]), 65) + struct.pack(
        ">qiq", len(records[0]), len(records[1]), 0
    )
    ext = struct.pack(">hqqh", 24, 65, BEGIN, 4) + b"\1\2\3\4"
    files = {
        **{f"index/{name}": index_file() for name in names},
        "consumequeue/T/0/00000000000000000000": units,
        "consumequeue/T/1/00000000000000000040": struct.pack(">qiq", 0, 0x7FFFFFFF, 0) + units[20:],
        "consumequeue_ext/T/0/00000000000000000000": ext + b"\xff\xff" + bytes(14),
        "commitlog/00000000000000000000": log
        + struct.pack(">iI", 1024 - len(log), 0xCBD43194).ljust(1024 - len(log), b"\0"),
        "checkpoint": struct.pack(">qqq", BEGIN, BEGIN + 1, 0).ljust(4096, b"\0"),
    }
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return directory


@pytest.fixture(scope="session")
def hand_made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that `write_store` packs."""
    return write_store(tmp_path_factory.mktemp("hand_made"))


@pytest.fixture(scope="session")
def stores(hand_made: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The store packed by hand, and golden ones that a real broker wrote."""
    from rocket_golden import open_store

    return [hand_made, *(open_store(name, tmp_path_factory.mktemp(name)) for name in ("mixed", "ext"))]


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every golden store of one log, DLedger's too, by its name, in one folder."""
    from rocket_golden import open_store
    from rocket_golden import stores as names

    folder = tmp_path_factory.mktemp("golden")
    return {name: open_store(name, folder) for name in (*names(), *names(log="dledger"))}
