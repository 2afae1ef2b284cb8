"""Commit logs that grow while they are decoded: what was written meanwhile is no gap."""

import time
from pathlib import Path
from threading import get_ident

import pytest
from rocket_columnar.decode import decode
from rocket_columnar.log import Gap
from rocket_columnar.store import Source, StoreFile
from store_bytes import blank, record

FIRST, SECOND = record(0), record(len(record(0)))
END = len(FIRST + SECOND)
SIZE = 4096
OLD = FIRST.ljust(SIZE, b"\0")
TORN = (FIRST + SECOND[:60]).ljust(SIZE, b"\0")
GROWN = (FIRST + SECOND).ljust(SIZE, b"\0")
FULL = FIRST + blank(SIZE - len(FIRST))
NAME = f"{0:020}"


pytestmark = pytest.mark.usefixtures("_patience")


def decoded(*states: bytes) -> tuple[list[int], list[Gap]]:
    """Offsets and gaps of a log file that has the next state at each read; the last one stays."""
    left = list(states)

    def read(offset: int, length: int) -> bytes:
        data = left.pop(0) if len(left) > 1 else left[0]
        return data[offset : offset + length]

    file = StoreFile("log", Path(NAME), f"commitlog/{NAME}", source=Source(NAME, SIZE, read))
    gaps: list[Gap] = []
    offsets: list[int] = []
    for _, batch in decode([file], tables=["commit_log"], columns=["phy_offset"], on_gap=gaps.append):
        offsets += [offset for offset in batch.column("phy_offset").to_pylist() if offset is not None]
    return offsets, gaps


@pytest.mark.parametrize("states", [(OLD, GROWN), (TORN, GROWN), (TORN, TORN, TORN, GROWN)])
def test_a_record_that_is_written_after_its_bytes_were_read(states: tuple[bytes, ...]) -> None:
    assert decoded(*states) == ([0, len(FIRST)], [])


def test_a_blank_that_is_written_after_its_bytes_were_read() -> None:
    assert decoded(OLD, FULL) == ([0], [])


def test_what_stays_torn_is_a_gap() -> None:
    offsets, (gap,) = decoded(TORN)
    assert (offsets, gap.begin, gap.end) == ([0], len(FIRST), SIZE)


def test_a_bad_record_before_others_is_a_gap_at_once() -> None:
    third = record(END)
    offsets, (gap,) = decoded((FIRST + b"\1" * len(SECOND) + third).ljust(SIZE, b"\0"))
    assert (offsets, gap.begin, gap.end) == ([0, END], len(FIRST), END)


def test_500_torn_files_are_given_time_80_times(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep, mine = time.sleep, get_ident()

    def pause(seconds: float) -> None:
        """Threads of other tests in this process sleep as ever."""
        if get_ident() != mine:
            sleep(seconds)
        elif seconds:
            pauses.append(seconds)

    monkeypatch.setattr(time, "sleep", pause)
    for _ in range(500):
        offsets, gaps = decoded(TORN)
        assert (offsets, len(gaps)) == ([0], 1)
    assert len(pauses) == 3 * 80
