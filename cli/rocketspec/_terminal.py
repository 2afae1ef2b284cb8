"""Notes and the progress of long work, printed on stderr."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Protocol, TextIO, cast

from rocket_spec.printable import counted, printable

if TYPE_CHECKING:
    from rich.progress import Progress


PATIENCE = 1.0  # seconds of work before its progress is shown

_WORD: Final = re.compile(r" *(?:`[^`]*`[^ ]*|[^ ]+)")  # a command in backquotes is one
_GAP: Final = re.compile("^ +|  +")  # before a line's text, or between its columns

_MOST_SKIPS: Final = 10  # notes

_bars: list[Progress] = []  # the one that is shown, if any
_skips: list[str] = []  # files that the verb left out


class ProgressStep(Protocol):
    """Reports how far the work is."""

    def __call__(self, done: float, total: float | None, text: str | None = None) -> None: ...


def one_line(text: str) -> str:
    r"""`text` with line ends and other control characters as `\x0a`: names of files may hold them."""
    return printable(text, limit=None)


def terminal_width() -> int | None:
    """Columns of the terminal that stdout is; None in a pipe, where nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitted(line: str, stream: TextIO | None = None, *, hang: int | None = None) -> str:
    """A line as it is shown on a stream, by default stdout: on a terminal wrapped at blanks.

    Words, and commands in backquotes, are never broken, so that they can be copied. Further lines hang by `hang` columns; by default they are
    under its last column.
    """
    if not (stream or sys.stdout).isatty():
        return line
    from rich.cells import cell_len

    width = shutil.get_terminal_size().columns
    if hang is None:
        hang = max((gap.end() for gap in _GAP.finditer(line) if gap.end() <= width // 2), default=2)
    lines = [""]
    for word in _WORD.findall(line):
        if lines[-1].strip() and cell_len(lines[-1] + word) > width:
            lines.append(" " * hang + word.lstrip())
        else:
            lines[-1] += word
    return "\n".join(lines)


def say(text: str) -> None:
    """Prints one line of a result on stdout: whole, fitted to a terminal, with control characters escaped."""
    sys.stdout.write(f"{fitted(one_line(text))}\n")


def say_all(lines: Iterable[str]) -> None:
    """Prints lines of a result."""
    for line in lines:
        say(line)


def note(text: str) -> None:
    """Prints one line on stderr, above a progress bar, cut where it is very long."""
    line = fitted(f"rocketspec: {printable(text)}", sys.stderr)
    if _bars:
        _bars[-1].console.print(line, markup=False, highlight=False, soft_wrap=True)
    else:
        sys.stderr.write(f"{line}\n")


def skipped(name: str, reason: str) -> None:
    """Notes a file that is left out, of many only the first ones."""
    _skips.append(name)
    if len(_skips) <= _MOST_SKIPS:
        note(f"{name}: skipped, {reason}")


@contextmanager
def counted_skips() -> Iterator[None]:
    """Ends with the number of files that were left out and not noted."""
    _skips.clear()
    try:
        yield
    finally:
        if len(_skips) > _MOST_SKIPS:
            note(f"{counted(len(_skips) - _MOST_SKIPS, 'more file')} skipped")


def shown_json(text: str) -> str:
    r"""JSON for a terminal: characters that it may act on are escaped as `\u202e`, which leaves the value as it is."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


class _TerminalBytes(io.RawIOBase):
    """Takes lines of UTF-8 for a terminal, and escapes characters that it may act on."""

    def write(self, data: Any) -> int:
        sys.stdout.write(shown_json(bytes(data).decode("utf-8", "replace")))
        return len(data)

    def flush(self) -> None:
        sys.stdout.flush()


def binary_stdout() -> BinaryIO:
    """Standard output for bytes; a terminal gets no character that it may act on."""
    return cast("BinaryIO", _TerminalBytes()) if sys.stdout.isatty() else sys.stdout.buffer


def replace_unencodable() -> None:
    """Makes stdout and stderr escape characters that the terminal's encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def progress(text: str, *, unit: str = "", shown: bool = True) -> Iterator[ProgressStep]:
    """Shows a bar on stderr while the block runs, after a second, if stderr is a terminal; yields what reports the progress.

    Without a report the bar moves to and fro. The `unit` is "bytes", or what the numbers count; "" for a fraction of the work. `shown` is False
    for rows that scroll over the same terminal.
    """
    if sys.stderr.isatty():
        from rocket_columnar.fast import announce

        announce(note)
    if not shown or not sys.stderr.isatty():
        yield lambda done, total, text=None: None  # noqa: ARG005 - nothing is shown
        return
    bar = _make_bar(unit)
    task = bar.add_task(text, total=None)

    def show() -> None:
        _bars.append(bar)
        bar.start()

    timer = Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield lambda done, total, text=None: bar.update(task, completed=done, total=total, description=text)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
        _bars.clear()


def _make_bar(unit: str) -> Progress:
    """A bar on stderr that is erased at its end; `unit` as for `progress`."""
    from rich import progress as rich
    from rich.console import Console

    amount: list[rich.ProgressColumn] = [rich.MofNCompleteColumn() if unit else rich.TaskProgressColumn()]
    if unit == "bytes":
        amount = [rich.DownloadColumn(), rich.TransferSpeedColumn()]
    return rich.Progress(
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=20),
        *amount,
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        console=Console(stderr=True),
        transient=True,
    )
