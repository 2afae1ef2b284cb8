"""What a run knows when causes are looked for: the failures, and which directed cases passed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from rocket_conformance.attribution.symptom import Symptom, places_of, symptom_of
from rocket_conformance.misreadings import MUTANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocket_conformance.attribution.simulation import Simulation
    from rocket_conformance.cases import Case, Observation
    from rocket_conformance.judge import Judgement
    from rocket_conformance.misreadings import Mutant

__all__ = ["Evidence", "Failure"]


_OPERATION: Final = re.compile(r"operation \d+ \(([a-z_.]+)\)")


@dataclass(frozen=True)
class Failure:
    """A case that failed.

    Attributes:
        id: `CLAUSE/slug`.
        clauses: what it is evidence of, the clause that it is named after first.
        directed: whether it was written for that clause: neither a property nor drawn from a seed.
        case: what was sent; of a property, one failing list.
        expected: what the reference did.
        judgement: what the implementation did, and the differences.
        alike: of a property, further lists that failed.
    """

    id: str
    clauses: tuple[str, ...]
    directed: bool
    case: Case
    expected: Observation
    judgement: Judgement
    alike: tuple[tuple[Case, Observation, Judgement], ...] = ()

    @property
    def observations(self) -> list[tuple[Case, Observation, Judgement]]:
        """The case, and all further lists."""
        return [(self.case, self.expected, self.judgement), *self.alike]

    @cached_property
    def symptom(self) -> Symptom:
        """Of the first difference; of a crash, hang or error the operation that the detail names, and the verdict."""
        if self.judgement.found:
            return symptom_of(self.judgement.found[0], self.case.ops)
        named = _OPERATION.match(self.judgement.detail)
        return Symptom(named[1] if named else "", self.judgement.verdict)

    @cached_property
    def places(self) -> frozenset[str]:
        """Of all differences."""
        return places_of(self.judgement.found, self.case.ops)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run's outcome.

    Attributes:
        failures: all that failed.
        passed: by clause, the ids of its own directed cases that passed.
        passed_case: gives one of those by its id, and what the reference does with it.
        simulation: runs misreadings.
        misreadings: those that are tried.
    """

    failures: Sequence[Failure]
    passed: Mapping[str, Sequence[str]]
    passed_case: Callable[[str], tuple[Case, Observation]]
    simulation: Simulation
    misreadings: Sequence[Mutant] = MUTANTS
