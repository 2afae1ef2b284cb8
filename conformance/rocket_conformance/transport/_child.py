"""An implementation in a child process: several cases in flight, and every way of dying survived; and what a run opens."""

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from rocket_conformance.judging import Trial, Verdict
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
from rocket_conformance.rocketmq import command
from rocket_conformance.schema import check_message
from rocket_conformance.transport._transport import (
    AdapterError,
    Event,
    PoolTransport,
    Process,
    Transport,
    no_orphans,
)

HELLO_SECONDS: Final = 60.0
SILENT_SECONDS: Final = 5.0
BYE_SECONDS: Final = 5.0
_CHECK_HINT: Final = "`rocketspec adapter check` explains what an adapter does wrong"

_NO_DIRECTORY: Final = "the directory of the case cannot be made"

_FRESH: Final = 2
"""Times as long as its start took that the first case of a process may take."""

_A_TICK: Final = 0.005
"""Seconds of processor time below which a process has not computed: the systems count in hundredths."""

_SHORTEST_LOOK: Final = 0.1
"""Seconds between two looks at a process that is late."""

_IDLE_LOOKS: Final = 5
"""Looks in a row that find a process idle before it hangs: what was sent, or its answer, may still be on its way."""

MOST_FAILED_STARTS: Final = 3
"""An adapter that does not start again this many times in a row is given up."""


