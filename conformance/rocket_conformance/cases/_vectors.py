"""Directed cases out of the golden vectors: operation lists with what the real jar gave."""

import rocket_golden
from rocket_spec.errors import InvalidError

from rocket_conformance.cases._case import Case
from rocket_conformance.cases._parse import case_from_json


def vector_cases() -> list[Case]:
    """Every vector, of index files and of the whole store, in the order of their files; their SHA-256 is verified.

    Raises:
        InvalidError: when a file of vectors is not the one that the manifest describes.
        MalformedError: when a vector is not a case.
    """
    try:
        vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    except rocket_golden.DamagedError as error:
        raise InvalidError(file=error.file, found=error.found, expected=error.expected) from None
    return [case_from_json(vector, file=f"vector {vector.get('id')}") for vector in vectors]
