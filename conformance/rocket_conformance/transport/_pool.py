"""Several processes of one adapter in parallel, each with a thread that waits for its answers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from rocket_conformance.protocol import Hello
from rocket_conformance.transport._job import Job, OneProcess, Reply, Transport

_Answer = tuple["Job", "Reply"]

_GRACE: Final = 1
"""Jobs kept ready for a process beyond those it takes."""


class _Worker:
    """A process and its thread; `outstanding` is touched by the thread that hands out jobs alone."""

    def __init__(
        self,
        transport: OneProcess,
        answers: queue.SimpleQueue[tuple[_Worker, _Answer | BaseException | None]],
    ) -> None:
        self.outstanding = 0
        self.ended = False
        self.transport = transport
        self._answers = answers
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def has_room(self) -> bool:
        """Whether it takes one more job now."""
        return not self.ended and self.outstanding < self.transport.hello.max_in_flight + _GRACE

    def give(self, job: Job | None) -> None:
        """Hands it a job; None when there will be no more."""
        if job is not None:
            self.outstanding += 1
        self._jobs.put(job)

    def stop(self) -> None:
        """Ends it without waiting for what is in flight."""
        self._stop.set()
        self._jobs.put(None)
        if not self.ended and self.outstanding:
            self.transport.interrupt()
        self._thread.join()

    def _coming(self) -> Iterator[Job]:
        while (job := self._jobs.get()) is not None and not self._stop.is_set():
            yield job

    def _work(self) -> None:
        end: BaseException | None = None
        replies = self.transport.run(self._coming())
        try:
            for pair in replies:
                self._answers.put((self, pair))
                if self._stop.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
            end = error
        finally:
            replies.close()
        self._answers.put((self, end))


class PoolTransport:
    """Runs jobs on whichever of several transports has room; all are started, and of one adapter.

    Args:
        transports: at least one.

    Attributes:
        hello: of the first.
        gave_up: why one of them can run no further job, or None.
    """

    def __init__(self, transports: Sequence[OneProcess]) -> None:
        self._transports = transports
        self.hello: Hello = transports[0].hello
        self.gave_up: str | None = None

    def run(self, jobs: Iterable[Job]) -> Generator[_Answer]:
        """Runs the jobs, and gives each with its reply, in any order."""
        answers: queue.SimpleQueue[tuple[_Worker, _Answer | BaseException | None]] = queue.SimpleQueue()
        workers = [_Worker(transport, answers) for transport in self._transports]
        source = iter(jobs)
        more = True
        try:
            while True:
                while more and self.gave_up is None and (free := _freest(workers)) is not None:
                    job = next(source, None)
                    more = job is not None
                    if job is not None:
                        free.give(job)
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
    """The worker with the fewest jobs among those that take one more."""
    with_room = [worker for worker in workers if worker.has_room]
    return min(with_room, key=lambda worker: worker.outstanding, default=None)