class _BrokenError(Exception):
    """The process is of no more use, and has been ended."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(detail)
        self.verdict: Verdict = verdict
        self.detail = detail


class _Ahead:
    """Trials, of which the next can be made before there is room for it."""

    def __init__(self, trials: Iterable[Trial]) -> None:
        self._source = iter(trials)
        self._next: Trial | None = None

    def fetch(self) -> None:
        if self._next is None:
            self._next = next(self._source, None)

    def take(self) -> Trial | None:
        self.fetch()
        trial, self._next = self._next, None
        return trial


class ChildTransport:
    """Speaks JSON Lines with a command's stdin and stdout.

    Args:
        command: the command and its arguments, run without a shell.
        case_timeout: seconds that a case may take once it is the oldest unanswered one.
        check: called with each message and its direction (`suite` or `adapter`); raises ProtocolError.
        notice: called with a sentence when the process has been silent for five seconds and may go on.
        lenient: whether a line of the wrong form costs its case alone and not the process.

    Raises AdapterError: when it does not start, or does not answer hello as it should within 60 s.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        case_timeout: float = 10.0,
        check: Callable[[str, Any], None] | None = None,
        notice: Callable[[str], None] | None = None,
        lenient: bool = False,
    ) -> None:
        self._command = list(command)
        self._case_timeout = case_timeout
        self._check = check
        self._notice = notice
        self._lenient = lenient
        self._failed_starts = 0
        self._interrupted = self._closed = False
        self._starting = threading.Lock()
        self._process: Process | None = None
        self._served = self._answered = 0
        self._last = ""
        self._start_seconds = self._clock = self._computed = 0.0
        # the last line that the process wrote, or what came instead of one
        self.line: bytes | Event = Event.SILENCE
        self.gave_up: str | None = None
        self.hello: Hello = self._start()

    def _start(self) -> Hello:
        with self._starting:  # once `close` has returned, nothing starts any more
            if self._closed:
                raise AdapterError(f"{self._command[0]}: not started again: the run is over")
            process = self._process = Process(self._command)
        self._served = self._answered = 0
        try:
            message = hello_message(suite_version())
            self._outgoing(message)
            process.send(encode_line(message))
            self.line = self._patiently(process, HELLO_SECONDS, "hello")
            if isinstance(self.line, Event):
                raise ProtocolError(f"no answer to hello: {self.line.value}")  # noqa: TRY301
            answer = decode_line(self.line)
            if self._check is not None:
                self._check("adapter", answer)
            hello = parse_hello(answer)
        except ProtocolError as error:
            fate = self._drop(patience=0.5)
            text = f"{self._command[0]}: {error}; {_CHECK_HINT}; it {fate}"
            silent = isinstance(self.line, Event)
            reason = f"instead of an answer it {fate}" if silent else str(error)
            raise AdapterError(text, place=error.place, reason=reason, line=self.line) from error
        except BaseException:
            self._drop(patience=0.0)
            raise
        self._start_seconds = process.computed()
        return hello

    def close(self) -> None:
        """Says bye, waits five seconds, and ends what is still there."""
        with self._starting:
            self._closed = True
        if self._process is not None:
            self._process.send(encode_line(BYE))
            self._drop(patience=BYE_SECONDS)

    def farewell(self, *, bye: bool) -> tuple[bytes | Event, str]:
        """Says bye, or closes stdin without it: the line that comes, and how the process ends within five seconds."""
        if self._process is None:
            self._start()
        assert self._process is not None
        if bye:
            self._process.send(encode_line(BYE))
            line = self._process.receive(BYE_SECONDS)
            return line, self._drop(patience=BYE_SECONDS if line is Event.END else 0.5)
        return Event.END, self._drop(patience=BYE_SECONDS)

    def unasked(self, seconds: float) -> bytes | None:
        """A line that nothing asked for, if one comes in time."""
        line = self._process.receive(seconds) if self._process is not None else None
        return line if isinstance(line, bytes) else None

    def _drop(self, *, patience: float) -> str:
        """Ends the process; returns how it ended."""
        if self._process is None:
            return "was not running"
        process, self._process = self._process, None
        return process.end(patience=patience)

    def _outgoing(self, message: dict[str, Any]) -> None:
        if self._check is not None:
            self._check("suite", message)

    # --- cases --------------------------------------------------------------------------------------------

    def run(self, trials: Iterable[Trial]) -> Generator[Trial]:
        """Runs the trials, as many in flight as the adapter takes; the next one is made while it works."""
        ahead = _Ahead(trials)
        waiting: dict[str, Trial] = {}
        self._wind(None)
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
                    trial = self._receive(waiting)
                except _BrokenError as broken:
                    if self._interrupted:
                        return
                    unanswered = list(waiting.values())
                    waiting.clear()
                    yield from self._again(unanswered, broken)
                else:
                    yield trial
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
                    other = ChildTransport(
                        self._command, case_timeout=self._case_timeout, check=self._check, notice=self._notice
                    )
                    stack.callback(other.close)
                    others.append(other)
            yield PoolTransport(others) if others else self

    def interrupt(self) -> None:
        """Ends the process, from any thread: `run` returns without what is in flight."""
        self._interrupted = True
        process = self._process
        if process is not None:
            process.kill()

    def _fill(self, ahead: _Ahead, waiting: dict[str, Trial]) -> Generator[Trial]:
        """Sends trials while the adapter takes more; yields those that could not be sent."""
        while self.gave_up is None and len(waiting) < self.hello.max_in_flight:
            trial = ahead.take()
            if trial is None:
                return
            try:
                self._send(trial)
                if not waiting:
                    self._wind(trial)
            except _BrokenError as broken:
                yield trial.fail(broken.verdict, broken.detail, ended=True)
            except OSError as error:
                yield trial.fail("errored", f"{_NO_DIRECTORY}: {error.strerror}")
            else:
                waiting[trial.token] = trial

    def _send(self, trial: Trial) -> None:
        """Sends a trial.

        Raises _BrokenError: when the process cannot be started again.
        Raises OSError: when the directory of the case cannot be made.
        """
        message = trial.prepare()
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

    # --- time ---------------------------------------------------------------------------------------------

    def _wind(self, oldest: Trial | None) -> None:
        self._clock = time.monotonic()
        if oldest is not None and oldest.seconds is not None and self._process is not None:
            self._computed = self._process.computed()

    def _patiently(self, process: Process, seconds: float, what: str) -> bytes | Event:
        """The next line within a time; that of a long silence is said."""
        line = process.receive(min(seconds, SILENT_SECONDS))
        if line is Event.SILENCE and seconds > SILENT_SECONDS:
            if self._notice is not None:
                self._notice(
                    f"{self._command[0]}: no answer to {what} for {SILENT_SECONDS:g} s; waiting up to {seconds:.0f} s"
                )
            line = process.receive(seconds - SILENT_SECONDS)
        return line

    def _take_time(self, trial: Trial, process: Process) -> None:
        """Takes down the processor time of a trial that has a limit, and is answered; of a fresh process there is none."""
        if trial.seconds is not None and not self._is_fresh():
            trial.computed = max(0.0, process.computed() - self._computed)

    def _is_fresh(self) -> bool:
        """Whether the process has not answered as many cases yet as it takes at once."""
        return self._answered < self.hello.max_in_flight

    def _wait(self, oldest: Trial, process: Process) -> tuple[bytes | Event, str]:
        """The next line, and the time that passed without one, in words.

        A trial with a limit of its own hangs when the process has computed for so long, or is found idle several times: on
        a busy machine it gets more time. In a fresh process it may take a few times as long as the start took.
        """
        limit, until = oldest.seconds, self._clock + self._case_timeout
        if limit is not None and self._is_fresh():
            limit = max(limit, _FRESH * self._start_seconds)
        if limit is None or limit >= self._case_timeout:
            line = self._patiently(process, until - time.monotonic(), f"case {oldest.case.id}")
            return line, f"{self._case_timeout:g} s"
        step, used, idle = self._clock + limit - time.monotonic(), self._computed, 0
        while (line := process.receive(step)) is Event.SILENCE:
            before, used = used, process.computed()
            if used - self._computed >= limit:
                return line, f"{limit:.1f} s of processor time"
            idle = idle + 1 if used - before < _A_TICK and process.waits() else 0
            if idle == _IDLE_LOOKS or time.monotonic() >= until:
                break
            step = min(max(limit / 2, _SHORTEST_LOOK), until - time.monotonic())
        return line, f"{time.monotonic() - self._clock:.1f} s"

    def _receive(self, waiting: dict[str, Trial]) -> Trial:
        """The next trial that is answered.

        Raises _BrokenError: when the process is of no more use; it has been ended.
        """
        assert self._process is not None
        oldest = next(iter(waiting.values()))
        self.line, passed = self._wait(oldest, self._process)
        if self.line is Event.SILENCE:
            fate = self._drop(patience=0.0)
            raise _BrokenError("timeout", f"no answer within {passed}; it {fate}")
        if self.line is Event.END:
            raise _BrokenError("crash", f"it {self._drop(patience=2.0)}")
        if isinstance(self.line, Event):
            self._drop(patience=0.0)
            raise _BrokenError("errored", self.line.value)
        try:
            answer = decode_line(self.line)
            token = answer.get("id")
            if not isinstance(token, str) or token not in waiting:
                second = f"second answer with id {token!r}, beside the first"
                known = f"answer with id {token!r}, which no unanswered case has"
                raise ProtocolError(second if token == self._last else known)  # noqa: TRY301
        except ProtocolError as error:
            if self._lenient:
                return waiting.pop(oldest.token).fail("errored", str(error))
            fate = self._drop(patience=0.0)
            raise _BrokenError("errored", f"{error}; {_CHECK_HINT}; it {fate}") from error
        trial = waiting.pop(token)
        self._last = token
        if trial is oldest:
            self._take_time(trial, self._process)
            self._wind(next(iter(waiting.values()), None))  # the next one is the oldest now
        self._answered += 1
        try:
            if self._check is not None:
                self._check("adapter", answer)
            trial.answer = parse_answer(answer, trial.case.ops)
        except ProtocolError as error:
            return trial.fail("errored", str(error))
        return trial

    def _again(self, trials: list[Trial], broken: _BrokenError) -> Generator[Trial]:
        """Blames one of the unanswered trials, and runs the others again, one at a time.

        Of a hang the oldest is to blame: its time is up. Of a crash it is the one that crashes alone in a fresh process,
        and when none does, none of them can be relied on.
        """
        suspects = list(trials)
        if broken.verdict == "timeout" or (len(trials) == 1 and self._served == 1):
            yield suspects.pop(0).fail(broken.verdict, broken.detail, ended=True)
        done: list[Trial] = []
        nobody = len(suspects) == len(trials)
        self._drop(patience=0.0)
        for trial in suspects:
            try:
                self._send(trial)
                self._wind(trial)
                self._receive({trial.token: trial})
            except _BrokenError as alone:
                if self._interrupted:
                    return
                nobody = False
                trial.fail(alone.verdict, alone.detail, ended=True)
            except OSError as error:
                trial.fail("errored", f"{_NO_DIRECTORY}: {error.strerror}")
            done.append(trial)
            if self.gave_up is not None:
                break
        for place, trial in enumerate(done):
            if nobody and trial.answer is not None:
                trial.answer = None
                trial.fail("unstable", f"answered when run alone; before, {broken.detail}", ended=place == 0)
            yield trial


