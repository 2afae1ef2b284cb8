"""Offsets by time beside the reference's `getOffsetInQueueByTime`, over golden queues (CQ-TIME-1, CQ-TIME-2)."""

import os
from pathlib import Path

import pytest
from rocket_columnar.consumers import offset_at
from rocket_columnar.describe import look_at
from rocket_columnar.facts import Store
from rocket_golden import open_store
from rocket_reference import CommitLogFiles, ConsumeQueue
from rocket_spec.errors import UsageError
from store_bytes import BEGIN, overwrite, put, record, unit


def modified(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000


@pytest.mark.parametrize("name", ["mixed", "expired", "small-roll", "ipv6"])
def test_as_the_reference(name: str, tmp_path: Path) -> None:
    store = open_store(name, tmp_path)
    opened, seen = Store(store), look_at(store)
    assert seen.log is not None
    assert seen.log.begin_timestamp is not None
    assert seen.log.end_timestamp is not None
    sizes = {file.stat().st_size for file in (store / "commitlog").iterdir()}
    log = CommitLogFiles([store / "commitlog"], max(sizes))
    assert log.load()
    first, last = seen.log.begin_timestamp, seen.log.end_timestamp
    times = [0, first - 1, *range(first, last + 1, max((last - first) // 40, 1)), last, last + 1, 1 << 60]
    compared = set()
    for queue in seen.queues:
        files = sorted((store / "consumequeue" / queue.topic / str(queue.queue_id)).iterdir())
        (size,) = {file.stat().st_size for file in files}
        written = [first + (last - first) * place // len(files) for place in range(1, len(files) + 1)]
        for file, time in zip(files, written, strict=True):
            os.utime(file, ns=(0, time * 1_000_000))
        theirs = ConsumeQueue(store / "consumequeue", queue.topic, queue.queue_id, size)
        assert theirs.load()
        theirs.recover()
        theirs.correct_min(seen.log.begin)
        for time in (*times, *written):
            ours = offset_at(opened, queue.topic, queue.queue_id, time)
            expected = theirs.offset_by_time(time, modified, log.pickup_store_timestamp, log.min_offset())
            assert ours.offset == expected, (queue, time, ours)
            compared.add(expected)
    assert len(compared) > 5


def test_a_file_of_which_the_log_has_no_record(tmp_path: Path) -> None:
    """Its position is -1: Java divides (0 - 1) / 20 and (160 - 1) / 20 toward zero (`ConsumeQueue.getOffsetInQueueByTime` 218)."""
    store = open_store("expired", tmp_path)
    assert offset_at(Store(store), "Rare", 0, 0).offset == 0
    first = store / f"consumequeue/Rare/0/{0:020}"
    first.rename(first.with_name(f"{160:020}"))
    assert offset_at(Store(store), "Rare", 0, 0).offset == 7


def test_a_record_that_would_end_after_the_log_has_no_time(tmp_path: Path) -> None:
    """`CommitLog.pickupStoreTimestamp` gives -1, with which the answer is 0."""
    store = open_store("mixed", tmp_path)
    last = max((store / "consumequeue/Orders/0").iterdir())
    for place in range(8, 400, 20):
        overwrite(last, place, (1 << 30).to_bytes(4))
    assert offset_at(Store(store), "Orders", 0, 1 << 60).offset == 0


def test_the_search_begins_at_the_first_unit_whose_record_is_left(tmp_path: Path) -> None:
    """Of 20 units the first 4 expired: the first one looked at is (4 + 19) / 2, and all were stored at that time."""
    size = len(record(0))
    log = b"".join(record(number * size, queue_offset=number) for number in range(4, 20))
    put(tmp_path, f"commitlog/{4 * size:020}", log.ljust(4096, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", b"".join(unit(number * size, size) for number in range(20)))
    assert offset_at(Store(tmp_path), "T", 0, BEGIN).offset == 11


def test_a_queue_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no queue 9 of topic Orders"):
        offset_at(Store(open_store("mixed", tmp_path)), "Orders", 9, 0)
