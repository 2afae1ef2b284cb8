"""Row groups that were encoded side by side, compared with pyarrow's own file of them, byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile
from rocket_columnar.decode import decode, write
from rocket_columnar.store import find_files
from rocket_golden import open_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("rows", [7, 1 << 20])
def test_all_tables_of_a_store(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of row groups, or one for each table."""
    monkeypatch.setattr("rocket_columnar.decode.writers._GROUP_ROWS", rows)
    files = find_files(open_store("mixed", tmp_path / "golden"))
    one, three = (
        write(decode(files, batch_rows=5), tmp_path / str(threads), "parquet", threads=threads)
        for threads in (1, 3)
    )
    assert list(one) == list(three)
    for table, file in one.items():
        assert file.read_bytes() == three[table].read_bytes()
    groups = ParquetFile(three["commit_log"]).metadata.num_row_groups
    assert groups > 15 if rows == 7 else groups == 1


def test_a_table_without_rows(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_pydict({"a": pa.array([1]), "b": pa.array(["x"])}).slice(1)
    one, two = (
        write([("T", batch)], tmp_path / str(threads), "parquet", threads=threads) for threads in (1, 2)
    )
    assert one["T"].read_bytes() == two["T"].read_bytes()
