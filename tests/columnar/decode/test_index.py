"""IDX-HDR-1, IDX-ENT-1 and IDX-SEL-4 as rows of `index_headers` and `index_entries`."""

import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rocket_columnar.arrow import SCHEMAS
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.layout import Geometry
from store_bytes import Entry, index_file, put
from table_rows import rows_of

S, N = 7, 12
PUTS = [Entry(8, 0, 0), Entry(9, 200, 5), Entry(15, 300, 9)]
GEOMETRY = Geometry(S, N)


def rows(path: Path, table: str = "index_entries", **options: Any) -> list[dict[str, Any]]:
    return rows_of(path, tables=[table], geometry=GEOMETRY, **options)


def file(directory: Path, data: bytes = index_file(S, N, PUTS)) -> Path:
    return put(directory, "index/20260101000000000", data)


def patched(offset: int, code: str, *values: int) -> bytes:
    data = bytearray(index_file(S, N, PUTS))
    struct.pack_into(">" + code, data, offset, *values)
    return bytes(data)


def test_store_time_wraps_as_a_long(tmp_path: Path) -> None:
    found = rows(file(tmp_path, patched(0, "q", (1 << 63) - 1)))
    assert [row["store_timestamp"] for row in found][:2] == [(1 << 63) - 1, -(1 << 63) + 4999]


def test_slot_of_a_negative_hash_has_the_sign_of_javas_remainder(tmp_path: Path) -> None:
    # -10 % 7 is -3 in Java; 4.9.3 writes no negative hash, damage does.
    entry_2 = 40 + 4 * S + 20 * 2
    assert rows(file(tmp_path, patched(entry_2, "i", -10)))[1]["slot"] == -3


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (-1, 0), (1, 0), (2, 1), (4, 3), (12, 11)])
def test_entries_end_before_the_index_count(tmp_path: Path, count: int, shown: int) -> None:
    path = file(tmp_path, patched(36, "i", count))
    assert [row["entry"] for row in rows(path)] == list(range(1, shown + 1))
    assert rows(path, "index_headers")[0]["index_count"] == count


def test_all_entries_are_those_that_are_not_zero(tmp_path: Path) -> None:
    data = bytearray(patched(36, "i", 2))
    struct.pack_into(">iqii", data, 40 + 4 * S + 20 * 9, 1, 2, 3, 4)
    assert [row["entry"] for row in rows(file(tmp_path, bytes(data)), all_entries=True)] == [1, 2, 3, 9]


def test_table_without_rows_comes_as_an_empty_batch(tmp_path: Path) -> None:
    files = find_files(file(tmp_path, patched(36, "i", 0)))
    found = list(decode(files, geometry=GEOMETRY))
    assert [(table, batch.num_rows) for table, batch in found] == [("index_headers", 1), ("index_entries", 0)]
    assert found[1][1].schema.equals(SCHEMAS["index_entries"])


def test_file_is_one_dictionary_for_all_batches(tmp_path: Path) -> None:
    put(tmp_path, "index/20260101000000001", index_file(S, N, PUTS))
    file(tmp_path)
    batches = [
        batch for _, batch in decode(find_files(tmp_path / "index"), tables=["index_entries"], batch_rows=2)
    ]
    dictionaries: list[Any] = [batch.column("file") for batch in batches]
    names = {tuple(column.dictionary.to_pylist()) for column in dictionaries}
    assert names == {("index/20260101000000000", "index/20260101000000001")}
    assert pa.Table.from_batches(batches).num_rows == 6


@pytest.mark.parametrize("columns", [None, ["slot"], ["store_timestamp", "file"]])
def test_rows_of_several_threads_are_those_of_one(tmp_path: Path, columns: list[str] | None) -> None:
    dice = random.Random(1)
    data = bytearray(index_file(7, 320, [Entry(1, number, 5) for number in range(300)]))
    data[40 + 28 + 20 :] = dice.randbytes(len(data) - 88)  # any hash, sign and time diff
    path = put(tmp_path, "index/20260101000000000", bytes(data))
    files, shape = find_files(path), Geometry(7, 320)
    one, two = (
        [
            batch
            for _, batch in decode(
                files,
                tables=["index_entries"],
                geometry=shape,
                columns=columns,
                batch_rows=37,
                threads=threads,
            )
        ]
        for threads in (1, 2)
    )
    assert [batch.to_pylist() for batch in one] == [batch.to_pylist() for batch in two]
    assert sum(batch.num_rows for batch in one) == 300
    first = decode(files, tables=["index_entries"], geometry=shape, batch_rows=10, threads=2, limit=15)
    assert sum(batch.num_rows for _, batch in first) == 15  # the others are let go
