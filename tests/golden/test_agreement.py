"""Reference, engine, Kaitai reader, Construct schema and the real Java agree on every golden file, field by field."""

from __future__ import annotations

import base64
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import rocket_golden
from golden_readers import CHECKPOINT, ENTRY, EXT, HEADER, MEANT, READERS, RECORD, UNIT, Row, slots
from rocket_spec.layout import DEFAULT_GEOMETRY, Geometry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIELDS = {
    "index_header": HEADER,
    "index_entry": ENTRY,
    "queue_unit": UNIT,
    "ext_unit": EXT,
    "log_record": RECORD,
    "checkpoint": CHECKPOINT,
}


@dataclass(frozen=True)
class Store:
    """A golden store laid out, and what Java said of each of its files: by the line's type, then the file."""

    root: Path
    geometry: Geometry
    truth: dict[str, dict[str, list[Row]]]

    def files(self, kind: str) -> Iterator[tuple[Path, list[Row]]]:
        """Each file of a kind with the rows that Java saw in it."""
        for name, rows in self.truth[kind].items():
            yield self.root / name, rows


@pytest.fixture(scope="module", params=rocket_golden.stores())
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    name: str = request.param
    truth: dict[str, dict[str, list[Row]]] = {kind: defaultdict(list) for kind in FIELDS}
    geometry: Geometry | None = None
    for line in rocket_golden.truth(name):
        if line["type"] in FIELDS:
            truth[line["type"]][line["file"]].append(from_json(line))
        if line["type"] == "index_header":
            geometry = Geometry(line["hash_slot_num"], line["index_num"])
    assert geometry is not None
    return Store(rocket_golden.open_store(name, tmp_path_factory.mktemp(name)), geometry, truth)


def from_json(line: Row) -> Row:
    """Binary as bytes; an absent one, which Java gives as null, as no bytes."""
    return {
        name: base64.b64decode(value or "") if name in ("body", "bit_map") else value
        for name, value in line.items()
    }


def compare(store: Store, kind: str) -> int:
    """Holds all four readers against Java on every file of a kind; the number of fields compared."""
    compared = 0
    fields = FIELDS[kind]
    for path, expected in store.files(kind):
        for reader, read in READERS[kind].items():
            rows = list(read(path, store.geometry))
            assert len(rows) == len(expected), (
                f"{path}: {reader} reads {len(rows)} rows, Java {len(expected)}"
            )
            for row, truth in zip(rows, expected, strict=True):
                found = {name: row[name] for name in fields}
                assert found == {name: truth[name] for name in fields}, f"{path}: {reader}"
                compared += len(found)
    return compared


def all_fields(store: Store, kind: str) -> int:
    """How many fields there are to compare: readers times fields times Java's rows."""
    return len(READERS[kind]) * len(FIELDS[kind]) * sum(len(rows) for _, rows in store.files(kind))


def test_index_files(store: Store) -> None:
    assert compare(store, "index_header") == all_fields(store, "index_header") >= 4 * 6
    assert compare(store, "index_entry") == all_fields(store, "index_entry") > 4 * 5 * 100


def test_index_slots_hold_the_newest_entry_of_their_chain(store: Store) -> None:
    for path, entries in store.files("index_entry"):
        newest = {row["slot"]: row["entry"] for row in entries}
        readers = (
            ("reference",) if store.geometry == DEFAULT_GEOMETRY else ("reference", "kaitai", "construct")
        )
        for reader in readers:
            assert slots(reader, path, store.geometry) == newest, f"{path}: {reader}"


def test_index_entries_times_are_those_that_the_broker_computes(store: Store) -> None:
    headers = {path: rows[0] for path, rows in store.files("index_header")}
    for path, entries in store.files("index_entry"):
        begin = headers[path]["begin_timestamp"]
        expected = [begin + 1000 * row["time_diff"] for row in entries]
        for name in ("reference", "engine", "kaitai"):
            rows = READERS["index_entry"][name](path, store.geometry)
            assert [row["store_timestamp"] for row in rows] == expected, f"{path}: {name}"


def test_consume_queues(store: Store) -> None:
    assert compare(store, "queue_unit") == all_fields(store, "queue_unit") > 4 * 4 * 70


def test_commit_logs(store: Store) -> None:
    assert compare(store, "log_record") == all_fields(store, "log_record") > 4 * 16 * 70


def test_commit_logs_meaning(store: Store) -> None:
    """Keys, unique key, tags, tags code and CRC: by the two readers that know Java's rules, against Java."""
    for path, expected in store.files("log_record"):
        for name in ("reference", "engine"):
            for row, truth in zip(READERS["log_record"][name](path, store.geometry), expected, strict=True):
                assert {field: row[field] for field in MEANT} == {field: truth[field] for field in MEANT}, (
                    name
                )


def test_checkpoints(store: Store) -> None:
    assert compare(store, "checkpoint") == all_fields(store, "checkpoint") == 4 * 3


def test_consume_queue_ext(store: Store) -> None:
    count = compare(store, "ext_unit")
    assert count == all_fields(store, "ext_unit")
    assert (count > 0) == (store.root / "consumequeue_ext").is_dir()


def test_every_file_is_held_against_java(store: Store) -> None:
    """No file escapes: each is named by Java's rows, or starts with zeros and so holds none."""
    named = {path for kind in FIELDS for path, _ in store.files(kind)}
    there = {path for path in store.root.rglob("*") if path.is_file() and path.name.isdigit()}
    assert all(not any(path.read_bytes()[:20]) for path in there - named)
    assert named <= there | {store.root / "checkpoint"}
