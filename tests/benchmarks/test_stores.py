"""The stores that the benchmarks are run on are healthy."""

from pathlib import Path

import pytest
from rocket_columnar.audit import audit
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
