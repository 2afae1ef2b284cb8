"""The facts of queue, ext, commit-log and checkpoint files."""

from pathlib import Path

import pytest
from rocket_columnar.describe import summarise
from rocket_columnar.store import Kind, StoreFile
from rocket_spec.errors import MalformedError, UsageError
from store_bytes import BEGIN as T
from store_bytes import blank, checkpoint, ext_unit, put, record, unit


def file(tmp_path: Path, kind: Kind, data: bytes, base: int = 0) -> StoreFile:
    path = put(tmp_path, "file", data)
    return StoreFile(kind, path, "file", topic="T" if kind == "queue" else None, base_offset=base)


def test_queue(tmp_path: Path) -> None:
    data = unit(0, 0x7FFFFFFF) * 2 + unit(100, 50, 7) + unit(150, 60, 8) + bytes(40)
    facts = summarise(file(tmp_path, "queue", data, base=400))
    assert facts["size"] == 120
    assert (facts["units"], facts["written_units"], facts["pre_blank_units"]) == (6, 4, 2)
    assert (facts["begin_logical_offset"], facts["end_logical_offset"]) == (22, 24)
    assert facts["first"] == {"logical_offset": 22, "phy_offset": 100, "size": 50, "tags_code": 7}
    assert facts["last"] == {"logical_offset": 23, "phy_offset": 150, "size": 60, "tags_code": 8}


def test_a_queue_with_pre_blank_units_between_others(tmp_path: Path) -> None:
    data = unit(100, 50) + unit(0, 0x7FFFFFFF) * 2 + unit(300, 60)
    facts = summarise(file(tmp_path, "queue", data, base=400))
    assert (facts["begin_logical_offset"], facts["end_logical_offset"]) == (20, 24)
    assert facts["pre_blank_units"] == 2


def test_an_unwritten_queue(tmp_path: Path) -> None:
    facts = summarise(file(tmp_path, "queue", bytes(40)))
    assert (facts["written_units"], facts["first"], facts["last"]) == (0, None, None)


def test_commit_log(tmp_path: Path) -> None:
    first = record(4096, topic=b"A", store_timestamp=T + 5)
    second = record(4096 + len(first), topic=b"B", store_timestamp=T, body_crc=1)
    third = record(4096 + 2 * len(first), topic=b"A")
    facts = summarise(file(tmp_path, "log", first + second + third + blank(33), base=4096))
    assert (facts["records"], facts["bad_crc"], facts["topics"]) == (3, 1, {"A": 2, "B": 1})
    assert (facts["used_bytes"], facts["blank_bytes"], facts["left_bytes"]) == (3 * len(first), 33, 33)
    assert (facts["begin_timestamp"], facts["end_timestamp"]) == (T, T + 5)
    assert facts["first"]["phy_offset"] == 4096
    assert facts["last"]["phy_offset"] == 4096 + 2 * len(first)
    assert facts["gaps"] == []


def test_commit_log_with_a_gap(tmp_path: Path) -> None:
    first = record(0)
    facts = summarise(file(tmp_path, "log", first + b"\xff" * 20 + record(len(first) + 20) + bytes(50)))
    assert [(gap["begin"], gap["end"]) for gap in facts["gaps"]] == [(len(first), len(first) + 20)]
    assert (facts["records"], facts["blank_bytes"], facts["left_bytes"]) == (2, 0, 50)


def test_ext(tmp_path: Path) -> None:
    facts = summarise(file(tmp_path, "ext", ext_unit(7, T, b"ab") + ext_unit(8, T, b"") + bytes(30)))
    assert (facts["units"], facts["used_bytes"]) == (2, 42)
    assert facts["first"] == {"address": -(1 << 63), "size": 22, "tags_code": 7, "store_timestamp": T}
    assert facts["last"]["address"] == -(1 << 63) + 22


def test_checkpoint(tmp_path: Path) -> None:
    facts = summarise(file(tmp_path, "checkpoint", checkpoint(3, 2, 1)))
    assert facts == {
        "size": 4096,
        "physic_msg_timestamp": 3,
        "logics_msg_timestamp": 2,
        "index_msg_timestamp": 1,
    }


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="index file"):
        summarise(file(tmp_path, "index", bytes(64)))
    with pytest.raises(MalformedError):
        summarise(file(tmp_path, "queue", bytes(21)))
