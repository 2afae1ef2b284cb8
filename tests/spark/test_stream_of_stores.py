"""One stream over several stores that grow: each one's rows once, in order, whatever appears or goes meanwhile."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rocket_columnar.store import find_files
from rocket_golden import open_store
from rocket_spec.errors import UsageError
from streams import TABLES, Row, engine_rows, ordered, stream, trigger

if TYPE_CHECKING:
    pass

NAMES = ("small-roll", "ipv6")
KINDS = {"commit_log": "log", "consume_queue": "queue"}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not wait before the end of a log is checked again: nobody writes there meanwhile."""
    monkeypatch.setattr("rocket_columnar.store.PAUSES", (0.0,))


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    for name in NAMES:
        open_store(name, folder)
    return folder


def copy_files(golden: Path, live: Path, table: str, share: float) -> None:
    """The first files of a store, as a share of all."""
    files = find_files(golden, KINDS[table])
    for file in files[: max(round(share * len(files)), 1)]:
        path = live / file.name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, path)


def rows_of(rows: list[Row], name: str) -> list[Row]:
    """The rows of one store, with the names of files in it."""
    return [
        row | {"file": row["file"].removeprefix(f"{name}/store/")}
        for row in rows
        if row["file"].startswith(f"{name}/")
    ]


@pytest.mark.parametrize("table", list(KINDS))
@pytest.mark.parametrize("options", [{}, {"maxRowsPerTrigger": "9"}, {"maxBytesPerTrigger": "4000"}])
def test_stores_of_a_glob_that_grow(
    golden: Path, tmp_path: Path, table: str, options: dict[str, str]
) -> None:
    path = tmp_path / "*" / "store"
    copy_files(golden / NAMES[0], tmp_path / NAMES[0] / "store", table, 0.3)
    start = stream(table, path, **options).initialOffset()
    rows: list[Row] = []
    for share in (0.6, 1.0):
        for name in NAMES:  # the second one appears when the first one has been read for a while
            copy_files(golden / name, tmp_path / name / "store", table, share)
            start, more = trigger(stream(table, path, **options), start)
            rows += more
    while more:
        start, more = trigger(stream(table, path, **options), start)
        if "maxRowsPerTrigger" in options:
            assert len(more) <= 9
        rows += more
    for name in NAMES:
        expected = engine_rows(golden / name, table)
        assert ordered(rows_of(rows, name)) == ordered(expected)
    assert len(rows) == sum(len(engine_rows(golden / name, table)) for name in NAMES)


def test_stores_named_one_by_one(golden: Path) -> None:
    """Their files have the same names; their offsets are kept apart by their paths."""
    paths = [str(golden / name) for name in NAMES]
    source = TABLES["commit_log"]({"paths": json.dumps(paths)})
    reader: Any = source.streamReader(source.schema())
    end, rows = trigger(reader, reader.initialOffset())
    assert rows == [row for name in NAMES for row in engine_rows(golden / name, "commit_log")]
    assert {key.partition(" :: ")[0] for key in end} == set(paths)


def test_a_store_that_is_gone_is_a_loss(golden: Path, tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copytree(golden / name, tmp_path / name / "store")
    path = tmp_path / "*" / "store"
    start, rows = trigger(stream("commit_log", path), stream("commit_log", path).initialOffset())
    assert rows
    shutil.rmtree(tmp_path / NAMES[1])
    with pytest.raises(UsageError, match=rf"{NAMES[1]}/store: the store is gone"):
        trigger(stream("commit_log", path), start)
    kept, more = trigger(stream("commit_log", path, failOnDataLoss="false"), start)
    assert (kept, more) == (start, [])


def test_latest_and_available_now(golden: Path, tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copytree(golden / name, tmp_path / name / "store")
    path = tmp_path / "*" / "store"
    reader = stream("commit_log", path, startingOffsets="latest")
    start = reader.initialOffset()
    assert trigger(reader, start)[1] == []
    reader = stream("commit_log", path, maxRowsPerTrigger="50")
    reader.prepareForTriggerAvailableNow()
    start, rows = reader.initialOffset(), []
    while True:
        start, more = trigger(reader, start)
        if not more:
            break
        rows += more
    assert len(rows) == sum(len(engine_rows(golden / name, "commit_log")) for name in NAMES)
