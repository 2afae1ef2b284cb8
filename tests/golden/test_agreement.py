"""Reference, Kaitai reader, Construct schema and the real Java agree on every golden file, field by field."""

import base64
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import rocket_golden
from golden_readers import FIELDS, MEANT, READERS, Row, slots
from rocket_spec import construct_schemas as construct
from rocket_spec.layout import DEFAULT_GEOMETRY, Geometry


@dataclass(frozen=True)
class JavaAnswers:
    """A golden store laid out, and what Java said of each of its files: by the line's type, then the file."""

    root: Path
    geometry: Geometry
    truth: dict[str, dict[str, list[Row]]]

    def files(self, kind: str) -> Iterator[tuple[Path, list[Row]]]:
        """Each file of a kind with the rows that Java saw in it."""
        for name, rows in self.truth[kind].items():
            yield self.root / name, rows


@pytest.fixture(scope="module", params=rocket_golden.stores())
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> JavaAnswers:
    name: str = request.param
    truth: dict[str, dict[str, list[Row]]] = {kind: defaultdict(list) for kind in FIELDS}
    geometry: Geometry | None = None
    for line in rocket_golden.truth(name):
        if line["type"] in FIELDS:
            truth[line["type"]][line["file"]].append(from_json(line))
        if line["type"] == "index_header":
            geometry = Geometry(line["hash_slot_num"], line["index_num"])
    assert geometry is not None
    return JavaAnswers(rocket_golden.open_store(name, tmp_path_factory.mktemp(name)), geometry, truth)


def from_json(line: Row) -> Row:
    """Binary as bytes; an absent one, which Java gives as null, as no bytes."""
    return {
        name: base64.b64decode(value or "") if name in ("body", "bit_map") else value
        for name, value in line.items()
    }


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("reader", READERS)
def test_every_row_is_what_java_read(store: JavaAnswers, kind: str, reader: str) -> None:
    count = 0
    for path, expected in store.files(kind):
        rows = [
            {name: row[name] for name in FIELDS[kind]} for row in READERS[reader](kind, path, store.geometry)
        ]
        assert rows == [{name: truth[name] for name in FIELDS[kind]} for truth in expected], path
        count += len(rows)
    least = {"index_entry": 101, "queue_unit": 71, "log_record": 71, "ext_unit": 0}
    assert count >= least.get(kind, 1)
    assert kind != "ext_unit" or (count > 0) == (store.root / "consumequeue_ext").is_dir()


def test_index_slots_hold_the_newest_entry_of_their_chain(store: JavaAnswers) -> None:
    for path, entries in store.files("index_entry"):
        newest = {row["slot"]: row["entry"] for row in entries}
        readers = (
            ("reference",) if store.geometry == DEFAULT_GEOMETRY else ("reference", "kaitai", "construct")
        )
        for reader in readers:
            assert slots(reader, path, store.geometry) == newest, f"{path}: {reader}"


def test_index_entries_times_are_those_that_the_broker_computes(store: JavaAnswers) -> None:
    headers = {path: rows[0] for path, rows in store.files("index_header")}
    for path, entries in store.files("index_entry"):
        begin = headers[path]["begin_timestamp"]
        expected = [begin + 1000 * row["time_diff"] for row in entries]
        for name in ("reference", "kaitai"):
            rows = READERS[name]("index_entry", path, store.geometry)
            assert [row["store_timestamp"] for row in rows] == expected, f"{path}: {name}"


def test_commit_logs_meaning(store: JavaAnswers) -> None:
    """Keys, unique key, tags, tags code and CRC, which the reference computes by Java's rules."""
    for path, expected in store.files("log_record"):
        for row, truth in zip(
            READERS["reference"]("log_record", path, store.geometry), expected, strict=True
        ):
            assert {field: row[field] for field in MEANT} == {field: truth[field] for field in MEANT}


def test_construct_builds_the_bytes_that_it_reads(store: JavaAnswers) -> None:
    """Every file but those of the default geometry, which are too large for it."""
    schemas = {
        "index_header": construct.index_file(store.geometry),
        "queue_unit": construct.QUEUE_FILE,
        "ext_unit": construct.EXT_FILE,
        "log_record": construct.COMMIT_LOG,
        "checkpoint": construct.CHECKPOINT,
    }
    for kind, schema in schemas.items():
        for path, _ in store.files(kind):
            if path.stat().st_size < 1 << 20:
                assert schema.build(schema.parse(path.read_bytes())) == path.read_bytes(), path


def test_every_file_is_held_against_java(store: JavaAnswers) -> None:
    """No file escapes: each is named by Java's rows, or starts with zeros and so holds none."""
    named = {path for kind in FIELDS for path, _ in store.files(kind)}
    there = {path for path in store.root.rglob("*") if path.is_file() and path.name.isdigit()}
    assert all(not any(path.read_bytes()[:20]) for path in there - named)
    assert named <= there | {store.root / "checkpoint"}
