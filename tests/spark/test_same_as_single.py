"""A fleet of golden, damaged, differing and later stores: each verb on Spark gives what the single verb gives for each of them."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rocket_columnar.decode import TABLE_KINDS, decode
from rocket_columnar.describe import look_at
from rocket_columnar.facts import Store
from rocket_columnar.rebuild import Rebuilt, rebuild
from rocket_columnar.store import ALL_KINDS, StoreFile, Unreadable, despite_unreadable, find_files
from rocket_golden import open_damaged
from rocket_spark import decode_stores, rebuild_stores
from rocket_spark.sources import SOURCES
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.tables import TABLES
from small_stores import write_small_store
from table_rows import Row, part_rows, same
from verb_run import Outcome, Run, Verb, any_verb

pytestmark = pytest.mark.spark

LATER = Path(__file__).parents[1] / "acceptance" / "later"
SMALL = "small-"
DAMAGED = (
    "mixed-index-chain-cycle",
    "mixed-index-size-short",
    "mixed-log-gap",
    "mixed-queue-order",
    "mixed-queue-size",
)
SPECS = {"boolean": "bool", "int": "int32", "bigint": "int64", "smallint": "int16"}
"""Types of the tables, by Spark's."""


def lost_log(store: Path) -> None:
    shutil.rmtree(store / "commitlog")


def bad_configuration(store: Path) -> None:
    (store / "config").mkdir(exist_ok=True)
    for name in ("topics.json", "topics.json.bak"):
        (store / "config" / name).write_text("{")


def short_checkpoint(store: Path) -> None:
    (store / "checkpoint").write_bytes(b"short")


def unreadable_log(store: Path) -> None:
    """A link to itself, as a file that the job may not open."""
    path = sorted((store / "commitlog").iterdir())[1]
    path.unlink()
    path.symlink_to(path)


def other_replica(store: Path) -> None:
    queue = min(path for path in (store / "consumequeue").rglob("0" * 20))
    data = bytearray(queue.read_bytes())
    data[19] ^= 1  # the tags code of its first unit
    queue.write_bytes(data)


