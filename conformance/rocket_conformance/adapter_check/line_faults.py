"""Finds the faults of a line from an adapter, each with the place in PROTOCOL.md that it breaks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rocket_conformance.protocol import (
    FEATURES,
    OPERATIONS,
    Hello,
    Op,
    ProtocolError,
    decode_line,
    parse_answer,
)
from rocket_conformance.transport import Job


@dataclass(frozen=True, slots=True)
class Broken:
    """What is wrong with a line: the place in PROTOCOL.md that it breaks (`rule 2`, `Operations`), and how."""

    place: str
    text: str


def about_hello(hello: Hello) -> Iterator[Broken]:
    """What a hello that can be read declares to no effect."""
    unknown = sorted(hello.ops - OPERATIONS.keys())
    if unknown:
        yield Broken("Operations", f"ops holds names that are not operations: {', '.join(unknown)}")
    unknown = sorted(hello.features - FEATURES.keys())
    if unknown:
        yield Broken("Features", f"features holds names that are not features: {', '.join(unknown)}")
    if not hello.ops & OPERATIONS.keys():
        yield Broken("rule 3", "ops names no operation: nothing can be tested")
    for family in ("index", "service", "queue"):
        names = sorted(name for name in hello.ops & OPERATIONS.keys() if name.startswith(f"{family}."))
        if names and f"{family}.open" not in hello.ops:
            yield Broken("Operations", f"{', '.join(names)} without {family}.open can never be sent")


def about_answer(line: bytes, job: Job) -> tuple[Broken, ...]:
    """All that is wrong with the form of an answer, operation by operation."""
    try:
        answer = decode_line(line)
    except ProtocolError as error:
        return (Broken(error.place, str(error)),)
    found: list[Broken] = []
    if answer.get("id") != job.token or not isinstance(answer["id"], str):
        found.append(Broken("rule 4", f"id is {answer.get('id')!r}, not {job.token!r} as it was sent"))
    given: object = answer.get("results")
    results = cast("list[object]", given) if isinstance(given, list) else []
    if len(results) == len(job.ops):
        for place, (op, result) in enumerate(zip(job.ops, results, strict=True)):
            found += _about({"results": [result]}, [op], place)
        found += _about({"results": [], "files": answer.get("files", [])}, [], 0)
    else:
        found += _about(answer, job.ops, 0)
    return tuple(found)


def _about(answer: dict[str, Any], ops: Sequence[Op], place: int) -> Iterator[Broken]:
    try:
        parse_answer(answer, ops, start=place)
    except ProtocolError as error:
        yield Broken(error.place, str(error))


def about_end(fate: str) -> tuple[Broken, ...]:
    """The rule that a process broke by the way it ended."""
    return () if fate.startswith("exited with code 0") else (Broken("rule 13", f"it {fate}"),)


def token_of(line: bytes) -> str | None:
    """The id of an answer, if it has one."""
    try:
        token = decode_line(line).get("id")
    except ProtocolError:
        return None
    return token if isinstance(token, str) else None


def text_of(line: bytes) -> str:
    """A line as it is shown."""
    return line.decode("utf-8", "replace").rstrip("\r\n")
