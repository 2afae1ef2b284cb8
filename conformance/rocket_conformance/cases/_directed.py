"""All directed cases, each id once: the golden vectors, our own for what they do not cover, the golden stores' files."""

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


@cache
def directed_cases() -> tuple[Case, ...]:
    """Every directed case; where a vector has the id of one of ours, the vector goes before.

    Raises:
        ValueError: when two cases of one kind share an id.
        InvalidError: when a file of vectors is not the one that the manifest describes.
    """
    found: dict[str, Case] = {}
    for source in (_vector_cases(), own_cases(), golden_cases()):
        ids = [case.id for case in source]
        if len(set(ids)) != len(ids):
            raise ValueError(f"case ids repeat: {sorted({name for name in ids if ids.count(name) > 1})}")
        for case in source:
            found.setdefault(case.id, case)
    return tuple(found.values())
