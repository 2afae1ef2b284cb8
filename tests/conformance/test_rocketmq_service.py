"""The index service on the real RocketMQ classes: every byte and number worked out by hand."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Any

import pytest
from child_adapter import Adapter, Json, held_files
from rocket_conformance.rocketmq import command

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.java

SETTLE = {"op": "service.settle"}
LAST = (1 << 63) - 1


@pytest.fixture(scope="module")
def adapter(maven: str) -> Iterator[Adapter]:
    adapter = Adapter(command("4.9.3"))
    adapter.hello()
    yield adapter
    adapter.stop()


def open_service(
    slots: int = 7, entries: int = 12, *, last_exit_ok: bool = True, index_time: int = 0
) -> Json:
    return {
        "op": "service.open",
        "hash_slot_num": slots,
        "index_num": entries,
        "last_exit_ok": last_exit_ok,
        "index_msg_timestamp": str(index_time),
    }


def build(offset: int, keys: str | None, store_time: int = 1000, sys_flag: int = 0, **fields: Any) -> Json:
    return {
        "op": "service.build",
        "topic": "T",
        "uniq_key": None,
        "keys": keys,
        "commit_log_offset": str(offset),
        "store_timestamp": str(store_time),
        "sys_flag": sys_flag,
        **fields,
    }


def query(key: str, begin: int = 0, end: int = LAST, max_num: int = 32) -> Json:
    window = {"max_num": max_num, "begin": str(begin), "end": str(end)}
    return {"op": "service.query", "topic": "T", "key": key, **window}


def delete_expired(offset: int) -> Json:
    return {"op": "service.delete_expired", "offset": str(offset)}


def answer(offsets: list[int], last_time: int, last_offset: int) -> Json:
    return {
        "offsets": [str(offset) for offset in offsets],
        "last_update_timestamp": str(last_time),
        "last_update_phy_offset": str(last_offset),
    }


def key_hash(key: str) -> int:
    code = 0
    for unit in f"T#{key}":
        code = 31 * code + ord(unit)
    return abs((code + (1 << 31)) % (1 << 32) - (1 << 31))


def header(data: bytes) -> tuple[int, ...]:
    """Begin and end time, begin and end offset, hash slot count, index count."""
    return struct.unpack(">qqqqii", data[:40])


def entries(data: bytes, slots: int = 7) -> list[tuple[int, ...]]:
    """Key hash, offset, time diff and previous entry of each entry from 1 on."""
    count = header(data)[5]
    return [struct.unpack_from(">iqii", data, 40 + 4 * slots + 20 * entry) for entry in range(1, count)]


def files_of(directory: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((directory / "index").iterdir())]


def lay(directory: Path, **end_times: int) -> None:
    """Index files of 7 slots and 12 entries, one entry each, by the end of their names."""
    (directory / "index").mkdir()
    for name, end_time in end_times.items():
        data = struct.pack(">qqqqii", 1, end_time, 0, 7, 1, 2).ljust(40 + 28 + 240, b"\0")
        (directory / "index" / f"20250101{name.removeprefix('at'):0>9}").write_bytes(data)


# --- build --------------------------------------------------------------------------------------------


def test_unique_key_first_then_the_keys(adapter: Adapter, tmp_path: Path) -> None:
    case = adapter.case(tmp_path, open_service(), build(30, " a  b a ", 5000, uniq_key="u"))
    assert case["results"] == [{"files": 0}, {}]
    (file,) = case["files"]
    assert file["role"] == "index"
    assert file["path"].startswith("index/20")
    assert len(file["path"]) == len("index/") + 17
    (data,) = files_of(tmp_path)
    assert len(data) == 40 + 4 * 7 + 20 * 12
    assert header(data)[:4] == (5000, 5000, 30, 30)
    assert header(data)[5] == 5
    assert [(entry[0], entry[1], entry[2]) for entry in entries(data)] == [
        (key_hash(key), 30, 0) for key in ("u", "a", "b", "a")
    ]


def test_empty_unique_key_is_indexed(adapter: Adapter, tmp_path: Path) -> None:
    adapter.case(tmp_path, open_service(), build(0, None, uniq_key=""))
    (data,) = files_of(tmp_path)
    assert [entry[0] for entry in entries(data)] == [key_hash("")]


def test_keyless_message_makes_a_file(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(tmp_path, open_service(), build(0, None), open_service())
    assert results == [{"files": 0}, {}, {"files": 1}]
    assert files_of(tmp_path) == [bytes(308)]  # the first count waits in memory for a flush


def test_transaction_types(adapter: Adapter, tmp_path: Path) -> None:
    types = (0, 4, 8, 12)  # none, prepared, commit, rollback
    ops = [build(offset, "k", sys_flag=flag) for offset, flag in enumerate(types)]
    results = adapter.results(tmp_path, open_service(), *ops, query("k"))
    assert results[5]["offsets"] == ["2", "1", "0"]


def test_messages_before_the_end_offset_are_skipped(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(10, "k"), build(9, "k"), build(10, "k")]
    results = adapter.results(tmp_path, open_service(), *ops, query("k"))
    assert results[4] == answer([10, 10], 1000, 10)


# --- roll ---------------------------------------------------------------------------------------------


def test_roll_inside_a_message(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(10, "a", 1000), build(20, "a b", 5000)]  # room for two entries a file
    results = adapter.results(tmp_path, open_service(entries=3), *ops, query("a"), query("b"), SETTLE)
    assert results[3:] == [
        answer([20, 10], 5000, 20),
        answer([20], 5000, 20),
        {"index_msg_timestamp": "5000"},
    ]
    first, second = files_of(tmp_path)
    assert header(first)[:4] == (1000, 5000, 10, 20)
    assert entries(first) == [(key_hash("a"), 10, 0, 0), (key_hash("a"), 20, 4, 1)]
    assert entries(second) == [(key_hash("b"), 20, 0, 0)]


def test_first_put_of_a_rolled_file_counts_from_the_seed(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(10, "a", 1000), build(20, "b", 8999)]
    results = adapter.results(tmp_path, open_service(entries=2), *ops, SETTLE)
    assert results[3] == {"index_msg_timestamp": "1000"}
    second = files_of(tmp_path)[1]
    assert header(second)[:4] == (8999, 8999, 20, 20)
    assert entries(second) == [(key_hash("b"), 20, 7, 0)]  # (8999 - 1000) / 1000


def test_many_rolls_have_names_of_their_own(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(n, "k", 1000 + n) for n in range(30)]
    results = adapter.results(tmp_path, open_service(entries=2), *ops, delete_expired(30), SETTLE, query("k"))
    assert results[31:] == [{"files": 1}, {"index_msg_timestamp": "1028"}, answer([29], 1029, 29)]


# --- query --------------------------------------------------------------------------------------------


def test_query_is_capped_at_64(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(n, "k") for n in range(70)]
    results = adapter.results(
        tmp_path, open_service(entries=100), *ops, query("k", max_num=70), query("k", max_num=2), query("x")
    )
    assert results[71] == answer([*range(69, 5, -1)], 1000, 69)
    assert results[72] == answer([69, 68], 1000, 69)
    assert results[73] == answer([], 1000, 69)


def test_query_stops_after_the_file_that_begins_before_the_window(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(10, "k", 1000), build(20, "k", 2000), build(30, "k", 1500)]
    results = adapter.results(tmp_path, open_service(entries=2), *ops, query("k", 1000), query("k", 1501))
    # File 2's entry lies a second above its begin of 2000, by the seed; file 3's time diff is negative, so 0.
    assert results[4] == answer([30, 20, 10], 1500, 30)
    assert results[5] == answer([], 1500, 30)


def test_negative_maximum_is_rejected(adapter: Adapter, tmp_path: Path) -> None:
    assert adapter.results(tmp_path, open_service(), query("k", max_num=-1))[1] == {
        "rejected": "IllegalArgumentException: Illegal Capacity: -1"
    }


def test_zero_slots(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(tmp_path, open_service(slots=0), build(5, "k"), query("k"))
    assert results[1] == {"rejected": "ArithmeticException: / by zero"}
    assert results[2] == answer([], 0, 0)  # queryOffset catches it
    assert held_files(adapter.process.pid, tmp_path) == []


# --- load and expiry ----------------------------------------------------------------------------------


def test_unclean_exit_destroys_files_past_the_index_time(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, at1=99, at2=101, at3=100)
    case = adapter.case(tmp_path, open_service(last_exit_ok=False, index_time=100), SETTLE)
    assert case["results"] == [{"files": 2}, {"index_msg_timestamp": "100"}]
    assert [file["path"] for file in case["files"]] == ["index/20250101000000001", "index/20250101000000003"]


def test_clean_exit_keeps_all(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, at1=99, at2=101)
    assert adapter.results(tmp_path, open_service(index_time=100)) == [{"files": 2}]


def test_names_that_are_no_numbers_are_skipped_and_stay(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, at1=1, at2=2)
    (tmp_path / "index" / "20250101000000001x").write_bytes(b"mine")
    case = adapter.case(tmp_path, open_service())
    assert case["results"] == [{"files": 2}]
    assert [file["path"][-2:] for file in case["files"]] == ["01", "1x", "02"]
    assert files_of(tmp_path)[1] == b"mine"


def test_load_goes_on_with_what_it_has_after_an_io_error(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, at1=1, at3=3)
    (tmp_path / "index" / "20250101000000002").mkdir()
    assert adapter.results(tmp_path, open_service()) == [{"files": 1}]


def test_another_exception_of_load_is_rejected(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, at1=1)
    results = adapter.results(tmp_path, open_service(slots=(1 << 30) - 5, entries=0), SETTLE)
    assert results[0]["rejected"].startswith("IndexOutOfBoundsException")
    assert "rejected" in results[1]
    deadline = time.monotonic() + 10  # the half-loaded file is freed by the collector's own thread
    while (held := held_files(adapter.process.pid, tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held == []


def test_delete_expired(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(10 * n, "k") for n in range(1, 4)]
    results = adapter.results(
        tmp_path,
        open_service(entries=2),
        *ops,
        delete_expired(10),  # the oldest ends at 10, which is not before 10
        delete_expired(11),
        delete_expired(1000),  # the last file stays
    )
    assert results[4:] == [{"files": 3}, {"files": 2}, {"files": 1}]
    assert [header(data)[3] for data in files_of(tmp_path)] == [30]


def test_operations_on_nothing_open_are_rejected(adapter: Adapter, tmp_path: Path) -> None:
    ops = [build(0, "k"), query("k"), delete_expired(0), SETTLE]
    assert all("rejected" in result for result in adapter.results(tmp_path, *ops))


def test_files_are_released_and_no_checkpoint_is_made(adapter: Adapter, tmp_path: Path) -> None:
    adapter.case(tmp_path, open_service(entries=2), build(0, "a"), build(1, "k"), open_service(), query("k"))
    assert held_files(adapter.process.pid, tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("version", ["4.0.0-incubating", "4.7.1", "5.0.0", "5.3.1", "5.5.1"])
def test_other_versions(maven: str, tmp_path: Path, version: str) -> None:
    other = Adapter(command(version))
    try:
        other.hello()
        ops = [build(10, None, 1000, uniq_key="a"), build(20, "b", 8999), SETTLE, query("b")]
        results = other.results(tmp_path, open_service(entries=2), *ops, delete_expired(11))
    finally:
        other.stop()
    assert results[3:] == [{"index_msg_timestamp": "1000"}, answer([20], 8999, 20), {"files": 1}]
    (data,) = files_of(tmp_path)
    assert entries(data) == [(key_hash("b"), 20, 7, 0)]
