"""What a start would delete, against what the real broker's start deleted, and by hand."""

import json
import runpy
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from broken_stores import INCIDENTS, change
from rocket_columnar.formats import hash_key
from rocket_columnar.index import IndexFile
from rocket_columnar.log import LostUnits, QueueStart, queue_starts
from rocket_columnar.repair import Target, plan_repair, repair
from rocket_columnar.report import audit
from rocket_columnar.restart import Deletion, LostKey, restart, restarts, rows_of
from rocket_columnar.store import WorkDone, find_files
from rocket_golden import open_store, truth
from rocket_spec.layout import Geometry
from store_bytes import BEGIN, blank, checkpoint, ext_unit, overwrite, put, record, unit

LONG_MIN = -(1 << 63)
REAL = Path(__file__).parents[2] / "spec" / "real"


def test_the_start_after_a_real_kill(tmp_path: Path) -> None:
    """The files that start 2 of the killed broker deleted, and the first record that it dispatched."""
    lines = [line for line in truth("killed-restarted") if line.get("start") == 2]
    plan = restart(open_store("killed", tmp_path))
    assert not plan.clean
    deleted = [line["file"] for line in lines if line["type"] == "deleted"]
    assert sorted(deletion.file for deletion in plan.deletions) == sorted(deleted)
    assert {deletion.action for deletion in plan.deletions} == {"delete"}
    assert plan.dispatch_from == next(
        line["commit_log_offset"] for line in lines if line["type"] == "dispatch"
    )
    assert len(plan.lost) == 0


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


LOST = [LostKey("T", "a", 0, hash_key("T#a")), LostKey("T", "b", 0, hash_key("T#b"))]


@pytest.mark.parametrize(
    ("physic", "index_safe", "dispatch_from", "lost"),
    [
        pytest.param(63_000, False, 512, LOST, id="min(physic, logics) - 3 s is the second record's time"),
        pytest.param(62_999, False, 0, [], id="a ms less, and recovery begins one file earlier"),
        pytest.param(63_000, True, 0, [], id="with messageIndexSafe the index time counts too"),
    ],
)
def test_keys_before_the_recoverys_start_are_lost(
    crashed: Path, physic: int, dispatch_from: int, lost: list[LostKey], *, index_safe: bool
) -> None:
    put(crashed, "checkpoint", checkpoint(BEGIN + physic, BEGIN + 64_000, 0))
    usual, safe = restarts(crashed)
    *_, summary = rows_of(usual, safe)
    assert summary["index_safe"] == {"dispatch_from": safe.dispatch_from, "lost_keys": len(safe.lost)}
    plan = safe if index_safe else usual
    assert (plan.dispatch_from, list(plan.lost)) == (dispatch_from, lost)
    assert plan.log_end == 512 + len(record(512, properties=b"KEYS\1c"))
    assert [(deletion.action, deletion.file, deletion.offset) for deletion in plan.deletions] == [
        ("delete", "index/20260101000000000", None),
        ("delete", f"commitlog/{1024:020}", None),
    ]


def test_lost_keys_of_one_hash_are_named_each(crashed: Path) -> None:
    first = record(0, properties=b"KEYS\1Aa BB", store_timestamp=BEGIN)
    put(crashed, f"commitlog/{0:020}", first + blank(512 - len(first)))
    put(crashed, "checkpoint", checkpoint(BEGIN + 63_000, BEGIN + 64_000, 0))
    assert [key.key for key in restart(crashed).lost] == ["Aa", "BB"]


def test_an_index_time_that_is_not_earlier_keeps_the_file(crashed: Path) -> None:
    put(crashed, "checkpoint", checkpoint(BEGIN + 63_000, BEGIN + 64_000, BEGIN + 60_000))
    assert [deletion.file for deletion in restart(crashed).deletions] == [f"commitlog/{1024:020}"]


SCRIPTS: dict[str, Any] = runpy.run_path(str(REAL / "restart_scripts.py"))["scripts"]()


