"""Compiled rebuilds on one thread and on two, compared with the rebuild in Python, byte for byte."""

from __future__ import annotations

import errno
import gc
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from rocket_columnar.rebuild import MANIFEST, Rebuilt, rebuild
from rocket_columnar.rebuild.lanes import Lane, Ranks
from rocket_golden import open_store, stores
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, put, record

if TYPE_CHECKING:
    from collections.abc import Sequence


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def check(
    store: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch, geometry: Geometry | None = None
) -> Rebuilt:
    plain = rebuild(store, scratch / "plain", geometry=geometry, queue_file_size=None)
    monkeypatch.setattr("rocket_columnar.rebuild.one_pass.is_large", lambda _: True)
    monkeypatch.setattr("rocket_columnar.log.dispatch_ahead._PART", 1 << 12)
    for threads in (1, 2):
        monkeypatch.setattr("rocket_columnar.rebuild.one_pass._RECORDS", 1 << (4 * threads))
        out = scratch / f"compiled-{threads}"
        assert rebuild(store, out, geometry=geometry, threads=threads) == plain
        assert tree(out) == tree(scratch / "plain")
    return plain


@pytest.mark.parametrize("name", [name for name in stores() if name != "default-geometry"])
def test_golden_stores(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(open_store(name, tmp_path / "golden"), tmp_path, monkeypatch)


def log_of(root: Path, offsets: Sequence[int], topics: Sequence[bytes] = (b"T",)) -> Path:
    """A log whose records have these logical offsets, their topics in turn."""
    data = b""
    for number, logical in enumerate(offsets):
        data += record(
            len(data),
            topic=topics[number % len(topics)],
            queue_offset=logical,
            store_timestamp=BEGIN + 1000 * number,
        )
    put(root, f"commitlog/{0:020}", data.ljust(-(-len(data) // 4096) * 4096, b"\0"))
    return root


@pytest.mark.parametrize(
    "offsets",
    [
        pytest.param([0, 1, 1, 4], id="repeated, and a gap"),
        pytest.param([7, 8, 3, 9], id="begins later, and goes back"),
        pytest.param([5, 0, 1, 6], id="0 is appended wherever it comes"),
        pytest.param([3, 4, 2], id="skipped at the end of a file"),
        pytest.param([-3, 0, 1], id="negative"),
        pytest.param([2**63 - 1, 2**63 - 1, 0, 5], id="the greatest Java long, and others after it"),
    ],
)
def test_logical_offsets(offsets: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "store", f"consumequeue/T/0/{0:020}", bytes(100))  # five units a file
    check(log_of(tmp_path / "store", offsets), tmp_path, monkeypatch, Geometry(4, 8))


def test_more_queues_than_the_table_begins_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [b"T%d" % number for number in range(150)]
    done = check(
        log_of(tmp_path / "store", [0] * 150 + [1] * 150, topics), tmp_path, monkeypatch, Geometry(4, 8)
    )
    assert sum(path.startswith("consumequeue/") for path in done.files) == 150


def test_topics_that_no_directory_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    topics = [b"Good", b"../x", b"a/b"]
    done = check(
        log_of(tmp_path / "store", [0, 0, 0, 1, 1, 1], topics), tmp_path, monkeypatch, Geometry(4, 8)
    )
    assert [finding.code for finding in done.findings] == ["store.unsafe_name"] * 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_full_disk_leaves_no_file_open(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rocket_columnar.rebuild.one_pass.is_large", lambda _: True)
    monkeypatch.setattr("rocket_columnar.index.bulk_file.put_words", full)
    store = open_store("live-copy", tmp_path / "golden")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        with pytest.raises(OSError, match="No space left"):
            rebuild(store, tmp_path / "out", geometry=Geometry(4, 8), threads=threads)
        gc.collect()
    assert not (tmp_path / "out").exists()


def test_a_piece_that_fails_ends_its_lane() -> None:
    """The pieces that wait behind it are not done; whoever puts or finishes gets its error."""
    done: list[int] = []

    def work(piece: int) -> None:
        if piece == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.append(piece)

    def fill(lane: Lane[int]) -> None:
        for piece in range(100):
            lane.put(piece)
        lane.finish()

    with ThreadPoolExecutor(2) as pool:
        lane = Lane(pool, work)
        with pytest.raises(OSError, match="No space left"):
            fill(lane)
        with pytest.raises(OSError, match="No space left"):
            lane.finish()
    assert done == [0, 1]


def test_a_lane_does_its_pieces_in_order() -> None:
    done: list[int] = []
    with ThreadPoolExecutor(4) as pool:
        lane = Lane(pool, done.append)
        for piece in range(1000):
            lane.put(piece)
        lane.finish()
    assert done == [*range(1000)]


def test_what_waits_is_done_by_rank_then_by_age() -> None:
    done: list[str] = []
    free = Event()
    with ThreadPoolExecutor(1) as pool:
        ranks = Ranks(pool)
        ranks.rank(3).submit(free.wait)
        for name, rank in (("read 1", 2), ("read 2", 2), ("unit", 1), ("key", 0), ("key again", 0)):
            ranks.rank(rank).submit(done.append, name)
        free.set()
    assert done == ["key", "key again", "unit", "read 1", "read 2"]


def test_an_error_of_ranked_work_is_raised_where_its_result_is_taken() -> None:
    with ThreadPoolExecutor(1) as pool:
        future = Ranks(pool).rank(0).submit(int, "x")
        with pytest.raises(ValueError, match="invalid literal"):
            future.result()
