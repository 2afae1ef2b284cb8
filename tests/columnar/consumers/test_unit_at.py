"""Units by logical offset, compared with the lines that the real release wrote (CQ-UNIT-1)."""

from pathlib import Path

import pytest
from rocket_columnar.consumers import delivery, unit_at
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


@pytest.mark.parametrize("name", ["mixed", "expired", "ext"])
def test_the_maximum_that_a_broker_answers(name: str, tmp_path: Path) -> None:
    store = Store(open_store(name, tmp_path))
    queues = [line for line in truth(name) if line["type"] == "queue"]
    found = {(line["topic"], line["queue_id"]): line["max"] for line in queues}
    assert {queue: max_after_start(store, *queue) for queue in found} == found


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