def scripts() -> dict[str, Any]:
    """Stores that the real 4.9.3 loaded, those without steps of their own before that."""
    kinds = ("clean, ", "unclean, ", "no log", "log file of another", "queue file of another", "huge size, ")
    odd = {  # settings that are not the default, and files that are not a store's, which `plan_audit` finds
        "clean, wrong checksum, unchecked",
        "unclean, duplication, bound of the first record",
    }
    return {
        name: script
        for name, script in SCRIPTS.items()
        if name.startswith(kinds)
        and name not in odd
        and "clock" not in script
        and {step["do"] for step in script["steps"]} <= {"load", "reput"}
    }


@pytest.mark.parametrize("name", scripts())
def test_what_real_stores_did(name: str, tmp_path: Path) -> None:
    """Log end, deleted files and queue ends of a load, as `tests/spec/real/restarts.json` has them."""
    script = scripts()[name]
    after = json.loads((REAL / "restarts.json").read_text("utf-8"))[name][0]
    for file, data in script["files"].items():
        put(tmp_path, file, bytes.fromhex(data))
    safe = script["config"].get("messageIndexSafe", False)
    plan = restart(tmp_path, index_safe=safe, geometry=Geometry(7, 12))
    assert (plan.refused is None) == after.get("result", False)
    if plan.refused is not None:
        return
    assert plan.log_end == json.loads(after["log"])[1]
    gone = {file for file in script["files"] if file not in after["files"]}
    predicted = {deletion.file for deletion in plan.deletions if deletion.action == "delete"}
    if plan.clean:  # else a recovery may make a queue's file again
        assert predicted == gone
        ends = {f"{queue.topic}/{queue.queue_id}": queue for queue in queue_starts_of(tmp_path, plan.log_end)}
        for queue, bounds in after["queues"].items():
            assert [ends[queue].end // 20, ends[queue].max_phy_offset] == json.loads(bounds)[1:]
    else:
        assert {file for file in predicted if not file.startswith("consumequeue")} == {
            file for file in gone if not file.startswith("consumequeue")
        }


@pytest.mark.parametrize(
    "name", [name for name in SCRIPTS if name.startswith(("file missing, ", "arriving at a start, "))]
)
def test_a_start_that_never_returns(name: str, tmp_path: Path) -> None:
    """STORE-14, LOG-DSP-18: dispatch stops at a file that is missing in the middle, or at a record whose queues are notified."""
    for file, data in SCRIPTS[name]["files"].items():
        put(tmp_path, file, bytes.fromhex(data))
    *_, started = json.loads((REAL / "restarts.json").read_text("utf-8"))[name]
    assert (restart(tmp_path, geometry=Geometry(7, 100)).refused is None) == started["result"]


@pytest.mark.parametrize(
    ("name", "first", "count", "phy_offset"),
    [
        ("unclean", 1, 3, 622),
        ("unclean, old offsets from 3", 1, 1, 511),
        ("unclean, a unit left", 0, 0, 0),
    ],
)
def test_messages_whose_places_are_taken(
    name: str, first: int, count: int, phy_offset: int, tmp_path: Path
) -> None:
    """STORE-20: of the messages after the deletion those whose units the real recovery left out of queue U/0."""
    script = SCRIPTS[f"unused, sent to again, {name}"]
    for file, data in script["files"].items():
        put(tmp_path, file, bytes.fromhex(data))
    reason = "an older message has its place in the queue (CQ-PUT-2)"
    lost = (LostUnits("U", 0, first, count, phy_offset, reason),) if count else ()
    assert restart(tmp_path, geometry=Geometry(7, 100)).lost_units == lost
    (loaded,) = json.loads((REAL / "restarts.json").read_text("utf-8"))[f"unused, sent to again, {name}"]
    units = "".join(data for file, data in loaded["files"].items() if file.startswith("consumequeue/U"))
    assert units.count(f"{phy_offset:016x}0000006f") == 0 or not count


@pytest.mark.parametrize(
    ("size", "starts"), [(0x7FFFFFFF, False), (0x7FFFFFFE, False), (0x7FFFFFFD, True), (1 << 20, True)]
)
def test_a_record_longer_than_any_array(size: int, starts: bool, crashed: Path) -> None:
    """STORE-16: an array has at most 2147483645 bytes; the index file is deleted before the log is read."""
    log = crashed / "commitlog" / f"{512:020}"
    log.write_bytes(size.to_bytes(4) + log.read_bytes()[4:])
    put(crashed, "checkpoint", checkpoint(BEGIN + 63_000, BEGIN + 64_000, 0))
    plan = restart(crashed)
    assert plan.log_end == 512
    if starts:
        assert plan.refused is None
        return
    assert plan.refused == (
        f"commitlog/{512:020}: the record at physical offset 512 claims {size:,} bytes, more than Java can allocate: a start "
        "ends in OutOfMemoryError while it reads the log"
    )
    assert [deletion.file for deletion in plan.deletions] == ["index/20260101000000000"]


def queue_starts_of(root: Path, log_end: int) -> list[QueueStart]:
    files = find_files(root)
    queues = [file for file in files if file.kind == "queue"]
    return queue_starts(queues, log_end, WorkDone(None), has_log=any(file.kind == "log" for file in files))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("stated", "units", "keys", "beyond"),
    [(1 << 40, 11, 52, 1099511627991), (60_000, 9, 18, None), (-(1 << 63), 1, 2, None)],
)
def test_a_record_that_states_another_offset(
    tmp_path: Path, stated: int, units: int, keys: int, beyond: int | None
) -> None:
    """The real 4.9.3 gave consumers 250, 250 and 260 of 261 messages: two more were in the pull of the second's wrong unit.

    It found 235, 252 and 260 by unique key, which is one of two keys of each.

    The first start logs `[SetReputOffset]` of 1099511627991.
    """
    root = open_store("killed", tmp_path)
    overwrite(root / f"commitlog/{57344:020}", 860 + 28, stated.to_bytes(8, signed=True))
    plan = restart(root)
    assert sum(unit.count for unit in plan.lost_units) == units
    assert {unit[:2] for unit in map(astuple, plan.lost_units)} <= {("Load", 0)}
    assert (plan.refused, plan.log_end, len(plan.lost), plan.beyond) == (None, 63814, keys, beyond)
    assert not plan.safe


