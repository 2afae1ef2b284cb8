"""The selected cases and properties of a run: what `--level must` leaves out, what applies to an adapter and how it is fitted to that.

A directed case is about all that it asks for, so it applies as it is, on files of the adapter's own geometry, or not at
all. A drawn list is about its main operations: it loses what the adapter lacks, and stays evidence of the rest.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast

from rocket_reference import file_name, queue_file_size
from rocket_spec.clauses import clauses
from rocket_spec.errors import UsageError
from rocket_spec.layout import CHECKPOINT_SIZE, QUEUE_UNIT, Geometry

from rocket_conformance.cases import Case, Observation, directed_case, directed_ids, origin_of
from rocket_conformance.comparison import differences, expect, same_results, specified
from rocket_conformance.files import scratch
from rocket_conformance.judging import Trial, Verdict
from rocket_conformance.misreadings import MISREADINGS, Mutant
from rocket_conformance.properties import PROPERTIES, Property, example, examples
from rocket_conformance.protocol import LIMITS, OPERATIONS, Hello, Op, Result, to_i64
from rocket_conformance.reference_adapter import Library, UnspecifiedOperationError

# --- fitting ------------------------------------------------------------------------------------------

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
    if case.files or len(own) != 1 or origin_of(case.id) == "seeded":
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


# --- the level of a case ------------------------------------------------------------------------------

SEED: Final = 0
"""Seed of the lists in the table."""

LISTS: Final = 100
"""Number of lists of each property in the table."""

_TRIES: Final = 20
"""Lists that are drawn for each one that is wanted, at most: few lists of some properties stay within MUST clauses."""

_LARGEST: Final = 1 << 20
"""Maximum size of a file that is judged."""

_SMALL: Final = (101, 220)
"""Geometry on which the lists of larger files are judged."""

_INDEX: Final = frozenset({"java", "_mapping", "index_file"})

_READ_BY: Final = {
    "index": _INDEX,
    "service": _INDEX | {"index_service"},
    "queue": frozenset({"java", "_mapping", "mapped_file_queue", "consume_queue_store"}),
    "log": frozenset({"java"}),
    "checkpoint": frozenset[str](),
}
"""By family of operations, the modules of the reference whose OBSERVED clauses it shows."""


class _Table(NamedTuple):
    cases: frozenset[str]
    lists: dict[str, list[int]]


@cache
def _table() -> _Table:
    document = json.loads(Path(__file__).with_name("must_level.json").read_bytes())
    lists: dict[str, list[int]] = {name: row["numbers"] for name, row in document["lists"].items()}
    return _Table(frozenset(document["cases"]), lists)


def is_beyond_must(case: str) -> bool:
    """Whether a directed case is answered differently by a misreading of an OBSERVED clause."""
    return case in _table().cases


def level_of(clause: str) -> str:
    """MUST or OBSERVED, from SPEC.md; MUST for a clause that is not in it."""
    known = clauses().get(clause)
    return known.level if known else "MUST"


@cache
def shown_by(ops: frozenset[str]) -> tuple[Mutant, ...]:
    """The misreadings of OBSERVED clauses that these operations can show."""
    modules = frozenset[str]().union(*(_READ_BY[OPERATIONS[name].family] for name in ops))
    return tuple(
        item for item in MISREADINGS if level_of(item.clause) == "OBSERVED" and item.module in modules
    )


def beyond_must(case: Case, expected: Observation, directory: Path) -> Mutant | None:
    """The first misreading of an OBSERVED clause that answers a case otherwise than the reference; None if none does."""
    differing = (
        item for item in shown_by(case.op_names) if _differs(case, expected, directory, item.library())
    )
    return next(differing, None)


def _differs(case: Case, expected: Observation, directory: Path, library: Library) -> bool:
    try:
        return bool(differences(case, expected, expect(case, directory, library=library)))
    except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
        return True


def must_lists(
    wanted: Property, *, seed: int, count: int, geometries: Sequence[tuple[int, int]] | None
) -> Iterator[Case]:
    """The first `count` lists of a property on which no misreading of an OBSERVED clause shows, of lengths that a broker sets."""
    known = _table().lists.get(wanted.id, []) if seed == SEED and geometries is None else []
    for number in known[:count]:
        yield example(wanted, seed=seed, number=number, geometries=geometries)
    after = known[-1] + 1 if known else 0
    if count > len(known):
        for number in clean_numbers(
            wanted, seed=seed, count=count - len(known), start=after, geometries=geometries
        ):
            yield example(wanted, seed=seed, number=number, geometries=geometries)


def clean_numbers(
    wanted: Property,
    *,
    seed: int,
    count: int,
    start: int = 0,
    geometries: Sequence[tuple[int, int]] | None = None,
) -> Iterator[int]:
    """The numbers of those lists, from one on."""
    judged_on = geometries
    if any(20 * entries + 4 * slots > _LARGEST for slots, entries in geometries or ()):
        judged_on = [_SMALL] * len(geometries or ())
    found = 0
    with scratch() as root:
        for number in range(start, start + _TRIES * count):
            drawn = example(wanted, seed=seed, number=number, geometries=judged_on)
            if is_odd(drawn):
                continue
            case, expected = specified(drawn, root / "case")
            if beyond_must(case, expected, root / "case") is None:
                yield number
                found += 1
                if found == count:
                    return


# --- cases and properties ------------------------------------------------------------------------------

_BIG: Final = 1 << 26
"""Size from which the files of a port with a fixed geometry are big."""

_BIG_EXAMPLES: Final = 10
"""Number of lists of each property for such a port."""

Level = Literal["must", "observed"]


@dataclass(frozen=True, slots=True)
class Planned:
    """A case or a property: one line of the report either way."""

    source: Case | Property

    @property
    def id(self) -> str:
        """Its id, `CLAUSE/slug`."""
        return self.source.id

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses it is evidence of."""
        return self.source.clauses

    @property
    def level(self) -> str:
        """MUST or OBSERVED: that of its first clause; OBSERVED for a case that a misreading of an OBSERVED clause answers differently.

        It is OBSERVED too if it asks for what no broker has.
        """
        if is_beyond_must(self.id) or (not isinstance(self.source, Property) and is_odd(self.source)):
            return "OBSERVED"
        return level_of(self.clauses[0])

    @property
    def is_property(self) -> bool:
        """Whether it is a property."""
        return isinstance(self.source, Property)

    @property
    def is_directed(self) -> bool:
        """Whether it was written for its first clause: no property, and no vector drawn from a seed."""
        return not self.is_property and origin_of(self.id) != "seeded"

    @property
    def ops(self) -> frozenset[str]:
        """The operations it needs; a property leaves out others that are not declared."""
        return self.source.needs if isinstance(self.source, Property) else self.source.op_names

    def obstacle(self, hello: Hello) -> str | None:
        """The reason why it does not apply to the adapter; None if it does."""
        missing = self.ops - hello.ops
        if missing:
            return f"not declared: {', '.join(sorted(missing))}"
        lacking = self.source.features - hello.features
        if lacking:
            return f"needs the feature {', '.join(sorted(lacking))}"
        limit = self._limit(hello.features)
        if limit is not None:
            return f"ruled out by the feature {limit}"
        if isinstance(self.source, Property):
            return "needs any geometry" if self.source.any_geometry and hello.geometries is not None else None
        return None if variant_of(self.source, hello) else f"needs {what_lacks(self.source, hello)}"

    def _limit(self, features: frozenset[str]) -> str | None:
        """The limit of the adapter that it is about to go beyond; None without any."""
        if isinstance(self.source, Property):
            return self.source.beyond if self.source.beyond in features else None
        results = self.source.expected.results if self.source.expected is not None else ()
        return limit_broken(self.source, results, features)

    def instances(self, *, seed: int, count: int, hello: Hello, level: Level = "observed") -> Iterator[Case]:
        """The case itself, or its variant for a fixed geometry, or the lists of the property: at `must` those within MUST clauses."""
        if isinstance(self.source, Property):
            if any(Geometry(*pair).file_size > _BIG for pair in hello.geometries or ()):
                count = min(count, _BIG_EXAMPLES)
            lists = must_lists if level == "must" else examples
            for drawn in lists(self.source, seed=seed, count=count, geometries=hello.geometries):
                fitted = fit_drawn(drawn, hello)
                if fitted is not None:
                    yield fitted
        else:
            yield variant_of(self.source, hello) or self.source


