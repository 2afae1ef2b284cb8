"""Large files in bounded memory: sparse ones of the sizes that brokers make, and what decoding loads."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files
from rocket_spec.layout import DEFAULT_GEOMETRY
from store_bytes import Entry, put, record, unit, write_sparse_index

FIRST = "00000000000000000000"
BOUND = 96 << 20


@pytest.fixture
def bounded() -> Callable[[], AbstractContextManager[None]]:
    """A block in which NumPy, Python and Arrow together never hold more than the bound."""

    @contextmanager
    def measure() -> Iterator[None]:
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        try:
            yield
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak + pa.total_allocated_bytes() - before < BOUND

    return measure


def test_default_index_file(tmp_path: Path, bounded: Callable[[], AbstractContextManager[None]]) -> None:
    path = tmp_path / "20260101000000000"
    write_sparse_index(path, *DEFAULT_GEOMETRY, [Entry(77, 1000, 0), Entry(5_000_077, 1100, 0)])
    with path.open("r+b") as file:
        file.seek(36)
        file.write((3_000_000).to_bytes(4))
        file.seek(DEFAULT_GEOMETRY.entries_offset + 60)
        file.write(bytes(20 * 2_999_997))  # on disk, not a hole
    with bounded():
        rows = 0
        for _, batch in decode(
            find_files(path, "index"), tables=["index_entries"], geometry=DEFAULT_GEOMETRY
        ):
            rows += batch.num_rows
    assert rows == 2_999_999


def test_default_index_file_with_all_entries_reads_no_holes(
    tmp_path: Path, bounded: Callable[[], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "20260101000000000"
    write_sparse_index(path, *DEFAULT_GEOMETRY, [Entry(77, 1000, 0)])
    with bounded():
        batches = decode(find_files(path, "index"), tables=["index_entries"], all_entries=True)
        assert sum(batch.num_rows for _, batch in batches) == 1


def test_commit_log_of_a_gibibyte(
    tmp_path: Path, bounded: Callable[[], AbstractContextManager[None]]
) -> None:
    path = tmp_path / FIRST
    with path.open("wb") as file:
        file.truncate(1 << 30)
        position = 0
        for _ in range(20):
            data = record(position, body=b"b" * (1 << 20))
            file.write(data)
            position += len(data)
    with bounded():
        rows = sum(batch.num_rows for _, batch in decode(find_files(path, "log")))
    assert rows == 20


def test_consume_queue_of_a_gibibyte(
    tmp_path: Path, bounded: Callable[[], AbstractContextManager[None]]
) -> None:
    path = put(tmp_path, FIRST, unit(0, 100))
    with path.open("r+b") as file:
        file.truncate(20 * 50_000_000)
        file.seek(20)
        file.write(bytes(20 * 2_999_998) + unit(5, 100))
    with bounded():
        rows = sum(batch.num_rows for _, batch in decode(find_files(path, "queue")))
    assert rows == 3_000_000
