"""Fits cases to what an adapter declares: operations that it lacks are left out, and its limits are respected.

A directed case is about all that it asks for, so it applies as it is, on files of the adapter's own geometry, or not at
all. A drawn list is about its main operations: it loses what the adapter lacks, and stays evidence of the rest.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from rocket_reference import file_name, queue_file_size
from rocket_spec.layout import CHECKPOINT_SIZE, QUEUE_UNIT

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import expect, same_results
from rocket_conformance.files import scratch
from rocket_conformance.protocol import LIMITS, Hello, Op, Result, to_i64
from rocket_conformance.reference_adapter import UnspecifiedOperationError

_SEEDS: Final = ("end_phy_offset", "end_timestamp")
_GEOMETRY: Final = ("hash_slot_num", "index_num", "file_size")
_NULLABLE: Final = ("keys", "uniq_key", "tags")


def limit_broken(case: Case, results: Sequence[Result], features: frozenset[str]) -> str | None:
    """The first of an adapter's limits that a case, or its expected results, goes beyond; None without any."""
    limits = features & LIMITS.keys()
    if not limits:
        return None
    asked = _asked(case)
    units = cast("list[dict[str, int]]", [result["unit"] for result in results if result.get("unit")])
    if any(unit["size"] < 0 for unit in units):
        asked.add("unsigned_sizes")
    return min(limits & asked, default=None)


def is_within(case: Case, results: Sequence[Result], hello: Hello) -> bool:
    """Whether a case, on files of the adapter's own geometry and sizes, asks for nothing beyond its limits."""
    declared = ((_FILE_GEOMETRY, hello.geometries), (_SIZE, hello.queue_file_sizes))
    return limit_broken(case, results, hello.features) is None and all(
        allowed is None or _values(case, fields) <= set(allowed) for fields, allowed in declared
    )


def is_odd(case: Case) -> bool:
    """Whether a case asks for what no broker has: a geometry or file size below 1, a place beyond 64 bits, or files of other names.

    A queue's first file begins at a multiple of its length, and each adjoins the one before it.
    """
    if any(op.get(name, 1) < 1 for op in case.ops for name in _GEOMETRY):
        return True
    if any(QUEUE_UNIT.size * abs(to_i64(op.get("cq_offset", "0"))) >> 63 for op in case.ops):
        return True
    sizes = [queue_file_size(op["file_size"]) for op in case.ops if op["op"] == "queue.open"]
    names: dict[str, list[str]] = {}
    for path in case.files:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, []).append(name)
    queues = [sorted(found) for folder, found in names.items() if folder.startswith("consumequeue/")]
    return any(not _adjoin(found, size) for found in queues for size in sizes[:1])


def _adjoin(names: Sequence[str], size: int) -> bool:
    """Whether a broker gives these names to queue files of this length."""
    first = names[0]
    if not first.isdecimal() or int(first) % size:
        return False
    return list(names) == [file_name(int(first) + number * size) for number in range(len(names))]


def _asked(case: Case) -> set[str]:
    """The limits that the operations of a case go beyond."""
    asked: set[str] = set()
    existing = _Existing(case.files)
    for op in case.ops:
        asked.update(_beyond(op, existed=existing.open(op)))
        times = case.files.get("checkpoint")
        if op["op"] == "checkpoint.read" and (times is None or times.size < CHECKPOINT_SIZE):
            asked.add("read_only")
    return asked


def _beyond(op: Op, *, existed: bool) -> dict[str, dict[str, Any]]:
    """By limit, the fields of an operation that go beyond it, with the values that take their place."""
    allowed: dict[str, dict[str, Any]] = {
        "no_seeds": {name: "0" for name in _SEEDS if name in op},
        "no_reload_choice": {"load": True} if existed else {},
        "positive_geometry": {name: max(1, op[name]) for name in _GEOMETRY if name in op},
        "unsigned_sizes": {"size": max(0, op["size"])} if op["op"] == "queue.put" else {},
        "non_null_keys": {name: "" for name in _NULLABLE if op.get(name, "") is None},
    }
    changed = {
        limit: {name: value for name, value in fields.items() if op[name] != value}
        for limit, fields in allowed.items()
    }
    return {limit: fields for limit, fields in changed.items() if fields}


