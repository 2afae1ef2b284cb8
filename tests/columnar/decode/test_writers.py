"""Rows as JSON Lines, CSV, Parquet and Arrow."""

import csv
import io
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow.parquet import ParquetFile, read_table
from rocket_columnar import decode as decoding
from rocket_columnar.decode import FORMATS, SCHEMAS, decode, write, write_stream
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spec.errors import MalformedError, UsageError
from store_bytes import BEGIN, Entry, checkpoint, ext_unit, index_file, put, record, unit

FIRST = "00000000000000000000"
AWKWARD = 'q"uote, \\ back\n\t\u2028 订单 🚀'
Batches = list[tuple[str, pa.RecordBatch]]


@pytest.fixture(params=["few rows", "many rows"])
def _rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines made row by row in Python, or column by column in Arrow, as many rows are."""
    monkeypatch.setattr(
        "rocket_columnar.decode.arrow.FEW_ROWS", 0 if request.param == "many rows" else 1 << 12
    )


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    put(root, "index/20260101000000000", index_file(7, 12, [Entry(8, 0, 0), Entry(15, 100, 1)]))
    put(root, f"consumequeue/T/0/{FIRST}", unit(0, 100, -7) + bytes(40))
    put(root, f"consumequeue/T/1/{FIRST}", bytes(40))
    put(root, f"consumequeue_ext/T/0/{FIRST}", ext_unit(7, BEGIN, b"\0\xff"))
    text = AWKWARD.encode()
    first = record(0, body=b"\0\1\xff", properties=b"KEYS\1" + text + b"\2" + text + b"\1v\2")
    put(root, f"commitlog/{FIRST}", first + record(len(first), topic=b"U", body=b"") + bytes(100))
    put(root, "checkpoint", checkpoint(3, 2, 1))
    return root


def batches(store: Path, **options: Any) -> Batches:
    return list(decode(find_files(store), **options))


def stream(found: Batches, fmt: str, **options: Any) -> str:
    sink = io.BytesIO()
    write_stream(found, sink, fmt, **options)
    return sink.getvalue().decode()


def tables(found: Batches) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for table, batch in found:
        rows.setdefault(table, []).extend(batch.to_pylist())
    return rows


@pytest.mark.usefixtures("_rows")
def test_json_names_the_table_first_where_asked(store: Path) -> None:
    lines = stream(batches(store), "jsonl", name_tables=True).split("\n")[:-1]
    assert [next(iter(json.loads(line).items()))[1] for line in lines] == [
        "index_headers",
        "index_entries",
        "index_entries",
        "consume_queue",
        "commit_log",
        "commit_log",
        "checkpoint",
        "consume_queue_ext",
    ]
    assert all(line.startswith('{"table":"') for line in lines)


@pytest.mark.usefixtures("_rows")
def test_json_has_numbers_base64_objects_and_nulls(store: Path) -> None:
    found = batches(store, tables=["commit_log"])
    first, second = (json.loads(line) for line in stream(found, "jsonl").split("\n")[:-1])
    expected = found[0][1].to_pylist()
    for line, row in zip((first, second), expected, strict=True):
        assert b64decode(line.pop("body")) == row.pop("body")
        assert line.pop("properties") == dict(row.pop("properties"))
        assert line == row
    assert (first["keys"], first["crc_ok"], second["keys"]) == (AWKWARD, True, None)


def test_csv_by_hand(store: Path) -> None:
    assert stream(batches(store, tables=["consume_queue_ext"]), "csv") == (
        "topic,queue_id,address,size,tags_code,store_timestamp,bit_map,file\n"
        f'"T",0,-9223372036854775808,22,7,{BEGIN},"AP8=","consumequeue_ext/T/0/{FIRST}"\n'
    )


def test_csv_reads_back(store: Path) -> None:
    first, second = csv.DictReader(io.StringIO(stream(batches(store, tables=["commit_log"]), "csv")))
    assert first["keys"] == AWKWARD
    assert json.loads(first["properties"]) == {"KEYS": AWKWARD, AWKWARD: "v"}
    assert (first["crc_ok"], first["body"], second["body"], second["keys"]) == ("true", "AAH/", "", "")


def test_csv_of_no_rows_is_its_header(store: Path) -> None:
    assert stream(batches(store, tables=["checkpoint"], limit=0), "csv") == (
        "file,physic_msg_timestamp,logics_msg_timestamp,index_msg_timestamp,"
        "master_flushed_offset,confirm_phy_offset,logics_physical_offset\n"
    )


def test_csv_holds_one_table(store: Path) -> None:
    with pytest.raises(UsageError, match="csv contains one table, found index_headers and index_entries"):
        stream(batches(store), "csv")


@pytest.mark.parametrize("fmt", FORMATS)
def test_directory_has_one_file_for_each_table(store: Path, tmp_path: Path, fmt: str) -> None:
    out = tmp_path / "new" / "out"
    files = write(batches(store), out, fmt, source=store)
    assert sorted(path.name for path in out.iterdir()) == sorted(f"{table}.{fmt}" for table in files)
    assert list(files) == list(tables(batches(store)))


@pytest.mark.parametrize("fmt", ["parquet", "arrow"])
@pytest.mark.parametrize("batch_rows", [1, 1000])
def test_parquet_and_arrow_read_back_as_the_same_rows(
    store: Path, tmp_path: Path, fmt: str, batch_rows: int
) -> None:
    found = batches(store, batch_rows=batch_rows)
    for table, path in write(found, tmp_path / "out", fmt).items():
        if fmt == "parquet":
            back = read_table(path)
        else:
            with pa.OSFile(str(path), "rb") as file:
                back = pa.ipc.open_file(file).read_all()
        assert back.schema.names == found[0][1].schema.names or table != "index_headers"
        assert back.to_pylist() == tables(found)[table]


def test_arrow_of_topics_and_a_backup_with_other_topics(store: Path, tmp_path: Path) -> None:
    for name, topics in ("topics.json", "AB"), ("topics.json.bak", "CA"):
        content = {"topicConfigTable": {topic: {"topicName": topic} for topic in topics}}
        put(store, f"config/{name}", json.dumps(content).encode())
    found = decode(find_files(store, kinds=["config"]), tables=["topics"])
    path = write(found, tmp_path / "out", "arrow")["topics"]
    rows = pa.ipc.open_file(path.read_bytes()).read_all().to_pylist()
    assert [row["topic"] for row in rows] == ["A", "B", "C", "A"]


@pytest.mark.parametrize("name", ["mixed", "transactions", "lmq", "ipv6"])
def test_parquet_of_a_log_gives_its_schema_and_values_back(tmp_path: Path, name: str) -> None:
    found = batches(open_store(name, tmp_path / "store"), tables=["commit_log"])
    path = write(found, tmp_path / "out", "parquet")["commit_log"]
    with ParquetFile(path) as file:
        assert file.schema_arrow == SCHEMAS["commit_log"]
        group = file.metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        dictionaries = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert read_table(path).to_pylist() == tables(found)["commit_log"]
    assert dictionaries >= {"topic", "queue_id", "born_host", "tags", "properties.key_value.key", "file"}
    assert not dictionaries & {"phy_offset", "body", "keys", "uniq_key", "properties.key_value.value"}


def test_files_of_a_run_before_are_replaced(store: Path, tmp_path: Path) -> None:
    first = write(batches(store), tmp_path / "out", "jsonl")
    again = write(batches(store, limit=1), tmp_path / "out", "jsonl")
    assert first == again
    assert again["index_entries"].read_text().count("\n") == 1


@pytest.mark.parametrize("fmt", FORMATS)
def test_nothing_is_left_of_a_run_that_fails(store: Path, tmp_path: Path, fmt: str) -> None:
    def failing() -> Iterator[tuple[str, pa.RecordBatch]]:
        yield from batches(store)
        raise MalformedError(found="this", expected="that")

    with pytest.raises(MalformedError):
        write(failing(), tmp_path / "out", fmt)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("below", ["", "new", "index", "commitlog/deep", "consumequeue/T/0"])
@pytest.mark.parametrize("source", ["", "index", f"commitlog/{FIRST}", "checkpoint"])
def test_nothing_is_written_into_the_store_that_is_read(store: Path, source: str, below: str) -> None:
    before = sorted(store.rglob("*"))
    with pytest.raises(UsageError, match="inside the store that is read"):
        write(iter([]), store / below, "jsonl", source=store / source)
    assert sorted(store.rglob("*")) == before


def test_a_link_into_the_store_is_no_way_around(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(store / "index")
    with pytest.raises(UsageError, match="inside the store that is read"):
        write(iter([]), tmp_path / "link" / "out", "jsonl", source=store)


def test_a_lone_file_may_be_decoded_beside_itself(tmp_path: Path) -> None:
    path = put(tmp_path, "copy", checkpoint(3, 2, 1))
    files = write(decode(find_files(path, "checkpoint")), tmp_path, "jsonl", source=path)
    assert files["checkpoint"].read_text() == (
        '{"file":"copy","physic_msg_timestamp":3,"logics_msg_timestamp":2,"index_msg_timestamp":1,'
        '"master_flushed_offset":null,"confirm_phy_offset":null,"logics_physical_offset":null}\n'
    )


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown format 'xml'; there are jsonl, csv, parquet, arrow"):
        write(iter([]), tmp_path / "out", "xml")
    with pytest.raises(UsageError, match="unknown format 'parquet'; there are jsonl, csv"):
        write_stream(iter([]), io.BytesIO(), "parquet")


def test_parquet_has_row_groups_of_many_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocket_columnar.decode.arrow.GROUP_ROWS", 10)
    schema = pa.schema(
        [pa.field("name", pa.dictionary(pa.int32(), pa.string())), pa.field("number", pa.int64())]
    )
    found = []
    for number in range(7):  # four rows each, of two names
        names = pa.array([f"n{number}", f"n{number + 1}"] * 2).dictionary_encode()
        found.append(("T", pa.record_batch([names, pa.array([number] * 4)], schema=schema)))
    file = write(found, tmp_path, "parquet")["T"]
    metadata = ParquetFile(file).metadata
    assert [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)] == [8, 8, 8, 4]
    assert read_table(file).to_pylist() == [row for _, batch in found for row in batch.to_pylist()]


def test_no_parquet_is_left_when_a_row_group_cannot_be_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rocket_columnar.decode.arrow.GROUP_ROWS", 1)
    other = pa.record_batch({"b": [1]})
    found = [("T", pa.record_batch({"a": [1]})), ("T", other), ("T", other), ("T", other)]
    with pytest.raises(ValueError, match="schema"):
        write(found, tmp_path, "parquet")
    assert not list(tmp_path.iterdir())


def test_csv_tells_null_from_the_empty_text(store: Path) -> None:
    last = stream(batches(store, tables=["commit_log"], columns=["keys", "body"]), "csv").splitlines()[-1]
    assert last == ',""'


def test_parquet_is_compressed_with_zstd(store: Path, tmp_path: Path) -> None:
    files = write(batches(store), tmp_path / "out", "parquet")
    with ParquetFile(files["checkpoint"]) as file:
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_row_group_of_large_bodies_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocket_columnar.decode.arrow.GROUP_BYTES", 3000)
    schema = pa.schema([("body", pa.binary())])
    file = decoding.ParquetFile(tmp_path / "part", schema)
    for _ in range(5):
        file.write(pa.RecordBatch.from_pydict({"body": [bytes(1000)]}, schema))
    file.close()
    read = ParquetFile(tmp_path / "part").metadata
    assert [read.row_group(number).num_rows for number in range(read.num_row_groups)] == [2, 2, 1]
