"""Consume-queue operations on small files: the surprising ones, with their values worked out by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from rocket_reference import (
    PRE_BLANK,
    ConsumeQueue,
    DispatchRequest,
    JavaError,
    MappedFile,
    QueueBounds,
    QueueTable,
    QueueUnit,
    StoreCheckpoint,
    UnspecifiedError,
    java,
)


def opened(tmp_path: Path, size: int = 60) -> ConsumeQueue:
    return ConsumeQueue(tmp_path, "T", 0, size)


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "T/0").iterdir())


def test_cq_put_1_a_record_that_ends_at_the_end_is_a_repeat(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    assert queue.put(100, 100, 1, 0)
    assert queue.put(150, 50, 2, 1)
    assert queue.bounds() == QueueBounds(0, 1, 200)
    assert queue.put(150, 51, 2, 1)
    assert queue.bounds() == QueueBounds(0, 2, 201)


def test_cq_put_3_a_gap_is_closed(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.put(0, 10, 1, 0)
    queue.put(10, 10, 2, 7)
    assert queue.get(1) == QueueUnit(10, 10, 2)
    assert queue.get(7) is None


def test_cq_put_6_pre_blank_units_fill_the_first_file(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.put(0, 10, 1, 5)
    assert names(tmp_path) == ["00000000000000000060"]
    assert queue.bounds() == QueueBounds(5, 6, 10)
    data = (tmp_path / "T/0/00000000000000000060").read_bytes()
    assert data == struct.pack(">qiq", 0, java.I32_MAX, 0) * 2 + struct.pack(">qiq", 0, 10, 1)
    assert queue.get(4) is None


def test_cq_put_8_a_negative_offset_names_a_file(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.put(0, 10, 1, -3)
    assert names(tmp_path) == ["-00000000000000000060"]
    assert queue.bounds() == QueueBounds(-3, -2, 10)


def test_cq_rec_a_pre_blank_unit_is_valid_and_makes_the_end_2147483647(tmp_path: Path) -> None:
    path = tmp_path / "T/0/00000000000000000000"
    path.parent.mkdir(parents=True)
    path.write_bytes(struct.pack(">qiq", 0, java.I32_MAX, 0) * 2 + bytes(20))
    queue = opened(tmp_path)
    assert queue.load()
    assert queue.bounds() == QueueBounds(0, 3, -1)
    queue.recover()
    assert queue.bounds() == QueueBounds(0, 2, java.I32_MAX)
    assert queue.get(0) == PRE_BLANK
    assert queue.put(1000, 10, 1, 2)
    assert queue.bounds() == QueueBounds(0, 2, java.I32_MAX)


def test_cq_trunc_bytes_stay_and_recover_brings_them_back(tmp_path: Path) -> None:
    queue = opened(tmp_path, 100)
    for number in range(4):
        queue.put(100 * number, 100, 1, number)
    queue.truncate(150)
    assert queue.bounds() == QueueBounds(0, 2, 200)
    queue.recover()
    assert queue.bounds() == QueueBounds(0, 4, 400)


def test_cq_trunc_an_empty_queue_takes_the_offset(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    queue.truncate(500)
    assert queue.bounds() == QueueBounds(0, 0, 500)


def test_cq_trunc_of_one_unit_files_is_unspecified(tmp_path: Path) -> None:
    queue = opened(tmp_path, 20)
    queue.put(0, 10, 1, 0)
    with pytest.raises(UnspecifiedError):
        queue.truncate(5)


def test_cq_last_throws_at_a_full_file(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    for number in range(3):
        queue.put(100 * number, 100, 1, number)
        if number == 1:
            assert queue.last_offset() == 200
    with pytest.raises(JavaError, match="BufferUnderflow"):
        queue.last_offset()


def test_cq_del_never_the_last_and_only_full_ones(tmp_path: Path) -> None:
    queue = opened(tmp_path, 40)
    for number in range(5):
        queue.put(100 * number, 100, 1, number)
    assert queue.delete_expired(300) == 1
    assert queue.bounds() == QueueBounds(3, 5, 500)
    assert queue.delete_expired(10_000) == 1
    assert names(tmp_path) == ["00000000000000000080"]
    assert queue.bounds().min == 3  # no unit of the first file qualifies


def test_cq_load_another_length_fails_and_keeps_what_came_before(tmp_path: Path) -> None:
    queue = opened(tmp_path)
    for number in range(4):
        queue.put(100 * number, 100, 1, number)
    queue.close()
    (tmp_path / "T/0/00000000000000000060").write_bytes(bytes(59))
    again = opened(tmp_path)
    assert not again.load()
    assert again.bounds().max == 3


def test_offset_by_time_takes_the_nearer_neighbour(tmp_path: Path) -> None:
    queue = opened(tmp_path, 100)
    for number in range(4):
        queue.put(100 * number, 100, 1, number)
    times = {0: 1000, 100: 2000, 200: 4000, 300: 4000}

    def found(timestamp: int) -> int:
        return queue.offset_by_time(timestamp, lambda _path: 9000, lambda offset, _size: times[offset], 0)

    assert [found(time) for time in (500, 1000, 2900, 3000, 3100, 9000)] == [0, 0, 1, 1, 2, 3]


def test_a_held_file_is_deleted_later_and_by_force_after_the_interval(tmp_path: Path) -> None:
    now = 1000
    held = MappedFile(tmp_path / "1", 20, clock=lambda: now)
    assert held.hold()
    assert not held.destroy(3000)
    assert not held.hold()
    now = 3999
    assert not held.destroy(3000)
    assert (tmp_path / "1").exists()
    now = 4000
    assert held.destroy(3000)
    assert not (tmp_path / "1").exists()


# --- the table of queues ----------------------------------------------------------------------------------


def request(properties: dict[str, str] | None = None, offset: int = 0, sys_flag: int = 0) -> DispatchRequest:
    return DispatchRequest(
        "T", 1, offset, 10, 7, 1700000000000 + offset, offset // 10, sys_flag=sys_flag, properties=properties
    )


def test_log_dsp_7_only_not_and_commit_are_queued(tmp_path: Path) -> None:
    table = QueueTable(tmp_path / "consumequeue", 60)
    for number, sys_flag in enumerate((0, 4, 8, 12)):
        table.dispatch(request(offset=10 * number, sys_flag=sys_flag), StoreCheckpoint())
    queue = table.find("T", 1)
    assert [queue.get(number) for number in range(3)] == [QueueUnit(0, 10, 7), QueueUnit(20, 10, 7), None]


def test_cq_put_9_the_queue_time_is_the_last_put_ones(tmp_path: Path) -> None:
    checkpoint = StoreCheckpoint()
    QueueTable(tmp_path / "consumequeue", 60).dispatch(request(offset=10), checkpoint)
    assert (checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp) == (0, 1700000000010)
    QueueTable(tmp_path / "slave/consumequeue", 60, slave=True).dispatch(request(), checkpoint)
    assert (checkpoint.physic_msg_timestamp, checkpoint.logics_msg_timestamp) == (1700000000000,) * 2


def test_cq_put_10_thirty_tries_then_the_flag(tmp_path: Path) -> None:
    slept: list[int] = []
    (tmp_path / "consumequeue").write_bytes(b"no directory")
    table = QueueTable(tmp_path / "consumequeue", 60, sleep=slept.append)
    table.dispatch(request(), StoreCheckpoint())
    assert slept == [1000] * 30
    assert table.flags.logics_queue_error
    assert not table.flags.writeable


def test_cq_put_11_no_unit_while_a_flag_is_set_but_a_full_disk_does_not_matter(tmp_path: Path) -> None:
    table = QueueTable(tmp_path / "consumequeue", 60)
    table.flags.disk_full = True
    table.dispatch(request(), StoreCheckpoint())
    table.flags.index_file_error = True
    table.dispatch(request(offset=10), StoreCheckpoint())
    assert table.find("T", 1).bounds().max == 1
    assert table.flags.logics_queue_error


LMQ = {"INNER_MULTI_DISPATCH": "%LMQ%a,W", "INNER_MULTI_QUEUE_OFFSET": "0,0"}


@pytest.mark.parametrize(("lmq", "queue_id"), [(True, 0), (False, 1)])
def test_multi_dispatch_goes_to_the_named_queues(lmq: bool, queue_id: int, tmp_path: Path) -> None:  # noqa: FBT001
    table = QueueTable(tmp_path / "consumequeue", 60, multi_dispatch=True, lmq=lmq)
    table.dispatch(request(LMQ), StoreCheckpoint())
    queues = {(queue.topic, queue.queue_id): queue.get(0) for queue in table}
    unit = QueueUnit(0, 10, 7)
    assert queues == {("T", 1): unit, ("%LMQ%a", queue_id): unit, ("W", 1): unit}


def test_multi_dispatch_without_properties_throws_before_the_put(tmp_path: Path) -> None:
    table = QueueTable(tmp_path / "consumequeue", 60, multi_dispatch=True)
    with pytest.raises(JavaError, match="NullPointerException"):
        table.dispatch(request(), StoreCheckpoint())
    assert table.find("T", 1).bounds().max == 0


def test_multi_dispatch_of_unequal_lists_or_off_goes_to_its_own_queue_only(tmp_path: Path) -> None:
    unequal = {**LMQ, "INNER_MULTI_QUEUE_OFFSET": "0"}
    QueueTable(tmp_path / "a", 60, multi_dispatch=True).dispatch(request(unequal), StoreCheckpoint())
    QueueTable(tmp_path / "b", 60).dispatch(request(LMQ), StoreCheckpoint())
    assert sorted(path.name for root in "ab" for path in (tmp_path / root).iterdir()) == ["T", "T"]


def test_cq_ext_7_a_repeat_leaves_an_ext_unit(tmp_path: Path) -> None:
    table = QueueTable(tmp_path / "consumequeue", 60, ext_file_size=100)
    for _ in range(2):
        table.dispatch(request(), StoreCheckpoint(), bit_map=b"\x05")
    queue = table.find("T", 1)
    assert queue.bounds().max == 1
    assert queue.get(0) == QueueUnit(0, 10, java.I64_MIN)
    assert queue.ext is not None
    assert queue.ext.max_address() == java.I64_MIN + 2 * 21
