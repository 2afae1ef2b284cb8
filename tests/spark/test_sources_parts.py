"""What the sources plan and read, without Spark: divided, filtered, damaged, found by globs."""

import errno
import json
import operator
import os
import pickle
import struct
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from far_storage import Far
from pyspark.sql.types import IntegerType, StringType, StructField, StructType
from refused import refused
from rocket_columnar.decode import TABLE_KINDS, decode
from rocket_columnar.log import Gap
from rocket_columnar.store import find_files
from rocket_golden import damaged, open_damaged, open_store
from rocket_spark.fleet import FLEET_SOURCES
from rocket_spark.sources import SOURCES
from rocket_spec.errors import FormatError, MalformedError, UsageError
from store_bytes import put, record

Row = dict[str, Any]
Filter = tuple[str, str, object]
BY_TABLE = {source.table: source for source in SOURCES}
CORRUPT = "_corrupt_record"


def engine(store: Path, table: str) -> tuple[list[Row], list[Gap]]:
    gaps: list[Gap] = []
    batches = decode(find_files(store, TABLE_KINDS[table]), tables=[table], on_gap=gaps.append)
    return [row for _, batch in batches for row in batch.to_pylist()], gaps


def tables_of(store: Path) -> list[str]:
    kinds = {file.kind for file in find_files(store)}
    return [table for table, kind in TABLE_KINDS.items() if kind in kinds]


def failure(store: Path, table: str) -> FormatError | None:
    try:
        engine(store, table)
    except FormatError as error:
        return error
    return None


class Read:
    """A read as Spark makes it: planned here, the partitions sent elsewhere."""

    def __init__(self, table: str, path: Path | str, *filters: Filter, **options: object) -> None:
        if filters:
            options["filters"] = json.dumps(filters)
        texts = {name: str(value) for name, value in options.items()}
        source = BY_TABLE[table](texts if "paths" in texts else {"path": str(path), **texts})
        self.reader = source.reader(source.schema())
        self.partitions = self.reader.partitions()

    def rows(self) -> list[Row]:
        reader = pickle.loads(pickle.dumps(self.reader))
        sent = pickle.loads(pickle.dumps(self.partitions))
        rows = [row for part in sent for batch in reader.read(part) for row in batch.to_pylist()]
        self.stores = list(dict.fromkeys(row.pop("store", None) for row in rows))
        return rows

    def files(self) -> list[str]:
        return list(
            dict.fromkeys(
                part.file.name for partition in self.partitions for part in partition.parts if part.file
            )
        )


def split(rows: Iterable[Row]) -> tuple[list[Row], list[str]]:
    """Good rows, and what the others say."""
    good: list[Row] = []
    told: list[str] = []
    for row in rows:
        problem = row.pop(CORRUPT)
        good += [] if problem else [row]
        told += [problem] if problem else []
    return good, told


@pytest.mark.parametrize("name", ["small-roll", "ext", "lmq", "dledger", "dledger-upgraded"])
def test_every_golden_store_row_for_row(name: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path)
    for table in tables_of(store):
        rows, gaps = engine(store, table)
        for most in (3_000_000, 100, *([7, 1] if name == "small-roll" else [])):
            read = Read(table, store, mode="PERMISSIVE", maxPartitionRows=most)
            assert split(read.rows()) == (rows, [str(gap) for gap in gaps])


DAMAGED = {variant.damage: variant.name for variant in damaged() if variant.damage.startswith("log.")} | {
    variant.damage: variant.name
    for variant in damaged()
    if variant.damage.endswith((".size", ".header_count"))
}


