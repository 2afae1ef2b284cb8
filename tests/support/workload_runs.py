"""Runs of the workload against real brokers that share one name server and one client."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from judged_stores import judge_store
from planted_faults import Fault, overlay
from real_broker import RealBroker, generator_jars
from rocket_columnar.audit import audited
from rocket_columnar.facts import Store
from rocket_conformance.store_verdict import StoreVerdict, judge_crashes
from rocket_conformance.workload import Broker, Client, Manifest, make_actions, read_manifest, run_workload
from rocket_spec.profiles import Profile

COUNT: Final = 600
"""Plain messages of a run."""


class WorkloadRuns(ExitStack):
    """One name server and one client, for as many runs as are wanted; use it in a `with` block.

    Each run starts the broker over a store of its own, sends one workload, stops the broker and judges the store.

    Args:
        folder: where everything goes; it must not exist.
        java: path of `java`.
        jars: a folder of another release's jars, for the broker alone.
    """

    def __init__(self, folder: Path, java: str, *, jars: Path | None = None) -> None:
        super().__init__()
        self._folder = folder
        self._broker = self.enter_context(RealBroker(folder / "broker", java, {}, jars=jars))
        self._client: Client | None = None

    def run(
        self, name: str, config: Mapping[str, str], *, seed: int, fault: Fault | None = None, kills: int = 0
    ) -> StoreVerdict:
        """The verdict on the store of one workload, and of starts after kills.

        Args:
            name: of the store; each run needs another one.
            config: settings of the broker.
            seed: of the workload.
            fault: what is wrong with the broker.
            kills: number of crashes.
        """
        broker, manifest = self._broker, self._folder / f"{name}.json"
        broker.config = dict(config)
        broker.store = self._folder / name
        class_path = os.pathsep.join(generator_jars()[0])
        broker.overlay = (
            None if fault is None else overlay(fault, self._folder / "faults" / fault.name, class_path)
        )
        if kills:
            return self._crash(seed, kills)
        broker.start()
        if self._client is None:
            self._client = self.enter_context(Client(broker.namesrv, version="4.9.3"))
        sent = self._send(self._client, seed)
        broker.stop()
        assert fault is not None or sent.refused == []
        sent.write(manifest)
        return judge_store(broker.store, manifest=read_manifest(manifest))

    def _send(self, client: Client, seed: int) -> Manifest:
        return run_workload(client, seed=seed, count=COUNT, version="4.9.3", store=self._broker.store)

    def _crash(self, seed: int, kills: int) -> StoreVerdict:
        broker = self._broker
        return judge_crashes(
            Broker(broker.shell_command()),
            lambda: Client(broker.namesrv, version="4.9.3"),
            partial(self._send, seed=seed),
            broker.store,
            kills=kills,
            look=Store,
            audit=audited,
            on_step=lambda _step, _manifest: None,
            profile=Profile(),
        )


def broken(verdict: StoreVerdict) -> dict[str, str]:
    """The broken clauses with their first places, in the order they were found."""
    return {clause: str(places[0]) for clause, places in verdict.observations.broken.items()}


def digest_of_workload() -> str:
    """A short name for what a run sends; figures of an older workload have another one."""
    return hashlib.sha256(json.dumps(make_actions(1, COUNT)).encode()).hexdigest()[:12]
