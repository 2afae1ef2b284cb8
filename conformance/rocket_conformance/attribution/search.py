"""The misreadings of an implementation: a set that grows by one at a time, as long as the reference with it explains more."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rocket_conformance.attribution.evidence import Evidence, Failure
from rocket_conformance.attribution.simulation import can_be_run, distance, is_same
from rocket_conformance.cases import Case, Observation
from rocket_conformance.misreadings import Mutant

_MOST_MISREADINGS: Final = 12
"""Maximum number of misreadings in the set."""

FEWEST_CASES: Final = 2
"""Number of cases that a misreading must explain."""

_OWN_SAMPLE: Final = 3
"""Number of failing cases of its own clause on which a misreading is tried."""

_SAMPLE: Final = 6
"""Number of failing cases of other clauses on which a misreading is tried."""

_FINALISTS: Final = 4
"""Number of misreadings that are compared after these trials."""

_COMPARED: Final = 200
"""Maximum number of cases on which misreadings are compared."""

_REFUTING: Final = 150
"""Number of passing cases that a misreading must pass."""

_BROKEN: Final = 1e6
"""Distance of misreadings with which the reference breaks."""


class EnoughError(Exception):
    """The number of runs is used up."""


class _Outcome(NamedTuple):
    """The effect of misreadings on a failing case: whether they give what was seen or what is expected, and the distance from what was seen."""

    exact: bool
    passes: bool
    distance: float


def family_of(clause: str) -> str:
    """The family of a clause, such as `IDX-SEL`."""
    return clause.rpartition("-")[0]


def part_of(clause: str) -> str:
    """The part of a store that a clause is about; decoding of text shows in the log."""
    head = clause.partition("-")[0]
    return "LOG" if head == "UTF8" else head


@dataclass
class Search:
    """The set of misreadings, and what was run.

    Attributes:
        evidence: of the run.
        left: how often the reference may still run a case.
        found: the set so far, in the order in which it grew.
        claims: the misreadings that are proved for a failing case, by its id.
    """

    evidence: Evidence
    left: int
    found: list[Mutant] = field(default_factory=list["Mutant"])
    claims: dict[str, frozenset[Mutant]] = field(default_factory=dict[str, "frozenset[Mutant]"])

    def __post_init__(self) -> None:
        failures = [
            failure
            for failure in self.evidence.failures
            if failure.judgement.actual
            and all(can_be_run(case, expected) for case, expected, _ in failure.observations)
        ]
        failures.sort(key=lambda failure: (len(failure.case.ops), failure.id))
        self.failures = [failure for failure in failures if failure.whole]
        self.properties = [failure for failure in failures if not failure.whole]
        self.outcomes: dict[tuple[frozenset[Mutant], str], _Outcome] = {}
        self.refuted: set[Mutant] = set()
        self._hidden: dict[Mutant, set[str]] = {}

    # --- running ------------------------------------------------------------------------------------------

    def outcome(self, misreadings: Iterable[Mutant], failure: Failure) -> _Outcome:
        """The effect of these misreadings on a failing case."""
        key = frozenset(misreadings), failure.id
        if key not in self.outcomes:
            self.outcomes[key] = self._run(key[0], failure)
        return self.outcomes[key]

    def _run(self, misreadings: frozenset[Mutant], failure: Failure) -> _Outcome:
        exact, passes, far = True, True, 0.0
        for case, expected, judgement in failure.observations:
            actual = judgement.actual
            if actual is None:
                continue
            shown: Observation | None = expected
            if misreadings:
                self._count()
                shown = self.evidence.simulation.observe(misreadings, case, expected)
            if shown is None:
                return _Outcome(exact=False, passes=False, distance=_BROKEN)
            exact = exact and is_same(actual, shown)
            passes = passes and is_same(expected, shown)
            far += distance(actual, shown)
        return _Outcome(exact, passes, far)

    def _count(self) -> None:
        if self.left <= 0:
            raise EnoughError
        self.left -= 1

    def passes(self, misreadings: Collection[Mutant], case: Case, expected: Observation) -> bool:
        """Whether the reference with these misreadings does what is expected of a case."""
        if not misreadings:
            return True
        self._count()
        shown = self.evidence.simulation.observe(frozenset(misreadings), case, expected)
        return shown is not None and is_same(expected, shown)

    # --- the set ------------------------------------------------------------------------------------------

    def grow(self) -> None:
        """Adds misreadings as long as they explain more."""
        while len(self.found) < _MOST_MISREADINGS:
            rest = [failure for failure in self.failures if not self.outcome(self.found, failure).exact]
            parts = {part_of(failure.clauses[0]) for failure in rest}
            suspects = [
                mutant
                for mutant in self.evidence.misreadings
                if part_of(mutant.clause) in parts and mutant not in self.found and mutant not in self.refuted
            ]
            sure = self._surest(suspects, rest)
            best = sure or self._best(suspects, rest)
            if best is None:
                return
            against = self.refuting(best, self.found)
            partner = self._partner(best, against, suspects, rest) if sure and against else None
            if against and partner is None:
                self.refuted.add(best)
            else:
                self.found += [best] if partner is None else [best, partner]
                self.refuted.clear()  # what is found now may hide what spoke against them

    def _surest(self, suspects: Sequence[Mutant], rest: Sequence[Failure]) -> Mutant | None:
        """Of the first clause with one that explains the smallest cases written for it, the one that explains most of them."""
        for clause in dict.fromkeys(mutant.clause for mutant in suspects):
            own = [item for item in rest if item.directed and item.clauses[0] == clause]
            sure = [
                mutant
                for mutant in suspects
                if mutant.clause == clause
                and len(own) >= FEWEST_CASES
                and all(self.outcome([*self.found, mutant], item).exact for item in own[:_OWN_SAMPLE])
            ]
            if sure:
                return max(sure, key=lambda mutant: self._gain(mutant, own[:_COMPARED]))
        return None

    def _best(self, suspects: Sequence[Mutant], rest: Sequence[Failure]) -> Mutant | None:
        """The misreading that explains most of the rest; None where none explains more than it spoils."""
        own: dict[str, list[Failure]] = {}
        firsts: dict[str, dict[str, Failure]] = {}
        for failure in rest:
            clause = failure.clauses[0]
            firsts.setdefault(part_of(clause), {}).setdefault(clause, failure)
            if failure.directed:
                own.setdefault(clause, []).append(failure)
        tried: list[tuple[float, Mutant]] = []
        for mutant in suspects:
            mine = own.get(mutant.clause, [])[:_OWN_SAMPLE]
            near = [item for item in firsts[part_of(mutant.clause)].values() if item not in mine]
            score = self._gain(mutant, [*mine, *near[:_SAMPLE]])
            if score > 0:
                tried.append((score, mutant))
        ordered = [*rest, *(failure for failure in self.failures if failure not in rest)]
        best, most = None, 0.0
        for _, mutant in sorted(tried, key=lambda item: -item[0])[:_FINALISTS]:
            near = [item for item in ordered if part_of(item.clauses[0]) == part_of(mutant.clause)]
            gain = self._gain(mutant, near[:_COMPARED])
            if gain > most:
                best, most = mutant, gain
        return best

    def _gain(self, mutant: Mutant, failures: Sequence[Failure]) -> float:
        """How much nearer the set comes to what was seen: 1 for a case that it gives exactly, less where it comes nearer."""
        gain = 0.0
        for failure in failures:
            before, after = (
                self.outcome(misreadings, failure) for misreadings in (self.found, [*self.found, mutant])
            )
            if before.exact or after.exact:
                gain += after.exact - before.exact
            elif before.distance:
                gain += max(-0.5, (before.distance - after.distance) / before.distance / 2)
        return gain

    def _partner(
        self, best: Mutant, against: str, suspects: Sequence[Mutant], rest: Sequence[Failure]
    ) -> Mutant | None:
        """The misreading that hides best in the passing case that speaks against it, and explains most beside it."""
        self.found.append(best)
        try:
            gains = {
                mutant: self._gain(mutant, rest[:_COMPARED])
                for mutant in suspects
                if mutant not in self.found
                and not self.failing({*self.found, mutant}, [against])
                and not self.refuting(mutant, self.found)
            }
        finally:
            self.found.remove(best)
        return max((mutant for mutant in gains if gains[mutant] > 0), key=gains.__getitem__, default=None)

    def refuting(self, mutant: Mutant, others: Iterable[Mutant]) -> str | None:
        """A case that the implementation passes, and others with this misreading fail."""
        family, part = family_of(mutant.clause), part_of(mutant.clause)
        clauses = [clause for clause in self.evidence.passed if part_of(clause) == part]
        clauses.sort(key=lambda clause: (clause != mutant.clause, family_of(clause) != family))
        names = [name for clause in clauses for name in self.evidence.passed[clause]]
        return self.failing({*others, mutant}, names[:_REFUTING])

    def failing(self, misreadings: Iterable[Mutant], names: Iterable[str]) -> str | None:
        """The first of these cases, which the implementation passes, that the misreadings fail."""
        passed_case = self.evidence.passed_case
        if passed_case is None:
            return None
        for name in names:
            case, expected = passed_case(name)
            if can_be_run(case, expected) and not self.passes(frozenset(misreadings), case, expected):
                return name
        return None
