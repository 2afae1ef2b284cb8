"""What a prediction of a start reads: what the files hold, whatever their length."""

import os
import struct
from pathlib import Path
from typing import Any

import pytest
from rocket_columnar.log import LostUnits
from rocket_columnar.restart import restart
from store_bytes import BEGIN, checkpoint, put, record, unit


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The length of each read of a file."""
    done: list[int] = []
    real = os.preadv

    def preadv(descriptor: int, buffers: Any, offset: int) -> int:
        done.append(sum(map(len, buffers)))
        return real(descriptor, buffers, offset)

    monkeypatch.setattr("rocket_columnar.store.reader.PREADV", preadv)
    return done


def store_of(root: Path, queues: int, queue_size: int) -> Path:
    """A message in each queue, whose file is a hole but for its unit."""
    records: list[bytes] = []
    for number in range(queues):
        start = sum(map(len, records))
        records.append(record(start, queue_id=number, store_timestamp=BEGIN + number))
        path = put(root, f"consumequeue/T/{number}/{0:020}", unit(start, len(records[-1])))
        os.truncate(path, queue_size)
    log = put(root, f"commitlog/{0:020}", b"".join(records))
    os.truncate(log, 1 << 20)
    put(root, "checkpoint", checkpoint(BEGIN, BEGIN, BEGIN))
    return root


@pytest.mark.parametrize("queues", [20, 200])
def test_each_queue_takes_a_few_reads(queues: int, tmp_path: Path, reads: list[int]) -> None:
    plan = restart(store_of(tmp_path, queues, 6_000_000))
    assert (plan.refused, plan.deletions, plan.lost_units) == (None, (), ())
    assert len(reads) < 100 + 10 * queues


@pytest.mark.parametrize("size", [10**10, 10**11])
def test_units_after_a_hole_are_lost_and_found_without_reading_it(
    size: int, tmp_path: Path, reads: list[int]
) -> None:
    """The walk stops at the hole, `ConsumeQueue.recover`; the units after it are cut off, their records not in the log."""
    root = store_of(tmp_path, 1, size)
    at = size // 2 // 20
    with (root / f"consumequeue/T/0/{0:020}").open("r+b") as file:
        file.seek(at * 20)
        file.write(unit(1 << 40, 100) + unit((1 << 40) + 100, 100))
    plan = restart(root)
    assert [(deletion.action, deletion.offset) for deletion in plan.deletions] == [("truncate", 20)]
    reason = "the unit at logical offset 1 is not accepted by 4.9.3"
    assert plan.lost_units == (LostUnits("T", 0, at, 2, 1 << 40, reason),)
    assert sum(reads) < 2 << 20


@pytest.mark.parametrize("count", [100, 1000])
def test_a_log_whose_records_give_other_offsets_is_read_a_few_times(
    count: int, tmp_path: Path, reads: list[int]
) -> None:
    """4.9.3 does not ask for a record's own offset: all are walked over, and dispatched."""
    data = b"".join(record(10**6 + number, body=b"x" * 100) for number in range(count))
    put(tmp_path, f"commitlog/{0:020}", data)
    os.truncate(tmp_path / f"commitlog/{0:020}", len(data) + 4096)
    put(tmp_path, "checkpoint", checkpoint(BEGIN, BEGIN, BEGIN))
    plan = restart(tmp_path)
    assert plan.log_end == len(data)
    assert len(reads) < 50 + 14 * count
    assert sum(reads) < (1 << 20) + count * (3 << 17)


@pytest.mark.parametrize("length", [1 << 20, 1 << 27])
def test_a_misplaced_record_is_not_read_for_its_claim(length: int, tmp_path: Path, reads: list[int]) -> None:
    head = bytearray(record(77, body=b""))
    head[:4] = struct.pack(">i", length)
    path = put(tmp_path, f"commitlog/{0:020}", bytes(head))
    os.truncate(path, 1 << 28)
    put(tmp_path, "checkpoint", checkpoint(BEGIN, BEGIN, BEGIN))
    assert restart(tmp_path).log_end == 0
    assert sum(reads) < 2 << 20