@pytest.fixture(scope="module", params=[30, pytest.param(60, marks=pytest.mark.soak)])
def fleet(
    request: pytest.FixtureRequest, golden: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> list[Path]:
    """Nine of them damaged, two replicas that differ, two of 5.x."""
    root = tmp_path_factory.mktemp("fleet")
    for name, store in golden.items():
        (root / name).symlink_to(store)
    for name in DAMAGED:
        open_damaged(name, root / name).rename(root / f"{name}.store")
        (root / name).rmdir()
    for change in (lost_log, bad_configuration, short_checkpoint, unreadable_log, other_replica):
        change(Path(shutil.copytree(golden["mixed"], root / change.__name__)))
    for version in ("5.3.1", "5.5.0"):
        with zipfile.ZipFile(LATER / f"{version}.zip") as packed:
            packed.extractall(root / version)
        (root / version / "store").rename(root / f"{version}.store")
        shutil.rmtree(root / version)
    made = len(list(root.iterdir()))
    for number in range(request.param - made):
        write_small_store(root / f"{SMALL}{number:02}", number)
    found = sorted(path.resolve() for path in root.iterdir())
    assert len(found) == request.param
    return found


@pytest.fixture
def single(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return any_verb(capfd, monkeypatch)


def listed(store: Path) -> tuple[list[StoreFile], dict[str, str]]:
    """The files that can be read, and why others cannot."""
    skipped: dict[str, str] = {}
    files = despite_unreadable(lambda: find_files(store, kinds=ALL_KINDS, on_skip=skipped.__setitem__))
    return files, {name: why for name, why in skipped.items() if isinstance(why, Unreadable)}


def engine(store: Path, table: str | None = None) -> tuple[dict[str, list[Row]], list[str]]:
    """The rows by table, and what could not be decoded."""
    rows: dict[str, list[Row]] = {}
    files, unreadable = listed(store)
    problems = [
        f"{name}: skipped, {why}"
        for name, why in unreadable.items()
        if table in (None, "commit_log") and name.startswith("commitlog/")
    ]
    tables = None if table is None else [table]
    for name, batch in decode(
        files,
        tables=tables,
        on_gap=lambda gap: problems.append(str(gap)),
        on_error=lambda _, error: problems.append(str(error)),
    ):
        rows.setdefault(name, []).extend(batch.to_pylist())
    return {name: found for name, found in rows.items() if found}, problems


def test_decode(spark: SparkSession, fleet: list[Path], tmp_path: Path) -> None:
    summary = decode_stores(spark, list(fleet), tmp_path / "out", TABLE_KINDS)
    written: dict[str, dict[str, list[Row]]] = {str(store): {} for store in fleet}
    for table in TABLE_KINDS:
        for row in part_rows(tmp_path / "out" / table):
            written[row.pop("store")].setdefault(table, []).append(row)
    for status, store in zip(summary.status, fleet, strict=True):
        rows, problems = engine(store)
        assert written[str(store)] == rows, store
        assert sorted({*status.gaps, *status.problems}) == sorted(set(problems)), store
    assert {table.table: table.rows for table in summary.tables if table.rows} == {
        table: sum(len(rows.get(table, ())) for rows in written.values())
        for table in TABLE_KINDS
        if any(table in rows for rows in written.values())
    }


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.table)
def test_sources(spark: SparkSession, fleet: list[Path], source: Any) -> None:
    """Of every table, in one query; what cannot be decoded is in rows of their own."""
    reader = spark.read.format(source.format_name).option("mode", "PERMISSIVE")
    frame = reader.load([str(store) for store in fleet if any(engine_files(store, source.table))])
    assert [(name, SPECS.get(kind, kind).split("<")[0]) for name, kind in frame.dtypes] == [
        ("store", "string"),
        *TABLES[source.table],
        ("_corrupt_record", "string"),
    ]
    found: dict[str, list[Row]] = {}
    problems: dict[str, set[str]] = {}
    for row in frame.toArrow().to_pylist():
        store, problem = row.pop("store"), row.pop("_corrupt_record")
        if problem is None:
            found.setdefault(store, []).append(row)
        else:
            problems.setdefault(store, set()).add(problem)
    for store in fleet:
        if any(engine_files(store, source.table)):
            rows, told = engine(store, source.table)
            assert found.get(str(store), []) == rows.get(source.table, []), store
            assert problems.get(str(store), set()) == set(told), store


def engine_files(store: Path, table: str) -> list[Any]:
    kind = TABLE_KINDS[table]
    return [file for file in listed(store)[0] if file.kind == kind and file.config_table in (None, table)]


def lines_of(run: Callable[[Path], Outcome], fleet: list[Path]) -> list[dict[str, Any]]:
    """What the single verb prints for one store after the other, each line with its store; what it refuses at the end."""
    done = {str(store): run(store) for store in fleet}
    refused = {
        store: ran.err.splitlines()[-1].removeprefix("rocketspec: ")
        for store, ran in done.items()
        if ran.code > 1
    }
    lines = [{"store": store} | line for store, ran in done.items() for line in ran.rows]
    return lines + [{"store": store, "error": reason} for store, reason in refused.items()]


def cureless(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without commands that name a folder by the time of day."""
    return [{name: value for name, value in line.items() if name != "cure"} for line in lines]


@pytest.mark.parametrize("options", [("--quick",), (), ("--deep",), ("--restart",)])
def test_audit(verb: Run, single: Verb, fleet: list[Path], options: tuple[str, ...]) -> None:
    """Findings, those on configuration and a missing log too, and what a start would do."""
    done = verb("audit", *fleet, *options, "--json")
    expected = lines_of(lambda store: single("audit", store, *options, "--json"), fleet)
    assert cureless(done.rows) == cureless(expected)
    assert done.code == 1
    if options == ():
        assert {line["code"] for line in expected} >= {"config.unreadable", "log.gap", "index.chain_cycle"}


def test_digest(verb: Run, single: Verb, fleet: list[Path]) -> None:
    done = verb("digest", *fleet, "--json")
    ran = {str(store): single("digest", store, "--json") for store in fleet}
    assert {line["store"]: line["digest"] for line in done.rows if "digest" in line} == {
        store: one.rows[-1]["store"] for store, one in ran.items() if one.code == 0
    }
    refused = [one.err.removeprefix("rocketspec: ") for one in ran.values() if one.code]
    assert [line.partition("failed: ")[2] for line in done.err.splitlines(keepends=True)] == refused
    assert refused
    (odd,) = [store for store in fleet if store.name == "other_replica"]
    pairs = [line for line in done.rows if "differ" in line and str(odd) in line["differ"]]
    assert [(kind, len(line["files"])) for line in pairs for kind, *_ in line["files"]] == [("queue", 1)]
    (mixed,) = [store for store in fleet if store.name == "mixed"]
    shown = verb("digest", mixed, odd).out.splitlines()[2:]
    assert shown[0] == f"{mixed} and {odd} differ in 1 file:"
    assert shown[2] == "2 stores: 1 replica that differs"


def test_query(verb: Run, single: Verb, fleet: list[Path]) -> None:
    """Each message with a key that several stores share, and one of each small store."""
    asked = [("Plain", "key-3"), *(("T", f"k-{number}-1") for number in range(3))]
    for topic, key in asked:
        words = ("--topic", topic, "--key", key, "--json")
        done = verb("query", *fleet, *words)
        expected = [
            {"store": str(store)} | message
            for store in fleet
            for answer in single("query", store, *words, "--all").rows
            for message in answer["messages"]
        ]
        assert done.rows == expected
        assert done.rows


def test_rebuild(spark: SparkSession, fleet: list[Path], tmp_path: Path) -> None:
    """Byte for byte; where the single verb refuses, with its words."""
    failed: dict[str, Exception] = {}
    done = rebuild_stores(spark, list(fleet), tmp_path / "out", failed=failed)

    def single(store: Path, whole: Path) -> Rebuilt:
        facts = Store(store)
        return facts.looked_at(lambda: rebuild(facts, whole))

    for store in fleet:
        whole = tmp_path / "whole" / store.name
        if str(store) in failed:
            with pytest.raises((FormatError, UsageError)) as caught:
                single(store, whole)
            assert str(failed.pop(str(store))).partition(": ")[2] == str(caught.value).partition(": ")[2]
            continue
        assert done[str(store)] == single(store, whole)
        same(tmp_path / "out" / str(store).strip("/"), whole)
    assert failed == {}


def test_summaries_and_findings_as_tables(spark: SparkSession, fleet: list[Path], single: Verb) -> None:
    paths = [str(store) for store in fleet]
    summaries = spark.read.format("rocketmq-stores").load(paths).toArrow().to_pylist()
    for row, store in zip(summaries, fleet, strict=True):
        row["checkpoint"] = dict(row["checkpoint"]) if row["checkpoint"] else row["checkpoint"]
        expected = json.loads(json.dumps(look_at(store).row()))
        assert row == {"store": str(store), "error": None} | expected
    findings = spark.read.format("rocketmq-findings").load(paths).toArrow().to_pylist()
    expected = lines_of(lambda store: single("audit", store, "--json"), fleet)
    names = ("store", "code", "severity", "clause", "file", "offset", "message", "error")
    assert [[row[name] for name in names] for row in findings] == [
        [line.get(name) for name in names] for line in expected
    ]
