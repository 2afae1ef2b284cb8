"""A repair replaces the files that findings name and no others, though a rebuild would write others differently."""

import json
import os
import shutil
from pathlib import Path

import pytest
from rocket_columnar.config import load_config
from rocket_columnar.consumers import moved_offsets
from rocket_columnar.facts import Store
from rocket_columnar.repair import Outlook, Target, plan_repair, repair, undo
from rocket_columnar.report import audit
from rocket_golden import open_store, truth
from store_bytes import contents, overwrite, own_contents, put

LATER = Path(__file__).parents[2] / "acceptance" / "later"
ORDERS = f"consumequeue/Orders/0/{0:020}"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return open_store("mixed", tmp_path)


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (Outlook(None, 10, 100, 2, 0), ""),
        (Outlook("a file", 10, 100, 2, 0), "no broker would start: a file"),
        (Outlook(None, 9, 100, 2, 0), "a start would keep 9 messages, not 10"),
        (Outlook(None, 10, 99, 2, 0), "a start would end the log at 99, not at 100"),
        (Outlook(None, 10, 100, 2, 1), "an audit has 1 error or warning of files, not 0"),
        (Outlook(None, 10, 100, 3, 0), "an audit has 3 errors and warnings, not 2"),
    ],
)
def test_what_is_worse(after: Outlook, why: str) -> None:
    assert after.worse_than(Outlook(None, 10, 100, 2, 0)) == why


def test_a_message_after_the_log_s_end_is_not_subtracted_twice(store: Path) -> None:
    """The last record has a wrong magic: a start keeps all messages before it."""
    records = sorted(line["phy_offset"] for line in truth("mixed") if line["type"] == "log_record")
    end = records[-1]
    units = {line["phy_offset"] for line in truth("mixed") if line["type"] == "queue_unit"}
    overwrite(store / f"commitlog/{end // 32768 * 32768:020}", end % 32768 + 4, bytes(4))
    assert plan_repair(Target(store)).outlook.messages == sum(place < end for place in units)


def test_queue_files_of_another_store_are_replaced_but_for_one_that_is_right(
    store: Path, tmp_path: Path
) -> None:
    own = "consumequeue/Orders/1"
    (store / own).rename(tmp_path / "own")
    shutil.rmtree(store / "consumequeue")
    shutil.copytree(open_store("replica", tmp_path) / "consumequeue", store / "consumequeue")
    shutil.rmtree(store / own, ignore_errors=True)
    shutil.copytree(tmp_path / "own", store / own)
    plan = plan_repair(Target(store))
    assert ORDERS in plan.into
    assert not any(name.startswith(own) for name in (*plan.away, *plan.into))


def test_a_stray_file_of_a_log_that_is_elsewhere_is_left(store: Path, tmp_path: Path) -> None:
    """No rename moves it out of there."""
    (store / "commitlog").rename(tmp_path / "disk")
    (store / "commitlog").symlink_to(tmp_path / "disk")
    put(tmp_path, "disk/notes", b"x")
    plan = plan_repair(Target(store))
    assert (plan.away, [found.file for found in plan.left]) == ((), ["commitlog/notes"])


def test_a_list_of_topics_with_a_number_beyond_those_of_json_is_left(store: Path) -> None:
    """Written again, it would have the word Infinity."""
    topics = store / "config/topics.json"
    text = topics.read_text("utf-8")
    start = text.index('"Orders":{')
    end = text.index("},", start) + 2
    topics.write_text(text[:start] + text[end:].replace('"perm":6', '"perm":6,"extra":1e999', 1), "utf-8")
    (store / "config/topics.json.bak").unlink(missing_ok=True)
    before = contents(store)
    plan = plan_repair(Target(store))
    assert ([found.code for found in plan.left], plan.topics, plan.into) == (["topic.missing"], {}, ())
    repair(Target(store))
    assert contents(store) == before


def offsets(store: Path) -> dict[str, dict[int, int]]:
    """The offsets that a broker loads."""
    found: dict[str, dict[int, int]] = {}
    for row in load_config(store, "consumer_offsets").rows:
        found.setdefault(f"{row['topic']}@{row['group']}", {})[row["queue_id"]] = row["offset"]
    return found


