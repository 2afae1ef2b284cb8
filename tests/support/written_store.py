"""A store that the real broker wrote under load: after a clean stop, and after kill -9."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kill_cycle import Load, make_topics, start_load
from real_broker import Acknowledged, RealBroker

CONFIG: Final = {
    "maxHashSlotNum": "97",
    "maxIndexNum": "500",
    "mappedFileSizeCommitLog": "65536",
    "mappedFileSizeConsumeQueue": "6000",
    "flushConsumeQueueThoroughInterval": "500",
}


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


def send(broker: RealBroker, seed: int, messages: int) -> list[Acknowledged]:
    """Sends at least this number of messages to a running broker; those that it acknowledged."""
    start_load(broker, Load(seed=seed, per_second=600, seconds=3.0))
    end = time.monotonic() + 120
    while broker.ask("count") < messages and time.monotonic() < end:
        time.sleep(0.1)
    return broker.stop_load()


def write_stores(broker: RealBroker, folder: Path) -> Written:
    """Copies of the store of a broker that this starts, stops, starts and kills."""
    broker.start()
    make_topics(broker)
    acknowledged = send(broker, 11, 1_500)
    broker.ask("log")
    broker.stop()
    shutil.copytree(broker.store, folder / "stopped")
    broker.start()
    make_topics(broker)
    later = send(broker, 12, 600)
    broker.kill()
    shutil.copytree(broker.store, folder / "killed")
    return Written(folder / "stopped", folder / "killed", acknowledged, later)