@pytest.mark.parametrize("name", DAMAGED.values(), ids=DAMAGED)
def test_damaged_stores_in_every_mode(name: str, tmp_path: Path) -> None:
    """One store of each kind of damage to the log, and of files that cannot be decoded."""
    store = open_damaged(name, tmp_path)
    for table in tables_of(store):
        error = failure(store, table)
        if error is not None:
            with pytest.raises(type(error)) as caught:
                Read(table, store).rows()
            assert str(caught.value) == str(error)
            assert str(error) in split(Read(table, store, mode="PERMISSIVE").rows())[1]
            Read(table, store, mode="DROPMALFORMED").rows()
            continue
        rows, gaps = engine(store, table)
        permissive = Read(table, store, mode="PERMISSIVE", maxPartitionRows=100).rows()
        assert split(permissive) == (rows, [str(gap) for gap in gaps])
        if gaps:
            assert Read(table, store, mode="dropmalformed").rows() == rows
            with pytest.raises(MalformedError, match="gap in the log"):
                Read(table, store, mode="FAILFAST").rows()


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("mixed", tmp_path_factory.mktemp("mixed"))


def test_an_offset_prunes_files_and_ranges_of_a_log(mixed: Path) -> None:
    rows, _ = engine(mixed, "commit_log")
    files = list(dict.fromkeys(row["file"] for row in rows))
    assert len(files) > 1
    first = next(row["phy_offset"] for row in rows if row["file"] == files[1])
    read = Read("commit_log", mixed, ("phy_offset", ">=", first))
    assert files[0] not in read.files()
    assert read.rows() == [row for row in rows if row["phy_offset"] >= first]
    middle = rows[len(rows) // 2]
    read = Read("commit_log", mixed, ("phy_offset", "=", middle["phy_offset"]))
    assert read.rows() == [middle]
    ((part,),) = [partition.parts for partition in read.partitions]
    assert part.range == (middle["phy_offset"], middle["phy_offset"] + 1)


def test_topic_and_queue_prune_files(mixed: Path) -> None:
    rows, _ = engine(mixed, "consume_queue")
    first = rows[0]
    filters = [("topic", "=", first["topic"]), ("queue_id", "=", first["queue_id"])]
    read = Read("consume_queue", mixed, *filters)
    assert {name.split("/")[1:3][0] for name in read.files()} == {first["topic"]}
    same = [row for row in rows if (row["topic"], row["queue_id"]) == (first["topic"], first["queue_id"])]
    assert read.rows() == same
    assert len(same) < len(rows)
    assert Read("consume_queue", mixed, ("topic", "=", "nobody")).partitions == []


def test_columns_are_those_asked_for_and_a_filter_may_be_on_others(mixed: Path) -> None:
    rows, _ = engine(mixed, "commit_log")
    expected = [
        {"tags": row["tags"], "phy_offset": row["phy_offset"]} for row in rows if row["topic"] == "Orders"
    ]
    assert 0 < len(expected) < len(rows)
    read = Read("commit_log", mixed, ("topic", "=", "Orders"), columns="tags, phy_offset")
    assert [list(row.items()) for row in read.rows()] == [list(row.items()) for row in expected]


def test_a_schema_of_the_corrupt_column_alone_has_every_row(mixed: Path) -> None:
    source = BY_TABLE["commit_log"]({"path": str(mixed), "mode": "PERMISSIVE"})
    reader = source.reader(StructType([StructField(CORRUPT, StringType())]))
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert rows == [{CORRUPT: None}] * len(engine(mixed, "commit_log")[0])


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("commit_log", "phy_offset"),
        ("commit_log", "store_timestamp"),
        ("consume_queue", "queue_id"),
        ("index_entries", "store_timestamp"),
    ],
)
def test_filters_at_the_ends_of_a_long(mixed: Path, table: str, column: str) -> None:
    compare = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    rows = engine(mixed, table)[0]
    for value in (-(1 << 63), -1, 0, 1 << 62, (1 << 63) - 1):
        for sign, passes in (*compare.items(), ("in", operator.eq)):
            expected = [row for row in rows if passes(row[column], value)]
            assert Read(table, mixed, (column, sign, [value] if sign == "in" else value)).rows() == expected


