"""Wrong implementations that are no misreading, and the matrix: each one against the cases of its clause, and what these cover."""

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocket_spec.clauses import clauses
from rocket_spec.errors import UsageError

from rocket_conformance.cases import Case, directed_cases, origin_of
from rocket_conformance.judging import Verdict
from rocket_conformance.misreadings import MUTANTS, Mutant
from rocket_conformance.planning import Planned, plan
from rocket_conformance.properties import PROPERTIES
from rocket_conformance.protocol import OBJECTS, OPERATIONS, Op, Result
from rocket_conformance.reference_adapter import ReferenceAdapter
from rocket_conformance.report import CaseLine
from rocket_conformance.running import Options, run_planned
from rocket_conformance.transport import Handler, Transport, open_handler

# --- impostors ----------------------------------------------------------------------------------------

_EMPTY: Final[dict[str, Any]] = {
    "i32": 0,
    "i64": "0",
    "i64[]": [],
    "bool": False,
    "string": "",
    "string?": None,
    "key": "",
    "key?": None,
    "unit?": None,
    "request[]": [],
    "index_header": {name: 0 if kind == "i32" else "0" for name, kind in OBJECTS["index_header"].items()},
    "index_entry[]": [],
    "queue_unit[]": [],
    "record[]": [],
}


def _empty(op: Op) -> Result:
    return {name: _EMPTY[kind] for name, kind in OPERATIONS[op["op"]].result.items()}


def _true(op: Op) -> Result:
    return {name: True if value is False else value for name, value in _empty(op).items()}


def _echo(op: Op) -> Result:
    """Each result field from the operation's field of that name, else from its first of that kind."""
    operation = OPERATIONS[op["op"]]
    result = _empty(op)
    for name, kind in operation.result.items():
        alike = [field for field, other in operation.fields.items() if field == name or other == kind]
        given = [op[field] for field in sorted(alike, key=lambda field: field != name) if field in op]
        result[name] = given[0] if given else result[name]
    return result


class _Answers(ReferenceAdapter):
    """An adapter that answers each operation by itself and touches no file."""

    def __init__(self, name: str, answer: Callable[[Op], Result], ops: Iterable[str]) -> None:
        super().__init__(name=name)
        self._answer = answer
        self._ops = sorted(ops)

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] == "case":
            return {"id": message["id"], "results": [self._answer(op) for op in message["ops"]], "files": []}
        hello = super().handle(message)
        return None if hello is None else {**hello, "ops": self._ops}


class _AnswersOnly(ReferenceAdapter):
    """Right answers, and no byte of it where the harness looks."""

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] != "case":
            return super().handle(message)
        with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
            copy = Path(scratch, "case")
            shutil.copytree(message["dir"], copy)
            answer = super().handle({**message, "dir": str(copy)}) or {}
        return {**answer, "files": []}


class _BytesOnly(ReferenceAdapter):
    """The right bytes, and null answers."""

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        answer = super().handle(message)
        if answer is not None and message["cmd"] == "case":
            answer["results"] = [
                result if "rejected" in result else _empty(op)
                for op, result in zip(message["ops"], answer["results"], strict=True)
            ]
        return answer


@dataclass(frozen=True, slots=True)
class Impostor:
    """An adapter that behaves and implements nothing."""

    name: str  # what it does
    handler: Callable[[], Handler]  # makes it
    clause: str = "none"  # "none": it misreads no clause of its own

    def open(self) -> AbstractContextManager[Transport]:
        """It as an implementation under test, in this process."""
        return open_handler(self.handler())


def _answering(name: str, answer: Callable[[Op], Result], ops: Iterable[str] = OPERATIONS) -> Impostor:
    return Impostor(name, lambda: _Answers(name, answer, ops))


IMPOSTORS: Final = (
    _answering("always-empty", _empty),
    _answering("always-true", _true),
    _answering("echo", _echo),
    _answering("rejects-all", lambda _op: {"rejected": "not today"}),
    _answering("skips-all", lambda _op: {"skipped": "not today"}),
    _answering("supports-nothing", lambda _op: {"unsupported": True}),
    _answering("declares-nothing", _empty, ()),
    Impostor("answers-without-bytes", lambda: _AnswersOnly(name="answers-without-bytes")),
    Impostor("bytes-without-answers", lambda: _BytesOnly(name="bytes-without-answers")),
)
"""Each behaves as an adapter must."""


# --- catalogue ----------------------------------------------------------------------------------------

CATALOGUE: Final[tuple[Mutant | Impostor, ...]] = (*MUTANTS, *IMPOSTORS)
"""All of them, each name once."""


