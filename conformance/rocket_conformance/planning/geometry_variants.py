"""Directed cases for a port of fixed geometry: the same operations on its own files, where that makes no difference."""

from collections.abc import Sequence
from dataclasses import replace

from rocket_conformance.cases import Case, geometries_of
from rocket_conformance.comparison import expect, same_results
from rocket_conformance.files import scratch
from rocket_conformance.reference_adapter import UnspecifiedOperationError

_memory: dict[tuple[str, tuple[int, int]], Case | None] = {}


def variant_of(case: Case, geometries: Sequence[tuple[int, int]]) -> Case | None:
    """The case itself if one of these geometries is its own, else its variant for one of them; None without any.

    A variant is made of a case on fresh files of one geometry, and only where the reference gives the same
    results on both: one that shows a full file, or a slot that two keys share, has none.
    """
    own = geometries_of(case.ops)
    if own <= set(geometries):
        return case
    if case.files or len(own) != 1 or "/seeded-" in case.id:
        return None
    for geometry in geometries:
        key = (case.id, geometry)
        if key not in _memory:
            _memory[key] = _variant(case, geometry)
        found = _memory[key]
        if found is not None:
            return found
    return None


def _variant(case: Case, geometry: tuple[int, int]) -> Case | None:
    slots, entries = geometry
    ops = tuple(
        {**op, "hash_slot_num": slots, "index_num": entries} if "hash_slot_num" in op else op
        for op in case.ops
    )
    other = replace(
        case, ops=ops, expected=None, producer=f"{case.producer}, on {slots} slots and {entries} entries"
    )
    with scratch() as root:
        try:
            wanted, given = (expect(variant, root / "case") for variant in (case, other))
        except UnspecifiedOperationError:
            return None
    return other if same_results(wanted.results, given.results) else None
