"""Every row decoded from the golden stores, compared with what Java read of them; tests/golden compares the readers with each other."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from golden_logs import golden_files, lines_of
from rocket_columnar.decode import decode
from rocket_columnar.index import resolve
from rocket_columnar.log import Gap
from rocket_columnar.store import find_files
from rocket_golden import open_store, stores

Row = dict[str, Any]
Tables = dict[str, list[Row]]

LINES = {
    "index_headers": ("index_header", 9),
    "index_entries": ("index_entry", 8),
    "consume_queue": ("queue_unit", 7),
    "commit_log": ("log_record", 22),
    "consume_queue_ext": ("ext_unit", 8),
    "checkpoint": ("checkpoint", 4),
}
"""Of a table: the type of Java's lines, and the number of columns that they have too."""


@pytest.fixture(scope="module", params=[*stores(log=None), "dledger-expired", "dledger-group-killed"])
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store(request.param, tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def tables(directory: Path) -> Tables:
    gaps: list[Gap] = []
    found: Tables = {table: [] for table in LINES}
    for table, batch in decode(golden_files(directory), on_gap=gaps.append):
        batch.validate(full=True)
        found[table] += batch.to_pylist()
    for row in found["commit_log"]:
        row["properties"] = dict(row["properties"])
    assert gaps == []
    return found


@pytest.fixture(scope="module")
def said(directory: Path) -> Tables:
    lines = lines_of(directory.name)
    begin = {line["file"]: line["begin_timestamp"] for line in lines["index_header"]}
    for line in lines["index_entry"]:
        # Java says when the message was stored; the file keeps whole seconds from the header's begin.
        line["store_timestamp"] = begin[line["file"]] + 1000 * line["time_diff"]
    for line in (*lines["log_record"], *lines["ext_unit"]):
        name = "body" if "body" in line else "bit_map"
        line[name] = b64decode(line[name] or "")
    return lines


def place(row: Row) -> tuple[Any, ...]:
    names = ("topic", "queue_id", "address", "logical_offset", "phy_offset", "file", "entry")
    return tuple(str(row.get(name, "")).zfill(20) for name in names)


@pytest.mark.parametrize("table", LINES)
def test_rows_are_javas(table: str, directory: Path, tables: Tables, said: Tables) -> None:
    kind, columns = LINES[table]
    rows, lines = (sorted(some, key=place) for some in (tables[table], said[kind]))
    assert len(rows) == len(lines)
    assert lines or (table == "consume_queue_ext" and not (directory / "consumequeue_ext").exists())
    for row, line in zip(rows, lines, strict=True):
        fields = row.keys() & line.keys()
        assert len(fields) == columns
        assert {field: row[field] for field in fields} == {field: line[field] for field in fields}


def test_geometry_is_the_brokers(directory: Path, said: Tables) -> None:
    geometry = said["index_header"][0]["hash_slot_num"], said["index_header"][0]["index_num"]
    guess = resolve(find_files(directory, "index"))
    assert (guess.geometry, guess.how, guess.agreed) == (geometry, "inferred", guess.checked)
    for file in find_files(directory, "index"):
        assert resolve([file]).geometry == geometry, file.name
