"""kill -9 of the real broker under load, what a restart was said to do, and what it did."""

import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from real_broker import Acknowledged, RealBroker
from rocket_columnar.formats import hash_key, index_key
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import Restart, restart
from rocket_spec.layout import Geometry

TOPIC: Final = "Load"
LATER: Final = "Later"
QUEUES: Final = 3
_PATIENCE: Final = 60  # seconds
PARTS: Final = ("index", "consumequeue", "consumequeue_ext", "commitlog")


@dataclass(frozen=True)
class Load:
    """A load, and when it is cut off.

    Attributes:
        seed: of what is sent.
        per_second: messages.
        seconds: how long at least.
        until_lost: and until a restart would lose keys: the last index file began before what is dispatched again.
    """

    seed: int
    per_second: int
    seconds: float
    until_lost: bool = False


@dataclass
class Kill:
    """One kill and the start after it.

    Attributes:
        acknowledged: messages that were acknowledged under this load.
        predicted: what the start was said to do.
        predicted_lost: physical offsets of messages whose own key it was said to lose.
        deleted: files that the start deleted.
        log_end: the log's end by the broker's own figures.
        dispatch_from: where the broker's log says that it began to recover.
        lost: physical offsets of messages that the real tools no longer find by key.
        wrong: keys for which the real tools find something else.
        bounds: of each queue its minimum and maximum logical offset afterwards.
    """

    acknowledged: list[Acknowledged]
    predicted: Restart
    predicted_lost: set[int] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    log_end: int = -1
    dispatch_from: int = -1
    lost: set[int] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    bounds: list[tuple[int, int]] = field(default_factory=list)

    def check(self) -> None:
        """Asserts that the start did what was said, and that no queue lost a message."""
        assert not self.predicted.clean
        assert self.predicted.refused is None
        assert self.deleted == {one.file for one in self.predicted.deletions if one.action == "delete"}
        assert (self.dispatch_from, self.log_end) == (self.predicted.dispatch_from, self.predicted.log_end)
        assert self.predicted.lost_units == ()
        for one in self.acknowledged:
            first, end = self.bounds[one.queue_id]
            assert first <= one.queue_offset < end
        assert not self.wrong


def make_topics(broker: RealBroker) -> None:
    """Makes the topics of the load, or waits until the client sees them."""
    broker.ask("topic", topic=TOPIC, queues=QUEUES)
    broker.ask("topic", topic=LATER, queues=1)


def start_load(broker: RealBroker, load: Load) -> None:
    """Begins to send."""
    broker.ask("load", topic=TOPIC, queues=QUEUES, seed=load.seed, per_second=load.per_second, threads=2)


def kill(
    broker: RealBroker,
    load: Load,
    before: Sequence[Acknowledged],
    *,
    index_safe: bool,
    release: str | None = None,
) -> Kill:
    """Kills a running broker under load and starts it again; it runs afterwards.

    Args:
        broker: it runs.
        load: what it is killed under.
        before: messages of earlier loads, whose keys are looked for as well.
        index_safe: whether it starts with messageIndexSafe.
        release: of the broker; by default what the store's bytes show.
    """
    start_load(broker, load)
    time.sleep(load.seconds)
    deadline = time.monotonic() + _PATIENCE
    while load.until_lost and time.monotonic() < deadline and not restart(broker.store).lost:
        time.sleep(0.2)
    broker.kill()
    done = Kill(broker.stop_load(), restart(broker.store, index_safe=index_safe, release=release))
    every = [*before, *done.acknowledged]
    foretold = {(lost.phy_offset, lost.key_hash) for lost in done.predicted.lost}
    done.predicted_lost = {
        one.offset for one in every if (one.offset, hash_key(index_key(TOPIC, one.key))) in foretold
    }
    links = broker.snapshot("before-the-start")
    logged = {path: path.stat().st_size for path in _logs(broker)}
    broker.start(messageIndexSafe=str(index_safe).lower())
    make_topics(broker)
    done.log_end = int(broker.ask("log")["commitLogMaxOffset"])
    done.bounds = [(first, end) for first, end in broker.ask("bounds", topic=TOPIC, queues=QUEUES)]
    done.deleted = {
        file for file, link in links.items() if file.startswith(PARTS) and link.stat().st_nlink == 1
    }
    shutil.rmtree(broker.folder / "before-the-start")
    done.dispatch_from = _recovered_from(broker, logged)
    for one, found in zip(every, broker.query(TOPIC, [one.key for one in every]), strict=True):
        if not found:
            done.lost.add(one.offset)
        elif set(found) != {one.offset}:
            done.wrong.add(one.key)
    return done


def _logs(broker: RealBroker) -> list[Path]:
    """The broker's own logs; 5.x has one for the store in a folder of its own."""
    return [broker.log, *(broker.folder / "home" / "logs").rglob("store.log")]


def _recovered_from(broker: RealBroker, logged: dict[Path, int]) -> int:
    """The commit-log file from which the broker says it recovers; the first where it says nothing."""
    said: list[str] = []
    for path in _logs(broker):
        written = path.read_bytes()[logged.get(path, 0) :].decode()
        said += re.findall(r"recover from this mapped file .*?(\d{20})$", written, re.MULTILINE)
    first = min(path.name for path in (broker.store / "commitlog").iterdir())
    return int(said[-1] if said else first)


def put_in_place(broker: RealBroker, target: Path, *parts: str) -> None:
    """Deletes these directories of the store, rebuilds, and puts what came out in their place; the broker is down."""
    broker.drop(*parts)
    config = broker.config
    geometry = Geometry(int(config["maxHashSlotNum"]), int(config["maxIndexNum"]))
    size = int(config["mappedFileSizeConsumeQueue"])
    done = rebuild(broker.store, target, geometry=geometry, queue_file_size=size)
    assert not done.findings
    for part in parts:
        (target / part).rename(broker.store / part)
