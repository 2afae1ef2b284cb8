"""Consume queues and tags codes on the real RocketMQ classes: every byte and number worked out by hand."""

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

FOLDER = "consumequeue/T/3"
PRE_BLANK = (0, 0x7FFFFFFF, 0)
BOUNDS = {"op": "queue.bounds"}
RECOVER = {"op": "queue.recover"}
LAST_OFFSET = {"op": "queue.last_offset"}


@pytest.fixture(scope="module")
def adapter(maven: str) -> Iterator[Adapter]:
    adapter = Adapter(command("4.9.3"))
    adapter.hello()
    yield adapter
    adapter.stop()


def open_queue(file_size: int = 60, *, load: bool = False) -> Json:
    return {"op": "queue.open", "topic": "T", "queue_id": 3, "file_size": file_size, "load": load}


def put(offset: int, cq_offset: int, size: int = 10, tags_code: int = 0) -> Json:
    return {
        "op": "queue.put",
        "offset": str(offset),
        "size": size,
        "tags_code": str(tags_code),
        "cq_offset": str(cq_offset),
    }


def get(cq_offset: int) -> Json:
    return {"op": "queue.get", "cq_offset": str(cq_offset)}


def on_offset(name: str, offset: int) -> Json:
    field = "phy_min_offset" if name == "correct_min" else "phy_offset"
    return {"op": f"queue.{name}", field: str(offset)}


def bounds(minimum: int, maximum: int, max_physic_offset: int, **fields: Any) -> Json:
    return {"min": str(minimum), "max": str(maximum), "max_physic_offset": str(max_physic_offset), **fields}


def units(*values: tuple[int, int, int], file_size: int = 60) -> bytes:
    return b"".join(struct.pack(">qiq", *value) for value in values).ljust(file_size, b"\0")


def lay(directory: Path, files: dict[int | str, bytes]) -> None:
    folder = directory / FOLDER
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / (name if isinstance(name, str) else f"{name:020d}")).write_bytes(data)


def left(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((directory / FOLDER).iterdir())}


def name_of(offset: int) -> str:
    return f"{offset:020d}"


# --- tags code ----------------------------------------------------------------------------------------


def test_tags_code(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path,
        {"op": "tags.code", "tags": None},
        {"op": "tags.code", "tags": ""},
        {"op": "tags.code", "tags": "ab"},
        {"op": "tags.code", "tags": "polygenelubricants"},  # hashCode is the least int, and stays negative
        {"op": "tags.code", "tags_utf16": "d83d"},
    )
    expected = [0, 0, 31 * ord("a") + ord("b"), -(1 << 31), 0xD83D]
    assert [result["tags_code"] for result in results] == [str(code) for code in expected]


# --- files and units ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("file_size", "rounded"), [(1, 20), (20, 20), (21, 40), (41, 60)])
def test_file_size_is_rounded_up(adapter: Adapter, tmp_path: Path, file_size: int, rounded: int) -> None:
    answer = adapter.case(tmp_path, open_queue(file_size), put(7, 0, size=9, tags_code=-5))
    assert answer["results"] == [{}, {"put": True}]
    assert answer["files"] == [{"role": "queue", "path": f"{FOLDER}/{name_of(0)}"}]
    assert left(tmp_path) == {name_of(0): units((7, 9, -5), file_size=rounded)}


def test_an_open_makes_no_file(adapter: Adapter, tmp_path: Path) -> None:
    answer = adapter.case(tmp_path, open_queue(load=True), BOUNDS, LAST_OFFSET, RECOVER, get(0))
    assert answer["results"][1:] == [
        bounds(0, 0, -1),
        {"last_offset": "-1"},
        bounds(0, 0, -1),
        {"unit": None},
    ]
    assert answer["files"] == []


def test_operations_on_nothing_open_are_rejected(adapter: Adapter, tmp_path: Path) -> None:
    ops = [put(0, 0), get(0), BOUNDS, RECOVER, LAST_OFFSET, on_offset("truncate", 0)]
    assert all("rejected" in result for result in adapter.results(tmp_path, *ops))


