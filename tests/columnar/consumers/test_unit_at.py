"""Units by logical offset, compared with the lines that the real release wrote (CQ-UNIT-1)."""

from pathlib import Path

import pytest
from rocket_columnar.consumers import Bounds, delivery, queue_bounds, unit_at
from rocket_columnar.facts import Store
from rocket_columnar.restart import max_after_start, restart
from rocket_golden import open_store, truth
from rocket_spec.errors import UsageError
from store_bytes import overwrite


@pytest.mark.parametrize("name", ["mixed", "expired", "lmq", "ext", "dledger", "replica-late-slave"])
def test_every_unit_and_its_record(name: str, tmp_path: Path) -> None:
    lines = list(truth(name))
    records = {line["phy_offset"]: line for line in lines if line["type"] == "log_record"}
    queues = {(line["topic"], line["queue_id"]): line for line in lines if line["type"] == "queue"}
    store = Store(open_store(name, tmp_path))
    units = [line for line in lines if line["type"] == "queue_unit" and line["size"] != 0x7FFFFFFF]
    assert units
    for unit in units:
        queue = (unit["topic"], unit["queue_id"])
        found = unit_at(store, *queue, unit["logical_offset"])
        record = records.get(unit["phy_offset"])
        assert (found.file, found.phy_offset, found.size) == (unit["file"], unit["phy_offset"], unit["size"])
        bounds = found.bounds
        assert (bounds.broker_min, bounds.max_offset) == (queues[queue]["min"], queues[queue]["max"])
        if record is None:
            assert found.row is None
            assert found.problems == (f"its record was deleted: the log begins at {min(records):,}",)
        else:
            assert found.row is not None
            assert found.row["uniq_key"] == record["uniq_key"]
            light, offsets = (
                found.row["properties"].get(f"INNER_MULTI_{one}", "") for one in ("DISPATCH", "QUEUE_OFFSET")
            )
            stated = dict(zip(light.split(","), offsets.split(","), strict=True)).get(queue[0])
            wrong = stated not in (None, str(found.offset))  # light queues count from 0 again after a start
            assert found.problems == (f"its record has offset {stated}, expected {found.offset}",) * wrong


def test_bounds_of_a_queue_whose_records_are_all_deleted(tmp_path: Path) -> None:
    """Rare had six messages, all in deleted log files; its broker went on to answer 0 as the minimum."""
    (line,) = (line for line in truth("expired") if line["type"] == "queue" and line["topic"] == "Rare")
    assert (line["min"], line["max"]) == (0, 6)
    store = open_store("expired", tmp_path)
    assert queue_bounds(Store(store), "Rare", 0) == Bounds("Rare", 0, 6, 6, 0)
    first = store / "consumequeue" / "Rare" / "0" / f"{0:020}"
    first.rename(first.with_name(f"{160:020}"))  # 8 units later: minLogicOffset is 0 all the same (CQ-MIN-2)
    assert queue_bounds(Store(store), "Rare", 0) == Bounds("Rare", 0, 14, 14, 0)


def test_offsets_without_a_message(tmp_path: Path) -> None:
    """Queue 0 of Orders has 32 units in two files of 20; the second unit becomes a pre-blank one (CQ-UNIT-2)."""
    root = open_store("mixed", tmp_path)
    overwrite(root / f"consumequeue/Orders/0/{0:020}", 20, bytes(8) + b"\x7f\xff\xff\xff" + bytes(8))
    store = Store(root)
    assert unit_at(store, "Orders", 0, 1).problems == (
        "the unit is a filler before the queue's first message",
    )
    assert unit_at(store, "Orders", 0, 32).problems == ("no unit was written here",)
    assert unit_at(store, "Orders", 0, 40).problems == ("no file of the queue has this offset",)
    with pytest.raises(UsageError, match="no queue 9 of topic Orders"):
        unit_at(store, "Orders", 9, 0)