def test_a_store_far_away(mixed: Path, s3: Far) -> None:
    uri = s3.upload(mixed, "rack-1/broker-a")
    for table in ("commit_log", "index_entries", "consume_queue", "checkpoint"):
        read = Read(table, f"{s3.root}/rack-*/broker-?", **s3.options, maxPartitionRows=100)
        assert (read.rows(), read.stores) == (engine(mixed, table)[0], [uri])


def test_a_file_is_read_alone(mixed: Path) -> None:
    rows, _ = engine(mixed, "index_entries")
    read = Read("index_entries", mixed, ("file", "=", rows[-1]["file"]))
    assert read.files() == [rows[-1]["file"]]


def test_file_names_by_glob(mixed: Path) -> None:
    rows, _ = engine(mixed, "index_entries")
    name = rows[0]["file"].rpartition("/")[2]
    assert Read("index_entries", mixed, pathGlobFilter=f"{name[:-1]}?").files() == [
        file
        for file in dict.fromkeys(row["file"] for row in rows)
        if file.rpartition("/")[2][:-1] == name[:-1]
    ]
    assert Read("index_entries", mixed, pathGlobFilter="*.bak").partitions == []


def fleet(directory: Path) -> Path:
    """Two stores, one deeper than the other, and a folder that is none."""
    open_store("ext", directory / "a")
    open_store("small-roll", directory / "b" / "data")
    (directory / "b" / "notes").mkdir()
    (directory / "b" / "notes" / "readme").write_text("not a store")
    return directory


def test_stores_found_at_any_depth_or_by_a_glob(tmp_path: Path) -> None:
    """Files have their names in the store, whatever found it; the store has its path, or a name of its own."""
    root = fleet(tmp_path)
    stores = [root / "a/ext", root / "b/data/small-roll"]
    expected = [row for store in stores for row in engine(store, "index_entries")[0]]
    for read in (
        Read("index_entries", root, recursiveFileLookup="true"),
        Read("index_entries", "", paths=json.dumps([f"{root}/a/*", f"{root}/b/*/small-*"])),
    ):
        assert read.rows() == expected
        assert read.stores == list(map(str, stores))
    for part in ("", "/index", "/index/*"):
        read = Read("index_entries", f"{stores[0]}{part}")
        assert {row["file"].partition("/")[0] for row in read.rows()} == {"index"}
        assert read.stores == [str(stores[0])]
    read = Read("index_entries", f"broker-a={stores[0]}", ("store", "=", "broker-a"))
    assert read.rows()
    assert read.stores == ["broker-a"]
    assert Read("index_entries", f"broker-a={stores[0]}", ("store", ">", "broker-b")).rows() == []
    with pytest.raises(UsageError, match="stands for 3 stores; one name is for one store"):
        Read("index_entries", f"both={root}/*/*")


def test_what_a_glob_matched_and_cannot_be_read(tmp_path: Path) -> None:
    """In FAILFAST an error, in PERMISSIVE a row; a store without files of the table is neither."""
    root = fleet(tmp_path)
    (root / "empty").mkdir()
    with pytest.raises(UsageError, match="contains no consume-queue ext file"):
        Read("consume_queue_ext", f"{root}/emp*")
    with pytest.raises(UsageError, match="/a: not a store"):
        Read("consume_queue_ext", f"{root}/*")
    read = Read(
        "consume_queue_ext",
        "",
        paths=json.dumps([f"{root}/a/*", f"{root}/empt*", f"{root}/b/data/*"]),
        mode="PERMISSIVE",
    )
    rows = read.rows()
    assert [(row["_corrupt_record"] or "").partition(": ")[2] for row in rows if row["_corrupt_record"]] == [
        "contains no consume-queue ext file"
    ]
    assert set(read.stores) == {f"{root}/a/ext", f"{root}/empty"}


