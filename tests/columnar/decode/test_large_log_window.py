"""The window of a log scan: pieces of a file joined, read ahead or not."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import pytest
from rocket_columnar.decode.large_log_window import Window
from rocket_columnar.store import Source, open_reader

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = bytes(number * 7 % 256 for number in range(1000))


@pytest.fixture(params=[False, True], ids=["alone", "ahead"])
def pool(request: pytest.FixtureRequest) -> Iterator[ThreadPoolExecutor | None]:
    if not request.param:
        yield None
        return
    with ThreadPoolExecutor(1) as made:
        yield made


def held(window: Window) -> bytes:
    """All that the window holds."""
    return window.data[window.first : window.first + window.end - window.begin].tobytes()


@pytest.mark.parametrize("lends", [False, True])
def test_pieces_are_joined_and_no_byte_is_read_twice(pool: ThreadPoolExecutor | None, *, lends: bool) -> None:
    reads: list[tuple[int, int]] = []

    def read(offset: int, length: int) -> bytes:
        reads.append((offset, length))
        return DATA[offset : offset + length]

    with open_reader("x", Source("x", 1000, read)) as reader:
        window = Window(100, pool, lends=lends)
        position, ends = 0, []
        while window.move(reader, position, 1000):
            assert (window.begin, held(window)) == (position, DATA[position : window.end])
            ends.append(window.end)
            position = window.end - 30 if window.end < 1000 else 1000
        assert ends == list(range(100, 1001, 100))
        assert reads == [(offset, 100) for offset in range(0, 1000, 100)]
        assert not window.holds(reader, 1000)
        window.drop()


def test_nothing_more_where_it_cannot_hold_more(pool: ThreadPoolExecutor | None) -> None:
    with open_reader("x", Source.of_bytes("x", DATA)) as reader:
        window = Window(100, pool)
        assert window.move(reader, 50, 1000)
        assert held(window) == DATA[50:150]
        assert not window.move(reader, 50, 1000)  # a record longer than a piece
        assert window.move(reader, 51, 1000)
        assert held(window) == DATA[51:250]
        assert not window.move(reader, 52, 1000)  # more than a piece is left of it
        window.drop()
        assert not window.holds(reader, 60)
        assert window.move(reader, 60, 1000)
        assert held(window) == DATA[60:160]
        window.drop()


def test_another_place_and_another_file_are_read_anew(pool: ThreadPoolExecutor | None) -> None:
    with (
        open_reader("x", Source.of_bytes("x", DATA)) as reader,
        open_reader("y", Source.of_bytes("y", DATA[::-1])) as other,
    ):
        window = Window(100, pool)
        assert window.move(reader, 0, 1000)
        assert window.move(reader, 500, 1000)
        assert held(window) == DATA[500:600]
        assert window.move(reader, 20, 1000)
        assert held(window) == DATA[20:120]
        assert window.move(other, 30, 1000)
        assert held(window) == DATA[::-1][30:130]
        assert window.holds(other, 129)
        assert not window.holds(other, 130)
        assert not window.holds(reader, 60)
        window.drop()


def test_what_goes_wrong_ahead_is_told_only_where_it_is_asked_for() -> None:
    def read(offset: int, length: int) -> bytes:
        if offset >= 100:
            raise OSError("far away")
        return DATA[offset : offset + length]

    with ThreadPoolExecutor(1) as pool, open_reader("x", Source("x", 1000, read)) as reader:
        window = Window(100, pool)
        assert window.move(reader, 0, 1000)
        window.drop()
        assert window.move(reader, 0, 1000)
        with pytest.raises(OSError, match="far away"):
            window.move(reader, 90, 1000)


@pytest.mark.parametrize("place", [100, 700], ids=["the next pieces", "another place"])
def test_a_piece_that_is_lent_is_not_overwritten(place: int) -> None:
    early = Event()
    lent: list[Future[object]] = []

    def read(offset: int, length: int) -> bytes:
        if offset >= max(place, 300) and not all(work.done() for work in lent):
            early.set()
        return DATA[offset : offset + length]

    with ThreadPoolExecutor(2) as pool, open_reader("x", Source("x", 1000, read)) as reader:
        window = Window(100, pool, lends=True)
        assert window.move(reader, 0, 100 if place == 700 else 1000)
        kept = window.data[window.first :][:100]
        lent.append(pool.submit(lambda: (early.wait(0.1), kept.tobytes())))
        window.lend(lent[0])
        for position in range(place, 1000, 100):
            assert window.move(reader, position, 1000)
            assert held(window) == DATA[position:][:100]
        window.drop()
        assert lent[0].result() == (False, DATA[:100])
