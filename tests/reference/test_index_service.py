"""The index service where the histories beside the real one do not look: holding, flushing, what never ends."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from rocket_reference import DispatchRequest, IndexService, JavaError, StoreCheckpoint, UnspecifiedError

T0 = 1700000000000


def opened(tmp_path: Path, slots: int = 7, entries: int = 3, first: int = 20260101000000000) -> IndexService:
    names = itertools.count(first)
    return IndexService(tmp_path / "index", slots, entries, new_name=lambda: str(next(names)))


def message(
    number: int, keys: str | None = "k", uniq_key: str | None = None, sys_flag: int = 0
) -> DispatchRequest:
    return DispatchRequest(
        "T",
        commit_log_offset=100 * number,
        store_timestamp=T0 + 1000 * number,
        keys=keys,
        uniq_key=uniq_key,
        sys_flag=sys_flag,
    )


def test_idx_svc_3_keys_of_one_message_lie_in_two_files_and_the_second_is_seeded(tmp_path: Path) -> None:
    service = opened(tmp_path)
    service.build(message(1, "a", "u"))
    service.build(message(3, "b c"))
    assert [file.index.header().index_count for file in service.files] == [3, 3]
    header = service.files[1].index.header()
    assert (header.begin_timestamp, header.begin_phy_offset) == (T0 + 3000, 300)
    assert service.query("T", "c", 9, 0, 1 << 62).offsets == [300]


def test_idx_svc_7_a_message_without_keys_makes_a_file(tmp_path: Path) -> None:
    service = opened(tmp_path)
    service.build(message(1, keys=None))
    assert [path.stat().st_size for path in (tmp_path / "index").iterdir()] == [40 + 4 * 7 + 20 * 3]
    assert service.query("T", "k", 9, 0, 1 << 62).offsets == []


def test_idx_svc_8_an_equal_offset_is_indexed_again(tmp_path: Path) -> None:
    service = opened(tmp_path, entries=9)
    for number in (2, 2, 1):
        service.build(message(number))
    assert service.query("T", "k", 9, 0, 1 << 62).offsets == [200, 200]


@pytest.mark.parametrize(("sys_flag", "offsets"), [(0, [100]), (4, [100]), (8, [100]), (12, [])])
def test_idx_svc_9_rolled_back_messages_are_not_indexed(
    sys_flag: int, offsets: list[int], tmp_path: Path
) -> None:
    service = opened(tmp_path)
    service.build(message(1, sys_flag=sys_flag))
    assert service.query("T", "k", 9, 0, 1 << 62).offsets == offsets


def test_idx_svc_10_an_empty_unique_key_is_a_key(tmp_path: Path) -> None:
    service = opened(tmp_path)
    service.build(message(1, keys="", uniq_key=""))
    assert service.query("T", "", 9, 0, 1 << 62).offsets == [100]


def test_idx_svc_17_a_file_that_is_being_flushed_is_deleted_by_a_later_call(tmp_path: Path) -> None:
    service = opened(tmp_path, entries=2)
    service.build(message(1))
    service.build(message(2))
    service.delete_expired(150)
    assert len(service.files) == 2
    service.settle()
    service.delete_expired(150)
    assert len(service.files) == 1
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["20260101000000001"]


def test_idx_svc_18_a_roll_moves_the_index_time_and_writes_the_checkpoint(tmp_path: Path) -> None:
    names = iter(("1", "2"))
    service = IndexService(
        tmp_path / "index",
        7,
        2,
        new_name=lambda: next(names),
        checkpoint=StoreCheckpoint(tmp_path / "checkpoint"),
    )
    service.build(message(5))
    assert service.settle() == 0
    service.build(message(6))
    assert service.settle() == T0 + 5000
    assert StoreCheckpoint(tmp_path / "checkpoint").index_msg_timestamp == T0 + 5000


def test_idx_svc_19_a_file_that_cannot_be_made_throws_another_exception(tmp_path: Path) -> None:
    (tmp_path / "index").write_bytes(b"no directory")
    service = opened(tmp_path)
    with pytest.raises(JavaError, match="IllegalMonitorStateException"):
        service.build(message(1))
    assert service.files == []


@pytest.mark.parametrize(("slots", "entries"), [(7, 1), (7, 0), (1 << 30, 3)])
def test_idx_svc_20_a_file_that_takes_nothing_is_unspecified(
    slots: int, entries: int, tmp_path: Path
) -> None:
    with pytest.raises(UnspecifiedError):
        opened(tmp_path, slots, entries).build(message(1))


def test_idx_svc_16_without_slots_a_query_holds_the_file_for_good(tmp_path: Path) -> None:
    service = opened(tmp_path, slots=0)
    service.build(message(1, keys=None))
    service.files.insert(0, service.files[0])
    assert service.query("T", "k", 9, 0, 1 << 62).offsets == []
    service.delete_expired(1)
    assert len(service.files) == 2


def test_idx_svc_6_a_load_after_an_unclean_exit_deletes_what_ends_later(tmp_path: Path) -> None:
    service = opened(tmp_path, entries=2)
    for number in range(3):
        service.build(message(number + 1))
    service.close()
    again = opened(tmp_path, entries=2)
    again.checkpoint.index_msg_timestamp = T0 + 2000
    assert again.load(last_exit_ok=False)
    assert [file.end_timestamp for file in again.files] == [T0 + 1000, T0 + 2000]
    assert len(list((tmp_path / "index").iterdir())) == 2


def test_two_rolls_in_one_millisecond_open_the_same_file_twice(tmp_path: Path) -> None:
    service = IndexService(tmp_path / "index", 1, 2, new_name=lambda: "20260101000000000")
    service.build(message(1, "a"))
    service.build(message(2, "b"))
    assert len(service.files) == 2
    assert len(list((tmp_path / "index").iterdir())) == 1
    assert service.query("T", "a", 9, 0, 1 << 62).offsets == []  # entry 1 is the other one's now
