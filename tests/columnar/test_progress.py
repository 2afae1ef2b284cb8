"""Long work reports the bytes that it has read: more with each call, at the end all."""

import shutil
from pathlib import Path

import pytest
import rocket_golden
from rocket_columnar.audit import audit
from rocket_columnar.describe import byte_at, diff, digest, look_at, occupancy, summarise
from rocket_columnar.query import OpenStore, scan
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import restarts
from rocket_columnar.store import find_files
from rocket_spec.layout import Geometry


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
def test_an_audit(store: Path, threads: int) -> None:
    """32 queue files, 6 index files and the 4 ranges of 4 log files, one of which is filled up to its last record."""
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
    reported.check(4 * 32_768, 8)  # after the records of each file, and after the rest


def test_an_overview_counts_files(store: Path) -> None:
    """4 log files, 6 index files, 32 queue files and the checkpoint: a call for each kind, and for each queue."""
    reported = Reported()
    look_at(store, on_progress=reported)
    queues = {path.parent for path in (store / "consumequeue").glob("*/*/*")}
    reported.check(4 + 6 + 32 + 1, 1 + 1 + len(queues) + 1)


@pytest.mark.parametrize(
    ("name", "total"),
    [
        (f"commitlog/{0:020}", 32_768),
        ("consumequeue/BBTopic/0/00000000000000000000", 400),
    ],
)
def test_a_summary_of_a_file(store: Path, name: str, total: int) -> None:
    reported = Reported()
    (file,) = find_files(store / name)
    summarise(file, on_progress=reported)
    reported.check(total, len(reported))


def test_an_index_files_occupancy(store: Path) -> None:
    """61 slots of 4 bytes are read once, 91 entries of 20 bytes twice."""
    reported = Reported()
    occupancy(store / "index" / "20261121132607044", Geometry(61, 200), on_progress=reported)
    reported.check(61 * 4 + 2 * 91 * 20, 3)


def test_the_meaning_of_a_byte(store: Path) -> None:
    """A commit-log file is walked from its start."""
    reported = Reported()
    (file,) = find_files(store / f"commitlog/{0:020}")
    byte_at(file, 32_767, on_progress=reported)
    reported.check(32_768, len(reported))


def test_a_comparison(store: Path) -> None:
    reported = Reported()
    one, other = (store / f"commitlog/{base:020}" for base in (0, 32_768))
    assert list(diff(one, other, on_progress=reported))
    reported.check(32_768, len(reported))


def test_a_prediction_of_a_start(store: Path, tmp_path: Path) -> None:
    """After a kill: the last log file, all queues, and for the keys of a deleted index file all index files and 3 log files."""
    killed = tmp_path / "killed"
    shutil.copytree(store, killed)
    (killed / "abort").touch()
    reported = Reported()
    usual, safe = restarts(killed, on_progress=reported)
    assert len(usual.lost)
    assert (usual.walk_from, safe.walk_from) == (3 * 32_768, 2 * 32_768)
    queues, indexes, log = (size(store, folder) for folder in ("consumequeue", "index", "commitlog"))
    assert reported[-1][1] <= 2 * (queues + indexes + log)
    assert reported[-1][0] == reported[-1][1]
    done = [part for part, _ in reported]
    assert done == sorted(done)
    assert done[0] == 32_768
