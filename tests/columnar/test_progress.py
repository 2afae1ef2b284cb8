"""Long work reports the bytes that it has read: more with each call, at the end all."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rocket_golden
from rocket_columnar.audit import audit
from rocket_columnar.describe import byte_at, diff, digest, look_at, occupancy, summarise
from rocket_columnar.query import OpenStore, scan
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import restarts
from rocket_columnar.store import find_files
from rocket_spec.layout import Geometry

Work = Callable[[Path, Path, Callable[[int, int], None]], Any]
LOG, LATER, QUEUE = f"commitlog/{0:020}", f"commitlog/{32_768:020}", f"consumequeue/BBTopic/0/{0:020}"
INDEX = "index/20261121132607044"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rocket_golden.open_store("mixed", tmp_path_factory.mktemp("golden"))


class Reported(list[tuple[int, int]]):
    def __call__(self, done: int, total: int) -> None:
        self.append((done, total))

    def check(self) -> int:
        """The bytes at the end."""
        done = [part for part, _ in self]
        assert done == sorted(done)
        assert self[-1][0] == self[-1][1]
        return self[-1][1]


def size(store: Path, *folders: str) -> int:
    return sum(
        path.stat().st_size for folder in folders for path in (store / folder).rglob("*") if path.is_file()
    )


def scanned(store: Path, told: Callable[[int, int], None]) -> None:
    with OpenStore(store) as opened:
        opened.log.on_progress = told
        scan(opened, "BBTopic", "oneway-0")


WORK: dict[str, tuple[Work, int]] = {
    "digest": (lambda store, _, told: list(digest(store, on_progress=told)), 0),
    "scan": (lambda store, _, told: scanned(store, told), 4 * 32_768),
    "rebuild": (lambda store, out, told: rebuild(store, out / "new", on_progress=told), 4 * 32_768),
    # An overview counts files: 4 of the log, 6 index files, 32 of queues, and the checkpoint.
    "overview": (lambda store, _, told: look_at(store, on_progress=told), 4 + 6 + 32 + 1),
    "summary of a log file": (lambda store, _, told: summarise(find_files(store / LOG)[0], on_progress=told), 32_768),
    "summary of a queue file": (lambda store, _, told: summarise(find_files(store / QUEUE)[0], on_progress=told), 400),
    # 61 slots of 4 bytes are read once, 91 entries of 20 bytes twice.
    "occupancy": (lambda store, _, told: occupancy(store / INDEX, Geometry(61, 200), on_progress=told), 61 * 4 + 2 * 91 * 20),
    "byte": (lambda store, _, told: byte_at(find_files(store / LOG)[0], 32_767, on_progress=told), 32_768),
    "diff": (lambda store, _, told: list(diff(store / LOG, store / LATER, on_progress=told)), 32_768),
}  # fmt: skip


@pytest.mark.parametrize("name", WORK)
def test_all_is_reported_at_the_end(name: str, store: Path, tmp_path: Path) -> None:
    work, total = WORK[name]
    reported = Reported()
    work(store, tmp_path, reported)
    assert reported.check() == (total or size(store, "consumequeue", "index", "commitlog") + 4096)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_audit(store: Path, threads: int) -> None:
    """32 queue files, 6 index files and the 4 ranges of 4 log files, one of which is filled up to its last record."""
    reported = Reported()
    list(audit(store, threads=threads, on_progress=reported))
    total = size(store, "consumequeue", "index")
    assert total in [part for part, _ in reported]
    assert total + 3 * 32_768 < reported.check() <= total + 4 * 32_768


def test_a_prediction_of_a_start(store: Path, tmp_path: Path) -> None:
    """After a kill: the last log file, all queues, and for the keys of a deleted index file all index files and the log.

    Of the last log file they are the keys before the end of an index file that stays: a start does not index them again.
    """
    killed = tmp_path / "killed"
    shutil.copytree(store, killed)
    (killed / "abort").touch()
    reported = Reported()
    usual, safe = restarts(killed, on_progress=reported)
    assert len(usual.lost)
    assert (usual.walk_from, safe.walk_from) == (3 * 32_768, 2 * 32_768)
    assert reported.check() <= 2 * (size(store, "consumequeue", "index", "commitlog") + 32_768)
    assert 32_768 in {done for done, _ in reported}
