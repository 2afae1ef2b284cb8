"""A child process as a source of bounded lines: threads instead of select, which work on Windows too."""

import contextlib
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from enum import Enum
from typing import IO, Final

from rocket_spec.printable import printable

from rocket_conformance.protocol import MAX_LINE
from rocket_conformance.transport._descendants import descendants, kill
from rocket_conformance.transport._job import AdapterError

_BLOCK: Final = 1 << 16
_STDERR_TAIL: Final = 4096
_QUEUED: Final = 2048

LIVE: Final[set[int]] = set()
"""Ids of the adapters that run: each is ended by its `Process`."""


class Event(Enum):
    """What a process can give instead of a line."""

    END = "its output ended"
    TOO_LONG = f"it wrote a line longer than {MAX_LINE // 1024 // 1024} MiB"
    SILENCE = "it did not answer in time"


class Process:
    """One run of an adapter's command.

    Raises:
        AdapterError: when the command cannot be started.
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
        self._outgoing.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        ended = self._process.poll() is not None
        self._closed.set()
        self.kill()
        self._process.wait()
        LIVE.discard(self._process.pid)
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
    """What to write instead when the command line seems to be quoted as a whole."""
    try:
        parts = shlex.split(command[0])
    except ValueError:
        parts = []
    if len(command) > 1 or len(parts) < 2:
        return ""
    return f"; the command line is quoted as one word: write -- {shlex.join(parts)}"
