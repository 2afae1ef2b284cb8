"""Scenarios: tables of steps through which a real broker and its store are taken, and what each step finds."""

import os
import random
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from broken_stores import change
from judged_stores import judge_store
from planted_faults import Fault, overlay
from real_broker import Acknowledged, RealBroker, generator_jars
from rocket_columnar.audit import audited
from rocket_columnar.facts import Store
from rocket_columnar.formats import hash_key, index_key
from rocket_columnar.rebuild import rebuild
from rocket_columnar.restart import Restart, restart
from rocket_columnar.store import read_broker_conf
from rocket_conformance.store_verdict import StoreVerdict, judge_crashes
from rocket_conformance.workload import Broker, Client, Manifest, read_manifest, run_workload
from rocket_spec.layout import Geometry
from rocket_spec.profiles import Profile

TOPIC: Final = "Load"
LATER: Final = "Later"
QUEUES: Final = 3
COUNT: Final = 600
"""Plain messages of a workload."""
_PATIENCE: Final = 60  # seconds
_PARTS: Final = ("index", "consumequeue", "consumequeue_ext", "commitlog")


@dataclass(frozen=True)
class Start:
    """A start, and what was said of it before.

    Attributes:
        acknowledged: messages that were acknowledged since the start before it.
        predicted: what it was said to do.
        predicted_lost: physical offsets of messages whose own key it was said to lose.
        deleted: files that it deleted.
        log_end: the log's end by the broker's own figures.
        dispatch_from: where the broker's log says that it began to recover.
        lost: physical offsets of messages that the real tools no longer find by key.
        wrong: keys for which the real tools find something else.
        bounds: of each queue its minimum and maximum logical offset afterwards.
    """

    acknowledged: list[Acknowledged]
    predicted: Restart
    predicted_lost: set[int]
    deleted: set[str]
    log_end: int
    dispatch_from: int
    lost: set[int]
    wrong: set[str]
    bounds: list[tuple[int, int]]

    def faults(self) -> list[str]:
        """What was not as foretold, and messages that queues lost; keys that were lost already aside."""
        said = self.predicted
        compared = {
            "refused": (said.refused, None),
            "lost units": (said.lost_units, ()),
            "deleted": ({one.file for one in said.deletions if one.action == "delete"}, self.deleted),
            "log end": (said.log_end, self.log_end),
            "dispatch": (said.dispatch_from, said.dispatch_from if said.clean else self.dispatch_from),
            "wrong keys": (set[str](), self.wrong),
        }
        found = [f"{name}: {one} and {other}" for name, (one, other) in compared.items() if one != other]
        for one in self.acknowledged:
            first, end = self.bounds[one.queue_id]
            if not first <= one.queue_offset < end:
                found.append(f"{one} is not in its queue")
        return found


