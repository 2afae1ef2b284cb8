"""CKP. "Real jar" marks what StoreCheckpoint of rocketmq-store 4.9.3 gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rocket_reference import Checkpoint, JavaError, checkpoint, read_checkpoint, write_checkpoint
from rocket_spec.errors import MalformedError

if TYPE_CHECKING:
    from pathlib import Path

LEAST, GREATEST = -9223372036854775808, 9223372036854775807


def test_ckp_1_layout() -> None:
    data = bytes.fromhex("0000000000002710 0000000000002711 ffffffffffffffff")
    assert checkpoint(data) == Checkpoint(10000, 10001, -1)
    with pytest.raises(MalformedError, match="found 23 bytes, expected at least 24 bytes"):
        checkpoint(data[:23])


def test_ckp_1_nothing_behind_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(b"\x01" * 5000)
    write_checkpoint(path, Checkpoint(0, 0, 0))
    assert path.read_bytes() == bytes(24) + b"\x01" * 4976  # real jar; 5000 bytes: CKP-2


def test_ckp_2_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "store" / "checkpoint"
    assert read_checkpoint(path) == Checkpoint(0, 0, 0)
    assert path.read_bytes() == bytes(4096)


def test_ckp_2_short_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(bytes.fromhex("0000000000000009 0000000000000008 01"))
    assert read_checkpoint(path) == Checkpoint(9, 8, 72057594037927936)  # real jar
    assert path.stat().st_size == 4096


def test_write_then_read(tmp_path: Path) -> None:
    times = Checkpoint(LEAST, GREATEST, -5)
    write_checkpoint(tmp_path / "checkpoint", times)
    assert read_checkpoint(tmp_path / "checkpoint") == times


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match="FileNotFoundException"):
        read_checkpoint(tmp_path)


@pytest.mark.parametrize(  # real jar
    ("times", "least", "least_with_index"),
    [
        ((5000, 9000, 4000), 2000, 2000),
        ((10000, 10000, 1), 7000, 1),
        ((1, 2, 3), 0, 0),
        ((LEAST, 0, -7), 9223372036854772808, -7),  # the 3 s wrap
        ((GREATEST, GREATEST, GREATEST), 9223372036854772807, 9223372036854772807),
    ],
)
def test_where_recovery_starts(times: tuple[int, int, int], least: int, least_with_index: int) -> None:
    assert Checkpoint(*times).min_timestamp == least
    assert Checkpoint(*times).min_timestamp_index == least_with_index
