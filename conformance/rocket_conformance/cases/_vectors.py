"""Directed cases out of the golden vectors: operation lists with what the real jar gave."""

from __future__ import annotations

import rocket_golden

from rocket_conformance.cases._case import Case, case_from_json

__all__ = ["vector_cases"]


def vector_cases() -> list[Case]:
    """Every vector, of index files and of the whole store, in the order of their files.

    Raises:
        MalformedError: when a vector is no case.
    """
    vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    return [case_from_json(vector, file=f"vector {vector.get('id')}") for vector in vectors]