def test_a_unit_that_points_to_another_record(tmp_path: Path) -> None:
    """Unit 1 takes the bytes of unit 0, whose record has the offset 0."""
    root = open_store("mixed", tmp_path)
    file = root / "consumequeue" / "Orders" / "0" / f"{0:020}"
    data = file.read_bytes()
    file.write_bytes(data[:20] + data[:20] + data[40:])
    assert unit_at(Store(root), "Orders", 0, 1).problems == ("its record has offset 0, expected 1",)
    other = (root / "consumequeue" / "AaTopic" / "0" / f"{0:020}").read_bytes()
    file.write_bytes(
        other[:12] + (4711).to_bytes(8) + data[20:]
    )  # whose tags code says nothing of this one's
    assert unit_at(Store(root), "Orders", 0, 0).problems == ("its record has topic AaTopic, expected Orders",)


@pytest.mark.parametrize("name", ["mixed", "expired", "ext"])
def test_the_maximum_that_a_broker_answers(name: str, tmp_path: Path) -> None:
    store = Store(open_store(name, tmp_path))
    queues = [line for line in truth(name) if line["type"] == "queue"]
    found = {(line["topic"], line["queue_id"]): line["max"] for line in queues}
    assert {queue: max_after_start(store, *queue) for queue in found} == found


def test_a_hole_is_the_end_of_a_queue_for_a_broker(tmp_path: Path) -> None:
    """CQ-REC-2: the walk of a start stops at the first unit of length 0."""
    root = open_store("mixed", tmp_path)
    overwrite(root / "consumequeue" / "Orders" / "0" / f"{0:020}", 5 * 20, bytes(20))
    assert max_after_start(Store(root), "Orders", 0) == 5
    assert queue_bounds(Store(root), "Orders", 0).max_offset == 32


def test_whether_a_group_gets_a_message(tmp_path: Path) -> None:
    root = open_store("mixed", tmp_path)
    row = unit_at(Store(root), "Orders", 0, 3).row
    assert row is not None
    queue = root / "consumequeue" / "Orders" / "0" / f"{0:020}"
    for offset, said in (
        (3, "has not come to it yet, its offset is 3"),
        (4, "has passed it, its offset is 4"),
    ):
        text = f'{{"offsetTable":{{"Orders@g":{{0:{offset}}}}}}}'
        (root / "config" / "consumerOffset.json").write_text(text, "ascii")
        assert delivery(Store(root), row, "g") == [f"Orders queue 0 at logical offset 3: group g {said}"]
    overwrite(queue, 3 * 20 + 12, (4711).to_bytes(8))
    problem, _ = delivery(Store(root), row, "g")
    assert "its tags code is 4711, expected 2598920" in problem  # the hash of TagB
    overwrite(queue, 3 * 20, bytes(8))
    (problem,) = delivery(Store(root), row, "g")
    assert problem.endswith("points to physical offset 0, not to this message: no consumer gets it")
    overwrite(queue, 3 * 20, bytes(20))
    (problem,) = delivery(Store(root), row, "g")
    assert problem.endswith("no unit was written here: no consumer gets the message")
    assert "no queue 9 of Orders" in delivery(Store(root), {**row, "queue_id": 9}, "g")[0]


def test_a_store_as_it_would_be_without_a_file(tmp_path: Path) -> None:
    """A start then loses the keys of an index file before the dispatched ones, and a log file is missing already."""
    root = open_store("mixed", tmp_path)
    store = Store(root)
    index = next(file for file in store.of("index"))
    entries = [
        line for line in truth("mixed") if line["type"] == "index_entry" and line["file"] == index.name
    ]
    assert entries
    assert len(restart(store.without([index.name])).lost) == len(entries)
    assert restart(store.without([f"commitlog/{32768:020}"])).missing == 32768
    rolled = Store(open_store("small-roll", tmp_path))
    apart = [rolled.logs[1].name, rolled.logs[3].name]
    assert restart(rolled.without(apart)).missing == 2 * rolled.logs[1].base_offset
    assert restart(store).safe
    with pytest.raises(UsageError, match="commitlog/7: not a file of"):
        store.without(["commitlog/7"])
