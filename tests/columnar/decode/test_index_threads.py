"""Index files on several threads: the same rows in the same order."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spec.layout import Geometry
from store_bytes import Entry, index_file, put

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = [None, ["slot"], ["store_timestamp", "file"], ["entry", "prev_entry", "phy_offset"]]


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for _, batch in decode(find_files(path, "index"), tables=["index_entries"], **options):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("slots", [1, 7, 5_000_000])
def test_rows_are_those_of_one_thread(
    tmp_path: Path, threads: int, columns: list[str] | None, slots: int
) -> None:
    dice = random.Random(slots)  # noqa: S311
    data = bytearray(index_file(7, 320, [Entry(dice.randrange(1 << 31), number, 5) for number in range(300)]))
    data[40 + 28 + 20 :] = dice.randbytes(len(data) - 88)  # any hash, sign and time diff
    path = put(tmp_path, "20260101000000000", bytes(data))
    geometry = Geometry(7, 320)
    if slots != 7:
        path = put(tmp_path, "20260101000000001", bytes(data[:40] + bytes(4 * slots) + data[68:]))
        geometry = Geometry(slots, 320)
    options: dict[str, Any] = {"geometry": geometry, "columns": columns, "batch_rows": 37}
    expected = rows(path, **options)
    assert rows(path, threads=threads, **options) == expected
    assert len(expected) == 300


def test_golden_store(tmp_path: Path) -> None:
    index = open_store("small-roll", tmp_path) / "index"
    expected = rows(index)
    assert rows(index, threads=2) == expected
    assert expected


def test_batches_left_unread_are_let_go(tmp_path: Path) -> None:
    path = put(tmp_path, "20260101000000000", index_file(7, 320, [Entry(1, 2, 3)] * 300))
    assert len(rows(path, geometry=Geometry(7, 320), batch_rows=10, threads=2, limit=15)) == 15
