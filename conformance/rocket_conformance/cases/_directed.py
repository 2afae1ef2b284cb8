"""All directed cases, each id once: the golden vectors, our own for what they do not cover, the golden stores' files."""

from collections.abc import Iterator
from functools import cache

import rocket_golden
from rocket_spec.errors import InvalidError

from rocket_conformance.cases._case import Case
from rocket_conformance.cases._golden_files import golden_cases
from rocket_conformance.cases._own import own_cases
from rocket_conformance.cases._parse import case_from_json


def _vector_cases() -> list[Case]:
    """Every vector, of index files and of the whole store, in the order of their files; their SHA-256 is verified."""
    try:
        vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    except rocket_golden.DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
    return [case_from_json(vector, file=f"vector {vector.get('id')}") for vector in vectors]


def _reading_cases(vectors: list[Case]) -> Iterator[Case]:
    """The commit logs that the real jar has dispatched, for tools that only read: what it answered bounds what they see."""
    for case in vectors:
        if case.op_names == {"log.dispatch"}:
            files = dict.fromkeys(op["file"] for op in case.ops)
            yield Case(
                id=case.id.replace("/", "/read-"),
                clauses=case.clauses,
                ops=tuple({"op": "log.read", "file": file} for file in files),
                files=case.files,
            )


@cache
def directed_cases() -> tuple[Case, ...]:
    """Every directed case.

    Raises:
        ValueError: when two cases of one kind share an id.
        InvalidError: when a file of vectors is not the one that the manifest describes.
    """
    found: dict[str, Case] = {}
    directed = [*_vector_cases(), *own_cases()]
    for source in (directed, [*_reading_cases(directed), *golden_cases()]):
        ids = [case.id for case in source]
        if len(set(ids)) != len(ids):
            raise ValueError(f"case ids repeat: {sorted({name for name in ids if ids.count(name) > 1})}")
        for case in source:
            found.setdefault(case.id, case)
    return tuple(found.values())
