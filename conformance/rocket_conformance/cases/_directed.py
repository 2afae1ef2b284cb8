"""All directed cases, each id once: the golden vectors, our own for what they do not cover, the golden stores' files."""

from functools import cache

from rocket_conformance.cases._case import Case
from rocket_conformance.cases._golden_files import golden_cases
from rocket_conformance.cases._own import own_cases
from rocket_conformance.cases._vectors import vector_cases


@cache
def directed_cases() -> tuple[Case, ...]:
    """Every directed case; where a vector has the id of one of ours, the vector goes before.

    Raises:
        ValueError: when two cases of one kind share an id.
    """
    found: dict[str, Case] = {}
    for source in (vector_cases(), own_cases(), golden_cases()):
        ids = [case.id for case in source]
        if len(set(ids)) != len(ids):
            raise ValueError(f"case ids repeat: {sorted({name for name in ids if ids.count(name) > 1})}")
        for case in source:
            found.setdefault(case.id, case)
    return tuple(found.values())