# --- session ------------------------------------------------------------------------------------------


@contextmanager
def open_command(
    command: Sequence[str],
    *,
    case_timeout: float = 10.0,
    check_schema: bool = False,
    jobs: int = 1,
    notice: Callable[[str], None] | None = None,
) -> Generator[Transport]:
    """A command as adapter, ended with all that it started when the block ends.

    Args:
        command: the command and its arguments, run without a shell.
        case_timeout: seconds that a case may take.
        check_schema: whether each message is validated by its JSON Schema.
        jobs: number of processes to run in parallel.
        notice: called with a sentence when a process has been silent for five seconds.

    Raises AdapterError: when it does not start or does not answer hello.
    """
    with no_orphans(), ExitStack() as stack:
        transports: list[ChildTransport] = []
        for _ in range(jobs):
            check = check_message if check_schema else None
            transport = ChildTransport(command, case_timeout=case_timeout, check=check, notice=notice)
            stack.callback(transport.close)
            transports.append(transport)
        yield transports[0] if jobs == 1 else PoolTransport(transports)


def open_jar(version: str, *, jars: Path | None = None, **limits: Any) -> AbstractContextManager[Transport]:
    """The real RocketMQ of a version as adapter; `limits` are those of `open_command`.

    Raises JarUnavailableError: when there is no Java, no Maven or no such version.
    Raises AdapterError: when it does not start.
    """
    return open_command(command(version, jars), **limits)
