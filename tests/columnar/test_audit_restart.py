"""What a start would delete, against what the real broker's start deleted, and by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from rocket_columnar.audit_restart import Deletion, LostKeys, restart
from rocket_columnar.hashing import hash_key
from rocket_columnar.index_file import IndexFile
from rocket_golden import open_store, stores, truth
from store_bytes import BEGIN, blank, checkpoint, put, record


def test_the_start_after_a_real_kill(tmp_path: Path) -> None:
    """What start 2 of the killed broker deleted, and the first record that it dispatched."""
    lines = [line for line in truth("killed-restarted") if line.get("start") == 2]
    plan = restart(open_store("killed", tmp_path))
    assert not plan.clean
    deleted = [line["file"] for line in lines if line["type"] == "deleted"]
    assert sorted(one.file for one in plan.deletions) == sorted(deleted)
    assert {one.action for one in plan.deletions} == {"delete"}
    assert plan.dispatch_from == next(
        line["commit_log_offset"] for line in lines if line["type"] == "dispatch"
    )
    assert plan.lost == ()


@pytest.mark.parametrize("name", [name for name in stores() if name not in ("killed", "live-copy")])
def test_a_clean_start_deletes_no_index_file_and_loses_nothing(name: str, tmp_path: Path) -> None:
    plan = restart(open_store(name, tmp_path))
    assert plan.clean
    assert plan.lost == ()
    assert [one for one in plan.deletions if not one.file.startswith("commitlog/")] == []


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Two segments of one record each, a minute apart; one index file that ends with the second."""
    (tmp_path / "abort").touch()
    first = record(0, properties=b"KEYS\1a b", store_timestamp=BEGIN)
    second = record(512, properties=b"KEYS\1c", queue_offset=1, store_timestamp=BEGIN + 60_000)
    put(tmp_path, f"commitlog/{0:020}", first + blank(512 - len(first)))
    put(tmp_path, f"commitlog/{512:020}", second.ljust(512, b"\0"))
    put(tmp_path, f"commitlog/{1024:020}", bytes(512))
    with IndexFile(tmp_path / "index/20260101000000000", 16, 64) as index:
        for key, offset in (("a", 0), ("b", 0), ("c", 512)):
            assert index.put(f"T#{key}", offset, BEGIN + (60_000 if offset else 0))
    return tmp_path


LOST = LostKeys("T", 0, (hash_key("T#a"), hash_key("T#b")))


def test_keys_before_the_recoverys_start_are_lost(crashed: Path) -> None:
    """min(physic, logics) - 3 s is the second record's time: dispatch begins there."""
    put(crashed, "checkpoint", checkpoint(BEGIN + 63_000, BEGIN + 64_000, 0))
    plan = restart(crashed)
    assert (plan.dispatch_from, plan.log_end) == (512, 512 + len(record(512, properties=b"KEYS\1c")))
    assert [(one.action, one.file, one.offset) for one in plan.deletions] == [
        ("delete", "index/20260101000000000", None),
        ("delete", f"commitlog/{1024:020}", None),
    ]
    assert plan.lost == (LOST,)


def test_a_ms_less_and_recovery_begins_one_file_earlier(crashed: Path) -> None:
    put(crashed, "checkpoint", checkpoint(BEGIN + 62_999, BEGIN + 64_000, 0))
    plan = restart(crashed)
    assert plan.dispatch_from == 0
    assert plan.lost == ()


def test_index_safe_goes_by_the_index_time_too(crashed: Path) -> None:
    put(crashed, "checkpoint", checkpoint(BEGIN + 63_000, BEGIN + 64_000, 0))
    plan = restart(crashed, index_safe=True)
    assert plan.dispatch_from == 0
    assert plan.lost == ()


def test_an_index_time_that_is_not_earlier_keeps_the_file(crashed: Path) -> None:
    put(crashed, "checkpoint", checkpoint(BEGIN + 63_000, BEGIN + 64_000, BEGIN + 60_000))
    assert [one.file for one in restart(crashed).deletions] == [f"commitlog/{1024:020}"]


def test_a_bad_record_cuts_the_log(crashed: Path) -> None:
    log = crashed / "commitlog" / f"{512:020}"
    data = bytearray(log.read_bytes())
    (length,) = struct.unpack_from(">i", data, 84)
    assert length == 4
    data[88] ^= 1  # a body without its checksum: checkCRCOnRecover is on by default
    log.write_bytes(data)
    put(crashed, "checkpoint", checkpoint(BEGIN, BEGIN, BEGIN + 60_000))
    plan = restart(crashed)
    assert plan.log_end == 512
    expected = "the log ends at physical offset 512; the records behind it are lost"
    assert plan.deletions[0] == Deletion("truncate", f"commitlog/{512:020}", 0, expected)
