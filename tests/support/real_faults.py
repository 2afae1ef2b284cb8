"""Faults of machines that strike the real broker under load; each leaves a store that is not running.

A fault is a way to start the broker, what happens to it under load, and how its machine is afterwards. `struck` applies it to
`kill_cycle.kill`: it strikes where that kills.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kill_cycle import LATER, TOPIC, Kill, Load, kill, make_topics, start_load
from real_broker import RealBroker
from rocket_columnar.audit import audit
from rocket_columnar.decode import decode
from rocket_columnar.query import query
from rocket_columnar.rebuild import rebuild
from rocket_columnar.store import find_files

_CLOCK: Final = Path(__file__).with_name("stepping_clock.c")
_VOLUME: Final = "24m"
_SAMPLE: Final = 100


class FaultyBroker(RealBroker):
    """A broker that something happens to before it is killed; afterwards its store is looked at.

    Attributes:
        strike: happens to the running broker right before each kill.
        findings: numbers of the audit's findings by code, over the store as the kill left it.
        rebuilt: numbers of dispatched records, and of findings of a rebuild of that store.
    """

    strike: Callable[[FaultyBroker], None] | None = None
    findings: Counter[str]
    rebuilt: tuple[int, int] = (0, 0)

    @property
    def process(self) -> subprocess.Popen[str]:
        """The process of the running broker."""
        assert self._broker is not None
        return self._broker

    def put_in_environment(self, **variables: str) -> None:
        """Variables of the next starts; an empty one is removed."""
        self._environment = {
            name: value for name, value in {**self._environment, **variables}.items() if value
        }

    def kill(self) -> None:
        """Strikes, and kills with SIGKILL."""
        strike, self.strike = self.strike, None
        if strike is not None:
            strike(self)
        super().kill()
        if strike is not None:
            self._look()

    def _look(self) -> None:
        filler = self.store.parent / "filler"
        filler.unlink(missing_ok=True)
        if (self.folder / "clock").exists():  # the start is on a machine with the right time
            (self.folder / "clock").write_text("0\n", "ascii")
        self.findings = Counter(f"{one.severity} {one.code}" for one in audit(self.store, "deep"))
        target = self.folder / "rebuilt"
        done = rebuild(self.store, target)
        self.rebuilt = done.records, len(done.findings)
        shutil.rmtree(target)


@dataclass(frozen=True)
class Fault:
    """Something that happens to machines.

    Attributes:
        name: in words.
        strike: on the running broker.
        before: on the stopped broker, before the start that is struck.
        after: on the dead broker.
        config: of the broker.
        moves_the_clock: whether times or names go back, so that queries fail that no start is to blame for.
    """

    name: str
    strike: Callable[[FaultyBroker], None]
    before: Callable[[FaultyBroker], None] = lambda _broker: None
    config: dict[str, str] = field(default_factory=dict)
    moves_the_clock: bool = False


def _nothing(_: FaultyBroker) -> None:
    """Only the kill."""


def _freeze(broker: FaultyBroker) -> None:
    """SIGSTOP for some seconds, as a paused virtual machine; it is killed before it goes on."""
    broker.process.send_signal(signal.SIGSTOP)
    time.sleep(3)


def _pause(broker: FaultyBroker) -> None:
    """SIGSTOP and SIGCONT, three times, under load."""
    for _ in range(3):
        broker.process.send_signal(signal.SIGSTOP)
        time.sleep(2)
        broker.process.send_signal(signal.SIGCONT)
        time.sleep(1)


def fill_disk(path: Path) -> None:
    """Writes a file until its disk is full."""
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 16)):
                pass
        except OSError:
            pass


def _fill(broker: FaultyBroker) -> None:
    """Another program fills the disk; the broker goes on for some seconds."""
    fill_disk(broker.store.parent / "filler")
    time.sleep(5)


def _step(*seconds: int) -> Callable[[FaultyBroker], None]:
    def strike(broker: FaultyBroker) -> None:
        for offset in seconds:
            (broker.folder / "clock").write_text(f"{offset}\n", "ascii")
            time.sleep(3)

    return strike


def _with_clock(broker: FaultyBroker) -> None:
    """The broker runs with a clock of its own."""
    library = broker.folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(_CLOCK), "-ldl"], check=True)
    offset = broker.folder / "clock"
    offset.write_text("0\n", "ascii")
    broker.put_in_environment(LD_PRELOAD=str(library), CLOCK_OFFSET=str(offset))


def _zones(first: str, second: str) -> Callable[[FaultyBroker], None]:
    """A run in one time zone that ends cleanly; the next start is in another."""

    def before(broker: FaultyBroker) -> None:
        broker.put_in_environment(TZ=first)
        broker.start()
        make_topics(broker)
        start_load(broker, Load(7, 400, 0))
        time.sleep(4)
        broker.stop_load()
        broker.stop()
        broker.put_in_environment(TZ=second)

    return before


FAULTS: Final = {
    "kill": Fault("kill -9 under load", _nothing),
    "freeze": Fault("SIGSTOP, then kill -9 (a paused machine that is switched off)", _freeze),
    "pauses": Fault("three pauses of 2 s (SIGSTOP, SIGCONT), then kill -9", _pause),
    "full": Fault("the disk fills up, the broker goes on for 5 s, then kill -9", _fill),
    "back": Fault("the clock steps back by an hour, then kill -9", _step(-3600), _with_clock, moves_the_clock=True),
    "forth": Fault("the clock steps forward by a day and back again, then kill -9", _step(86_400, 0), _with_clock, moves_the_clock=True),
    "west": Fault("the time zone moves 15 hours west between two runs, then kill -9", _nothing,
                  _zones("Asia/Shanghai", "America/Los_Angeles"), moves_the_clock=True),
    "east": Fault("the time zone moves 15 hours east between two runs, then kill -9", _nothing,
                  _zones("America/Los_Angeles", "Asia/Shanghai"), moves_the_clock=True),
}  # fmt: skip


def can_mount() -> bool:
    """Whether this process may mount a small disk."""
    return sys.platform == "linux" and os.geteuid() == 0 and shutil.which("mount") is not None


@contextmanager
def volume(folder: Path, *, small: bool) -> Iterator[Path]:
    """A folder that is a disk of a few MB if it is to be `small`."""
    folder.mkdir()
    if not small:
        yield folder
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_VOLUME}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def _unfound(broker: FaultyBroker, done: Kill) -> set[int]:
    """Physical offsets of the messages that the engine's own query does not find in the store either.

    All that the broker did not find are asked for, and as many others as `_SAMPLE`.
    """
    others = [one for one in done.acknowledged if one.offset not in done.lost]
    asked = [one for one in done.acknowledged if one.offset in done.lost] + others[
        :: max(len(others) // _SAMPLE, 1)
    ]
    found = set[int]()
    for one in asked:
        answer = query(broker.store, TOPIC, one.key, begin=0, end=(1 << 63) - 1)
        found |= {message["phy_offset"] for message in answer.messages}
    return {one.offset for one in asked} - found


def _delivered(broker: FaultyBroker, done: Kill) -> int:
    """Number of messages after the log's predicted end, all of which the start itself delivered.

    A delivery time further away than its delay level is taken for now (`correctDeliverTimestamp`).
    """
    log_range = done.predicted.log_end, done.log_end
    if log_range[0] >= log_range[1]:
        return 0
    logs = find_files(broker.store, kinds=("log",))
    topics = [
        topic
        for _, batch in decode(logs, columns=["topic"], log_range=log_range, on_gap=lambda _: None)
        for topic in batch.column("topic").to_pylist()
    ]
    assert set(topics) == {LATER}
    return len(topics)


def struck(broker: FaultyBroker, fault: Fault, load: Load) -> tuple[Kill, dict[str, Any]]:
    """Applies a fault; the broker runs afterwards, on a healthy machine.

    Returns:
        What was foretold and what the start did with the messages before the log's predicted end, and figures for the page.
    """
    fault.before(broker)
    broker.start(**fault.config)
    make_topics(broker)
    broker.strike = fault.strike
    done = kill(broker, load, (), index_safe=False)
    unfound = _unfound(broker, done)
    # A record that was not written whole ends the log for the start, whatever was acknowledged after it.
    kept = [one for one in done.acknowledged if one.offset < done.predicted.log_end]
    cut = {one.offset for one in done.acknowledged} - {one.offset for one in kept}
    survived = replace(done, acknowledged=kept, lost=done.lost - cut)
    delivered = _delivered(broker, done) if fault.moves_the_clock else 0
    if delivered:
        survived.log_end = done.predicted.log_end
    return survived, {
        "fault": fault.name,
        "seed": load.seed,
        "acknowledged": len(done.acknowledged),
        "findings": dict(sorted(broker.findings.items())),
        "rebuilt_messages": broker.rebuilt[0],
        "rebuild_findings": broker.rebuilt[1],
        "deletions": sorted({one.file.partition("/")[0] for one in done.predicted.deletions}),
        "files_deleted": len(done.deleted),
        "log_end": done.log_end,
        "dispatched_again_bytes": done.log_end - done.dispatch_from,
        "keys_deleted_by_the_start": len(done.predicted_lost),
        "acknowledged_and_lost": len(cut),
        "delayed_messages_delivered_at_once": delivered,
        "keys_not_found": len(survived.lost),
        "engine_finds_the_same": unfound == done.lost,
        "answers_wrong": len(done.wrong),
    }
