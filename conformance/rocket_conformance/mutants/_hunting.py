"""Runs the suite on a mutant up to the first case that notices."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from rocket_conformance.cases import Case
from rocket_conformance.judging import Verdict
from rocket_conformance.misreadings import Mutant
from rocket_conformance.mutants._impostors import Impostor
from rocket_conformance.mutants._misbehaving import Misbehaving
from rocket_conformance.planning import Planned, plan
from rocket_conformance.report import CaseLine
from rocket_conformance.running import Options, run_planned
from rocket_conformance.transport import Transport

_BIG: Final = 1 << 20

_FEW: Final = 8
"""Most mutants fail one of a property's first lists: the others are drawn where these pass."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one mutant.

    Attributes:
        name: the mutant's.
        clause: the clause that it misreads, or "none".
        killed_by: id of the first case that it does not pass; "" where nothing applies to it at all, None
            where it survives.
        verdict: of that case.
        own: whether it is a directed case of the mutant's clause.
        cases: how many were run.
        millis: how long they took.
    """

    name: str
    clause: str
    killed_by: str | None
    verdict: Verdict
    own: bool
    cases: int
    millis: int

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
    mutant: Mutant | Impostor | Misbehaving,
    *,
    seed: int = 0,
    examples: int = 100,
    among: Sequence[Planned] | None = None,
) -> Outcome:
    """Runs the suite on a mutant, the directed cases of its clause first, up to the first that notices.

    Args:
        mutant: any of the catalogue.
        seed: of the properties' lists.
        examples: lists per property.
        among: run these alone.
    """
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
