"""The times of a checkpoint beside the records, at the borders of what a recovery makes of them."""

import os
from functools import partial
from pathlib import Path

import pytest
from rocket_columnar.audit import audit
from store_bytes import BEGIN, checkpoint, put, record, unit

quick = partial(audit, level="quick")
NEWEST = BEGIN + 700_000
SIZE = len(record(0))


def log_of(store: Path, *times: int) -> None:
    """Records of one queue, stored at these times."""
    log = b"".join(
        record(SIZE * number, queue_offset=number, store_timestamp=time) for number, time in enumerate(times)
    )
    put(store, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    units = b"".join(unit(SIZE * number, SIZE) for number in range(len(times)))
    put(store, f"consumequeue/T/0/{0:020}", units.ljust(200, b"\0"))


def of_checkpoint(store: Path) -> list[tuple[str, str, int | None]]:
    found = (one for one in quick(store) if one.code.startswith("checkpoint."))
    return [(one.code, one.severity, one.offset) for one in found]


@pytest.mark.parametrize(
    ("physic", "logics", "index", "places"),
    [
        (NEWEST, NEWEST, 0, []),
        (NEWEST + 1, NEWEST, 0, [("checkpoint.ahead", "error", 0)]),
        (NEWEST - 600_000, NEWEST, 0, []),
        (NEWEST - 600_001, NEWEST, 0, [("checkpoint.behind", "warning", 0)]),
        (NEWEST, NEWEST - 600_001, 0, [("checkpoint.behind", "warning", 8)]),
        (NEWEST, NEWEST, NEWEST - 600_001, []),
        (NEWEST, NEWEST, NEWEST + 1, [("checkpoint.ahead", "error", 16)]),
        (0, NEWEST, 0, []),
        (0, 0, 0, [("checkpoint.behind", "warning", 0)]),
    ],
)
def test_a_time_is_old_ten_minutes_before_the_newest_record(
    physic: int, logics: int, index: int, places: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    """All three are flushed each minute at the latest; the index time only with a full file (CKP-4, IDX-SVC-18)."""
    log_of(tmp_path, BEGIN, NEWEST)
    put(tmp_path, "checkpoint", checkpoint(physic, logics, index))
    assert of_checkpoint(tmp_path) == places


@pytest.mark.parametrize(("length", "at"), [(24, 24), (4095, 4095), (4097, 4096)])
def test_a_length_other_than_4096_is_named_where_the_files_differ(
    length: int, at: int, tmp_path: Path
) -> None:
    log_of(tmp_path, BEGIN)
    path = put(tmp_path, "checkpoint", checkpoint(BEGIN, BEGIN, 0))
    os.truncate(path, length)
    assert of_checkpoint(tmp_path) == [("checkpoint.behind", "note", at)]
