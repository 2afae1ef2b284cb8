"""Wrong implementations that are no misreading: those that answer the same to everything, or write nothing."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rocket_conformance.protocol import OBJECTS, OPERATIONS, Op, Result
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.transport import Handler, Transport, open_handler

_EMPTY: Final[dict[str, Any]] = {
    "i32": 0,
    "i64": "0",
    "i64[]": [],
    "bool": False,
    "string": "",
    "string?": None,
    "key": "",
    "key?": None,
    "unit?": None,
    "request[]": [],
    "index_header": {name: 0 if kind == "i32" else "0" for name, kind in OBJECTS["index_header"].items()},
    "index_entry[]": [],
    "queue_unit[]": [],
    "record[]": [],
}


def _empty(op: Op) -> Result:
    return {name: _EMPTY[kind] for name, kind in OPERATIONS[op["op"]].result.items()}


def _true(op: Op) -> Result:
    return {name: True if value is False else value for name, value in _empty(op).items()}


def _echo(op: Op) -> Result:
    """Each result field from the operation's field of that name, else from its first of that kind."""
    operation = OPERATIONS[op["op"]]
    result = _empty(op)
    for name, kind in operation.result.items():
        alike = [field for field, other in operation.fields.items() if field == name or other == kind]
        given = [op[field] for field in sorted(alike, key=lambda field: field != name) if field in op]
        result[name] = given[0] if given else result[name]
    return result


class _Answers(ReferenceAdapter):
    """An adapter that answers each operation by itself and touches no file."""

    def __init__(self, name: str, answer: Callable[[Op], Result], ops: Iterable[str]) -> None:
        super().__init__(name=name)
        self._answer = answer
        self._ops = sorted(ops)

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to a message of protocol 1; None for bye."""
        if message["cmd"] == "case":
            return {"id": message["id"], "results": [self._answer(op) for op in message["ops"]], "files": []}
        hello = super().handle(message)
        return None if hello is None else {**hello, "ops": self._ops}


class _AnswersOnly(ReferenceAdapter):
    """Right answers, and no byte of it where the harness looks."""

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] != "case":
            return super().handle(message)
        with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
            copy = Path(scratch, "case")
            shutil.copytree(message["dir"], copy)
            answer = super().handle({**message, "dir": str(copy)}) or {}
        return {**answer, "files": []}


class _BytesOnly(ReferenceAdapter):
    """The right bytes, and null answers."""

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        answer = super().handle(message)
        if answer is not None and message["cmd"] == "case":
            answer["results"] = [
                result if "rejected" in result else _empty(op)
                for op, result in zip(message["ops"], answer["results"], strict=True)
            ]
        return answer


@dataclass(frozen=True, slots=True)
class Impostor:
    """An adapter that behaves and implements nothing.

    Attributes:
        name: what it does.
        handler: makes it.
        clause: "none": it misreads no clause of its own.
    """

    name: str
    handler: Callable[[], Handler]
    clause: str = "none"

    def open(self) -> AbstractContextManager[Transport]:
        """It as an implementation under test, in this process."""
        return open_handler(self.handler())


def _answering(name: str, answer: Callable[[Op], Result], ops: Iterable[str] = OPERATIONS) -> Impostor:
    return Impostor(name, lambda: _Answers(name, answer, ops))


IMPOSTORS: Final = (
    _answering("always-empty", _empty),
    _answering("always-true", _true),
    _answering("echo", _echo),
    _answering("rejects-all", lambda _op: {"rejected": "not today"}),
    _answering("skips-all", lambda _op: {"skipped": "not today"}),
    _answering("supports-nothing", lambda _op: {"unsupported": True}),
    _answering("declares-nothing", _empty, ()),
    Impostor("answers-without-bytes", lambda: _AnswersOnly(name="answers-without-bytes")),
    Impostor("bytes-without-answers", lambda: _BytesOnly(name="bytes-without-answers")),
)
"""Each behaves as an adapter must."""
