"""Stores of a real broker, broken and treated as the verbs advise; the real broker then serves what can be had."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from broken_stores import FAULTS, Fault, follow
from kill_cycle import TOPIC, make_topics
from written_store import CONFIG, Written

if TYPE_CHECKING:
    from real_broker import Acknowledged, RealBroker

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