class _Existing:
    """The index files and queues that exist, as the operations of a case go on."""

    def __init__(self, files: Iterable[str]) -> None:
        self._paths = set(files)
        self._queues = {path.rpartition("/")[0] for path in self._paths}

    def open(self, op: Op) -> bool:
        """Whether the operation opens an index file or a queue that exists; it does from now on."""
        if op["op"] == "index.open":
            existed = op["file"] in self._paths
            self._paths.add(op["file"])
            return existed
        if op["op"] == "queue.open":
            folder = f"consumequeue/{op['topic']}/{op['queue_id']}"
            existed = folder in self._queues
            self._queues.add(folder)
            return existed
        return False


def fit_drawn(case: Case, hello: Hello) -> Case | None:
    """A drawn list without what the adapter does not declare; None if only opens are left."""
    limits, sizes = hello.features & LIMITS.keys(), hello.queue_file_sizes
    if sizes is not None:
        odd = any((op.get("file_size", sizes[0][0]),) not in sizes for op in case.ops)
        if odd and case.files:
            return None
        case = replace(
            case, ops=tuple(op | {"file_size": sizes[0][0]} if "file_size" in op else op for op in case.ops)
        )
    if not limits and case.op_names <= hello.ops:
        return case
    existing = _Existing(case.files)
    ops = tuple(_within(op, limits, existing) for op in case.ops if op["op"] in hello.ops)
    if all(op["op"].endswith(".open") for op in ops):
        return None
    return replace(case, ops=ops)


def _within(op: Op, limits: frozenset[str], existing: _Existing) -> Op:
    """The operation with values that the limits allow in place of those that they rule out."""
    beyond = _beyond(op, existed=existing.open(op))
    changed = {name: value for limit in limits & beyond.keys() for name, value in beyond[limit].items()}
    return {**op, **changed} if changed else op


def fit_expected(expected: Observation, features: frozenset[str]) -> Observation:
    """The results expected of an adapter with these features: an empty text where it has no null, and no tags code."""
    found = expected.results
    if "non_null_keys" in features:
        found = tuple(_filled(result, "requests", _without_null) for result in found)
    if "no_tags_code" in features:
        found = tuple(
            _filled(result, "records", lambda record: record | {"tags_code": None}) for result in found
        )
    return replace(expected, results=found)


def _filled(result: Result, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Result:
    return {**result, name: [change(item) for item in result[name]]} if name in result else result


def _without_null(request: dict[str, Any]) -> dict[str, Any]:
    return {name: "" if name in _NULLABLE and value is None else value for name, value in request.items()}


# --- geometry variants --------------------------------------------------------------------------------

_memory: dict[tuple[str, str, tuple[int, ...]], Case | None] = {}
_FILE_GEOMETRY, _SIZE = ("hash_slot_num", "index_num"), ("file_size",)


def variant_of(case: Case, hello: Hello) -> Case | None:
    """The case itself if its files are as the adapter has them, else its variant on such files; None without any.

    A variant is made of a case on fresh files of one geometry, or one size, and only where the reference gives the same
    results on both: one that shows a full file, or a slot that two keys share, has none.
    """
    found: Case | None = case
    for fields, allowed in ((_FILE_GEOMETRY, hello.geometries), (_SIZE, hello.queue_file_sizes)):
        if found is not None and allowed is not None:
            found = _fitted(found, fields, allowed)
    return found


def what_lacks(case: Case, hello: Hello) -> str:
    """The files that a case without a variant needs, in words."""
    missing = _values(case, _FILE_GEOMETRY) - set(hello.geometries or _values(case, _FILE_GEOMETRY))
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
