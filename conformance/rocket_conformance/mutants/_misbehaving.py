"""Adapters that break the protocol: programs of their own, since some take their process with them.

    python -m rocket_conformance.mutants NAME

is each of them, and each other wrong implementation, as an adapter's command.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.transport import Handler, Transport, open_command

_LATE: Final = 3
"""The case at which one goes wrong that begins well: alone, each case passes."""

_TIMEOUT: Final = 1.0
"""Seconds that one of them has for a case."""

Send: TypeAlias = "Callable[[str], None]"
Answer: TypeAlias = "Mapping[str, Any]"


def _line(value: object) -> str:
    return json.dumps(value) + "\n"


def _endless(send: Send, _answer: Answer, _number: int) -> None:
    while True:
        send("x" * 65536)


def _half_a_line(send: Send, answer: Answer, _number: int) -> None:
    send(json.dumps(answer)[:20])
    sys.exit(0)


@dataclass(frozen=True, slots=True)
class Misbehaving:
    """A program that answers rightly but for what it does first at each case.

    Attributes:
        name: what it does.
        first: called at each case with a way to write, the right answer and the case's number from 1; what
            it writes goes before the right answer.
        clause: "none": it misreads no clause.
    """

    name: str
    first: Callable[[Send, Answer, int], object]
    clause: str = "none"

    def open(self) -> AbstractContextManager[Transport]:
        """It as an implementation under test, in a process of its own."""
        command = [sys.executable, "-m", "rocket_conformance.mutants", self.name]
        return open_command(command, case_timeout=_TIMEOUT)

    def handler(self) -> Handler:
        """What answers where it does not misbehave: the reference."""
        return ReferenceAdapter(name=self.name)


MISBEHAVING: Final = (
    Misbehaving("crashes", lambda _send, _answer, _number: os._exit(70)),
    Misbehaving("hangs", lambda _send, _answer, _number: time.sleep(3600)),
    Misbehaving("writes-garbage", lambda send, _answer, _number: send("not JSON\n")),
    Misbehaving(
        "answers-another-case", lambda send, answer, number: send(_line({**answer, "id": f"not {number}"}))
    ),
    Misbehaving("exits-early", lambda _send, _answer, number: number < _LATE or sys.exit(0)),
    Misbehaving("never-ends-a-line", _endless),
    Misbehaving("ends-in-the-middle-of-a-line", _half_a_line),
    Misbehaving(
        "gives-too-few-results",
        lambda send, answer, _number: send(_line({**answer, "results": answer["results"][1:]})),
    ),
    Misbehaving("answers-twice", lambda send, answer, _number: send(_line(answer))),
)
"""Each breaks the protocol in one way."""


def serve(handler: Handler, first: Callable[[Send, Answer, int], object] | None = None) -> None:
    """Speaks protocol 1 on stdin and stdout until bye."""
    output = sys.stdout.buffer

    def send(text: str) -> None:
        output.write(text.encode("utf-8", "surrogatepass"))
        output.flush()

    number = 0
    for line in sys.stdin.buffer:
        message = json.loads(line)
        answer = handler.handle(message)
        if answer is None:
            return
        if message["cmd"] == "case" and first is not None:
            number += 1
            first(send, answer, number)
        send(_line(answer))