def find(select: Sequence[str] = (), families: Sequence[str] = ()) -> list[Mutant | Impostor]:
    """Those whose name or clause matches one of the globs, and whose clause is of one of the families.

    Args:
        select: globs on the whole name (`hash-*`) or the whole clause (`IDX-PUT-*`); none selects all.
        families: beginnings of clause ids, `IDX-SVC`; what misreads no clause is of the family `none`.

    Raises UsageError: when nothing is left.
    """
    chosen = [
        item
        for item in CATALOGUE
        if (
            not select or any(fnmatchcase(name, glob) for name in (item.name, item.clause) for glob in select)
        )
        and (not families or any(f"{item.clause}-".startswith(f"{family}-") for family in families))
    ]
    if not chosen:
        raise UsageError(
            f"no mutant matches {', '.join((*select, *families))}; `rocketspec mutants --list` names them"
        )
    return chosen


# --- coverage -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClauseCoverage:
    """Cases, mutants and tests of one clause."""

    id: str
    level: str
    evidence: str
    directed: int
    seeded: int
    properties: int
    mutants: int

    @property
    def shown(self) -> bool:
        """Whether its evidence is there: a directed case, or the golden test that it names."""
        return self.directed > 0 if self.evidence == "case" else self.evidence == "golden"


def coverage() -> list[ClauseCoverage]:
    """Every clause, in the order of SPEC.md."""
    seeded = Counter(case.clauses[0] for case in directed_cases() if origin_of(case.id) == "seeded")
    cases = Counter(case.clauses[0] for case in directed_cases())
    properties = Counter(item.clauses[0] for item in PROPERTIES)
    mutants = Counter(mutant.clause for mutant in MUTANTS)
    return [
        ClauseCoverage(
            id=name,
            level=clause.level,
            evidence=clause.evidence,
            directed=cases[name] - seeded[name],
            seeded=seeded[name],
            properties=properties[name],
            mutants=mutants[name],
        )
        for name, clause in clauses().items()
    ]


def figures(killed: int, total: int) -> str:
    """Clause coverage and mutant score in words, as the README gives them."""
    asked = [row for row in coverage() if row.level != "UNSPECIFIED"]
    by_case = sum(row.evidence == "case" and row.shown for row in asked)
    by_golden = sum(row.evidence == "golden" for row in asked)
    shown = sum(row.shown for row in asked)
    return (
        f"Clause coverage {shown} of {len(asked)} ({shown / len(asked):.0%}): "
        f"{by_case} by cases through the protocol, {by_golden} by named tests on golden data and the real jar.\n"
        f"Mutant score {killed} of {total} ({killed / total:.0%}): wrong implementations that the suite notices."
    )


# --- hunting ------------------------------------------------------------------------------------------

_BIG: Final = 1 << 20

_FEW: Final = 8
"""Most mutants fail one of a property's first lists: the others are drawn where these pass."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one mutant."""

    name: str  # the mutant's
    clause: str  # the clause that it misreads, or "none"
    # id of the first case that it does not pass; "" where nothing applies to it at all, None where it
    # survives
    killed_by: str | None
    verdict: Verdict  # of that case
    own: bool  # whether it is a directed case of the mutant's clause
    cases: int  # how many were run
    millis: int  # how long they took

    @property
    def killed(self) -> bool:
        """Whether the suite noticed."""
        return self.killed_by is not None


@cache
def _everything() -> tuple[Planned, ...]:
    """All cases and properties, those on files of the default geometry last: they take a second."""
    return tuple(sorted(plan(), key=lambda item: "default-geometry" in item.id or _size(item) > _BIG))


def _size(item: Planned) -> int:
    return sum(image.size for image in item.source.files.values()) if isinstance(item.source, Case) else 0


@cache
def own_cases(clause: str) -> tuple[Planned, ...]:
    """The directed cases named after a clause."""
    return tuple(item for item in _everything() if item.is_directed and item.clauses[0] == clause)


def properties() -> tuple[Planned, ...]:
    """The properties, of all clauses."""
    return tuple(item for item in _everything() if item.is_property)


def _run(transport: Transport, item: Planned, options: Options) -> CaseLine:
    """The case's line of a report; of a property, of its first lists if they fail."""
    if item.is_property and options.examples > _FEW:
        line, _ = run_planned(transport, item, replace(options, examples=_FEW))
        if line.verdict != "pass":
            return line
    return run_planned(transport, item, options)[0]


def hunt(
    mutant: Mutant | Impostor, *, seed: int = 0, examples: int = 100, among: Sequence[Planned] | None = None
) -> Outcome:
    """Runs the suite, or `among` alone, on a mutant, the directed cases of its clause first, up to the first that notices."""
    own = own_cases(mutant.clause)
    planned = among if among is not None else (*own, *(item for item in _everything() if item not in own))
    options = Options(seed=seed, examples=examples, shrink_seconds=0)
    start = time.monotonic()
    ran = 0
    with mutant.open() as transport:
        for item in planned:
            if item.obstacle(transport.hello) is not None:
                continue
            line = _run(transport, item, options)
            ran += 1
            if line.verdict != "pass":
                break
        else:
            line, item = None, None
    return Outcome(
        name=mutant.name,
        clause=mutant.clause,
        killed_by=line.id if line else None if ran else "",
        verdict=line.verdict if line else "pass" if ran else "not_applicable",
        own=item in own,
        cases=ran,
        millis=round((time.monotonic() - start) * 1000),
    )