@pytest.mark.parametrize("stated", [(1 << 63) - 1, (1 << 63) - 300])
def test_an_offset_near_the_greatest_java_long_ends_no_walk(tmp_path: Path, stated: int) -> None:
    root = open_store("killed", tmp_path)
    overwrite(root / f"commitlog/{57344:020}", 860 + 28, stated.to_bytes(8))
    plan = restart(root)
    assert (plan.refused, plan.log_end, len(plan.lost)) == (None, 63814, 52)


def test_the_end_of_a_record_near_the_greatest_java_long_wraps(tmp_path: Path) -> None:
    """`ConsumeQueue.recover` 106-144 adds offset and size as longs; the sum is below the log's end, so nothing is cut."""
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(1024, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", (unit(0, 100) + unit(2**63 - 1, 100)).ljust(100, b"\0"))
    (queue,) = queue_starts_of(tmp_path, log_end=len(record(0)))
    assert (queue.end, queue.max_phy_offset, queue.cuts) == (40, LONG_MIN + 99, [])


def test_units_behind_an_invalid_one_are_lost(tmp_path: Path) -> None:
    """CQ-REC: the walk ends at the unit of size 0; another queue's end keeps dispatch from coming back to it."""
    records = [
        record(120 * number, queue_offset=number, properties=b"KEYS\1k", body=b"x" * 22)
        for number in range(4)
    ]
    other = record(120 * 4, queue_id=1)
    assert {len(raw) for raw in records} == {120}
    put(tmp_path, f"commitlog/{0:020}", (b"".join(records) + other).ljust(1024, b"\0"))
    units = [unit(120 * number, 120) for number in range(4)]
    units[1] = unit(120, 0)
    put(tmp_path, f"consumequeue/T/0/{0:020}", b"".join(units).ljust(100, b"\0"))
    put(tmp_path, f"consumequeue/T/1/{0:020}", unit(480, len(other)).ljust(100, b"\0"))
    plan = restart(tmp_path, geometry=Geometry(4, 8))
    reason = "the unit at logical offset 1 is not accepted by 4.9.3"
    assert plan.deletions == (Deletion("truncate", f"consumequeue/T/0/{0:020}", 20, reason),)
    assert plan.lost_units == (LostUnits("T", 0, 2, 2, 240, reason),)
    assert plan.dispatch_from == 480 + len(other)


def with_ext(root: Path, *ext_files: bytes, first_at: int = 0) -> list[str]:
    """Two messages whose units point into ext files of 64 bytes, the second one to byte 64; names of the ext files."""
    message = record(512)
    two = record(512 + len(message), queue_offset=1)
    put(root, f"commitlog/{512:020}", (message + two).ljust(512, b"\0"))
    units = unit(512, len(message), LONG_MIN + first_at) + unit(512 + len(message), len(two), LONG_MIN + 64)
    put(root, f"consumequeue/T/0/{0:020}", units.ljust(100, b"\0"))
    names = [f"consumequeue_ext/T/0/{64 * number:020}" for number in range(len(ext_files))]
    for name, data in zip(names, ext_files, strict=True):
        put(root, name, data.ljust(64, b"\0"))
    return names


EXT = ext_unit(7, BEGIN, b"ab")


def test_ext_files_behind_the_last_units_own_are_deleted(tmp_path: Path) -> None:
    """`ConsumeQueueExt.truncateByMaxAddress` 349-368: what begins behind byte 64 + 22; a full file is not behind itself."""
    names = with_ext(tmp_path, EXT + b"\xff\xff", EXT, EXT)
    deletions = restart(tmp_path).deletions
    assert [(deletion.action, deletion.file) for deletion in deletions] == [("delete", names[2])]


def test_ext_files_before_the_first_units_own_are_deleted(tmp_path: Path) -> None:
    """`truncateByMinAddress` 317-342: a file that ends before the address; one that ends at it stays."""
    names = with_ext(tmp_path, EXT + b"\xff\xff", EXT * 2, first_at=65)
    deletions = restart(tmp_path).deletions
    assert [(deletion.action, deletion.file) for deletion in deletions] == [("delete", names[0])]
    assert restart(tmp_path).refused is None
    with_ext(tmp_path, EXT + b"\xff\xff", EXT * 2, first_at=64)
    assert restart(tmp_path).deletions == ()
    put(tmp_path, f"consumequeue_ext/Other/0/{0:020}", b"\x01\x00".ljust(64, b"\0"))  # no queue loads it
    assert restart(tmp_path).refused is None


def test_a_walk_over_ext_units_that_leads_past_a_files_end_is_a_refusal(tmp_path: Path) -> None:
    """`ConsumeQueueExt.recover` 282-304 throws where what is left of an older unit is after the last one."""
    names = with_ext(tmp_path, EXT + b"\xff\xff", EXT + b"\x01\x00")
    assert restart(tmp_path).refused == f"{names[1]}: the walk over its units leads past its end"


@pytest.mark.parametrize("folder", ["commitlog", "consumequeue/AaTopic/0"])
def test_a_copy_of_a_file_beside_it_is_a_refusal(tmp_path: Path, folder: str) -> None:
    """`MappedFileQueue.load` 161-184 parses each file's name as a number, whatever the file's length."""
    store = open_store("small-roll", tmp_path)
    original = min((store / folder).iterdir())
    original.with_name("copy").write_bytes(original.read_bytes())
    refused = restart(store).refused
    assert refused is not None
    assert refused.startswith(f"{folder}/copy: found a file whose name is not a number")


def test_units_that_are_there_already_are_not_lost(tmp_path: Path) -> None:
    """CQ-TRUNC-3: the first unit of an empty last file is kept, so that the end of the last message is 0 and all come again.

    The record with the logical offset 0 is appended again; the units 1 to 4 are in the queue as before.
    """
    size = len(record(0))
    log = b"".join(record(number * size, queue_offset=number) for number in range(5))
    put(tmp_path, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", b"".join(unit(number * size, size) for number in range(5)))
    put(tmp_path, f"consumequeue/T/0/{100:020}", bytes(100))
    put(tmp_path, "checkpoint", checkpoint(0, 0, 0))
    put(tmp_path, "abort", b"")
    assert restart(tmp_path, geometry=Geometry(7, 100)).lost_units == ()


def test_a_topic_of_a_log_that_is_newer_than_queues_and_list(tmp_path: Path) -> None:
    """The start dispatches its records, and the real broker answers no pull of it (docs/broken-stores.md); deleted topics have none there."""
    store = open_store("mixed", tmp_path)
    (incident,) = (one for one in INCIDENTS if one.name == "all but the log is of an older backup")
    incident.damage(store)
    found = restart(store)
    assert (found.made, found.unlisted, found.safe) == ({"Batch": 2}, {"Batch": 0}, False)
    (warning,) = (one for one in audit(store) if one.severity != "note")
    assert (warning.code, warning.message.split()[:2]) == ("topic.missing", ["topic", "Batch"])
    plan = plan_repair(Target(store))
    assert (plan.topics, plan.into) == ({"Batch": 2}, ("config/topics.json",))


def test_a_topic_of_a_log_and_index_that_are_newer_than_queues_and_list(tmp_path: Path) -> None:
    """It was not deleted, as its records are dispatched beside those of listed topics; the repaired store has its queues."""
    store = open_store("mixed", tmp_path)
    (incident,) = (
        one for one in INCIDENTS if one.name.startswith("queues and configuration are of an older")
    )
    incident.damage(store)
    found = [(one.code, one.file) for one in audit(store) if "topic Batch" in one.message]
    assert found == [("topic.missing", "config/topics.json")]
    assert repair(Target(store)).worse == ""
    assert len(audit(store)) == 0
    assert sorted(path.name for path in (store / "consumequeue/Batch").iterdir()) == ["0", "1"]


def test_a_deleted_topic_whose_records_are_the_last_ones(tmp_path: Path) -> None:
    """Nothing but its own records is dispatched again, which no list of an older backup explains."""
    store = open_store("mixed", tmp_path)
    change(store, "remove", "consumequeue/Later")
    change(store, "unlist", "Later")
    found = restart(store)
    assert (found.dispatch_from < found.log_end, found.made) == (True, {})


def test_a_unit_after_the_end_of_a_queue_keeps_no_message(tmp_path: Path) -> None:
    """The queue ends at unit 2, of size 0; the stale unit 3 is that of the second record with this logical offset (CQ-PUT-2)."""
    size = len(record(0))
    log = b"".join(
        record(number * size, queue_offset=offset) for number, offset in enumerate((0, 1, 2, 3, 3))
    )
    put(tmp_path, f"commitlog/{0:020}", log.ljust(4096, b"\0"))
    units = unit(0, size) + unit(size, size) + bytes(20) + unit(4 * size, size)
    put(tmp_path, f"consumequeue/T/0/{0:020}", units.ljust(200, b"\0"))
    (lost,) = restart(tmp_path, geometry=Geometry(7, 100)).lost_units
    assert astuple(lost)[:5] == ("T", 0, 3, 1, 4 * size)
