"""Transports: an object in this process, several processes of one adapter in parallel; and a child process as a source of lines.

A process is ended with all that it started. It is read by threads instead of select, which work on Windows too.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final, NoReturn, Protocol, cast

import psutil
from rocket_spec.printable import printable

from rocket_conformance.judging import Trial
from rocket_conformance.protocol import (
    BYE,
    MAX_LINE,
    Hello,
    ProtocolError,
    hello_message,
    parse_answer,
    parse_hello,
    suite_version,
)
from rocket_conformance.schema import check_message


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

    def side_by_side(self, count: int, /) -> contextlib.AbstractContextManager[Transport]:
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

    def side_by_side(self, _count: int, /) -> contextlib.AbstractContextManager[Transport]:
        """Itself."""
        return contextlib.nullcontext(self)

    def close(self) -> None:
        """Says bye."""
        self._handler.handle(dict(BYE))


@contextlib.contextmanager
def open_handler(handler: Handler, *, check_schema: bool = False) -> Generator[Transport]:
    """An object of this process as adapter.

    Raises AdapterError: when it does not answer hello.
    """
    transport = InProcessTransport(handler, check=check_message if check_schema else None)
    try:
        yield transport
    finally:
        transport.close()


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

    def side_by_side(self, _count: int, /) -> contextlib.AbstractContextManager[Transport]:
        """Itself: its processes are several already."""
        return contextlib.nullcontext(self)

    def close(self) -> None:
        """Says bye to each, and ends it."""
        for transport in self._transports:
            transport.close()


def _freest(workers: Sequence[_Worker]) -> _Worker | None:
    """The worker with the fewest trials among those that take one more."""
    with_room = [worker for worker in workers if worker.has_room]
    return min(with_room, key=lambda worker: worker.outstanding, default=None)


# --- signals ------------------------------------------------------------------------------------------

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")


class InterruptedBySignal(KeyboardInterrupt):
    """A signal arrived.

    Python replaces an exception that carries no state of its own with one of another text where it passes through a
    codec ("decoding with 'utf-16-be' codec failed"), so the name is an attribute and not only the text.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name  # of the signal, such as SIGTERM


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise InterruptedBySignal(signal.Signals(number).name)


