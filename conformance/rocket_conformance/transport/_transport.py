"""Transports, the same interface for an object in this process and for several processes of one adapter in parallel."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol, cast

from rocket_spec.printable import printable

from rocket_conformance.judging import Trial
from rocket_conformance.protocol import (
    BYE,
    Hello,
    ProtocolError,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)


class AdapterError(Exception):
    """The adapter would not start, or broke the protocol at once."""

    def __init__(self, text: str, *, place: str = "", reason: str = "", line: object = None) -> None:
        super().__init__(text)
        self.place = place  # the rule of PROTOCOL.md that it broke; empty if it did not start
        self.reason = reason  # how it broke that
        self.line = line  # what came instead of a right answer to hello, if it started


class Transport(Protocol):
    """A started adapter."""

    hello: Hello  # what it declared
    gave_up: str | None  # why no further job can be run, or None

    def run(self, trials: Iterable[Trial]) -> Generator[Trial]:
        """Sends the trials, and yields each with its answer, or failed, in any order."""
        ...

    def side_by_side(self, count: int, /) -> AbstractContextManager[Transport]:
        """As many further processes of the same adapter as one transport; itself if there can be none."""
        ...

    def close(self) -> None:
        """Says bye, and ends it."""
        ...


class OneProcess(Transport, Protocol):
    """A transport that talks to one process."""

    def interrupt(self) -> None:
        """Ends the process, from any thread."""
        ...


# --- in process ---------------------------------------------------------------------------------------


class Handler(Protocol):
    """The interface that the in-process transport needs."""

    def handle(self, message: dict[str, Any]) -> Mapping[str, Any] | None:
        """The answer to a message of the protocol."""
        ...


class InProcessTransport:
    """Hands each case to the object; an exception that leaves it is `errored`.

    Args:
        handler: the implementation.
        check: called with each message and its direction (`suite` or `adapter`); raises ProtocolError.

    Raises AdapterError: when its answer to hello is not one.
    """

    def __init__(self, handler: Handler, *, check: Callable[[str, Any], None] | None = None) -> None:
        self._handler = handler
        self._check = check
        self.gave_up: str | None = None
        try:
            self.hello: Hello = parse_hello(self._exchange(hello_message(suite_version())))
        except Exception as error:
            raise AdapterError(f"the adapter in this process did not answer hello: {error}") from error

    def _exchange(self, message: dict[str, Any]) -> Mapping[str, Any]:
        if self._check is not None:
            self._check("suite", message)
        answer = cast("object", self._handler.handle(message))
        if not isinstance(answer, dict):
            raise ProtocolError(f"answered with {type(answer).__name__}, not an object")
        if self._check is not None:
            self._check("adapter", answer)
        return cast("dict[str, Any]", answer)

    def run(self, trials: Iterable[Trial]) -> Generator[Trial]:
        """Runs the trials one after the other."""
        for trial in trials:
            try:
                answer = self._exchange(trial.prepare())
                if answer.get("id") != trial.token:
                    raise ProtocolError(f"answered case {trial.token} with id {answer.get('id')!r}")  # noqa: TRY301
                trial.answer = parse_answer(answer, trial.case.ops)
            except ProtocolError as error:
                trial.fail("errored", str(error))
            except Exception as error:  # noqa: BLE001 - whatever leaves an implementation is its verdict
                trial.fail("errored", printable(f"{type(error).__name__}: {error}"))
            yield trial

    def side_by_side(self, _count: int, /) -> AbstractContextManager[Transport]:
        """Itself."""
        return nullcontext(self)

    def close(self) -> None:
        """Says bye."""
        self._handler.handle(dict(BYE))


# --- pool ---------------------------------------------------------------------------------------------

_GRACE: Final = 1
"""Trials kept ready for a process beyond those it takes."""


class _Worker:
    """A process and its thread; `outstanding` is touched by the thread that hands out trials alone."""

    def __init__(
        self, transport: OneProcess, answers: queue.SimpleQueue[tuple[_Worker, Trial | BaseException | None]]
    ) -> None:
        self.outstanding = 0
        self.ended = False
        self.transport = transport
        self._answers = answers
        self._trials: queue.SimpleQueue[Trial | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def has_room(self) -> bool:
        return not self.ended and self.outstanding < self.transport.hello.max_in_flight + _GRACE

    def give(self, trial: Trial | None) -> None:
        if trial is not None:
            self.outstanding += 1
        self._trials.put(trial)

    def stop(self) -> None:
        """Ends it without waiting for what is in flight."""
        self._stop.set()
        self._trials.put(None)
        if not self.ended and self.outstanding:
            self.transport.interrupt()
        self._thread.join()

    def _coming(self) -> Iterator[Trial]:
        while (trial := self._trials.get()) is not None and not self._stop.is_set():
            yield trial

    def _work(self) -> None:
        end: BaseException | None = None
        replies = self.transport.run(self._coming())
        try:
            for trial in replies:
                self._answers.put((self, trial))
                if self._stop.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
            end = error
        finally:
            replies.close()
        self._answers.put((self, end))


class PoolTransport:
    """Runs trials on whichever of several transports has room; all are started, and of one adapter."""

    def __init__(self, transports: Sequence[OneProcess]) -> None:
        self._transports = transports
        self.hello: Hello = transports[0].hello  # of the first
        self.gave_up: str | None = None  # why one of them can run no further trial, or None

    def run(self, trials: Iterable[Trial]) -> Generator[Trial]:
        """Runs the trials, and yields each as it is answered, in any order."""
        answers: queue.SimpleQueue[tuple[_Worker, Trial | BaseException | None]] = queue.SimpleQueue()
        workers = [_Worker(transport, answers) for transport in self._transports]
        source = iter(trials)
        more = True
        try:
            while True:
                while more and self.gave_up is None and (free := _freest(workers)) is not None:
                    trial = next(source, None)
                    more = trial is not None
                    if trial is not None:
                        free.give(trial)
                if not more or self.gave_up is not None:
                    for worker in workers:
                        worker.give(None)
                if all(worker.ended for worker in workers):
                    return
                worker, answer = answers.get()
                if answer is None or isinstance(answer, BaseException):
                    worker.ended = True
                    self.gave_up = self.gave_up or worker.transport.gave_up
                    if answer is not None:
                        raise answer
                else:
                    worker.outstanding -= 1
                    yield answer
        finally:
            for worker in workers:
                worker.stop()

    def side_by_side(self, _count: int, /) -> AbstractContextManager[Transport]:
        """Itself: its processes are several already."""
        return nullcontext(self)

    def close(self) -> None:
        """Says bye to each, and ends it."""
        for transport in self._transports:
            transport.close()


def _freest(workers: Sequence[_Worker]) -> _Worker | None:
    """The worker with the fewest trials among those that take one more."""
    with_room = [worker for worker in workers if worker.has_room]
    return min(with_room, key=lambda worker: worker.outstanding, default=None)
