"""Every row decoded from the golden stores, compared with what Java read of them and with the reference."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from rocket_columnar.decode import decode
from rocket_columnar.index import resolve
from rocket_columnar.log import Gap
from rocket_columnar.store import find_files
from rocket_golden import open_store, stores, truth
from rocket_reference.checkpoint_file import checkpoint
from rocket_reference.commit_log import records
from rocket_reference.consume_queue import queue_units
from rocket_reference.consume_queue_ext import ext_units
from rocket_reference.index_bytes import index_entries, index_header

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

Row = dict[str, Any]
Tables = dict[str, list[Row]]


@pytest.fixture(scope="module", params=stores())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def directory(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(name, tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def tables(directory: Path) -> Tables:
    gaps: list[Gap] = []
    found: Tables = {}
    for table, batch in decode(find_files(directory), on_gap=gaps.append):
        batch.validate(full=True)
        found.setdefault(table, []).extend(batch.to_pylist())
    assert gaps == []
    return found


@pytest.fixture(scope="module")
def said(name: str) -> dict[str, list[Row]]:
    lines: dict[str, list[Row]] = {}
    for line in truth(name):
        lines.setdefault(line.pop("type"), []).append(line)
    return lines


def compared(rows: list[Row], lines: list[Row]) -> int:
    """Holds the fields that both have against each other, row by row; how many there were."""
    assert len(rows) == len(lines) > 0
    count = 0
    for row, line in zip(rows, lines, strict=True):
        fields = row.keys() & line.keys()
        count += len(fields)
        assert {field: row[field] for field in fields} == {field: line[field] for field in fields}
    return count


def test_index_headers_are_javas(tables: Tables, said: Tables) -> None:
    lines = said["index_header"]
    assert compared(tables["index_headers"], lines) == 9 * len(lines)


def test_index_entries_are_javas(tables: Tables, said: Tables) -> None:
    begin = {line["file"]: line["begin_timestamp"] for line in said["index_header"]}
    for line in said["index_entry"]:
        # Java says when the message was stored; the file keeps whole seconds from the header's begin.
        line["store_timestamp"] = begin[line["file"]] + 1000 * line["time_diff"]
    lines = said["index_entry"]
    assert compared(tables["index_entries"], lines) == 8 * len(lines)


def test_consume_queues_are_javas(tables: Tables, said: Tables) -> None:
    place = lambda row: (row["topic"], row["queue_id"], row["logical_offset"])  # noqa: E731
    lines = sorted(said["queue_unit"], key=place)
    assert compared(sorted(tables["consume_queue"], key=place), lines) == 7 * len(lines)


def test_commit_log_is_javas(tables: Tables, said: Tables) -> None:
    for row in tables["commit_log"]:
        row["properties"] = dict(row["properties"])
    for line in said["log_record"]:
        line["body"] = b64decode(line["body"])
    lines = said["log_record"]
    assert compared(tables["commit_log"], lines) == 22 * len(lines)


def test_ext_units_are_javas(name: str, tables: Tables, said: Tables) -> None:
    lines = said.get("ext_unit", [])
    if not lines:
        assert "consume_queue_ext" not in tables
        return
    for line in lines:
        line["bit_map"] = b64decode(line["bit_map"] or "")
    place = lambda row: (row["topic"], row["queue_id"], row["address"])  # noqa: E731
    found = compared(sorted(tables["consume_queue_ext"], key=place), sorted(lines, key=place))
    assert found == 8 * len(lines)


def test_checkpoint_is_javas(tables: Tables, said: Tables) -> None:
    assert compared(tables["checkpoint"], said["checkpoint"]) == 4


def test_geometry_is_the_brokers(directory: Path, said: Tables) -> None:
    guess = resolve(find_files(directory, "index"))
    line = said["index_header"][0]
    assert guess.geometry == (line["hash_slot_num"], line["index_num"])
    assert guess.how == "inferred"
    assert guess.agreed == guess.checked


def test_geometry_is_told_by_each_index_file_alone(directory: Path, said: Tables) -> None:
    line = said["index_header"][0]
    for file in find_files(directory, "index"):
        assert resolve([file]).geometry == (line["hash_slot_num"], line["index_num"]), file.name


def _of_reference(file: StoreFile, data: bytes, geometry: Geometry) -> Iterator[tuple[str, Row]]:
    """The rows of a file as the reference decodes them."""
    if file.kind == "index":
        yield "index_headers", geometry._asdict() | asdict(index_header(data))
        for entry in index_entries(data, geometry):
            yield "index_entries", asdict(entry)
    elif file.kind == "queue":
        for offset, unit in queue_units(data, file.base_offset):
            yield "consume_queue", asdict(unit) | {"logical_offset": offset, "pre_blank": unit.pre_blank}
    elif file.kind == "ext":
        for address, ext in ext_units(data, file.base_offset):
            yield "consume_queue_ext", asdict(ext) | {"address": address}
    elif file.kind == "log":
        for _, record in records(data):
            yield "commit_log", asdict(record)
    else:
        yield "checkpoint", asdict(checkpoint(data))


def test_rows_are_those_of_the_reference(name: str, directory: Path) -> None:
    if name == "default-geometry":
        return  # the same bytes in 420 MB of zeros: held against Java above
    geometry = resolve(find_files(directory, "index")).geometry
    for file in find_files(directory):
        expected: Tables = {}
        for table, row in _of_reference(file, file.path.read_bytes(), geometry):
            expected.setdefault(table, []).append(row)
        for table, batch in decode([file], geometry=geometry if file.kind == "index" else None):
            rows = batch.to_pylist()
            for row in rows if table == "commit_log" else ():
                row["properties"] = dict(row["properties"])
            if rows or expected.get(table):
                compared(rows, expected[table])
