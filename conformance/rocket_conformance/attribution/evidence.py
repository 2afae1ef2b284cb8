"""The evidence from which causes are found: the failures of a run, and the directed cases that passed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rocket_conformance.attribution.simulation import Simulation
from rocket_conformance.cases import Case, Observation
from rocket_conformance.judging import Judgement
from rocket_conformance.misreadings import MISREADINGS, Mutant


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
        whole: whether those are all lists that failed; a property with others is claimed for no cause.
    """

    id: str
    clauses: tuple[str, ...]
    directed: bool
    case: Case
    expected: Observation
    judgement: Judgement
    alike: tuple[tuple[Case, Observation, Judgement], ...] = ()
    whole: bool = True

    @property
    def observations(self) -> list[tuple[Case, Observation, Judgement]]:
        """The case, and all further lists."""
        return [(self.case, self.expected, self.judgement), *self.alike]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run's outcome.

    Attributes:
        failures: all that failed.
        simulation: runs misreadings.
        passed: by clause, the ids of its own directed cases that passed.
        drawn: the ids of vectors drawn from a seed that passed.
        passed_case: gives one of those by its id, and what is expected of it.
        misreadings: those that are tried.
    """

    failures: Sequence[Failure]
    simulation: Simulation
    passed: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    drawn: Sequence[str] = ()
    passed_case: Callable[[str], tuple[Case, Observation]] | None = None
    misreadings: Sequence[Mutant] = MISREADINGS
