"""All directed cases, each id once: the golden vectors, our own for what they do not cover, the golden stores' files.

They are indexed by id, and a vector is read when it is asked for: a run of one case needs no other.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import rocket_golden
from rocket_spec.errors import InvalidError

from rocket_conformance.cases._case import Case
from rocket_conformance.cases._golden_files import golden_cases
from rocket_conformance.cases._own import own_cases
from rocket_conformance.cases._parse import case_from_json


def _entries() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Ids and what makes their cases: vectors, whose SHA-256 is verified, and the others."""
    try:
        vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    except rocket_golden.DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
    made: dict[str, Callable[[], Case]] = {vector["id"]: partial(_vector_case, vector) for vector in vectors}
    logs = [vector["id"] for vector in vectors if all(op["op"] == "log.dispatch" for op in vector["ops"])]
    if len(made) < len(vectors):
        raise ValueError("ids of vectors repeat")
    yield from made.items()
    for case in own_cases():
        made[case.id] = partial(_same, case)
        yield case.id, made[case.id]
        if all(op["op"] == "log.dispatch" for op in case.ops):
            logs.append(case.id)
    for name in logs:
        yield name.replace("/", "/read-"), partial(_reading_case, made[name])
    for case in golden_cases():
        yield case.id, partial(_same, case)


def _vector_case(vector: dict[str, Any]) -> Case:
    return case_from_json(vector, file=f"vector {vector.get('id')}")


def _same(case: Case) -> Case:
    return case


def _reading_case(dispatched: Callable[[], Case]) -> Case:
    """A commit log that the real jar has dispatched, for tools that only read: what it answered bounds what they see."""
    case = dispatched()
    files = dict.fromkeys(op["file"] for op in case.ops)
    return Case(
        id=case.id.replace("/", "/read-"),
        clauses=case.clauses,
        ops=tuple({"op": "log.read", "file": file} for file in files),
        files=case.files,
        description=case.description,
    )


@cache
def _index() -> Mapping[str, Callable[[], Case]]:
    found: dict[str, Callable[[], Case]] = {}
    for name, made in _entries():
        if name in found:
            raise ValueError(f"case ids repeat: {name}")
        found[name] = made
    return found


def directed_ids() -> tuple[str, ...]:
    """The id of every directed case.

    Raises:
        ValueError: when two cases share an id.
        InvalidError: when a file of vectors is not the one that the manifest describes.
    """
    return tuple(_index())


@cache
def directed_case(name: str) -> Case:
    """The directed case with an id, a KeyError if there is none."""
    return _index()[name]()


def directed_cases() -> tuple[Case, ...]:
    """Every directed case."""
    return tuple(map(directed_case, directed_ids()))
