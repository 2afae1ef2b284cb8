"""Stores of a real broker, broken and treated as the verbs advise; the real broker then serves what can be had."""

from __future__ import annotations

import shutil
import time
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from broken_stores import FAULTS, Fault, follow
from kill_cycle import TOPIC, Load, make_topics, start_load
from real_broker import Acknowledged, RealBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.java, pytest.mark.soak]

CONFIG = {
    "maxHashSlotNum": "97",
    "maxIndexNum": "500",
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "6000",
    "flushConsumeQueueThoroughInterval": "500",
}
REFUSED = "the commit log was deleted; there is no replica"


@dataclass(frozen=True)
class Written:
    """What a broker wrote before it was stopped, and what it wrote further before it was killed.

    Attributes:
        stopped: the store after a clean stop.
        killed: the store after kill -9 under load.
        acknowledged: messages up to the stop.
        later: messages between start and kill.
    """

    stopped: Path
    killed: Path
    acknowledged: list[Acknowledged]
    later: list[Acknowledged]


@pytest.fixture(scope="module")
def broker(maven: str, java: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealBroker]:
    del maven  # asked for so that its absence skips
    with RealBroker(tmp_path_factory.mktemp("broker"), java, CONFIG) as site:
        yield site


@pytest.fixture(scope="module")
def written(broker: RealBroker, tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("written")

    def load(seed: int, messages: int) -> list[Acknowledged]:
        start_load(broker, Load(seed=seed, per_second=600, seconds=3.0))
        end = time.monotonic() + 120
        while broker.ask("count") < messages and time.monotonic() < end:
            time.sleep(0.1)
        return broker.stop_load()

    broker.start()
    make_topics(broker)
    acknowledged = load(11, 1_500)
    broker.ask("log")
    broker.stop()
    shutil.copytree(broker.store, folder / "stopped")
    broker.start()
    make_topics(broker)
    later = load(12, 600)
    broker.kill()
    shutil.copytree(broker.store, folder / "killed")
    return Written(folder / "stopped", folder / "killed", acknowledged, later)


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
    """Every acknowledged message is found once the advice was followed, after the start again if it says so."""
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
