"""Long work reports the bytes that it has read: more with each call, at the end all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import rocket_golden
from rocket_columnar.audit import audit
from rocket_columnar.describe import digest
from rocket_columnar.query import OpenStore, scan
from rocket_columnar.rebuild import rebuild

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rocket_golden.open_store("mixed", tmp_path_factory.mktemp("golden"))


class Reported(list[tuple[int, int]]):
    def __call__(self, done: int, total: int) -> None:
        self.append((done, total))

    def check(self, total: int, calls: int) -> None:
        assert len(self) == calls
        done = [part for part, _ in self]
        assert done == sorted(done)
        assert self[-1] == (total, total)


def size(store: Path, *folders: str) -> int:
    return sum(
        path.stat().st_size for folder in folders for path in (store / folder).rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_an_audit(store: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 queue files, 6 index files and the 4 ranges of 4 log files, one of which is filled up to its last record."""
    monkeypatch.setattr("rocket_columnar.audit.plan.is_large", lambda _: threads > 1)
    reported = Reported()
    list(audit(store, threads=threads, on_progress=reported))
    done = [part for part, _ in reported]
    assert done == sorted(done)
    total = size(store, "consumequeue", "index")
    assert total in done  # threads take queue files in groups, so the number of reports differs
    assert total + 3 * 32_768 < reported[-1][0] <= total + 4 * 32_768
    assert reported[-1][0] == reported[-1][1]


def test_a_digest(store: Path) -> None:
    reported = Reported()
    list(digest(store, on_progress=reported))
    reported.check(size(store, "consumequeue", "index", "commitlog") + 4096, 32 + 6 + 4 + 1)


def test_a_scan(store: Path) -> None:
    """Two calls for each log file: after its bytes were searched, and at its end."""
    reported = Reported()
    with OpenStore(store) as opened:
        opened.log.on_progress = reported
        scan(opened, "BBTopic", "oneway-0")
    reported.check(4 * 32_768, 8)


def test_a_rebuild(store: Path, tmp_path: Path) -> None:
    """The log, with one call for each of 4 files."""
    reported = Reported()
    rebuild(store, tmp_path / "new", on_progress=reported)
    reported.check(4 * 32_768, 4)
