"""Queues whose records repeat or skip logical offsets: a broker's own puts (CQ-PUT-2, CQ-PUT-3) are not damage."""

from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.findings import Finding
from store_bytes import put, record, unit

SIZE = len(record(0))


def found(store: Path, offsets: list[int], units: list[int]) -> list[Finding]:
    """Findings on a queue of a log whose records state `offsets`; `units` are numbers of the records that have one."""
    log = b"".join(record(number * SIZE, queue_offset=offset) for number, offset in enumerate(offsets))
    put(store, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    data = b"".join(unit(number * SIZE, SIZE) for number in units)
    put(store, f"consumequeue/T/0/{0:020}", data.ljust(400, b"\0"))
    return [finding for finding in audit(store) if finding.code.startswith("queue.")]


def test_records_that_repeat_and_skip_logical_offsets(tmp_path: Path) -> None:
    """Records 3 and 4 repeat the offsets 1 and 2; 5 and 6 follow as units 3 and 4 though they state 5 and 6."""
    repeated, skipped = found(tmp_path, [0, 1, 2, 1, 2, 5, 6], [0, 1, 2, 5, 6])
    assert (repeated.code, repeated.severity, repeated.clause) == (
        "queue.missing_unit",
        "warning",
        "CQ-PUT-2",
    )
    assert (repeated.offset, repeated.remedy) == (3 * SIZE, "none")
    assert f"{3 * SIZE:,} (offset 1), {4 * SIZE:,} (offset 2)" in repeated.message
    assert (skipped.severity, skipped.clause, skipped.offset) == ("note", "CQ-PUT-3", 60)


def test_records_that_only_skip_logical_offsets(tmp_path: Path) -> None:
    """Nothing is lost: a note."""
    assert [one.severity for one in found(tmp_path, [0, 1, 5, 6], [0, 1, 2, 3])] == ["note"]


@pytest.mark.parametrize("units", [[0, 1, 3, 4], [0, 2, 1, 3, 4]])
def test_units_that_no_put_places_there(units: list[int], tmp_path: Path) -> None:
    """A unit is missing in the middle, or two are exchanged: damage, which a rebuild cures."""
    codes = {(one.code, one.severity, one.remedy) for one in found(tmp_path, [0, 1, 2, 3, 4], units)}
    assert ("queue.order", "error", "queues") in codes