def test_get(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(tmp_path, open_queue(), put(7, 1, 9, -5), get(0), get(1), get(2), get(-1))
    assert results[2:] == [
        {"unit": None},  # below the minimum, though there is a pre-blank unit
        {"unit": {"offset": "7", "size": 9, "tags_code": "-5"}},
        {"unit": None},
        {"unit": None},
    ]


# --- put ----------------------------------------------------------------------------------------------


def test_repeated_put_is_skipped(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path,
        open_queue(),
        put(10, 0),
        put(9, 1),  # ends at 19, below the maximum 20
        put(10, 1),  # ends at the maximum
        put(11, 1),
        put(99, 1),  # its place, byte 20, is below the write position 40
        BOUNDS,
    )
    assert [result["put"] for result in results[1:6]] == [True] * 5
    assert results[6] == bounds(0, 2, 21)
    assert left(tmp_path) == {name_of(0): units((10, 10, 0), (11, 10, 0))}


def test_gap_is_appended_and_the_next_file_is_adjacent(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path, open_queue(), put(0, 0), put(10, 2), put(20, 9), put(30, 1000), BOUNDS
    )
    assert results[5] == bounds(0, 4, 40)
    assert left(tmp_path) == {
        name_of(0): units((0, 10, 0), (10, 10, 0), (20, 10, 0)),
        name_of(60): units((30, 10, 0)),
    }


def test_zero_logical_offset_has_no_guard(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(tmp_path, open_queue(), put(0, 0), put(10, 0), BOUNDS)
    assert results[3] == bounds(0, 2, 20)


def test_pre_blank(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(tmp_path, open_queue(), put(70, 4), BOUNDS)
    assert results[2] == bounds(4, 5, 80)
    assert left(tmp_path) == {name_of(60): units(PRE_BLANK, (70, 10, 0))}


def test_negative_logical_offset(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(tmp_path, open_queue(), put(70, -3), BOUNDS)
    assert results[1:] == [{"put": True}, bounds(-3, -2, 80)]
    assert left(tmp_path) == {"-00000000000000000060": units((70, 10, 0))}


# --- load and recover ---------------------------------------------------------------------------------


def test_load_counts_zero_units_until_recover(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, {0: units((0, 10, 0), (10, 10, 0))})
    results = adapter.results(tmp_path, open_queue(load=True), BOUNDS, RECOVER)
    assert results[1:] == [bounds(0, 3, -1), bounds(0, 2, 20)]


@pytest.mark.parametrize(("name", "data"), [(name_of(60), bytes(59)), ("notes", bytes(60))])
def test_load_is_rejected(adapter: Adapter, tmp_path: Path, name: str, data: bytes) -> None:
    lay(tmp_path, {0: units((0, 10, 0)), name: data})
    before = left(tmp_path)
    opened, after = adapter.results(tmp_path, open_queue(load=True), BOUNDS)
    assert "rejected" in opened
    assert "rejected" in after
    assert left(tmp_path) == before
    assert held_files(adapter.process.pid, tmp_path) == []


def test_recover_starts_at_the_third_file_from_the_end(adapter: Adapter, tmp_path: Path) -> None:
    full: dict[int | str, bytes] = {
        60 * n: units(*((60 * n + 20 * i, 20, 0) for i in range(3))) for n in range(4)
    }
    lay(tmp_path, {**full, 0: bytes(60), 120: units((120, 20, 0))})
    answer = adapter.case(tmp_path, open_queue(load=True), RECOVER)
    assert answer["results"][1] == bounds(0, 7, 140)
    # It stopped in file 120, so that file 180 is gone; file 0, all zeros, was never looked at.
    assert [path["path"] for path in answer["files"]] == [f"{FOLDER}/{name_of(n)}" for n in (0, 60, 120)]


def test_recover_takes_pre_blank_units(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, {0: units(PRE_BLANK, PRE_BLANK)})
    assert adapter.results(tmp_path, open_queue(load=True), RECOVER)[1] == bounds(0, 2, 0x7FFFFFFF)


# --- truncate -----------------------------------------------------------------------------------------


def test_truncate(adapter: Adapter, tmp_path: Path) -> None:
    ops = [open_queue(), *(put(10 * n, n) for n in range(5))]
    results = adapter.results(
        tmp_path,
        *ops,
        on_offset("truncate", 40),
        RECOVER,  # the bytes stayed: the unit is back
        on_offset("truncate", 10),
        RECOVER,  # a wholly valid last file keeps its write position
    )
    assert results[6:] == [bounds(0, 4, 40), bounds(0, 5, 50), bounds(0, 1, 10), bounds(0, 1, 30)]
    assert list(left(tmp_path)) == [name_of(0)]


def test_truncate_on_an_empty_queue_sets_the_maximum(adapter: Adapter, tmp_path: Path) -> None:
    assert adapter.results(tmp_path, open_queue(), on_offset("truncate", 55))[1] == bounds(0, 0, 55)


def test_truncate_does_not_check_the_first_unit(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, {0: units((-9, -1, 0), (4, 5, 0))})
    results = adapter.results(tmp_path, open_queue(load=True), on_offset("truncate", 4))
    assert results[1] == bounds(0, 1, -10)


def test_truncate_to_pre_blank_units_blocks_later_puts(adapter: Adapter, tmp_path: Path) -> None:
    results = adapter.results(
        tmp_path, open_queue(), put(70, 1), on_offset("truncate", 70), put(70, 1), BOUNDS
    )
    assert results[2:] == [bounds(1, 1, 0x7FFFFFFF), {"put": True}, bounds(1, 1, 0x7FFFFFFF)]


# --- minimum, expiry, last offset ---------------------------------------------------------------------


def test_correct_min(adapter: Adapter, tmp_path: Path) -> None:
    ops = [open_queue(), put(30, 1), put(40, 2), put(50, 3)]
    results = adapter.results(
        tmp_path,
        *ops,
        on_offset("correct_min", 31),
        on_offset("correct_min", 41),  # only in the second file: the minimum stays
        on_offset("correct_min", 0),  # the pre-blank unit qualifies
    )
    assert results[4:] == [bounds(2, 4, 60), bounds(2, 4, 60), bounds(0, 4, 60)]


def test_delete_expired(adapter: Adapter, tmp_path: Path) -> None:
    ops = [open_queue(), *(put(10 * n, n) for n in range(7))]
    results = adapter.results(
        tmp_path,
        *ops,
        on_offset("delete_expired", 20),  # the first file's last unit is at 20, which is not before 20
        on_offset("delete_expired", 51),
        on_offset("delete_expired", 1000),  # the last file stays
    )
    assert results[8:] == [
        bounds(2, 7, 70, deleted=0),
        bounds(6, 7, 70, deleted=2),
        bounds(6, 7, 70, deleted=0),
    ]
    assert list(left(tmp_path)) == [name_of(120)]


def test_last_offset(adapter: Adapter, tmp_path: Path) -> None:
    ops = [open_queue(), put(0, 0), put(10, 1), LAST_OFFSET, put(20, 2), LAST_OFFSET]
    results = adapter.results(tmp_path, *ops)
    assert results[3] == {"last_offset": "20"}
    assert results[5]["rejected"].startswith("BufferUnderflowException")  # valid units reach the file's end


def test_last_offset_of_a_full_file_with_an_invalid_last_unit(adapter: Adapter, tmp_path: Path) -> None:
    lay(tmp_path, {0: units((0, 10, 0))})
    assert adapter.results(tmp_path, open_queue(load=True), LAST_OFFSET)[1] == {"last_offset": "-1"}


# --- release and versions -----------------------------------------------------------------------------


def test_files_are_released(adapter: Adapter, tmp_path: Path) -> None:
    ops = [open_queue(), *(put(10 * n, n) for n in range(7)), get(1), open_queue(load=True), get(1)]
    adapter.case(tmp_path, *ops, on_offset("truncate", 30), LAST_OFFSET)
    deadline = time.monotonic() + 10
    while (held := held_files(adapter.process.pid, tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held == []


@pytest.mark.parametrize(
    ("version", "max_physic_offset"), [("3.2.6", 10), ("4.7.1", 20), ("5.3.1", 20), ("5.5.1", 20)]
)
def test_other_versions(maven: str, tmp_path: Path, version: str, max_physic_offset: int) -> None:
    other = Adapter(command(version))
    try:
        other.hello()
        ops = [open_queue(41), put(0, 0), put(10, 1), get(1), open_queue(41, load=True), RECOVER]
        results = other.results(tmp_path, *ops, {"op": "tags.code", "tags": "ab"})
    finally:
        other.stop()
    assert results[3]["unit"] == {"offset": "10", "size": 10, "tags_code": "0"}
    assert results[5] == bounds(0, 2, max_physic_offset)  # the unit's offset before 4.5.0, its end since
    assert results[6] == {"tags_code": str(31 * ord("a") + ord("b"))}
    assert left(tmp_path) == {name_of(0): units((0, 10, 0), (10, 10, 0))}