@pytest.mark.parametrize("why", ["Too many levels of symbolic links", "Permission denied"])
def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    """An error in FAILFAST, else the rest is read; a stream, which would pass over it for good, fails in every mode."""
    store = open_store("mixed", tmp_path)
    rows = engine(store, "commit_log")[0]
    path = max((store / "commitlog").iterdir())
    if why == "Permission denied":
        real = os.open

        def refusing(given: Any, *rest: Any, **options: Any) -> int:
            if given == path:
                raise PermissionError(errno.EACCES, why, str(path))
            return real(given, *rest, **options)

        monkeypatch.setattr(os, "open", refusing)
    else:
        path.unlink()
        path.symlink_to(path)
    with pytest.raises(OSError, match=why):
        Read("commit_log", store).rows()
    left = [row for row in rows if row["file"] != f"commitlog/{path.name}"]
    good, told = split(Read("commit_log", store, mode="PERMISSIVE").rows())
    assert (good, told) == (left, [f"commitlog/{path.name}: skipped, {why.lower()}"])
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        with pytest.raises(OSError, match=why):
            Read("commit_log", store, mode=mode, startingOffsets="earliest").rows()


def test_the_corrupt_column_is_named_as_asked(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"short")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "why", "timestamps": "utc"}
    (row,) = Read("checkpoint", tmp_path, **options).rows()
    assert row["file"] == "checkpoint"
    assert "found 5 bytes, expected at least 4,096" in row["why"]
    assert row["index_msg_timestamp"] is None


def test_an_empty_range_is_no_partition(tmp_path: Path) -> None:
    path = tmp_path / "consumequeue" / "T" / "0" / f"{0:020}"
    path.parent.mkdir(parents=True)
    path.write_bytes(bytes(2000))
    assert Read("consume_queue", tmp_path).rows() == []


