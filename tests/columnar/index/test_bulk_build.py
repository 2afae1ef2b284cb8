"""Bulk building against single puts and against the real broker's files: equal bytes, rolls included."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rocket_columnar.fast import hash_keys
from rocket_columnar.formats import index_key
from rocket_columnar.index import IndexBuilder, IndexFile, build
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

T = 1_700_000_000_000
GEOMETRY = Geometry(7, 50)


def names(directory: Path) -> list[Path]:
    return [directory / f"2026010100000{number:04}" for number in range(100)]


def puts(seed: int, count: int) -> tuple[list[str], list[int], list[int]]:
    dice = random.Random(seed)
    keys = [
        dice.choice(["k", "订单", "\U0001f600", "", "A" * 70, "é" * 9]) + str(dice.randrange(40))
        for _ in range(count)
    ]
    offsets = [dice.randrange(-9, 1 << 50) for _ in range(count)]
    times = [
        T + dice.choice([0, 999, 1000, 10**7, -5000, 1 << 62, -(1 << 63) - T, -T, -T - 1])
        for _ in range(count)
    ]
    return keys, offsets, times


def singly(paths: list[Path], topic: str, rows: tuple[list[str], list[int], list[int]]) -> list[Path]:
    """One put after the other, a new file after each full one."""
    made = [paths[0]]
    file = IndexFile(paths[0], *GEOMETRY)
    for key, offset, time in zip(*rows, strict=True):
        if file.full():
            header = file.header()
            file.close()
            made.append(paths[len(made)])
            seeds = header.end_phy_offset, header.end_timestamp
            file = IndexFile(made[-1], *GEOMETRY, end_phy_offset=seeds[0], end_timestamp=seeds[1])
        assert file.put(index_key(topic, key), offset, time)
    file.close()
    return made


def same_files(one: list[Path], other: list[Path]) -> None:
    assert [path.name for path in one] == [path.name for path in other]
    for left, right in zip(one, other, strict=True):
        assert left.read_bytes() == right.read_bytes()


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [1, 48, 49, 50, 98, 99, 500])
def test_files_are_those_of_single_puts(tmp_path: Path, seed: int, count: int) -> None:
    rows = puts(seed, count)
    expected = singly(names(tmp_path / "one"), "T订\U0001f600", rows)
    keys = pa.array(rows[0])
    made = build(names(tmp_path / "many"), keys, *rows[1:], topic="T订\U0001f600", geometry=GEOMETRY)
    same_files(made, expected)
    assert len(made) == -(-count // 49)


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), "list", "hashes"]
)
def test_keys_of_every_kind(tmp_path: Path, kind: Any) -> None:
    rows = puts(9, 120)
    expected = singly(names(tmp_path / "one"), "T", rows)
    keys: Any = rows[0]
    if kind == "hashes":
        keys = hash_keys(keys, "T")
    elif kind != "list":
        keys = pa.array(["x", *keys]).cast(kind)[1:]
    same_files(build(names(tmp_path / "many"), keys, *rows[1:], topic="T", geometry=GEOMETRY), expected)


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize("at_once", [1, 13])
def test_batches_go_on_where_the_one_before_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("rocket_columnar.index.bulk_build.AT_ONCE", at_once)
    rows = puts(3, 170)
    expected = singly(names(tmp_path / "one"), "T", rows)
    with IndexBuilder(names(tmp_path / "many"), GEOMETRY) as builder:
        for start in (0, 60, 61, 100):
            stop = {0: 60, 60: 61, 61: 100, 100: 170}[start]
            part = [column[start:stop] for column in rows]
            builder.put_many(pa.array(part[0]), part[1], part[2], topic="T")  # type: ignore[arg-type]
    same_files(builder.made, expected)


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize("bad", [b"\xed\xa0\x80", b"\xff", b"12345678\xc3", b"\xf4\x90\x80\x80", b"\xc0\x80"])
def test_bytes_that_are_no_text_are_refused(bad: bytes) -> None:
    with pytest.raises(ValueError, match=r"UTF-?8"):
        hash_keys(pa.array([b"a", bad]), "T")


def test_more_puts_than_paths_hold_are_refused(tmp_path: Path) -> None:
    rows = puts(1, 50)
    with pytest.raises(UsageError, match="more than 1 files"):
        build(names(tmp_path)[:1], *rows, geometry=GEOMETRY)


@pytest.mark.parametrize("geometry", [Geometry(7, 1), Geometry(7, 0), Geometry(0, 9), Geometry(1 << 30, 9)])
def test_geometry_without_room_is_refused(tmp_path: Path, geometry: Geometry) -> None:
    with pytest.raises(UsageError, match="nothing can be put into"):
        build(names(tmp_path), ["k"], [1], [T], geometry=geometry)


def test_files_that_are_there_are_left_alone(tmp_path: Path) -> None:
    paths = names(tmp_path)
    paths[0].write_bytes(b"kept")
    with pytest.raises(FileExistsError):
        build(paths, ["k"], [1], [T], geometry=GEOMETRY)
    assert paths[0].read_bytes() == b"kept"


def test_columns_of_different_length_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 keys, 2 offsets, 1 timestamps"):
        build(names(tmp_path), np.array([1], np.int32), [1, 2], [T], geometry=GEOMETRY)


def test_slots_are_written_where_there_are_some(tmp_path: Path) -> None:
    """Of seven runs of 16,384 slots, the first two, the fourth and the last short one have entries."""
    slots = [0, 16_383, 16_384, 50_000, 99_999]
    [made] = build(
        [tmp_path / "20260101000000000"],
        np.array(slots, np.int32),
        [*range(5)],
        [T] * 5,
        geometry=Geometry(100_000, 9),
    )
    found = np.frombuffer(made.read_bytes()[40 : 40 + 400_000], ">u4")
    expected = np.zeros(100_000, np.int64)
    expected[slots] = [1, 2, 3, 4, 5]
    assert found.tolist() == expected.tolist()
    assert made.stat().st_blocks * 512 < 400_000  # the others are holes