class Scenario(RealBroker):
    """A real broker that takes steps; use it in a `with` block.

    A step is the name of a method with words, such as `load 6 300 3`, or of a change to the files of the store, such as
    `remove index` (`broken_stores.txt`). Words with `=` are settings.

    Args:
        folder: where configuration, logs and stores go.
        java: path of `java`.
        config: settings of every start.
        jars: a folder of another release's jars, for the broker alone.
        release: of the broker, for verbs that need it; None takes what the bytes of the store show.

    Attributes:
        known: messages that were acknowledged in this store.
        sample: number of messages from before the last start whose keys are looked for after the next one; None is all.
        starts: what the steps `foretold` found.
        manifest: of the last workload.
    """

    def __init__(
        self,
        folder: Path,
        java: str,
        config: Mapping[str, str],
        *,
        jars: Path | None = None,
        release: str | None = None,
    ) -> None:
        super().__init__(folder, java, config, jars=jars)
        self.release = release
        self.known: list[Acknowledged] = []
        self.sample: int | None = None
        self.starts: list[Start] = []
        self.manifest: Manifest | None = None
        self._recent = 0
        self._client: Client | None = None
        self._open = ExitStack()
        self._choose = random.Random(1)

    def __exit__(self, *ended: object) -> None:
        self._open.close()
        super().__exit__(*ended)

    def do(self, *steps: str) -> None:
        """Takes steps, one after the other."""
        for step in steps:
            name, *words = step.split()
            settings = dict(word.split("=", 1) for word in words if "=" in word)
            method = getattr(self, name, None)
            if method is None:
                change(self.store, name, *words)
            else:
                method(*(word for word in words if "=" not in word), **settings)

    # Steps

    def use(self, store: str) -> None:
        """Goes on with another store."""
        self.store = self.folder / store
        self.known, self._recent = [], 0

    def start(self, **config: str) -> None:
        super().start(**config)
        if self.known:
            self.topics()

    def topics(self) -> None:
        """Makes the topics of the load, or waits until the client sees them."""
        self.ask("topic", topic=TOPIC, queues=QUEUES)
        self.ask("topic", topic=LATER, queues=1)

    def send(self, seed: str, per_second: str) -> None:
        """Begins a load."""
        self.topics()
        self.ask("load", topic=TOPIC, queues=QUEUES, seed=int(seed), per_second=int(per_second), threads=2)

    def settle(self) -> None:
        """Ends the load, and waits until all is dispatched."""
        self._acknowledge()
        self.ask("log")

    def load(self, seed: str, per_second: str, seconds: str) -> None:
        """A load of some seconds, all of it dispatched."""
        self.send(seed, per_second)
        time.sleep(float(seconds))
        self.settle()

    def crash(self, seed: str, per_second: str, seconds: str, until_lost: str = "") -> None:
        """Kill -9 under a load, after some seconds.

        With `until_lost` it waits until a restart would lose keys: the last index file began before what is dispatched again.
        """
        self.send(seed, per_second)
        time.sleep(float(seconds))
        deadline = time.monotonic() + _PATIENCE
        while until_lost and time.monotonic() < deadline and not restart(self.store).lost:
            time.sleep(0.2)
        self.kill()
        self._acknowledge()

    def foretold(self, **config: str) -> None:
        """Starts the broker, and compares with what was said of this start."""
        index_safe = config.get("messageIndexSafe") == "true"
        predicted = restart(self.store, index_safe=index_safe, release=self.release)
        acknowledged = self.known[self._recent :]
        every = [*self._sampled(self.known[: self._recent]), *acknowledged]
        foretold = {(lost.phy_offset, lost.key_hash) for lost in predicted.lost}
        links = self.snapshot("before-the-start")
        logged = {path: path.stat().st_size for path in self._logs()}
        self.start(**config)
        self._recent = len(self.known)
        found = dict(zip(every, self.query(TOPIC, [one.key for one in every]), strict=True)) if every else {}
        start = Start(
            acknowledged,
            predicted,
            {one.offset for one in every if (one.offset, hash_key(index_key(TOPIC, one.key))) in foretold},
            {name for name, link in links.items() if name.startswith(_PARTS) and link.stat().st_nlink == 1},
            int(self.ask("log")["commitLogMaxOffset"]),
            self._recovered_from(logged),
            {one.offset for one, offsets in found.items() if not offsets},
            {one.key for one, offsets in found.items() if offsets and set(offsets) != {one.offset}},
            [(first, end) for first, end in self.ask("bounds", topic=TOPIC, queues=QUEUES)] if every else [],
        )
        shutil.rmtree(self.folder / "before-the-start")
        self.starts.append(start)

    def look(self) -> None:
        """Asserts that the real tools find the messages by key."""
        self.ask("log")
        sampled = self._sampled(self.known)
        assert self.query(TOPIC, [one.key for one in sampled]) == [[one.offset] for one in sampled]

    def rebuilt(self, *parts: str) -> None:
        """Deletes these directories of the store, rebuilds, and puts what came out in their place; the broker is down."""
        self.do(*(f"remove {part}" for part in parts))
        target = self.folder / "rebuilt"
        geometry = Geometry(int(self.config["maxHashSlotNum"]), int(self.config["maxIndexNum"]))
        size = int(self.config["mappedFileSizeConsumeQueue"])
        assert not rebuild(self.store, target, geometry=geometry, queue_file_size=size).findings
        for part in parts:
            (target / part).rename(self.store / part)
        shutil.rmtree(target)

    def workload(self, seed: str) -> None:
        """Sends a workload by the client of the product."""
        self._client = self._client or self._open.enter_context(Client(self.namesrv, version="4.9.3"))
        self.manifest = self._send(self._client, int(seed))

    # What steps are made of

    def look_at(self, store: Path) -> Store:
        """A store of this broker, with its configuration."""
        return Store(store, conf=read_broker_conf(Path(self.command()[-1])))

    def _acknowledge(self) -> None:
        self.known += self.stop_load()

    def _sampled(self, messages: Sequence[Acknowledged]) -> list[Acknowledged]:
        if self.sample is None or len(messages) <= self.sample:
            return list(messages)
        return self._choose.sample(messages, self.sample)

    def _logs(self) -> list[Path]:
        """The broker's own logs; 5.x has one for the store in a folder of its own."""
        return [self.log, *(self.folder / "home" / "logs").rglob("store.log")]

    def _recovered_from(self, logged: Mapping[Path, int]) -> int:
        """The commit-log file from which the broker says it recovers; the first where it says nothing."""
        said: list[str] = []
        for path in self._logs():
            written = path.read_bytes()[logged.get(path, 0) :].decode()
            said += re.findall(r"recover from this mapped file .*?(\d{20})$", written, re.MULTILINE)
        return int(said[-1] if said else min(path.name for path in (self.store / "commitlog").iterdir()))

    def _send(self, client: Client, seed: int) -> Manifest:
        return run_workload(client, seed=seed, count=COUNT, version="4.9.3", store=self.store)

    def judged_workload(
        self,
        name: str,
        config: Mapping[str, str],
        *,
        seed: int,
        fault: Fault | None = None,
        kills: int = 0,
        known: bool = False,
    ) -> StoreVerdict:
        """The verdict on a new store of one workload, and of starts after kills.

        Args:
            name: of the store.
            config: settings of the broker.
            seed: of the workload.
            fault: what is wrong with the broker.
            kills: number of crashes.
            known: whether the configuration is given to the judge.
        """
        self.use(name)
        self.config = dict(config)
        class_path = os.pathsep.join(generator_jars()[0])
        self.overlay = (
            None if fault is None else overlay(fault, self.folder / "faults" / fault.name, class_path)
        )
        if kills:
            return judge_crashes(
                Broker(self.shell_command()),
                lambda: Client(self.namesrv, version="4.9.3"),
                partial(self._send, seed=seed),
                self.store,
                kills=kills,
                look=self.look_at if known else Store,
                audit=audited,
                on_step=lambda _step, _manifest: None,
                profile=Profile(),
            )
        self.do("start", f"workload {seed}", "stop")
        assert self.manifest is not None
        assert fault is not None or self.manifest.refused == []
        written = self.folder / f"{name}.json"
        self.manifest.write(written)
        conf = self.look_at(self.store).conf if known else None
        return judge_store(self.store, manifest=read_manifest(written), conf=conf)
