"""What jobs and sources on Spark are compared with: the engine's rows of a store, rows of Parquet parts, and equal folders."""

import filecmp
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rocket_columnar.decode import decode
from rocket_columnar.log import Gap
from rocket_columnar.store import ALL_KINDS, StoreFile, find_files

Row = dict[str, Any]


def engine_rows(store: Path, gaps: list[str] | None = None) -> dict[str, list[Row]]:
    """The rows by table that `decode` gives of a store, and the gaps of its log."""
    met = [] if gaps is None else gaps
    rows: dict[str, list[Row]] = {}
    files = find_files(store, kinds=ALL_KINDS)
    for table, batch in decode(files, on_gap=lambda gap: met.append(str(gap))):
        rows.setdefault(table, []).extend(batch.to_pylist())
    return rows


def decoded(files: Sequence[StoreFile] | Path, **options: Any) -> tuple[list[Row], list[Gap]]:
    """The rows that `decode` gives of files, or of a store, and the gaps of its log."""
    gaps: list[Gap] = []
    batches = decode(find_files(files) if isinstance(files, Path) else files, on_gap=gaps.append, **options)
    return [row for _, batch in batches for row in batch.to_pylist()], gaps


def rows_of(files: Sequence[StoreFile] | Path, **options: Any) -> list[Row]:
    """The same without gaps."""
    rows, gaps = decoded(files, **options)
    assert gaps == []
    return rows


def table_rows(store: Path, table: str, **options: Any) -> list[Row]:
    """The rows of one table, also of those that `decode` only gives when asked."""
    return rows_of(find_files(store, kinds=ALL_KINDS), tables=[table], **options)


def part_rows(folder: Path) -> list[Row]:
    """The rows of all parts below a folder, in order."""
    return [row for part in sorted(folder.rglob("part-*")) for row in pq.ParquetFile(part).read().to_pylist()]


def contents(root: Path) -> list[str]:
    """Files below a folder, but for what a job says of itself."""
    found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    return sorted(name for name in found if not name.startswith("_"))


def same(one: Path, other: Path) -> None:
    """Asserts that two folders have equal files, but for a job's own records."""
    names = contents(one)
    assert names == contents(other)
    assert [name for name in names if not filecmp.cmp(one / name, other / name, shallow=False)] == []
