"""Stores of a real broker, broken and treated as the verbs advise; the real broker then serves what can be had."""

import os
import shutil
from contextlib import chdir
from pathlib import Path

import pytest
from broken_stores import FAULTS, Fault, follow
from kill_cycle import QUEUES, TOPIC, make_topics
from real_broker import Acknowledged, RealBroker
from rocket_columnar.rebuild import rebuild
from rocket_columnar.repair import Target, plan_repair, repair
from written_store import CONFIG, Written

pytestmark = [pytest.mark.java, pytest.mark.soak]

REFUSED = "the commit log was deleted; there is no replica"


def restored(broker: RealBroker, fault: Fault, source: Path, folder: Path) -> dict[str, str]:
    """Breaks a copy of a store in the broker's place, follows the advice; returns the settings that it changed."""
    shutil.rmtree(broker.store)
    shutil.copytree(source, broker.store)
    broker.command()  # writes its configuration
    conf = (broker.folder / "broker.properties").read_text("ascii")
    with chdir(folder):
        Path("store").symlink_to(broker.store)
        if fault.replica:
            shutil.copytree(source, "REPLICA")
        text = conf + "".join(f"{name}={value}\n" for name, value in fault.settings.items())
        Path("broker.conf").write_text(text, "ascii")
        fault.damage(Path("store"))
        followed = follow(fault)
        assert followed.left <= fault.left, followed.text
        settings = dict(line.split("=", 1) for line in Path("broker.conf").read_text("ascii").splitlines())
    before = dict(line.split("=", 1) for line in conf.splitlines())
    return {name: value for name, value in settings.items() if before.get(name) != value}


def kept(fault: Fault, broker: RealBroker, one: Acknowledged) -> bool:
    """Whether the log still holds a message."""
    size = int(CONFIG["mappedFileSizeCommitLog"])
    path = broker.store / "commitlog" / f"{one.offset // size * size:020}"
    if not path.exists():
        return False
    if not fault.left & {"log.torn"} and "torn" not in fault.name:
        return True
    data = path.read_bytes()[one.offset % size :]
    length = int.from_bytes(data[:4])
    return length > 0 and b"\2" in data[length - 100 : length]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_a_stopped_store(broker: RealBroker, written: Written, tmp_path: Path, fault: Fault) -> None:
    settings = restored(broker, fault, written.stopped, tmp_path)
    if fault.name == REFUSED:  # as printed: nothing can be rebuilt
        return
    broker.start(**settings)
    make_topics(broker)
    found = broker.query(TOPIC, [one.key for one in written.acknowledged])
    broker.stop()
    for one, offsets in zip(written.acknowledged, found, strict=True):
        # a recovery indexes the last message once more (IDX-SVC-8)
        assert set(offsets) == ({one.offset} if kept(fault, broker, one) else set()), one


@pytest.mark.parametrize("abort", [True, False], ids=["killed", "killed, and its abort file removed"])
def test_a_killed_store(broker: RealBroker, written: Written, tmp_path: Path, *, abort: bool) -> None:
    """Every acknowledged message is found once the advice was followed, after the start again if the advice asks for one."""
    fault = Fault("killed", lambda store: None if abort else (store / "abort").unlink())
    settings = restored(broker, fault, written.killed, tmp_path)
    broker.start(**settings)
    make_topics(broker)
    broker.ask("log")
    broker.stop()
    with chdir(tmp_path):
        assert not follow(fault).left
    broker.start(**settings)
    make_topics(broker)
    every = [*written.acknowledged, *written.later]
    found = broker.query(TOPIC, [one.key for one in every])
    broker.stop()
    assert {one.offset for one in every} == {offset for offsets in found for offset in offsets}


def untouched(_: Path, __: Path) -> None:
    pass


def rebuilt(store: Path, folder: Path) -> None:
    """What `docs/recovery.md` prints for damaged queues."""
    rebuild(store, folder / "out", only_missing=True)
    shutil.copytree(folder / "out" / "consumequeue", store / "consumequeue", dirs_exist_ok=True)


def repaired(store: Path, _: Path) -> None:
    """A repair, of a store that also has a queue file that was cut: no broker starts on it."""
    os.truncate(sorted((store / "consumequeue" / TOPIC / "0").iterdir())[1], 200)
    assert plan_repair(Target(store)).outlook.refused is not None
    done = repair(Target(store))
    assert (done.worse, done.after.refused) == ("", None)


@pytest.mark.parametrize("number", [1, 2])
def test_a_log_without_a_middle_file_keeps_every_offset(
    broker: RealBroker, written: Written, tmp_path: Path, number: int
) -> None:
    """What a consumer gets after a cure is what it gets if nothing is done; no queue ends earlier than it did."""
    lost = range(0)
    seen: dict[str, tuple[list[list[int]], list[list[int]]]] = {}
    for cure in (None, untouched, rebuilt, repaired):
        shutil.rmtree(broker.store)
        shutil.copytree(written.stopped, broker.store)
        if cure is not None:
            path = sorted((broker.store / "commitlog").iterdir())[number]
            lost = range(int(path.name), int(path.name) + path.stat().st_size)
            path.unlink()
            cure(broker.store, tmp_path)
        broker.start()
        make_topics(broker)
        count = sum(one.offset not in lost for one in written.acknowledged)
        bounds = broker.ask("bounds", topic=TOPIC, queues=QUEUES)
        seen["" if cure is None else cure.__name__] = (
            bounds,
            sorted(broker.ask("consume", topic=TOPIC, count=count)),
        )
        broker.stop()
    bounds, every = seen.pop("")
    left = [one for one in every if one[2] not in lost]
    assert 0 < len(left) < len(every)
    assert seen == dict.fromkeys(seen, (bounds, left))
