"""Queues whose records repeat or skip logical offsets: a broker's own puts (CQ-PUT-2, CQ-PUT-3) are not damage."""

from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.findings import Finding
from store_bytes import blank, put, record, unit

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


@pytest.mark.parametrize(("repeats", "more"), [(5, ""), (6, " and 1 more")])
def test_five_records_that_get_no_unit_are_named(repeats: int, more: str, tmp_path: Path) -> None:
    offsets = [*range(7), *range(1, 1 + repeats), 7]
    (repeated,) = found(tmp_path, offsets, [*range(7), 7 + repeats])
    assert f"{repeats} records of T queue 0 repeat" in repeated.message
    assert f"{11 * SIZE:,} (offset 5){more}; no consumer gets them" in repeated.message


def test_a_skip_is_in_the_queue_file_of_its_unit(tmp_path: Path) -> None:
    """Units 0 and 1, 2 and 3, 4 and 5 are in files of 40 bytes; the record of unit 3 states 7."""
    log = b"".join(
        record(number * SIZE, queue_offset=offset) for number, offset in enumerate((0, 1, 2, 7, 8, 9))
    )
    put(tmp_path, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    for base in (0, 40, 80):
        pair = (unit(SIZE * number, SIZE) for number in (base // 20, base // 20 + 1))
        put(tmp_path, f"consumequeue/T/0/{base:020}", b"".join(pair))
    (skipped,) = (one for one in audit(tmp_path) if one.code == "queue.order")
    assert (skipped.file, skipped.offset) == (f"consumequeue/T/0/{40:020}", 20)


def test_across_a_missing_log_file_no_skip_is_known(tmp_path: Path) -> None:
    """The records of the offsets 2 and 3 are lost with the file between, and with them their units."""
    for base, offsets in ((0, (0, 1)), (2048, (4, 5))):
        log = b"".join(record(base + SIZE * at, queue_offset=offset) for at, offset in enumerate(offsets))
        put(tmp_path, f"commitlog/{base:020}", (log + blank(1024 - len(log))).ljust(1024, b"\0"))
    units = b"".join(unit(at, SIZE) for at in (0, SIZE, 2048, 2048 + SIZE))
    put(tmp_path, f"consumequeue/T/0/{0:020}", units.ljust(400, b"\0"))
    (moved,) = (one for one in audit(tmp_path) if one.code == "queue.order")
    assert (moved.severity, moved.offset) == ("error", 40)
