"""Commit-log dispatch and the checkpoint on the real RocketMQ classes, on bytes packed by hand."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from child_adapter import Adapter, Json, held_files
from rocket_conformance.rocketmq import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.java

SCHEDULE = b"SCHEDULE_TOPIC_XXXX"
READ = {"op": "checkpoint.read"}


@pytest.fixture(scope="module")
def adapter(maven: str) -> Iterator[Adapter]:
    adapter = Adapter(command("4.9.3"))
    adapter.hello()
    yield adapter
    adapter.stop()


def record(
    properties: bytes = b"",
    *,
    topic: bytes = b"T",
    body: bytes = b"body",
    crc: int | None = None,
    sys_flag: int = 0,
    grow: int = 0,
) -> bytes:
    """A record of queue 2, queue offset 7, recorded offset 1000 and store time 5000."""
    checksum = zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc
    born, store = (bytes(20 if sys_flag & bit else 8) for bit in (16, 32))
    tail = (
        struct.pack(">iiiqqiq", checksum, 2, 0, 7, 1000, sys_flag, 4000)
        + born
        + struct.pack(">q", 5000)
        + store
        + struct.pack(">iqi", 0, 0, len(body))
        + body
        + struct.pack(">b", len(topic))
        + topic
        + struct.pack(">h", len(properties))
        + properties
    )
    return struct.pack(">iI", 8 + len(tail) + grow, 0xDAA320A7) + tail


def blank(size: int) -> bytes:
    return struct.pack(">iI", size, 0xCBD43194).ljust(size, b"\0")


def request(size: int, **fields: Any) -> Json:
    return {
        "topic": "T",
        "queue_id": 2,
        "commit_log_offset": "1000",
        "msg_size": size,
        "tags_code": "0",
        "store_timestamp": "5000",
        "consume_queue_offset": "7",
        "keys": None,
        "uniq_key": None,
        "sys_flag": 0,
        "success": True,
        **fields,
    }


def failing(size: int = -1, *, success: bool = False) -> Json:
    return {
        "topic": "",
        "queue_id": 0,
        "commit_log_offset": "0",
        "msg_size": size,
        "tags_code": "0",
        "store_timestamp": "0",
        "consume_queue_offset": "0",
        "keys": "",
        "uniq_key": None,
        "sys_flag": 0,
        "success": success,
    }


def dispatch(adapter: Adapter, directory: Path, data: bytes, *, check_crc: bool = False) -> list[Json]:
    (directory / "log").write_bytes(data)
    answer = adapter.case(directory, {"op": "log.dispatch", "file": "log", "check_crc": check_crc})
    assert answer["files"] == []
    requests: list[Json] = answer["results"][0]["requests"]
    return requests


# --- the walk -----------------------------------------------------------------------------------------


def test_records_up_to_the_blank(adapter: Adapter, tmp_path: Path) -> None:
    first, second = record(), record(b"KEYS\x01a b\x02UNIQ_KEY\x01u\x02TAGS\x01ab")
    assert len(first) == 91 + len(b"body") + len(b"T")
    data = first + second + blank(30) + first
    assert dispatch(adapter, tmp_path, data) == [
        request(len(first), keys=""),
        request(len(second), keys="a b", uniq_key="u", tags_code=str(31 * ord("a") + ord("b"))),
        failing(0, success=True),
    ]


def test_nothing_and_a_few_bytes(adapter: Adapter, tmp_path: Path) -> None:
    assert dispatch(adapter, tmp_path, b"") == []
    for length in range(1, 8):
        data = record()[:length]
        assert dispatch(adapter, tmp_path, record() + data)[1:] == [failing()]


def test_missing_file_is_rejected(adapter: Adapter, tmp_path: Path) -> None:
    (result,) = adapter.results(tmp_path, {"op": "log.dispatch", "file": "none", "check_crc": False})
    assert result["rejected"].startswith("NoSuchFileException")


def test_bad_magic(adapter: Adapter, tmp_path: Path) -> None:
    assert dispatch(adapter, tmp_path, struct.pack(">iI", 94, 1) + record()) == [failing()]


def test_length_that_does_not_add_up(adapter: Adapter, tmp_path: Path) -> None:
    data = record(grow=1)
    assert dispatch(adapter, tmp_path, data + record()) == [failing(len(data) + 1)]


@pytest.mark.parametrize("check_crc", [False, True])
def test_body_crc(adapter: Adapter, tmp_path: Path, *, check_crc: bool) -> None:
    bad = record(crc=1)
    good = request(len(bad), keys="")
    assert dispatch(adapter, tmp_path, bad, check_crc=check_crc) == [failing() if check_crc else good]
    assert dispatch(adapter, tmp_path, record(), check_crc=check_crc) == [good]
    assert dispatch(adapter, tmp_path, record(body=b"", crc=1), check_crc=check_crc) == [
        request(len(bad) - 4, keys="")
    ]


def test_hosts_of_20_bytes(adapter: Adapter, tmp_path: Path) -> None:
    data = record(sys_flag=16 | 32)
    assert dispatch(adapter, tmp_path, data) == [request(len(record()) + 24, keys="", sys_flag=48)]


# --- delay and text -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "delay"),
    [(b"1", 1_000), (b"3", 10_000), (b"18", 7_200_000), (b"99", 7_200_000)],
)
def test_delivery_time(adapter: Adapter, tmp_path: Path, level: bytes, delay: int) -> None:
    data = record(b"DELAY\x01" + level + b"\x02TAGS\x01ab", topic=SCHEDULE)
    assert dispatch(adapter, tmp_path, data)[0]["tags_code"] == str(5000 + delay)


def test_level_zero_and_another_topic_keep_the_hash(adapter: Adapter, tmp_path: Path) -> None:
    data = record(b"DELAY\x010\x02TAGS\x01a", topic=SCHEDULE) + record(b"DELAY\x013\x02TAGS\x01a")
    assert [request["tags_code"] for request in dispatch(adapter, tmp_path, data)] == ["97", "97"]


def test_level_that_is_no_number(adapter: Adapter, tmp_path: Path) -> None:
    assert dispatch(adapter, tmp_path, record(b"DELAY\x01x", topic=SCHEDULE)) == [failing()]


def test_malformed_utf8(adapter: Adapter, tmp_path: Path) -> None:
    data = record(b"KEYS\x01\xed\xa0\x80\xed\xb0\x80", topic=b"\xed\xa0\x80")
    (request,) = dispatch(adapter, tmp_path, data)
    assert (request["topic"], request["keys"]) == ("\ufffd", "\ufffd\ufffd")


# --- checkpoint ---------------------------------------------------------------------------------------


def times(physic: int, logics: int, index: int) -> Json:
    return {
        "physic_msg_timestamp": str(physic),
        "logics_msg_timestamp": str(logics),
        "index_msg_timestamp": str(index),
    }


def write(physic: int, logics: int, index: int) -> Json:
    return {"op": "checkpoint.write", **times(physic, logics, index)}


def test_read_makes_the_checkpoint(adapter: Adapter, tmp_path: Path) -> None:
    answer = adapter.case(tmp_path, READ)
    assert answer["results"] == [times(0, 0, 0)]
    assert answer["files"] == [{"role": "checkpoint", "path": "checkpoint"}]
    assert (tmp_path / "checkpoint").read_bytes() == bytes(4096)


@pytest.mark.parametrize("size", [20, 4096, 5000])
def test_read_extends_a_short_file_and_leaves_a_long_one(adapter: Adapter, tmp_path: Path, size: int) -> None:
    data = struct.pack(">qqqq", 1, -2, 3, 4)[:size].ljust(size, b"\x07")
    (tmp_path / "checkpoint").write_bytes(data)
    index = 3 if size > 20 else 0  # the bytes 16 to 19 of a 3 are zeros
    assert adapter.results(tmp_path, READ) == [times(1, -2, index)]
    assert (tmp_path / "checkpoint").read_bytes() == data.ljust(4096, b"\0")


def test_write_changes_24_bytes(adapter: Adapter, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"\x07" * 4096)
    low, high = -(1 << 63), (1 << 63) - 1
    assert adapter.results(tmp_path, write(5, low, high), READ) == [times(5, low, high)] * 2
    assert (tmp_path / "checkpoint").read_bytes() == struct.pack(">qqq", 5, low, high) + b"\x07" * 4072
    assert held_files(adapter.process.pid, tmp_path) == []


def test_checkpoint_that_is_a_folder_is_rejected(adapter: Adapter, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    assert "rejected" in adapter.results(tmp_path, READ)[0]


# --- versions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "keys"),
    [("4.0.0-incubating", None), ("4.7.1", None), ("5.0.0", "a\x01b"), ("5.5.1", "a\x01b")],
)
def test_other_versions(maven: str, tmp_path: Path, version: str, keys: str | None) -> None:
    other = Adapter(command(version))
    first = record(b"DELAY\x013", topic=SCHEDULE)
    second = record(b"KEYS\x01a\x01b")  # a pair with \1 in its value was dropped before 4.9.1
    try:
        other.hello()
        requests = dispatch(other, tmp_path, first + second + blank(8))
        assert other.results(tmp_path, write(1, 2, 3), READ) == [times(1, 2, 3)] * 2
    finally:
        other.stop()
    assert requests == [
        request(len(first), topic=SCHEDULE.decode(), tags_code="15000"),
        request(len(second), keys=keys),
        failing(0, success=True),
    ]


def test_oldest_versions_offer_neither_outcome_nor_unique_key(maven: str, tmp_path: Path) -> None:
    other = Adapter(command("3.2.6"))
    try:
        declared = other.hello()["ops"]
        assert other.results(tmp_path, write(1, 2, 3)) == [times(1, 2, 3)]
    finally:
        other.stop()
    assert "queue.open" in declared
    assert not [op for op in declared if op.startswith(("service.", "log."))]
