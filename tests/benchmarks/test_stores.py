"""The stores that the benchmarks are run on are healthy."""

from pathlib import Path

import pytest
from rocket_columnar.audit import Surveys, audit, check_range, findings, plan_audit, survey_file
from rocket_columnar.decode import decode
from rocket_columnar.store import find_files

from benchmarks.stores import make_many_files, make_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large") / "store"
    assert make_store(root, 2 << 20, file_size=1 << 20, body=300) > 3000
    return root


def test_it_is_healthy(store: Path) -> None:
    assert list(audit(store, "deep")) == []


def test_a_store_of_many_files_is_healthy(tmp_path: Path) -> None:
    assert make_many_files(tmp_path / "store", 50) == 250
    assert sum(file.kind == "queue" for file in find_files(tmp_path / "store")) == 50
    assert list(audit(tmp_path / "store", "deep")) == []


def test_its_records_have_offsets_times_and_keys_of_their_own(store: Path) -> None:
    logs = [file for file in find_files(store) if file.kind == "log"]
    columns = ["phy_offset", "store_timestamp", "uniq_key", "crc_ok"]
    rows = [
        row for _, batch in decode(logs, tables=["commit_log"], columns=columns) for row in batch.to_pylist()
    ]
    keys = [row["uniq_key"] for row in rows]
    times = [row["store_timestamp"] for row in rows]
    assert len(logs) > 1
    assert len(set(keys)) == len(keys)
    assert times == sorted(times)
    assert all(row["crc_ok"] for row in rows)


def test_a_store_looked_at_in_ranges_has_the_findings_of_the_whole(store: Path) -> None:
    """One bit of an entry."""
    index = next((store / "index").iterdir())
    place = 40 + 4 * 5_000_000 + 20 * 1234
    with index.open("r+b") as opened:
        opened.seek(place + 5)
        held = opened.read(1)
        opened.seek(place + 5)
        opened.write(bytes([held[0] ^ 1]))
    try:
        whole = list(audit(store))
        plan = plan_audit(store, range_size=100_000)
        surveys = Surveys.of(survey_file(plan, file) for file in [*plan.queues, *plan.content_indexes])
        parts = list(findings(plan, surveys, (check_range(plan, surveys, part) for part in plan.ranges)))
    finally:
        with index.open("r+b") as opened:
            opened.seek(place + 5)
            opened.write(held)
    assert parts == whole
    assert [finding.code for finding in whole] == ["index.entry_dangling", "index.missing_key"]
