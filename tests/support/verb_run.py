"""Runs a verb of the command in this process, as the installed `rocketspec` would."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC
from typing import Any, NamedTuple, Protocol

import pytest
from rocket_columnar.formats import show_times_in
from rocketspec import __main__ as command


class Outcome(NamedTuple):
    """Result of a run of the command."""

    code: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The last line on stdout."""
        return self.out.splitlines()[-1]

    @property
    def rows(self) -> list[Any]:
        """The JSON objects on stdout, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    def is_one_line(self, code: int, text: str) -> bool:
        """Whether the run printed no result, and one line with this text on stderr."""
        assert (self.code, self.out, self.err.count("\n")) == (code, "", 1)
        assert self.err.startswith("rocketspec: ")
        assert text in self.err
        return True


def on_a_terminal(command: Sequence[str], **options: Any) -> tuple[int, str]:
    """The exit code of a process whose streams are a terminal, but for those of the options, and what the terminal got."""
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs, **options}
    shown = b""
    with subprocess.Popen(command, **streams) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # once its other end is closed
            while data := os.read(ours, 1 << 16):
                shown += data
    os.close(ours)
    return process.returncode, shown.decode("utf-8")


class Verb(Protocol):
    """Runs `rocketspec NAME` with these arguments."""

    def __call__(self, name: str, *arguments: object) -> Outcome: ...


class Run(Protocol):
    """Runs `rocketspec VERB` with these arguments."""

    def __call__(self, *arguments: object) -> Outcome: ...


def runner(
    verb: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, width: int = 80
) -> Run:
    """A `Run` of one verb, where a terminal has `width` columns."""
    monkeypatch.setenv("COLUMNS", str(width))

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["rocketspec", verb, *map(str, arguments)])
        show_times_in(UTC)  # as a process begins
        with pytest.raises(SystemExit) as caught:
            command.main()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        code = caught.value.code
        return Outcome(code if isinstance(code, int) else 0, out, err)

    return call


def any_verb(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, width: int = 80) -> Verb:
    """A `Verb`, where a terminal has `width` columns."""
    return lambda name, *arguments: runner(name, capfd, monkeypatch, width=width)(*arguments)
