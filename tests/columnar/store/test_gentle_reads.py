"""Gentle reads: which pages are dropped, how many bytes come per second, and that the bytes are those of the file."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rocket_columnar.store import GentleReads, open_reader, read_gently

PAGE, PIECE = 1 << 12, 1 << 16
DATA = bytes(range(256)) * (4 * PIECE // 256) + b"the rest"


@pytest.fixture(autouse=True)
def _plain_afterwards() -> Iterator[None]:
    yield
    read_gently(None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(DATA)
    return path


def test_only_pages_that_were_not_in_the_page_cache_are_dropped(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped: list[tuple[int, int]] = []

    def cached(descriptor: int, part: memoryview, offset: int) -> int:
        """The second piece is in the page cache, and the first two pages of the third."""
        resident = {0: 0, 1: PIECE, 2: 2 * PAGE}.get(offset // PIECE, 0)
        count = max(0, min(resident - offset % PIECE, len(part)))
        return os.preadv(descriptor, [part[:count]], offset)

    def advise(_: int, offset: int, length: int, advice: int) -> None:
        if advice == os.POSIX_FADV_DONTNEED:
            dropped.append((offset, offset + length))

    monkeypatch.setattr("rocket_columnar.store.reader.read_cached", cached)
    monkeypatch.setattr(os, "posix_fadvise", advise)
    read_gently(GentleReads())
    with open_reader(file) as reader:
        assert reader.read(0, len(DATA)).tobytes() == DATA
    assert dropped == [
        (0, PIECE),
        (2 * PIECE + 2 * PAGE, 3 * PIECE),
        (3 * PIECE, 4 * PIECE),
        (4 * PIECE, 4 * PIECE + PAGE),
    ]


def test_a_system_that_does_not_tell_what_is_cached_drops_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice: list[int] = []
    monkeypatch.setattr("rocket_columnar.store.reader.NOWAIT", 0)
    monkeypatch.setattr(os, "posix_fadvise", lambda *arguments: advice.append(arguments[-1]))
    read_gently(GentleReads())
    with open_reader(file) as reader:
        assert reader.read(100, len(DATA) - 100).tobytes() == DATA[100:]
    assert advice == [os.POSIX_FADV_RANDOM]


def test_reads_wait_for_the_rate(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
    monkeypatch.setattr("rocket_columnar.store.reader.time", clock)
    read_gently(GentleReads(rate=PIECE))
    with open_reader(file) as reader:
        assert reader.read(0, len(DATA)).tobytes() == DATA
    assert now[0] == 14  # a second for each of the four reads before the last read