def test_a_frame_in_a_body_is_no_record_where_a_part_begins(tmp_path: Path) -> None:
    inner = [record(offset, body=b"", queue_offset=7) for offset in (300, 600)]
    log = record(0, body=bytes(300 - 88) + inner[0].ljust(300, b"\0") + inner[1])
    log += record(len(log), queue_offset=1)
    assert log[300:].startswith(inner[0])
    assert log[600:].startswith(inner[1])
    put(tmp_path, f"commitlog/{0:020}", log)
    read = Read("commit_log", tmp_path, maxPartitionRows=1, columns="queue_offset")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rocket_spark.reading.parts.PART_BYTES", 150)
        cut = Read("commit_log", tmp_path, columns="queue_offset")
    assert len(cut.partitions) == -(-len(log) // 150)
    assert cut.rows() == read.rows() == [{"queue_offset": 0}, {"queue_offset": 1}]


@pytest.mark.parametrize(("name", "value", "said"), [*refused("option"), ("filters", "[" * 100_000, "'[[[[")])
def test_a_wrong_option_is_named(mixed: Path, name: str, value: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Read("index_entries", mixed, **{name: value})
    assert str(caught.value).startswith(f"option {name}: {said}")


def test_a_wrong_option_of_the_health_of_a_fleet_is_named(mixed: Path) -> None:
    for source in FLEET_SOURCES:
        for name, said in (
            ("level", "'slow' is none of quick, default, deep"),
            ("mode", "unknown; there are level,"),
        ):
            with pytest.raises(UsageError, match=f"^option {name}: {said}"):
                source({"path": str(mixed), name: "slow"}).reader(StructType())


def test_a_geometry_that_cannot_be_told_names_the_options(tmp_path: Path) -> None:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "20260101000000000").write_bytes(bytes(40 + 4 * 100 + 20 * 400))
    with pytest.raises(UsageError, match="give options hashSlotNum and indexNum"):
        Read("index_entries", tmp_path)


def test_a_path_that_cannot_be_read_is_named(mixed: Path, tmp_path: Path) -> None:
    for path, options, said in (
        (tmp_path / "nowhere", {}, f"No such file or directory: '{tmp_path}/nowhere'"),
        (tmp_path / "x*", {}, r"x\*: matches nothing"),
        (mixed / "commitlog", {}, f"{mixed}/commitlog"),
        (mixed, {"hashSlotNum": 70, "indexNum": 120}, "/index/"),
        (mixed, {"hashSlotNum": 7}, "option indexNum: missing"),
        ("", {}, "option path: missing"),
        (
            "",
            {"paths": json.dumps([f"{mixed}/index", f"{mixed}/../mixed/index"])},
            "/mixed/index: named twice",
        ),
        ("", {"paths": json.dumps([str(mixed), f"{mixed}/index"])}, "/mixed/index: overlaps /.*/mixed"),
        (
            "",
            {"paths": json.dumps([str(mixed), str(tmp_path)]), "commitlog": "/logs"},
            "/logs: belongs to one store, and 2 are read",
        ),
    ):
        with pytest.raises((UsageError, OSError), match=said):
            Read("index_entries", path, **options)


def test_a_schema_that_a_source_cannot_give_is_named(mixed: Path) -> None:
    """The rows of one without columns could not be counted."""
    for schema, mode, said in (
        (StructType([StructField("hash", IntegerType())]), "FAILFAST", "rocketmq-index has no column 'hash'"),
        (StructType(), "FAILFAST", "expected at least one column"),
        (
            StructType([StructField("file", StringType())]),
            "PERMISSIVE",
            "reports gaps in column '_corrupt_re",
        ),
    ):
        with pytest.raises(UsageError, match=said):
            BY_TABLE["index_entries"]({"path": str(mixed), "mode": mode}).reader(schema)


@pytest.mark.parametrize("table", ["index_entries", "consume_queue", "commit_log", "checkpoint", "topics"])
@pytest.mark.parametrize("mode", ["FAILFAST", "DROPMALFORMED"])
def test_a_store_that_is_deleted_after_it_was_planned(tmp_path: Path, table: str, mode: str) -> None:
    """Spark runs the task again, and fails: of a table without rows nobody would see it."""
    read = Read(table, open_store("mixed", tmp_path), mode=mode)
    (tmp_path / "mixed").rename(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        read.rows()


def test_paths_with_signs_of_uris_globs_and_options(tmp_path: Path) -> None:
    rows = engine(open_store("small-roll", tmp_path), "commit_log")[0]
    for name in ("100%", "a%20b", "c#d", "e?f", "g:h", "i,j", "k l", "m=n", "ü"):
        store = (tmp_path / "small-roll").rename(tmp_path / name)
        of_catalog = f"file:{store}"
        for path in (str(store), store.as_uri(), of_catalog):
            read = Read("commit_log", path)
            assert (read.rows(), read.stores) == (rows, [str(store)])
        store.rename(tmp_path / "small-roll")
    assert Read("commit_log", f"file://{tmp_path}/small?roll").rows() == rows
    (tmp_path / "small-roll").rename(tmp_path / os.fsdecode(b"\xff"))
    read = Read("commit_log", f"{tmp_path}/*")
    assert (read.rows(), read.stores) == (rows, [f"{tmp_path}/\\xff"])


def test_times_as_timestamps(tmp_path: Path) -> None:
    """1,700,000,000,123 ms is 2023-11-14T22:13:20.123Z; what no calendar has is null."""
    times = (1_700_000_000_123, 1 << 62, -(1 << 62))
    (tmp_path / "checkpoint").write_bytes(struct.pack(">3q", *times).ljust(4096, b"\0"))
    (row,) = Read("checkpoint", tmp_path, timestamps="utc").rows()
    assert row == {
        "file": "checkpoint",
        "physic_msg_timestamp": datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC),
        "logics_msg_timestamp": None,
        "index_msg_timestamp": None,
        "master_flushed_offset": None,
        "confirm_phy_offset": None,
        "logics_physical_offset": None,
    }
    (raw,) = Read("checkpoint", tmp_path, ("physic_msg_timestamp", "=", times[0]), timestamps="utc").rows()
    assert raw == row
