"""Audits of a log that grows while it is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rocket_columnar._audit_checkpoint import check_checkpoint
from rocket_columnar._audit_scan import LogStretch, TopicNames
from rocket_columnar._read import Source, open_reader
from rocket_columnar.store import StoreFile
from store_bytes import BEGIN as T
from store_bytes import blank, record

if TYPE_CHECKING:
    from rocket_columnar._audit_finding import Finding
    from rocket_columnar._gap import Gap

FIRST, SECOND = record(0), record(len(record(0)))
SIZE = 4096
OLD = FIRST.ljust(SIZE, b"\0")
TORN = (FIRST + SECOND[:60]).ljust(SIZE, b"\0")
GROWN = (FIRST + SECOND).ljust(SIZE, b"\0")
FULL = FIRST + blank(SIZE - len(FIRST))


def scanned(*states: bytes) -> tuple[list[int], list[Gap]]:
    """Offsets and gaps of a log file that has the next state at each read; the last one stays."""
    left = list(states)

    def read(offset: int, length: int) -> bytes:
        data = left.pop(0) if len(left) > 1 else left[0]
        return data[offset : offset + length]

    gaps: list[Gap] = []
    with open_reader(Path("log"), Source("log", SIZE, read)) as reader:
        stretch = LogStretch(reader, 0, TopicNames(), check_crc=False, compiled=False)
        batches = list(stretch.run(0, SIZE, exact=True, on_gap=gaps.append))
    return [offset for batch in batches for offset in batch.phy_offset.tolist()], gaps


@pytest.mark.parametrize("states", [(OLD, GROWN), (TORN, GROWN)])
def test_a_record_that_is_written_after_its_bytes_were_read(states: tuple[bytes, ...]) -> None:
    assert scanned(*states) == ([0, len(FIRST)], [])


def test_a_blank_that_is_written_after_its_bytes_were_read() -> None:
    assert scanned(OLD, FULL) == ([0], [])


def test_what_stays_torn_is_a_gap() -> None:
    offsets, (gap,) = scanned(TORN)
    assert (offsets, gap.begin, gap.end) == ([0], len(FIRST), SIZE)


@pytest.mark.parametrize(("live", "severity"), [(True, "note"), (False, "warning")])
def test_a_checkpoint_of_zeros_is_that_of_a_broker_that_has_just_begun(live: bool, severity: str) -> None:  # noqa: FBT001
    found: list[Finding] = []
    file = StoreFile("checkpoint", Path("checkpoint"), "checkpoint")
    check_checkpoint(file, (0, 0, 0), T, [], found.append, live=live)
    assert [(one.code, one.severity) for one in found] == [("checkpoint.behind", severity)]
