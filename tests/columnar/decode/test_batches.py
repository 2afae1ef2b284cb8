"""How the rows of a decode come: in batches, with dictionaries, by threads, and up to a gap; `cases/decode.md` has what they are."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rocket_columnar.decode import SCHEMAS, decode
from rocket_columnar.store import find_files
from rocket_spec.errors import MalformedError
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, Entry, ext_unit, index_file, put, record, unit
from table_rows import decoded, rows_of

LOG = f"commitlog/{0:020}"
INDEX = "index/20260101000000000"
GEOMETRY = Geometry(7, 12)
PUTS = [Entry(8, 0, 0), Entry(9, 200, 5), Entry(15, 300, 9)]


def test_table_without_rows_comes_as_an_empty_batch(tmp_path: Path) -> None:
    files = find_files(put(tmp_path, INDEX, index_file(7, 12, [])))
    found = list(decode(files, geometry=GEOMETRY))
    assert [(table, batch.num_rows) for table, batch in found] == [("index_headers", 1), ("index_entries", 0)]
    assert found[1][1].schema.equals(SCHEMAS["index_entries"])


def test_file_is_one_dictionary_for_all_batches(tmp_path: Path) -> None:
    names = (INDEX, "index/20260101000000001")
    for name in names:
        put(tmp_path, name, index_file(7, 12, PUTS))
    files = find_files(tmp_path / "index")
    batches = [batch for _, batch in decode(files, tables=["index_entries"], batch_rows=2)]
    columns: list[Any] = [batch.column("file") for batch in batches]
    assert {tuple(column.dictionary.to_pylist()) for column in columns} == {names}
    assert pa.Table.from_batches(batches).num_rows == 6


@pytest.mark.parametrize("columns", [None, ["slot"], ["store_timestamp", "file"]])
def test_rows_of_several_threads_are_those_of_one(tmp_path: Path, columns: list[str] | None) -> None:
    data = bytearray(index_file(7, 320, [Entry(1, number, 5) for number in range(300)]))
    data[40 + 28 + 20 :] = random.Random(1).randbytes(len(data) - 88)  # any hash, sign and time diff
    files = find_files(put(tmp_path, INDEX, bytes(data)))
    known: dict[str, Any] = {"tables": ["index_entries"], "geometry": Geometry(7, 320)}
    one, two = (
        [row for _, batch in decode(files, **known, columns=columns, batch_rows=37, threads=threads) for row in batch.to_pylist()]
        for threads in (1, 2)
    )  # fmt: skip
    assert one == two
    assert len(one) == 300
    first = decode(files, **known, batch_rows=10, threads=2, limit=15)
    assert sum(batch.num_rows for _, batch in first) == 15  # the others are let go


def test_many_short_queues_make_few_batches(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path, f"consumequeue/T/{number}/{0:020}", unit(number, 91))
    sizes = [batch.num_rows for _, batch in decode(find_files(tmp_path / "consumequeue"), batch_rows=20)]
    assert sizes == [20, 20, 10]


def test_ext_units_of_the_largest_size_cross_every_window(tmp_path: Path) -> None:
    data = b"".join(ext_unit(number, BEGIN, bytes([number]) * (0x7FFF - 20)) for number in range(100))
    found = rows_of(put(tmp_path, f"consumequeue_ext/T/0/{0:020}", data), batch_rows=7)
    assert [(row["tags_code"], row["bit_map"][:1]) for row in found] == [(n, bytes([n])) for n in range(100)]


def test_large_bodies_make_batches_of_few_rows(tmp_path: Path) -> None:
    """32 MiB are reached by the seventh body of 5."""
    size = len(record(0, body=bytes(5 << 20)))
    log = b"".join(record(size * number, body=bytes(5 << 20)) for number in range(8))
    sizes = [batch.num_rows for _, batch in decode(find_files(put(tmp_path, LOG, log)))]
    assert sum(sizes) == 8
    assert max(sizes) <= 7


def test_topics_of_later_batches_only_add_to_the_dictionary(tmp_path: Path) -> None:
    size = len(record(0))
    log = b"".join(record(size * at, topic=topic) for at, topic in enumerate((b"A", b"B", b"A", b"C")))
    files = find_files(put(tmp_path, LOG, log))
    columns: list[Any] = [batch.column("topic") for _, batch in decode(files, batch_rows=1)]
    assert ["".join(column.dictionary.to_pylist()) for column in columns] == ["A", "AB", "AB", "ABC"]
    assert [column[0].as_py() for column in columns] == ["A", "B", "A", "C"]


def test_record_inside_a_body_is_not_found_in_a_gap(tmp_path: Path) -> None:
    outer = record(0, body=record(0) + b"tail")
    damaged = b"\0" + outer[1:4] + b"\0" + outer[5:]
    shown, gaps = decoded(put(tmp_path, LOG, damaged + record(len(outer))))
    assert [row["phy_offset"] for row in shown] == [len(outer)]
    assert [(gap.begin, gap.end) for gap in gaps] == [(0, len(outer))]


def test_without_on_gap_nothing_is_passed_over(tmp_path: Path) -> None:
    path = put(tmp_path, LOG, record(0) + b"j" * 1000)
    with pytest.raises(MalformedError, match="a gap in the log from 96 to 1,096: magic 6a6a6a6a"):
        list(decode(find_files(path)))
