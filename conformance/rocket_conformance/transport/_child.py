"""An implementation in a child process: several cases in flight, and every way of dying survived."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from rocket_conformance.protocol import (
    BYE,
    ProtocolError,
    decode_line,
    encode_line,
    hello_message,
    parse_answer,
    parse_hello,
)
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Failure, Job, Reply
from rocket_conformance.transport._process import Event, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from rocket_conformance.protocol import Hello

__all__ = ["ChildTransport"]

HELLO_SECONDS: Final = 60.0
BYE_SECONDS: Final = 5.0
MOST_DEATHS: Final = 40
"""So many processes may die in a run; an adapter that dies on everything ends it early."""


class _BrokenError(Exception):
    """The process is of no more use."""

    def __init__(self, verdict: Failure, detail: str) -> None:
        super().__init__(detail)
        self.verdict: Failure = verdict
        self.detail = detail


class _Ahead:
    """Jobs, the next of which can be made before there is room for it."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._source = iter(jobs)
        self._next: Job | None = None

    def fetch(self) -> None:
        """Makes the next job, if it is not made yet."""
        if self._next is None:
            self._next = next(self._source, None)

    def take(self) -> Job | None:
        """The next job; None after the last."""
        self.fetch()
        job, self._next = self._next, None
        return job


class ChildTransport:
    """Speaks JSON Lines with a command's stdin and stdout.

    Args:
        command: the command and its arguments, run without a shell.
        suite: version of this package, for hello.
        case_timeout: seconds that a case may take once it is the oldest unanswered one.
        check: called with each message and its direction (`suite` or `adapter`); raises ProtocolError.

    Raises:
        AdapterError: when it does not start, or does not answer hello as it should within 60 s.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        suite: str,
        case_timeout: float = 10.0,
        check: Callable[[str, Any], None] | None = None,
    ) -> None:
        self._command = list(command)
        self._suite = suite
        self._case_timeout = case_timeout
        self._check = check
        self._deaths = 0
        self._process: Process | None = None
        self._served = 0
        self._clock = 0.0
        self.gave_up: str | None = None
        self.hello: Hello = self._start()

    def _start(self) -> Hello:
        process = Process(self._command)
        try:
            message = hello_message(self._suite)
            self._outgoing(message)
            process.send(encode_line(message))
            line = process.receive(HELLO_SECONDS)
            if isinstance(line, Event):
                raise ProtocolError(f"no answer to hello: {line.value}")  # noqa: TRY301
            answer = decode_line(line)
            if self._check is not None:
                self._check("adapter", answer)
            hello = parse_hello(answer)
        except ProtocolError as error:
            fate = process.end(patience=0.5)
            raise AdapterError(f"{self._command[0]}: {error}; it {fate}") from error
        except BaseException:
            process.end()
            raise
        self._process = process
        self._served = 0
        return hello

    def close(self) -> None:
        """Says bye, waits five seconds, and ends what is still there."""
        if self._process is not None:
            self._process.send(encode_line(BYE))
            self._process.end(patience=BYE_SECONDS)
            self._process = None

    def _drop(self, *, patience: float) -> str:
        """Ends the process and says how it ended."""
        if self._process is None:
            return "was not running"
        fate = self._process.end(patience=patience)
        self._process = None
        return fate

    def _outgoing(self, message: dict[str, Any]) -> None:
        if self._check is not None:
            self._check("suite", message)

    # --- cases --------------------------------------------------------------------------------------------

    def run(self, jobs: Iterable[Job]) -> Generator[tuple[Job, Reply]]:
        """Runs the jobs, as many in flight as the adapter takes; the next job is made while it works."""
        ahead = _Ahead(jobs)
        waiting: dict[str, Job] = {}
        self._clock = time.monotonic()
        try:
            while self.gave_up is None:
                yield from self._fill(ahead, waiting)
                if not waiting:
                    return
                ahead.fetch()
                try:
                    job, reply = self._receive(waiting)
                except _BrokenError as broken:
                    unanswered = list(waiting.values())
                    waiting.clear()
                    yield from self._again(unanswered, broken)
                else:
                    yield job, reply
        except GeneratorExit:
            if waiting:  # whoever reads us lost interest; answers that come would confuse the next run
                self._drop(patience=0.0)
            raise

    def _fill(self, ahead: _Ahead, waiting: dict[str, Job]) -> Generator[tuple[Job, Reply]]:
        """Sends jobs while the adapter takes more; gives those that could not be sent."""
        while self.gave_up is None and len(waiting) < self.hello.max_in_flight:
            job = ahead.take()
            if job is None:
                return
            if not waiting:
                self._clock = time.monotonic()
            try:
                self._send(job)
            except _BrokenError as broken:
                yield job, Failed(broken.verdict, broken.detail)
            else:
                waiting[job.token] = job

    def _send(self, job: Job) -> None:
        if self._process is None:
            try:
                self._start()
            except AdapterError as error:
                self._died()
                raise _BrokenError("crash", f"it did not start again: {error}") from error
        message = job.prepare()
        self._outgoing(message)
        if self._process is not None:
            self._process.send(encode_line(message))
            self._served += 1

    def _receive(self, waiting: dict[str, Job]) -> tuple[Job, Reply]:
        """The next answer.

        Raises:
            _BrokenError: when the process is of no more use; it has been ended.
        """
        assert self._process is not None  # noqa: S101 - something is in flight
        line = self._process.receive(self._clock + self._case_timeout - time.monotonic())
        if line is Event.SILENCE:
            fate = self._drop(patience=0.0)
            raise _BrokenError("timeout", f"no answer within {self._case_timeout:g} s; it {fate}")
        if line is Event.END:
            raise _BrokenError("crash", f"it {self._drop(patience=2.0)}")
        if isinstance(line, Event):
            self._drop(patience=0.0)
            raise _BrokenError("errored", line.value)
        try:
            answer = decode_line(line)
            token = answer.get("id")
            if not isinstance(token, str) or token not in waiting:
                raise ProtocolError(f"answer with id {token!r}, which no unanswered case has")  # noqa: TRY301
        except ProtocolError as error:
            fate = self._drop(patience=0.0)
            raise _BrokenError("errored", f"{error}; it {fate}") from error
        oldest = next(iter(waiting))
        job = waiting.pop(token)
        if token == oldest:
            self._clock = time.monotonic()  # the next one is the oldest now
        try:
            if self._check is not None:
                self._check("adapter", answer)
            return job, Answered(parse_answer(answer, job.ops))
        except ProtocolError as error:
            return job, Failed("errored", str(error))

    def _again(self, jobs: list[Job], broken: _BrokenError) -> Generator[tuple[Job, Reply]]:
        """Runs each unanswered job alone in a fresh process.

        Who dies alone is to blame, and the others keep the answers that they give alone; when nobody does,
        none of them can be relied on.
        """
        self._died()
        if len(jobs) == 1 and self._served == 1:  # it was alone in a fresh process already
            yield jobs[0], Failed(broken.verdict, broken.detail)
            return
        replies: list[tuple[Job, Reply]] = []
        nobody = True
        for job in jobs:
            if self.gave_up is not None:
                break
            self._drop(patience=0.0)
            self._clock = time.monotonic()
            try:
                self._send(job)
                self._clock = time.monotonic()
                _, reply = self._receive({job.token: job})
                replies.append((job, reply))
            except _BrokenError as alone:
                self._died()
                nobody = False
                replies.append((job, Failed(alone.verdict, alone.detail)))
        for job, reply in replies:
            if nobody and isinstance(reply, Answered):
                yield job, Failed("unstable", f"answered when run alone; before, {broken.detail}")
            else:
                yield job, reply

    def _died(self) -> None:
        self._deaths += 1
        if self._deaths >= MOST_DEATHS:
            self.gave_up = f"the adapter died {self._deaths} times"

    def forgive(self) -> None:
        """Forgets earlier deaths, so that a few more cases may be tried."""
        self._deaths = 0
        self.gave_up = None
