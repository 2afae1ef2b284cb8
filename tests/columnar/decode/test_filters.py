"""Filters, ranges of rows and subsets of columns in a decode, against choosing among all rows."""

from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.decode import Where
from rocket_golden import open_store
from rocket_spec.errors import UsageError
from table_rows import rows_of

TABLES = {
    "index_entries": {"time": "store_timestamp", "offset": "phy_offset", "hash": "key_hash"},
    "consume_queue": {"offset": "phy_offset", "topic": "topic"},
    "commit_log": {"time": "store_timestamp", "offset": "phy_offset", "topic": "topic"},
    "consume_queue_ext": {"time": "store_timestamp", "topic": "topic"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_store("ext", tmp_path_factory.mktemp("golden"))


def passes(row: dict[str, Any], where: Where) -> bool:
    return (
        (where.times is None or where.times[0] <= row["store_timestamp"] <= where.times[1])
        and (where.offsets is None or where.offsets[0] <= row["phy_offset"] < where.offsets[1])
        and (where.key_hashes is None or row["key_hash"] in where.key_hashes)
        and (where.topics is None or row["topic"] in where.topics)
    )


def conditions(every: list[dict[str, Any]], table: str) -> list[Where]:
    """Criteria made of the values in the rows, alone and together."""
    names = TABLES[table]
    some = every[len(every) // 3 : 2 * len(every) // 3 + 1]
    times = offsets = hashes = topics = None
    if "time" in names:
        found = sorted(row["store_timestamp"] for row in some)
        times = found[0], found[-1]
    if "offset" in names:
        found = sorted(row["phy_offset"] for row in some)
        offsets = found[0], found[-1]
    if "hash" in names:
        hashes = {row["key_hash"] for row in some[::3]}
    if "topic" in names:
        topics = {some[0]["topic"], "no such topic"}
    nothing: list[Where] = [Where(offsets=(0, 0))] if offsets else []
    return [
        Where(),
        *nothing,
        *(Where(times=times) for _ in [0] if times),
        *(Where(offsets=offsets) for _ in [0] if offsets),
        *(Where(key_hashes=hashes) for _ in [0] if hashes),
        *(Where(topics=topics) for _ in [0] if topics),
        Where(times, offsets, hashes, topics),
    ]


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize("table", TABLES)
def test_filtered_rows_are_those_that_pass(store: Path, table: str) -> None:
    every = rows_of(store, tables=[table])
    assert every
    for where in conditions(every, table):
        expected = [row for row in every if passes(row, where)]
        assert rows_of(store, tables=[table], where=where) == expected
        assert rows_of(store, tables=[table], where=where, batch_rows=7) == expected
        assert rows_of(store, tables=[table], where=where, skip=2, limit=5) == expected[2:7]


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize("table", [*TABLES, "index_headers", "checkpoint"])
@pytest.mark.parametrize("skip", [0, 1, 6, 100, 1 << 40])
def test_rows_from_one_to_another(store: Path, table: str, skip: int) -> None:
    every = rows_of(store, tables=[table])
    for limit in (None, 0, 1, 50):
        stop = None if limit is None else skip + limit
        for batch_rows in (7, 1 << 17):
            assert (
                rows_of(store, tables=[table], skip=skip, limit=limit, batch_rows=batch_rows)
                == every[skip:stop]
            )


@pytest.mark.usefixtures("_form")
@pytest.mark.parametrize(
    ("table", "column"), [("index_entries", "slot"), ("commit_log", "size"), ("consume_queue", "size")]
)
def test_what_is_filtered_by_need_not_be_a_column(store: Path, table: str, column: str) -> None:
    every = rows_of(store, tables=[table])
    offsets = every[1]["phy_offset"], every[-1]["phy_offset"]
    where = Where(offsets=offsets)
    expected = [{column: row[column]} for row in every if passes(row, where)]
    assert rows_of(store, tables=[table], where=where, columns=[column]) == expected


@pytest.mark.parametrize(
    ("table", "where", "column"),
    [
        ("consume_queue", Where(times=(0, 1)), "store_timestamp"),
        ("commit_log", Where(key_hashes=[1]), "key_hash"),
        ("index_entries", Where(topics=["T"]), "topic"),
        ("checkpoint", Where(offsets=(0, 1)), "phy_offset"),
    ],
)
def test_a_table_without_the_column_is_refused(store: Path, table: str, where: Where, column: str) -> None:
    with pytest.raises(UsageError, match=f"table {table} has no {column}"):
        rows_of(store, tables=[table], where=where)