def plan(*, select: Sequence[str] = (), level: Level = "observed") -> list[Planned]:
    """All cases and properties whose id matches one of the globs, in the order of their ids.

    Args:
        select: globs on the whole id, `*` crosses `/`; none selects all.
        level: `must` leaves out what only OBSERVED clauses ask for.

    Raises UsageError: when nothing is selected.
    """
    properties = {item.id: item for item in PROPERTIES}
    planned = [
        Planned(properties.get(name) or directed_case(name))
        for name in all_ids()
        if not select or any(fnmatchcase(name, glob) for glob in select)
    ]
    chosen = [item for item in planned if level != "must" or item.level == "MUST"]
    if planned and not chosen:
        raise UsageError(f"--level must leaves out every case that matches {', '.join(select)}")
    if not chosen:
        raise UsageError(f"no case matches {', '.join(select)}; ids look like IDX-PUT-5/slot-equals-count")
    return chosen


@cache
def all_ids() -> tuple[str, ...]:
    """The ids of all cases and properties, in their order."""
    return tuple(sorted((*directed_ids(), *(item.id for item in PROPERTIES)), key=_order))


def _order(name: str) -> tuple[str, int, bool, str]:
    clause, _, slug = name.partition("/")
    family, _, number = clause.rpartition("-")
    return family, int(number) if number.isdigit() else 0, origin_of(name) == "property", slug


