"""A query asks the store that its verb made, and does not list the files again."""

from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.facts import Store
from rocket_columnar.query import OpenStore, find_by_unique_key
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import open_store

UNIQUE_KEY = "7F000001049314DAD5DC69E1314A0000"  # of the record at 0, in the golden truth


def test_a_store_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(path: Path, *kinds: str, **options: Any) -> list[StoreFile]:
        calls.append((path, kinds))
        return find_files(path, *kinds, **options)

    monkeypatch.setattr("rocket_columnar.facts.files.find_files", counted)
    store = Store(open_store("mixed", tmp_path))
    with OpenStore(store) as opened:
        found = find_by_unique_key(opened, UNIQUE_KEY, opened.store.has_queue)
        assert 0 in [row["phy_offset"] for row in found]
        assert opened.log.files == list(store.logs)
    assert len(calls) == 1


def test_a_log_that_grew_is_listed_again(tmp_path: Path) -> None:
    """The last file of the log, which begins at 98,304, comes after the store was opened."""
    root = open_store("mixed", tmp_path)
    last = root / "commitlog" / f"{98304:020}"
    data = last.read_bytes()
    last.unlink()
    with OpenStore(Store(root)) as opened:
        assert opened.log.data(98304) is None
        last.write_bytes(data)
        assert opened.log.row(98304)["phy_offset"] == 98304
        assert opened.log.data(98304) is not None
