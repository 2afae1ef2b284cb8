"""Causes of failures, proved: misreadings with which the reference gives the implementation's own answers and bytes.

An implementation is taken for the reference with a set of misreadings of the catalogue. The set grows by one misreading at
a time, the one with which the reference gives most further failing cases exactly, or comes nearest to them. A misreading
that fails a case which the implementation passes is none of its.

A failing case that the set gives exactly is then claimed for the misreadings of the set that matter in it. Running the
reference with them alone has to give what the implementation did, and with the rest of the set what is expected: mending them
mends the case, but for further faults that they hide. Misreadings that they may hide are stated with them.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rocket_conformance.attribution.evidence import Evidence, Failure
from rocket_conformance.attribution.simulation import can_be_run, distance, is_same
from rocket_conformance.cases import Observation
from rocket_conformance.misreadings import Mutant

MOST_RUNS: Final = 30_000
"""Runs of a case on the reference that each step takes at most: some ten seconds, if faults are many."""
_MOST_TOGETHER: Final = 8
_FEWEST_CASES: Final = 2
"""How many misreadings a cause may have, and how many cases it needs."""
_MOST_MISREADINGS: Final = 12
_OWN_SAMPLE: Final = 3
_SAMPLE: Final = 6
_FINALISTS: Final = 4
_COMPARED: Final = 200
_REFUTING: Final = 150
_BROKEN: Final = 1e6
"""How many misreadings the set may have; on how many failing cases of its own clause and of others a misreading is tried;
how many are compared on how many cases then; how many passing cases it has to pass; and how far one that breaks is."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Misreadings that together are what some failing cases show: the first one's clause comes first in SPEC.md.

    Attributes:
        misreadings: instead of each, those of its family that come to the same in all that is claimed.
        failures: what is claimed.
        hidden: misreadings that make no difference beside the cause: the implementation may have them, too.
    """

    misreadings: tuple[tuple[Mutant, ...], ...]
    failures: tuple[Failure, ...]
    hidden: tuple[Mutant, ...] = ()


def find_causes(evidence: Evidence, *, most_runs: int = MOST_RUNS) -> tuple[Cause, ...]:
    """The causes that are proved, single misreadings before sets of them; a failure belongs to one at most.

    Args:
        evidence: of the run.
        most_runs: how often the reference may run a case to find the set, to prove it, and to look for what it hides.
    """
    search = _Search(evidence, most_runs)
    with suppress(_EnoughError):
        search.grow()
    search.left = most_runs
    with suppress(_EnoughError):
        search.prove()
    search.left = most_runs
    try:
        search.look_behind()
        search.left = most_runs // 2
        search.alike = {mutant: tuple(search.like(mutant)) for mutant in search.found}
        return search.causes()
    except _EnoughError:  # a claim that was not examined is not made
        return ()


class _EnoughError(Exception):
    """The number of runs is used up."""


class _Outcome(NamedTuple):
    """What misreadings make of a failing case: what was seen, what is expected, and how far from what was seen."""

    exact: bool
    passes: bool
    distance: float


def _family(clause: str) -> str:
    return clause.rpartition("-")[0]


def part_of(clause: str) -> str:
    """The part of a store that a clause is about; decoding of text shows in the log."""
    head = clause.partition("-")[0]
    return "LOG" if head == "UTF8" else head


@dataclass
class _Search:
    """The set of misreadings, and what was run.

    Attributes:
        evidence: of the run.
        left: how often the reference may still run a case.
        found: the set so far, in the order in which it grew.
        claims: the misreadings that are proved for a failing case, by its id.
        alike: by a misreading of the set, all of its family that give the same where it is claimed.
    """

    evidence: Evidence
    left: int
    found: list[Mutant] = field(default_factory=list["Mutant"])
    claims: dict[str, frozenset[Mutant]] = field(default_factory=dict[str, "frozenset[Mutant]"])
    alike: dict[Mutant, tuple[Mutant, ...]] = field(default_factory=dict["Mutant", "tuple[Mutant, ...]"])

    def __post_init__(self) -> None:
        self._failures = [
            failure
            for failure in self.evidence.failures
            if failure.whole
            and failure.judgement.actual
            and all(can_be_run(case, expected) for case, expected, _ in failure.observations)
        ]
        self._failures.sort(key=lambda failure: (len(failure.case.ops), failure.id))
        self._outcomes: dict[tuple[frozenset[Mutant], str], _Outcome] = {}
        self._refuted: set[Mutant] = set()
        self._hidden: dict[Mutant, set[str]] = {}

    # --- running ------------------------------------------------------------------------------------------

    def _outcome(self, misreadings: Iterable[Mutant], failure: Failure) -> _Outcome:
        key = frozenset(misreadings), failure.id
        if key not in self._outcomes:
            self._outcomes[key] = self._run(key[0], failure)
        return self._outcomes[key]

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
            raise _EnoughError
        self.left -= 1

    # --- the set ------------------------------------------------------------------------------------------

    def grow(self) -> None:
        """Adds misreadings as long as they explain more."""
        while len(self.found) < _MOST_MISREADINGS:
            rest = [failure for failure in self._failures if not self._outcome(self.found, failure).exact]
            parts = {part_of(failure.clauses[0]) for failure in rest}
            suspects = [
                mutant
                for mutant in self.evidence.misreadings
                if part_of(mutant.clause) in parts
                and mutant not in self.found
                and mutant not in self._refuted
            ]
            sure = self._surest(suspects, rest)
            best = sure or self._best(suspects, rest)
            if best is None:
                return
            against = self._refuting(best, self.found)
            partner = self._partner(best, against, suspects, rest) if sure and against else None
            if against and partner is None:
                self._refuted.add(best)
            else:
                self.found += [best] if partner is None else [best, partner]
                self._refuted.clear()  # what is found now may hide what spoke against them

    def _surest(self, suspects: Sequence[Mutant], rest: Sequence[Failure]) -> Mutant | None:
        """Of the first clause with one that explains the smallest cases written for it, the one that explains most of them."""
        for clause in dict.fromkeys(mutant.clause for mutant in suspects):
            own = [item for item in rest if item.directed and item.clauses[0] == clause]
            sure = [
                mutant
                for mutant in suspects
                if mutant.clause == clause
                and len(own) >= _FEWEST_CASES
                and all(self._outcome([*self.found, mutant], item).exact for item in own[:_OWN_SAMPLE])
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
        ordered = [*rest, *(failure for failure in self._failures if failure not in rest)]
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
                self._outcome(misreadings, failure) for misreadings in (self.found, [*self.found, mutant])
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
                and not self._failing({*self.found, mutant}, [against])
                and not self._refuting(mutant, self.found)
            }
        finally:
            self.found.remove(best)
        return max((mutant for mutant in gains if gains[mutant] > 0), key=gains.__getitem__, default=None)

    def _refuting(self, mutant: Mutant, others: Iterable[Mutant]) -> str | None:
        """A case that the implementation passes, and others with this misreading fail."""
        family, part = _family(mutant.clause), part_of(mutant.clause)
        clauses = [clause for clause in self.evidence.passed if part_of(clause) == part]
        clauses.sort(key=lambda clause: (clause != mutant.clause, _family(clause) != family))
        names = [name for clause in clauses for name in self.evidence.passed[clause]]
        return self._failing({*others, mutant}, names[:_REFUTING])

    def _failing(self, misreadings: Iterable[Mutant], names: Iterable[str]) -> str | None:
        """The first of these cases, which the implementation passes, that the misreadings fail."""
        passed_case = self.evidence.passed_case
        if passed_case is None:
            return None
        for name in names:
            case, expected = passed_case(name)
            if can_be_run(case, expected):
                self._count()
                shown = self.evidence.simulation.observe(frozenset(misreadings), case, expected)
                if shown is None or not is_same(expected, shown):
                    return name
        return None

    # --- proofs -------------------------------------------------------------------------------------------

    def prove(self) -> None:
        """Leaves out misreadings that no case needs beside the others, and finds what each failing case can be claimed for."""
        for mutant in tuple(self.found):
            rest = [other for other in self.found if other != mutant]
            if not any(
                self._needs(mutant, item) for item in self._failures if self._outcome(self.found, item).exact
            ):
                self.found = rest
        for failure in self._failures:
            if not self._outcome(self.found, failure).exact:
                continue
            active = frozenset(m for m in self.found if self._matters(m, failure))
            if 0 < len(active) <= _MOST_TOGETHER and self._is_proved(active, failure):
                self.claims[failure.id] = active

    def _is_proved(self, misreadings: frozenset[Mutant], failure: Failure) -> bool:
        """Whether they give what was seen, and the rest of the set what is expected."""
        rest = set(self.found) - misreadings
        return self._outcome(misreadings, failure).exact and self._outcome(rest, failure).passes

    def _matters(self, mutant: Mutant, failure: Failure) -> bool:
        """Whether the set needs a misreading for a case that it gives exactly, or it alone changes something there."""
        return self._needs(mutant, failure) or not self._outcome([mutant], failure).passes

    def _needs(self, mutant: Mutant, failure: Failure) -> bool:
        return not self._outcome(set(self.found) - {mutant}, failure).exact

    def look_behind(self) -> None:
        """Finds the misreadings that the claims may hide: the set with one of them gives the same in all that is claimed.

        A claim that is not examined is not made.
        """
        hidden = {mutant: set[str]() for mutant in self.evidence.misreadings if self._may_hide(mutant)}
        claims, self.claims = self.claims, {}
        with suppress(_EnoughError):
            for failure in self._failures:
                if failure.id not in claims:
                    continue
                part = part_of(failure.clauses[0])
                for mutant in [item for item in hidden if part_of(item.clause) == part]:
                    if self._outcome([mutant], failure).passes:
                        continue
                    hidden[mutant].add(failure.id)
                    if not self._outcome([*self.found, mutant], failure).exact:
                        del hidden[mutant]
                self.claims[failure.id] = claims[failure.id]
        self._hidden = hidden

    def _may_hide(self, mutant: Mutant) -> bool:
        """Whether the cases written for its clause, failed and passed, do not speak against it beside the set."""
        parts = {part_of(item.clauses[0]) for item in self._failures if item.id in self.claims}
        misread = {other.clause for other in self.found}
        if part_of(mutant.clause) not in parts or mutant.clause in misread or mutant in self._refuted:
            return False
        together = frozenset((*self.found, mutant))
        own = [item for item in self._failures if item.directed and item.clauses[0] == mutant.clause]
        known = (item for item in own if self._outcome(self.found, item).exact)
        passed = self.evidence.passed.get(mutant.clause, ())
        return all(self._outcome(together, item).exact for item in known) and not self._failing(
            together, passed
        )

    def like(self, mutant: Mutant) -> Iterator[Mutant]:
        """The misreadings of its family with which the set gives all cases that are claimed for it, and itself."""
        rest = frozenset(self.found) - {mutant}
        claimed = [item for item in self._failures if mutant in self.claims.get(item.id, ())]
        for other in self.evidence.misreadings:
            if other == mutant or (
                _family(other.clause) == _family(mutant.clause)
                and other not in rest
                and all(
                    self._outcome(self.claims[item.id] - {mutant} | {other}, item).exact for item in claimed
                )
                and not self._refuting(other, rest)
            ):
                yield other

    def causes(self) -> tuple[Cause, ...]:
        """What is proved of more than one case, without misreadings of which there is doubt."""
        doubtful = {mutant for mutant in self.found if self._is_doubtful(mutant)}
        groups: dict[frozenset[Mutant], list[Failure]] = {}
        for failure in self._failures:
            claimed = self.claims.get(failure.id)
            if claimed is not None and not claimed & doubtful:
                groups.setdefault(claimed, []).append(failure)
        for claimed in sorted(groups, key=len):
            [first, *more] = groups[claimed]
            wider = [other for other in groups if claimed < other and self._is_proved(other, first)]
            if wider and not more:
                groups[min(wider, key=len)] += groups.pop(claimed)
        places = {mutant: place for place, mutant in enumerate(self.evidence.misreadings)}
        causes = [
            Cause(
                tuple(self.alike[item] for item in sorted(misreadings, key=places.__getitem__)),
                tuple(failures),
                tuple(
                    mutant for mutant, names in self._hidden.items() if names & {item.id for item in failures}
                ),
            )
            for misreadings, failures in groups.items()
            if len(failures) >= _FEWEST_CASES
        ]
        return tuple(sorted(causes, key=lambda item: (len(item.misreadings), -len(item.failures))))

    def _is_doubtful(self, mutant: Mutant) -> bool:
        """Whether fewer than two cases need it, or most cases of its own clause where it matters show something else."""
        claimed = [item for item in self._failures if mutant in self.claims.get(item.id, ())]
        if sum(self._needs(mutant, item) for item in claimed) < _FEWEST_CASES:
            return True
        alone = frozenset((mutant,))
        own = [item for item in self._failures if item.directed and item.clauses[0] == mutant.clause]
        own = [item for item in own if (alone, item.id) in self._outcomes]
        own = [item for item in own if not self._outcome(alone, item).passes]
        return 2 * sum(self._outcome(self.found, item).exact for item in own) < len(own)
