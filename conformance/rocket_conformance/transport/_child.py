"""An implementation in a child process: several cases in flight, and every way of dying survived."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

from rocket_conformance.protocol import (
    BYE,
    Hello,
    ProtocolError,
    decode_line,
    encode_line,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)
from rocket_conformance.transport._job import AdapterError, Answered, Failed, Failure, Job, Reply, Transport
from rocket_conformance.transport._pool import PoolTransport
from rocket_conformance.transport._process import Event, Process

HELLO_SECONDS: Final = 60.0
BYE_SECONDS: Final = 5.0
_CHECK_HINT: Final = "`rocketspec adapter check` explains what an adapter does wrong"

MOST_FAILED_STARTS: Final = 3
"""An adapter that does not start again this many times in a row is given up."""


class _BrokenError(Exception):
    """The process is of no more use, and has been ended."""

    def __init__(self, verdict: Failure, detail: str) -> None:
        super().__init__(detail)
        self.verdict: Failure = verdict
        self.detail = detail


class _Ahead:
    """Jobs, of which the next can be made before there is room for it."""

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
        case_timeout: seconds that a case may take once it is the oldest unanswered one.
        check: called with each message and its direction (`suite` or `adapter`); raises ProtocolError.

    Raises:
        AdapterError: when it does not start, or does not answer hello as it should within 60 s.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        case_timeout: float = 10.0,
        check: Callable[[str, Any], None] | None = None,
    ) -> None:
        self._command = list(command)
        self._case_timeout = case_timeout
        self._check = check
        self._failed_starts = 0
        self._interrupted = False
        self._process: Process | None = None
        self._served = 0
        self._clock = 0.0
        self.gave_up: str | None = None
        self.hello: Hello = self._start()

    def _start(self) -> Hello:
        process = Process(self._command)
        try:
            message = hello_message(suite_version())
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
            raise AdapterError(f"{self._command[0]}: {error}; {_CHECK_HINT}; it {fate}") from error
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
        """Ends the process; returns how it ended."""
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
        if self._interrupted:
            self._drop(patience=0.0)
            self._interrupted = False
        try:
            while self.gave_up is None:
                yield from self._fill(ahead, waiting)
                if not waiting:
                    return
                ahead.fetch()
                try:
                    job, reply = self._receive(waiting)
                except _BrokenError as broken:
                    if self._interrupted:
                        return
                    unanswered = list(waiting.values())
                    waiting.clear()
                    yield from self._again(unanswered, broken)
                else:
                    yield job, reply
        except BaseException as error:
            if waiting or not isinstance(error, GeneratorExit):
                self._drop(patience=0.0)  # answers that still come would confuse the next run
            raise

    @contextmanager
    def side_by_side(self, count: int, /) -> Generator[Transport]:
        """Further processes of the command, as one transport; this one alone if they do not start."""
        with ExitStack() as stack:
            others: list[ChildTransport] = []
            with suppress(AdapterError):
                for _ in range(count):
                    other = ChildTransport(self._command, case_timeout=self._case_timeout, check=self._check)
                    stack.callback(other.close)
                    others.append(other)
            yield PoolTransport(others) if others else self

    def interrupt(self) -> None:
        """Ends the process, from any thread: `run` returns without what is in flight."""
        self._interrupted = True
        process = self._process
        if process is not None:
            process.kill()

    def _fill(self, ahead: _Ahead, waiting: dict[str, Job]) -> Generator[tuple[Job, Reply]]:
        """Sends jobs while the adapter takes more; yields those that could not be sent."""
        while self.gave_up is None and len(waiting) < self.hello.max_in_flight:
            job = ahead.take()
            if job is None:
                return
            try:
                self._send(job)
                if not waiting:
                    self._clock = time.monotonic()
            except _BrokenError as broken:
                yield job, Failed(broken.verdict, broken.detail, ended=True)
            except OSError as error:
                yield job, Failed("errored", f"the directory of the case cannot be made: {error.strerror}")
            else:
                waiting[job.token] = job

    def _send(self, job: Job) -> None:
        """Sends a job.

        Raises:
            _BrokenError: when the process cannot be started again.
            OSError: when the directory of the case cannot be made.
        """
        message = job.prepare()
        if self._process is None:
            try:
                self._start()
            except AdapterError as error:
                self._failed_starts += 1
                if self._failed_starts >= MOST_FAILED_STARTS:
                    self.gave_up = f"the adapter did not start again: {error}"
                raise _BrokenError("crash", f"it did not start again: {error}") from error
            self._failed_starts = 0
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
        oldest, job = next(iter(waiting.items()))
        seconds = min(self._case_timeout, job.seconds or self._case_timeout)
        line = self._process.receive(self._clock + seconds - time.monotonic())
        if line is Event.SILENCE:
            fate = self._drop(patience=0.0)
            raise _BrokenError("timeout", f"no answer within {seconds:g} s; it {fate}")
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
            raise _BrokenError("errored", f"{error}; {_CHECK_HINT}; it {fate}") from error
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
        """Blames one of the unanswered jobs, and runs the others again, one at a time.

        Of a hang the oldest is to blame: its time is up. Of a crash it is the one that crashes alone in a fresh process,
        and when none does, none of them can be relied on.
        """
        suspects = list(jobs)
        if broken.verdict == "timeout" or (len(jobs) == 1 and self._served == 1):
            yield suspects.pop(0), Failed(broken.verdict, broken.detail, ended=True)
        replies: list[tuple[Job, Reply]] = []
        nobody = len(suspects) == len(jobs)
        self._drop(patience=0.0)
        for job in suspects:
            try:
                self._send(job)
                self._clock = time.monotonic()
                _, reply = self._receive({job.token: job})
            except _BrokenError as alone:
                if self._interrupted:
                    return
                nobody = False
                reply = Failed(alone.verdict, alone.detail, ended=True)
            except OSError as error:
                reply = Failed("errored", f"the directory of the case cannot be made: {error.strerror}")
            replies.append((job, reply))
            if self.gave_up is not None:
                break
        for place, (job, reply) in enumerate(replies):
            if nobody and isinstance(reply, Answered):
                what = f"answered when run alone; before, {broken.detail}"
                yield job, Failed("unstable", what, ended=place == 0)
            else:
                yield job, reply