def planned_by_id(name: str) -> Planned:
    """The case or property with this id.

    Raises UsageError: when there is none.
    """
    if any(char in name for char in "*?["):
        raise UsageError(f"{name!r:.200} is not the id of one case")
    return plan(select=(name,))[0]


# --- while it runs ------------------------------------------------------------------------------------

_SEVERITY: Final[tuple[Verdict, ...]] = (
    "disputed", "crash", "timeout", "diverged", "errored", "unstable", "unsupported", "skipped", "pass",
)  # fmt: skip

_KEPT: Final = 5
"""Failing examples that are kept to look for the cause."""


@dataclass(slots=True, eq=False)
class CaseState:
    """The state of one planned case while it runs, and what is known of it when it has failed."""

    planned: Planned  # the case or property
    verdict: Verdict = "pass"  # the worst of its examples so far
    detail: str = ""  # what happened, in words
    examples: int = 0  # number of examples that were judged
    # where those came from that did not pass, each once: of a property the names of its lists
    failed: set[str] = field(default_factory=set[str])
    millis: float = 0.0  # time between sending and judging, all examples together
    drawn: bool = False  # whether no further example will be sent
    whole: bool = False  # whether all its examples were sent
    worst: Trial | None = None  # the smallest example with that verdict, made smaller at the end
    # of a property, a few examples with that verdict, the first ones
    alike: list[Trial] = field(default_factory=list["Trial"])

    @property
    def id(self) -> str:
        """Its id, `CLAUSE/slug`."""
        return self.planned.id

    @property
    def clause(self) -> str:
        """The clause that it is named after."""
        return self.planned.clauses[0]

    @property
    def family(self) -> str:
        """The family of clauses that it belongs to, such as `IDX-SEL`."""
        return self.clause.rpartition("-")[0]

    @property
    def shown(self) -> Trial:
        """The smallest example that failed, of a case that has one."""
        assert self.worst is not None
        return self.worst

    @property
    def trials(self) -> list[Trial]:
        """The examples that failed, as far as they were kept."""
        return [self.shown, *self.alike]

    @property
    def all_kept(self) -> bool:
        """Whether those are all that failed; a property with others is claimed for no cause."""
        return not self.planned.is_property or len(self.failed) <= len(self.alike)

    def add(self, trial: Trial) -> None:
        """Counts one example; the smallest failing one is kept."""
        self.examples += 1
        if trial.verdict != "pass":
            self.failed.add(trial.case.producer)
        if _SEVERITY.index(trial.verdict) < _SEVERITY.index(self.verdict):
            self.verdict, self.detail, self.worst = trial.verdict, trial.detail, None
            self.alike.clear()
        if trial.verdict != self.verdict or trial.verdict == "pass":
            return
        if self.planned.is_property and len(self.alike) < _KEPT:
            self.alike.append(trial)
        if self.worst is None or len(trial.case.ops) < len(self.worst.case.ops):
            self.worst = trial

    def dispute(self, case: Case, detail: str) -> None:
        """Records that reference and real jar disagree on an example."""
        self.examples += 1
        self.verdict, self.detail, self.worst = (
            "disputed",
            f"{case.producer}{case.producer and ': '}{detail}",
            None,
        )

    def skip(self, reason: str) -> None:
        """Records that not all examples ran, and why."""
        self.verdict = "skipped"
        self.detail = f"not all ran: {reason}" if self.examples else reason
