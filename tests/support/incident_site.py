"""Real brokers over golden stores that something was done to, and what their clients get."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

from free_ports import free_port
from real_broker import RealBroker
from rocket_golden import manifest, open_store, truth

NEW: Final = "newcomers"
OLD: Final = "readers"
"""A group that has consumed half of each queue."""
_SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
_HIDDEN: Final = (_SCHEDULE, "%", "RMQ_SYS_", "TRANS_CHECK_")
_SIZES: Final = (
    "maxHashSlotNum",
    "maxIndexNum",
    "mappedFileSizeCommitLog",
    "mappedFileSizeConsumeQueue",
    "mappedFileSizeConsumeQueueExt",
)
_LOG_PATHS: Final = ("storePathCommitLog", "readOnlyCommitLogStorePaths")
_MASTERS: Final = {"replica-slave": "replica"}
"""Golden stores of slaves, and their masters'."""
_HOST: Final = "127.0.0.1"
_PATIENCE: Final = 60
"""Seconds in which an idle machine's broker starts, or never does."""
_FIRST: Final = 300
"""Seconds for the first start, which is of a sound store: it shows how busy the machine is."""
Message = tuple[str, int, str]
"""Topic, queue and unique key."""


@cache
def config_of(base: str) -> dict[str, str]:
    """The settings of the broker that wrote a golden store, for files of other lengths than usual."""
    known = manifest().stores[base].config
    return {
        name: str(value)
        for name, value in known.items()
        if name in _SIZES or name.startswith(("dLeger", "enable"))
    }


def log_paths(base: str) -> dict[str, str]:
    """The settings of that broker that name the folders of its log, which are in `store`."""
    return {name: value for name, value in manifest().stores[base].config.items() if name in _LOG_PATHS}


@cache
def _messages(base: str) -> dict[Message, int]:
    """The messages that consumers can read, with their logical offsets."""
    return {
        (line["topic"], line["queue_id"], line["uniq_key"]): line["queue_offset"]
        for line in truth(base)
        if line["type"] == "log_record" and not line["topic"].startswith(_HIDDEN)
    }


@cache
def _delayed(base: str) -> dict[Message, int]:
    """The messages that were delayed, with the physical offsets at which they were delivered.

    After a start the broker delivers some again, sooner or later and in any order, at the ends of their queues: in a queue
    that was cut perhaps at the logical offset that the message had.
    """
    rows = [line for line in truth(base) if line["type"] == "log_record"]
    keys = {line["uniq_key"] for line in rows if line["topic"] == _SCHEDULE}
    return {
        (line["topic"], line["queue_id"], line["uniq_key"]): line["phy_offset"]
        for line in rows
        if line["topic"] != _SCHEDULE and line["uniq_key"] in keys
    }


def sound(base: str, place: Path) -> Path:
    """A golden store, with the offsets of a group that has consumed half of each queue."""
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        shutil.move(open_store(base, scratch), place)
    table: dict[str, dict[str, int]] = {}
    for (topic, queue_id, _), offset in _messages(base).items():
        table.setdefault(f"{topic}@{OLD}", {})[str(queue_id)] = (offset + 1) // 2  # the last one counts
    (place / "config" / "consumerOffset.json").write_text(json.dumps({"offsetTable": table}), "ascii")
    return place


@dataclass(frozen=True)
class Measured:
    """Counts of what clients got from a real broker."""

    started: bool  # whether the broker started
    every: tuple[Message, ...] = ()  # what a new group got
    rest: tuple[Message, ...] = ()  # what the group got that had consumed half of each queue
    by_key: int = 0  # how many of the messages that a sound store delivers the tools found by unique key

    def row(self, before: Measured) -> list[int] | None:
        """Messages that were delivered and found by key, and those that the old group got twice and missed; None without a start."""
        if not self.started:
            return None
        known = set(before.every)
        consumed = known - set(before.rest)
        rest = [one for one in self.rest if one in known]
        again = sum(one in consumed for one in rest) + len(rest) - len(set(rest))
        every = set(self.every) & known
        return [len(every), self.by_key, again, len(every - consumed - set(rest))]


