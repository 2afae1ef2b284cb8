"""What a start would delete, against what the real broker's start deleted, and by hand."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from broken_stores import INCIDENTS, change
from incident_run import recorded, stage
from rocket_columnar.log import LostUnits, QueueStart, queue_starts
from rocket_columnar.repair import Target, plan_repair, repair
from rocket_columnar.report import audit
from rocket_columnar.restart import restart
from rocket_columnar.store import WorkDone, find_files
from rocket_golden import open_store, truth
from rocket_spec.layout import Geometry
from store_bytes import put, record, unit

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


def queue_starts_of(root: Path, log_end: int) -> list[QueueStart]:
    files = find_files(root)
    queues = [file for file in files if file.kind == "queue"]
    return queue_starts(queues, log_end, WorkDone(None), has_log=any(file.kind == "log" for file in files))


def test_the_end_of_a_record_near_the_greatest_java_long_wraps(tmp_path: Path) -> None:
    """`ConsumeQueue.recover` 106-144 adds offset and size as longs; the sum is below the log's end, so nothing is cut."""
    put(tmp_path, f"commitlog/{0:020}", record(0).ljust(1024, b"\0"))
    put(tmp_path, f"consumequeue/T/0/{0:020}", (unit(0, 100) + unit(2**63 - 1, 100)).ljust(100, b"\0"))
    (queue,) = queue_starts_of(tmp_path, log_end=len(record(0)))
    assert (queue.end, queue.max_phy_offset, queue.cuts) == (40, LONG_MIN + 99, [])


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


@pytest.mark.parametrize(
    "name",
    [
        "A unit points where no record begins",
        "The size of a unit is one more than the record's",
        "A unit whose record does not go into this queue; multi-dispatch puts one record into several",
        "One bit of a unit",
        "A queue file in the middle is missing",
        "A unit put in twice: all behind it have moved by one",
        "files of two queues were exchanged",
        "a queue's files are those of another",
    ],
)
def test_as_many_messages_are_not_delivered_as_the_real_broker_left_out(name: str, tmp_path: Path) -> None:
    (incident,) = (one for one in INCIDENTS if one.name == name)
    found, row = restart(stage(incident, tmp_path / "it").store), recorded()[name]
    assert (found.undelivered, found.safe) == (row["before"][0] - row["nothing"][0], False)