@contextlib.contextmanager
def _signals(handler: Any) -> Generator[None]:
    """Within the block SIGINT, SIGTERM and SIGHUP have this handler; one that is ignored, as under nohup, stays so.

    In another thread than the main one nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        before = {
            number: signal.signal(number, handler)
            for number in numbers
            if signal.getsignal(number) not in {signal.SIG_IGN, None}
        }
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def stop_on_signals() -> contextlib.AbstractContextManager[None]:
    """Within the block SIGINT, SIGTERM and SIGHUP raise InterruptedBySignal, a KeyboardInterrupt."""
    return _signals(_stop)


# --- descendants --------------------------------------------------------------------------------------

_PR_SET_CHILD_SUBREAPER: Final = 36

_ROUNDS: Final = 10
"""Maximum number of searches for processes that are forked while others are ended."""

LIVE: Final[set[int]] = set()
"""Ids of the adapters that run: each is ended by its `Process`."""


def descendants(root: int) -> set[psutil.Process]:
    """The running processes below a process."""
    with contextlib.suppress(psutil.Error):
        return set(filter(_runs, psutil.Process(root).children(recursive=True)))
    return set()


def _with_children(pid: int) -> Iterator[psutil.Process]:
    """A process and all that is below it: on Linux by its own list of children, which is much quicker than a look at every process."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        yield process
        try:
            tasks = list(Path(f"/proc/{pid}/task").iterdir())
            below = [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:  # another system, or a thread that has just ended
            yield from process.children(recursive=True)
        else:
            for child in below:
                yield from _with_children(child)


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def kill(processes: set[psutil.Process]) -> None:
    """Ends processes, and collects those that are children of this one."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(list(processes), timeout=0.1)


@contextlib.contextmanager
def no_orphans() -> Generator[None]:
    """Ends, when the block ends, what was started in it and left its parent, and adapters whose end was interrupted.

    On Linux the children of a process that ended become children of this one, which finds them. Signals wait for that.
    """
    _adopt()
    before = descendants(os.getpid())
    try:
        yield
    finally:
        with _signals(signal.SIG_IGN):
            for _ in range(_ROUNDS):
                kept = before.union(*map(descendants, LIVE))
                left = {item for item in descendants(os.getpid()) - kept if item.pid not in LIVE}
                if not left:
                    break
                kill(left)


def _adopt() -> None:
    """Makes this process the parent of its descendants' orphans."""
    if sys.platform.startswith("linux"):
        import ctypes  # noqa: PLC0415 - only where a process is started

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# --- process ------------------------------------------------------------------------------------------

_BLOCK: Final = 1 << 16
_STDERR_TAIL: Final = 4096
_QUEUED: Final = 2048


class Event(Enum):
    """An event that a process can give instead of a line."""

    END = "its output ended"
    TOO_LONG = f"it wrote a line longer than {MAX_LINE // 1024 // 1024} MiB"
    SILENCE = "it did not answer in time"


class Process:
    """One run of an adapter's command.

    Raises AdapterError: when the command cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        program = shutil.which(command[0]) or command[0]
        try:
            self._process = subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=os.name
                == "posix",  # so that Ctrl-C reaches us alone, and its children end with it
            )
        except OSError as error:
            reason = f"{command[0]}: {(error.strerror or str(error)).lower()}"
            is_file = isinstance(error, PermissionError) and os.path.isfile(program)  # noqa: PTH113 - as it was given
            hint = f"; make it executable: chmod +x {program}" if is_file else _quoted_hint(command)
            raise AdapterError(printable(reason + hint)) from error
        LIVE.add(self._process.pid)
        self._lines: queue.Queue[bytes | Event] = queue.Queue(_QUEUED)
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._tail = b""
        streams = self._process.stdout, self._process.stderr, self._process.stdin
        self._threads = [
            threading.Thread(target=work, args=(stream,), daemon=True)
            for work, stream in zip((self._read, self._read_errors, self._write), streams, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, line: bytes) -> None:
        """Queues a line; a process that does not read it is noticed by its silence."""
        self._outgoing.put(line)

    def receive(self, seconds: float) -> bytes | Event:
        """The next line, waited for at most `seconds`."""
        try:
            return self._lines.get(timeout=seconds) if seconds > 0 else self._lines.get_nowait()
        except queue.Empty:
            return Event.SILENCE

    def end(self, *, patience: float = 0.0) -> str:
        """Ends the process, after `patience` seconds in which it may end by itself; returns how it ended."""
        LIVE.discard(self._process.pid)  # first: what is interrupted from here on is left to `no_orphans`
        self._outgoing.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        ended = self._process.poll() is not None
        self._closed.set()
        self.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(0.5)  # a grandchild may hold the pipes; the threads are daemons
        return self._fate() if ended else "was ended by the suite" + self._stderr()

    def kill(self) -> None:
        """Ends the process, its group and all that is below it; `receive` gives END soon after."""
        below = descendants(self._process.pid)
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._process.kill()
        kill(below)

    def computed(self) -> float:
        """Seconds of processor time that it and all that is below it have used."""
        used = 0.0
        for item in _with_children(self._process.pid):
            with contextlib.suppress(psutil.Error):
                times = item.cpu_times()
                used += times.user + times.system
        return used

    def waits(self) -> bool:
        """Whether neither it nor anything below it, for which it may wait, is running or reading from a disk."""
        every = list(_with_children(self._process.pid))
        with contextlib.suppress(psutil.Error):
            return bool(every) and all(item.status() == psutil.STATUS_SLEEPING for item in every)
        return False

    def _fate(self) -> str:
        code = self._process.returncode
        if code < 0:
            try:
                how = f"was killed by {signal.Signals(-code).name}"
            except ValueError:
                how = f"was killed by signal {-code}"
        else:
            how = f"exited with code {code}"
        return how + self._stderr()

    def _stderr(self) -> str:
        text = printable(self._tail.decode("utf-8", "replace").strip(), lines=True, limit=None)
        return f"; the end of its stderr:\n{text}" if text else ""

    # --- threads ------------------------------------------------------------------------------------------

    def _put(self, item: bytes | Event) -> None:
        while not self._closed.is_set():
            try:
                self._lines.put(item, timeout=0.2)
            except queue.Full:
                continue
            return

    def _read(self, stream: IO[bytes]) -> None:
        parts: list[bytes] = []
        length = 0
        with contextlib.suppress(OSError, ValueError):
            while block := os.read(stream.fileno(), _BLOCK):
                *lines, rest = block.split(b"\n")
                for line in lines:
                    self._put(b"".join([*parts, line]))
                    parts, length = [], 0
                parts.append(rest)
                length += len(rest)
                if length > MAX_LINE:
                    self._put(Event.TOO_LONG)
                    return
                if self._closed.is_set():
                    return
        self._put(Event.END)

    def _read_errors(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while block := os.read(stream.fileno(), _BLOCK):
                self._tail = (self._tail + block)[-_STDERR_TAIL:]

    def _write(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (line := self._outgoing.get()) is not None:
                stream.write(line)
                if self._outgoing.empty():
                    stream.flush()
        with contextlib.suppress(OSError, ValueError):
            stream.close()


def _quoted_hint(command: Sequence[str]) -> str:
    """The hint what to write instead if the command line seems to be quoted as a whole."""
    try:
        parts = shlex.split(command[0])
    except ValueError:
        parts = []
    if len(command) > 1 or len(parts) < 2:
        return ""
    return f"; the command line is quoted as one word: write -- {shlex.join(parts)}"
