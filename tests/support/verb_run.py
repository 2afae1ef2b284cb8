"""Runs a verb of the command in this process, as the installed `rocketspec` would."""

from __future__ import annotations

import sys
from typing import NamedTuple, Protocol

import pytest
from rocketspec import __main__ as command


class Outcome(NamedTuple):
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs `rocketspec VERB` with these arguments."""

    def __call__(self, *arguments: object) -> Outcome: ...


def runner(verb: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A `Run` of one verb, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["rocketspec", verb, *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            command.main()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        code = caught.value.code
        return Outcome(code if isinstance(code, int) else 0, out, err)

    return call
