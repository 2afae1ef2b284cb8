"""Records at the borders of what an audit takes for a broker's own: times, ends of files, logical offsets, zeros at the end."""

from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.audit import audit
from rocket_columnar.findings import Finding
from store_bytes import BEGIN, blank, checkpoint, put, record

SIZE = len(record(0))
S = 1000  # ms


def log_of(store: Path, files: list[list[dict[str, Any]]], length: int) -> None:
    """Log files of these records, each but the last ended by a blank."""
    for number, records in enumerate(files):
        data = b""
        for fields in records:
            data += record(number * length + len(data), **fields)
        if number < len(files) - 1:
            data += blank(length - len(data))
        put(store, f"commitlog/{number * length:020}", data.ljust(length, b"\0"))


def findings(store: Path, code: str) -> list[Finding]:
    return [one for one in audit(store, "exact") if one.code == code]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ([[60, 0]], None),
        ([[60.001, 0]], (0, SIZE, 60)),
        ([[1000, 930, 2000, 1000]], (0, 3 * SIZE, 1000)),
        ([[0, 100], [10]], (1, 0, 90)),
        ([[100, 0], [50]], (0, SIZE, 100)),
        ([[0, 100], [100]], None),
    ],
)
def test_the_greatest_step_back_of_the_clock(
    seconds: list[list[float]], said: tuple[int, int, int] | None, tmp_path: Path
) -> None:
    """A minute is that of a clock which is kept right; the times of neighbours are compared, also across files."""
    log_of(tmp_path, [[{"store_timestamp": BEGIN + round(S * at)} for at in some] for some in seconds], 1024)
    found = findings(tmp_path, "log.clock")
    assert [(one.file, one.offset) for one in found] == (
        [(f"commitlog/{1024 * said[0]:020}", said[1])] if said else []
    )
    assert all(said and f"was stored {said[2]:,} s before" in one.message for one in found)


@pytest.mark.parametrize(
    ("length", "files", "places"),
    [
        (2 * SIZE + 8, [[0], [1]], [(0, SIZE)]),
        (2 * SIZE + 7, [[0], [1]], []),
        (2 * SIZE + 8, [[0], [1, 1]], []),
        (3 * SIZE + 8, [[0], [1, 1]], [(0, SIZE)]),
        (2 * SIZE + 8, [[0], [1, 2]], [(0, SIZE)]),
        (2 * SIZE + 8, [[0], [1], [2]], [(0, SIZE), (1, SIZE)]),
    ],
)
def test_a_blank_where_the_next_record_or_its_batch_would_have_fitted(
    length: int, files: list[list[int]], places: list[tuple[int, int]], tmp_path: Path
) -> None:
    """With 8 bytes for a blank after it (`CommitLog.DefaultAppendMessageCallback.doAppend`); a batch has one store time."""
    log_of(tmp_path, [[{"store_timestamp": BEGIN + S * time} for time in some] for some in files], length)
    put(tmp_path, "checkpoint", checkpoint(BEGIN, BEGIN, 0))
    found = [one for one in findings(tmp_path, "log.length") if one.clause == "LOG-BLANK-1"]
    assert [(one.file, one.offset) for one in found] == [
        (f"commitlog/{length * number:020}", at) for number, at in places
    ]
    killed = [bool(one.deviation and one.deviation.allowed) for one in found]
    assert killed == [len(places) == 1] * len(places), "a kill explains one"


@pytest.mark.parametrize(
    ("offsets", "said"),
    [
        ([[0, 1], [2]], None),
        ([[0, 1, 0], [1]], None),
        ([[0, 1], [0, 1]], None),
        ([[0, 2], [3]], (0, SIZE, 2, 1)),
        ([[0, 1], [3]], (1, 0, 3, 2)),
        ([[7], [9]], (1, 0, 9, 8)),
    ],
)
def test_the_logical_offsets_that_records_state(
    offsets: list[list[int]], said: tuple[int, int, int, int] | None, tmp_path: Path
) -> None:
    """They count from 0 again where a topic was deleted (LOG-REC-6)."""
    log_of(tmp_path, [[{"queue_offset": offset} for offset in some] for some in offsets], 4 * SIZE)
    found = [one for one in findings(tmp_path, "queue.order") if one.clause == "LOG-REC-6"]
    assert [(one.file, one.offset) for one in found] == (
        [(f"commitlog/{4 * SIZE * said[0]:020}", said[1])] if said else []
    )
    assert all(
        said and f"states logical offset {said[2]} of T queue 0, expected {said[3]}:" in one.message
        for one in found
    )


def test_logical_offsets_of_a_transaction(tmp_path: Path) -> None:
    """A committed message counts in its queue, half messages and rollbacks do not."""
    flags = ((0, 0), (4, 0), (8, 1), (12, 0), (0, 2))
    log_of(tmp_path, [[{"sys_flag": flag, "queue_offset": offset} for flag, offset in flags]], 1024)
    assert [one for one in findings(tmp_path, "queue.order") if one.clause == "LOG-REC-6"] == []


@pytest.mark.parametrize("written", [4, 8, 20, 36, SIZE - 1])
def test_a_record_of_which_only_the_first_bytes_reached_the_disk(written: int, tmp_path: Path) -> None:
    """Its own physical offset is at bytes 28 to 35, and may be zeros."""
    log = record(0) + record(SIZE, queue_offset=1, properties=b"KEYS\1k")[:written]
    put(tmp_path, f"commitlog/{0:020}", log.ljust(1024, b"\0"))
    found = [(one.code, one.severity, one.offset) for one in audit(tmp_path) if one.code.startswith("log.")]
    assert found == [("log.torn", "warning", SIZE)]


@pytest.mark.parametrize(
    ("properties", "zeros"),
    [
        (b"", None),
        (b"KEYS\1k", None),
        (b"KEYS\1k" + bytes(3), (88 + 4 + 2 + 2 + 6, 3)),
        (bytes(256), (88 + 4 + 2 + 2, 256)),
    ],
)
def test_zeros_at_the_end_of_the_last_record(
    properties: bytes, zeros: tuple[int, int] | None, tmp_path: Path
) -> None:
    """Those of the length before the properties are none of them: that of 256 bytes is 01 00."""
    log_of(tmp_path, [[{"properties": properties}]], 1024)
    found = findings(tmp_path, "log.torn")
    assert [one.offset for one in found] == ([zeros[0]] if zeros else [])
    assert all(zeros and f"end in {zeros[1]} zeros" in one.message for one in found)


@pytest.mark.parametrize(
    ("lengths", "places"),
    [((1000, 1024), [(0, 1000, 1024)]), ((1024, 1000), [(1, 1000, 1024)]), ((1024, 1100), [(1, 1024, 1024)])],
)
def test_of_files_that_all_have_other_lengths_the_names_show_the_usual_one(
    lengths: tuple[int, int], places: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    for number, length in enumerate(lengths):
        base = 1024 * number
        put(
            tmp_path,
            f"commitlog/{base:020}",
            (record(base) + blank(1024 - SIZE))[:length].ljust(length, b"\0"),
        )
    found = [one for one in audit(tmp_path, "quick") if one.code == "log.length"]
    assert [(one.file, one.offset, one.length) for one in found] == [
        (f"commitlog/{1024 * number:020}", at, length) for number, at, length in places
    ]