@pytest.mark.parametrize(
    ("replica", "end"),
    [({}, 20), ({0: 17, 1: 99}, 17), ({0: 0, 1: 99}, 0)],
    ids=["the queue's end, as asked for", "a replica's", "a replica's where the queue begins"],
)
def test_an_offset_beyond_its_queue_is_set_to(
    store: Path, tmp_path: Path, replica: dict[int, int], end: int
) -> None:
    """Orders has 20 messages in queue 0 and as many in queue 1, beyond which the replica is, too; other offsets stay."""
    file = store / "config/consumerOffset.json"
    file.write_text('{"offsetTable":{"Orders@g":{0:1000,1:2000,2:3},"Orders@h":{0:5}}}', "utf-8")
    other = tmp_path / "replica.json"
    other.write_text(json.dumps({"offsetTable": {"Orders@g": replica}}), "utf-8")
    units = [(store / f"consumequeue/Orders/{queue}").glob("*") for queue in (0, 1)]
    ends = [
        sum(part.read_bytes()[at : at + 8] != bytes(8) or not at for part in some for at in range(0, 400, 20))
        for some in units
    ]
    (tmp_path / "empty.json").write_text("{}", "ascii")
    plan = plan_repair(Target(store, offsets=tmp_path / "empty.json"))
    assert [found.code for found in plan.left] == ["consumer.offset_beyond_queue"] * 2, "none of it helps"
    target = Target(store, offsets=other if replica else None, to_end=not replica)
    done = repair(target)
    assert (done.worse, done.plan.into) == ("", ("config/consumerOffset.json",))
    assert offsets(store) == {
        "Orders@g": {0: end if replica else ends[0], 1: ends[1], 2: 3},
        "Orders@h": {0: 5},
    }
    assert [found for found in audit(store) if found.code == "consumer.offset_beyond_queue"] == []
    undo(store)
    assert offsets(store)["Orders@g"][0] == 1000


def test_an_offset_that_a_queue_had_before_the_log_lost_its_end_is_set_to_its_end(store: Path) -> None:
    """A repair cuts the queue, and the next one knows it; the other group's offset may be another store's, and is left."""
    last = max((store / "commitlog").iterdir())
    places = [
        line["phy_offset"]
        for line in truth("mixed")
        if line["type"] == "log_record" and (line["topic"], line["queue_id"]) == ("BBTopic", 0)
    ]
    before, end = len(places), sum(place < int(last.name) for place in places)
    assert before > end
    table = {"BBTopic@all": {0: before}, "BBTopic@other": {0: before + 1}}
    (store / "config/consumerOffset.json").write_text(json.dumps({"offsetTable": table}), "ascii")
    last.unlink()
    kept = store / repair(Target(store)).folder / "old"
    assert offsets(store) == table
    elsewhere = kept.rename(store.parent / "old")
    kept.symlink_to(elsewhere)
    assert moved_offsets(Store(store)) == [], "what a link leads to is not looked at"
    kept.unlink()
    elsewhere.rename(kept)
    done = repair(Target(store))
    assert offsets(store) == {**table, "BBTopic@all": {0: end}}
    assert [found.code for found in done.plan.left] == ["consumer.offset_beyond_queue"]


def test_an_offset_of_another_queue_is_left(store: Path) -> None:
    """A repair put the own queue back and keeps the other one's files, which had that offset."""
    table = {"Orders@g": {1: 20}}
    (store / "config/consumerOffset.json").write_text(json.dumps({"offsetTable": table}), "ascii")
    shutil.rmtree(store / "consumequeue/Orders/1")
    shutil.copytree(store / "consumequeue/Orders/0", store / "consumequeue/Orders/1")
    assert not repair(Target(store)).worse
    assert repair(Target(store)).plan.empty
    assert offsets(store) == table


@pytest.mark.parametrize("release", ["5.3.1", "5.5.0"])
def test_a_store_of_a_later_release_gets_what_its_broker_wrote(release: str, tmp_path: Path) -> None:
    """No start is predicted of a store with batch queues: the audit decides. The new files have the broker's own bytes."""
    shutil.unpack_archive(LATER / f"{release}.zip", tmp_path)
    store = tmp_path / "store"
    before = contents(store)
    queue, *_, gone = sorted((store / "consumequeue").rglob("0??*"))
    index = min((store / "index").iterdir())
    os.truncate(queue, 200)
    gone.unlink()
    overwrite(index, 40 + 44, b"\x7f\xff\xff\xff")
    done = repair(Target(store))
    assert (done.worse, done.after.predicted, done.after.found) == ("", False, 0)
    assert own_contents(store) == before
