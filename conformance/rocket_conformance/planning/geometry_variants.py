"""Directed cases for a port of fixed geometry or queue file size: the same operations on its own files, where that is no difference."""

from collections.abc import Sequence
from dataclasses import replace

from rocket_conformance.cases import Case
from rocket_conformance.comparison import expect, same_results
from rocket_conformance.files import scratch
from rocket_conformance.protocol import Hello
from rocket_conformance.reference_adapter import UnspecifiedOperationError

_memory: dict[tuple[str, str, tuple[int, ...]], Case | None] = {}
_GEOMETRY, _SIZE = ("hash_slot_num", "index_num"), ("file_size",)


def variant_of(case: Case, hello: Hello) -> Case | None:
    """The case itself if its files are as the adapter has them, else its variant on such files; None without any.

    A variant is made of a case on fresh files of one geometry, or one size, and only where the reference gives the same
    results on both: one that shows a full file, or a slot that two keys share, has none.
    """
    found: Case | None = case
    for fields, allowed in ((_GEOMETRY, hello.geometries), (_SIZE, hello.queue_file_sizes)):
        if found is not None and allowed is not None:
            found = _fitted(found, fields, allowed)
    return found


def what_lacks(case: Case, hello: Hello) -> str:
    """The files that a case without a variant needs, in words."""
    missing = _values(case, _GEOMETRY) - set(hello.geometries or _values(case, _GEOMETRY))
    if missing:
        return f"the geometry {min(missing)}"
    return f"the queue file size {min(_values(case, _SIZE))[0]}"


def _values(case: Case, fields: tuple[str, ...]) -> set[tuple[int, ...]]:
    return {tuple(op[name] for name in fields) for op in case.ops if fields[0] in op}


def _fitted(case: Case, fields: tuple[str, ...], allowed: Sequence[tuple[int, ...]]) -> Case | None:
    own = _values(case, fields)
    if own <= set(allowed):
        return case
    if case.files or len(own) != 1 or "/seeded-" in case.id:
        return None
    for values in allowed:
        key = (case.id, case.producer, values)
        if key not in _memory:
            _memory[key] = _variant(case, dict(zip(fields, values, strict=True)))
        found = _memory[key]
        if found is not None:
            return found
    return None


def _variant(case: Case, values: dict[str, int]) -> Case | None:
    ops = tuple({**op, **{name: values[name] for name in values.keys() & op.keys()}} for op in case.ops)
    told = ", ".join(f"{name} {value}" for name, value in values.items())
    other = replace(case, ops=ops, expected=None, producer=f"{case.producer}, on {told}")
    with scratch() as root:
        try:
            wanted, given = (expect(variant, root / "case") for variant in (case, other))
        except UnspecifiedOperationError:
            return None
    return other if same_results(wanted.results, given.results) else None
