"""Directed cases out of the golden vectors: operation lists with what the real jar gave."""

from __future__ import annotations

from typing import Final

import rocket_golden

from rocket_conformance.cases._case import Case, case_from_json

__all__ = ["LEFT_OUT", "vector_cases"]

LEFT_OUT: Final = frozenset({"IDX-SVC-3/inside-a-message"})
"""Vectors that are not sent: two new index files in one operation, which the clock may give one name."""


def vector_cases() -> list[Case]:
    """Every vector, of index files and of the whole store, in the order of their files.

    Raises:
        MalformedError: when a vector is no case.
    """
    vectors = [*rocket_golden.vectors(), *rocket_golden.vectors(store=True)]
    return [
        case_from_json(vector, file=f"vector {vector.get('id')}")
        for vector in vectors
        if vector.get("id") not in LEFT_OUT
    ]
