"""Kills a broker under load at seeded moments, starts it again, and hands over both states of its store."""

import contextlib
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Final

from rocket_conformance.workload.client import Client, ClientError, Manifest
from rocket_conformance.workload.running import (
    Action,
    carry_out,
    first_messages,
    large_message,
    make_topics,
    plain_message,
    single_entry,
)

_PATIENCE: Final = 120.0
"""Seconds that a stop may take."""

_SOONEST, _LATEST = 0.5, 3.0
"""Seconds under load before a kill."""

_APART: Final = 20
"""ms between messages that come slowly."""

_LARGE: Final = 12

_BOUND: Final = 3_300
"""ms; a little more than the three seconds that recovery subtracts from the checkpoint."""

_FLUSHED: Final = 2_000
"""ms until the log is flushed, if the broker does that every second."""

_AFTER_STOP: Final = 100
"""Messages that are sent after a start over a cleanly stopped store."""


class Broker:
    """A broker that a shell command starts, in a process group of its own; only that group is ever signalled."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it; it is ready when it takes a topic."""
        self._process = subprocess.Popen(  # noqa: S602 - the user's own command
            self._command,
            shell=True,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """Kill -9 to every process of its group."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Asks it to stop, and waits.

        Raises ClientError: when it does not stop in two minutes; it is killed then.
        """
        process = self._process
        self._signal(signal.SIGTERM, wait=False)
        try:
            if process is not None:
                process.wait(_PATIENCE)
                self._wait_for_group(process.pid)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ClientError(f"the broker did not stop in {_PATIENCE:.0f} seconds after SIGTERM") from None
        self._process = None

    def _wait_for_group(self, group: int) -> None:
        """Waits for children of the shell that outlive it."""
        pause = threading.Event()
        for _ in range(int(_PATIENCE * 20)):
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return
            pause.wait(0.05)
        raise subprocess.TimeoutExpired(self._command, _PATIENCE)

    def _signal(self, number: signal.Signals, *, wait: bool = True) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        if wait:
            self._process.wait()
            self._process = None


def send_for_the_bound(client: Client, manifest: Manifest) -> None:
    """Sends bodies that fill log files of a small size, waits, and sends a few more; to be followed by a stop.

    The checkpoint of the stop is then more than three seconds after log files that begin within the last index file, and less
    than that after another one, if the broker flushed its whole log meanwhile (`flushPhysicQueueThoroughInterval` at 1000). The
    start after the next kill deletes that index file, and recovery goes back to the former, but not to its first key (CKP-3).
    """
    rng = random.Random(manifest.seed)
    before, after = ([large_message(rng) for _ in range(count)] for count in (_LARGE, _LARGE // 2))
    for action in (*before, {"do": "pause", "ms": _BOUND}, *after, {"do": "pause", "ms": _FLUSHED}):
        carry_out(client, manifest, action)


def run_crashes(
    broker: Broker,
    client: Client,
    manifest: Manifest,
    *,
    kills: int,
    on_crash: Callable[[int], None],
    on_restart: Callable[[int], None],
) -> None:
    """Starts the broker, sends, kills it, starts it again and stops it, `kills` times; then does the same without a kill.

    Before the first kill messages come slowly, so that the last index file of a small geometry does not roll; before the
    others as fast as the broker takes them.

    Args:
        broker: not running; left stopped.
        client: of its name server; it reconnects after each start.
        manifest: takes what was acknowledged before each kill; its seed decides what is sent, and when the kill comes.
        kills: number of crashes.
        on_crash: called with the number of the kill while the store is as the kill left it; with the number after the
            last kill's for the store as the last stop left it.
        on_restart: called with the same number after the broker started over the store and stopped.

    Raises ClientError: when the client ends, the broker does not take a topic, or does not stop.
    """
    rng = random.Random(manifest.seed)
    try:
        for number in range(1, kills + 1):
            broker.start()
            make_topics(client)
            timer = threading.Timer(rng.uniform(_SOONEST, _LATEST), broker.kill)
            timer.start()
            _send_until_gone(client, manifest, _slowly() if number == 1 else _fast(manifest, rng))
            timer.join()
            on_crash(number)
            broker.start()
            make_topics(client)
            broker.stop()
            on_restart(number)
        on_crash(kills + 1)
        broker.start()
        make_topics(client)
        for number in range(_AFTER_STOP):
            carry_out(client, manifest, plain_message(rng, number))
        broker.stop()
        on_restart(kills + 1)
    finally:
        broker.kill()


def _slowly() -> Iterator[Action]:
    """First messages of queues, then messages of one index entry, some milliseconds apart."""
    yield from first_messages()
    while True:
        yield single_entry()
        yield {"do": "pause", "ms": _APART}


def _fast(manifest: Manifest, rng: random.Random) -> Iterator[Action]:
    while True:
        yield plain_message(rng, len(manifest.sent))


def _send_until_gone(client: Client, manifest: Manifest, actions: Iterator[Action]) -> None:
    for action in actions:
        if "error" in carry_out(client, manifest, action):
            return