class Site(ExitStack):
    """Real brokers over broken stores, one after the other; use it in a `with` block."""

    def __init__(self, folder: Path, java: str) -> None:
        super().__init__()
        self._folder, self._java = folder, java
        self._broker = self.enter_context(RealBroker(folder / "a", java, {}))
        self._sound: dict[str, Measured] = {}
        self._patience: float = _FIRST
        self._slowest = 0.0

    @cached_property
    def _slave(self) -> RealBroker:
        return self.enter_context(RealBroker(self._folder / "b", self._java, {}))

    def measure(
        self, store: Path, base: str, settings: Mapping[str, str], known: Sequence[Message] = ()
    ) -> Measured:
        """Starts a broker on a copy of a store; what a new group and an old one get, and which known messages are found."""
        broker, driver = self._broker, self._broker
        config = {name: value for name, value in settings.items() if name != "storePathRootDir"}
        if "dLegerSelfId" in config:
            config["dLegerPeers"] = f"{config['dLegerSelfId']}-{_HOST}:{free_port()}"
        with ExitStack() as running:
            if base in _MASTERS:
                shutil.rmtree(driver.store, ignore_errors=True)
                sound(_MASTERS[base], driver.store)
                driver.start(**config, brokerRole="ASYNC_MASTER", haListenPort=str(free_port()))
                running.callback(driver.kill)
                broker = self._slave
                config |= {"brokerRole": "SLAVE", "brokerId": "1", "namesrvAddr": driver.namesrv}
            shutil.rmtree(broker.store, ignore_errors=True)
            shutil.copytree(store, broker.store, symlinks=True)
            config |= {
                name: ",".join(f"{broker.folder}/{path}" for path in config[name].split(","))
                for name in _LOG_PATHS
                if name in config
            }
            began = time.monotonic()
            if not broker.start_within(self._patience, **config):
                return Measured(False)
            self._slowest = max(self._slowest, time.monotonic() - began)
            self._patience = max(_PATIENCE, 5 * self._slowest)
            running.callback(broker.kill)
            return self._asked(broker, base, known)

    def _asked(self, broker: RealBroker, base: str, known: Sequence[Message]) -> Measured:
        driver, slave = self._broker, base in _MASTERS
        # A master's log is dispatched after its start; a broker whose dispatch stays is asked all the same.
        _retried(driver, "caught_up", slave=broker.address, millis=_PATIENCE * 500)
        topics = sorted({topic for topic, _, _ in _messages(base)})
        got = [
            _retried(driver, "deliver", topics=topics, group=group, broker=int(slave)) for group in (NEW, OLD)
        ]
        held, delayed = _messages(base), _delayed(base)
        every, rest = (
            tuple(
                one
                for topic, queue, _, key, place in each
                if (one := (topic, queue, key)) in held and delayed.get(one, place) == place
            )
            for each in got
        )
        keys = [(topic, key) for topic, _, key in known or every]
        return Measured(True, every, rest, 0 if slave else driver.ask("by_key", messages=keys))

    def before(self, base: str, folder: Path) -> Measured:
        """The counts of a sound store."""
        if base not in self._sound:
            found = self.measure(sound(base, folder), base, {**config_of(base), **log_paths(base)})
            assert found.started
            assert len(set(found.every)) == len(found.every)
            assert len(found.every) > len(found.rest) or "enableLmq" in config_of(
                base
            )  # it keeps offsets elsewhere
            self._sound[base] = found
        return self._sound[base]


def _retried(driver: RealBroker, what: str, **arguments: object) -> Any:
    """An answer, as soon as the broker has become the leader of its DLedger group."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return driver.ask(what, **arguments)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
