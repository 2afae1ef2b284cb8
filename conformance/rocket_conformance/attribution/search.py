"""The evidence from which causes are found, misreadings run on its cases, and the set of them that gives most of what failed."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from rocket_reference import RULES_4_9_3, Rules

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import expect, same_results
from rocket_conformance.judging import can_be_run
from rocket_conformance.misreadings import MISREADINGS, Mutant, library_of
from rocket_conformance.planning import CaseState, fit_expected
from rocket_conformance.reference_adapter import UnspecifiedOperationError

_MOST_BYTES: Final = 400
"""Differing bytes that are counted of one file; more are as far."""


def family_of(clause: str) -> str:
    """The family of a clause, such as `IDX-SEL`."""
    return clause.rpartition("-")[0]


def part_of(clause: str) -> str:
    """The part of a store that a clause is about; decoding of text shows in the log."""
    head = clause.partition("-")[0]
    return "LOG" if head == "UTF8" else head


class Simulation:
    """Misreadings on cases.

    Args:
        directory: gives a path that is not used yet, for one run each.
        features: of the adapter, whose limits the answers are fitted to.
        rules: of the release that is aimed at.
    """

    def __init__(
        self,
        directory: Callable[[], Path],
        features: frozenset[str] = frozenset(),
        rules: Rules = RULES_4_9_3,
    ) -> None:
        self._directory = directory
        self._features = features
        self._rules = rules

    def observe(
        self, misreadings: frozenset[Mutant], case: Case, expected: Observation
    ) -> Observation | None:
        """The observation of the reference with all these misreadings; None where it breaks, or they cannot be combined."""
        try:
            library = library_of(misreadings)
        except ValueError:  # they change the same text
            return None
        try:
            shown = expect(case, self._directory(), self._rules, library, wanted=expected.results)
        except Exception:  # noqa: BLE001 - a misreading may break anywhere, or never return
            return None
        return fit_expected(shown, self._features)

    def stuck_at(self, misreadings: frozenset[Mutant], case: Case) -> int | None:
        """The place of the operation from which the reference with all these misreadings never returns; None without one."""
        try:
            expect(case, self._directory(), self._rules, library_of(misreadings))
        except UnspecifiedOperationError as error:
            return error.index
        except Exception:  # noqa: BLE001 - a misreading may break anywhere
            return None
        return None


def is_same(one: Observation, two: Observation) -> bool:
    """Whether all results and bytes agree, the reasons of rejections aside; `two` is what the reference made."""
    return (
        same_results(one.results, two.results)
        and one.files.keys() == two.files.keys()
        and all(image.is_like(two.files[path]) for path, image in one.files.items())
    )


def distance(one: Observation, two: Observation) -> int:
    """The number of results and bytes that differ; 0 where nothing does. `two` is what the reference made."""
    found = sum(not same_results([a], [b]) for a, b in zip(one.results, two.results, strict=True))
    for path in one.files.keys() | two.files.keys():
        a, b = one.files.get(path), two.files.get(path)
        if a is None or b is None:
            found += _MOST_BYTES
        elif not a.is_like(b):
            known = sum(1 for _ in islice(a.differing_bytes(b), _MOST_BYTES)) if a.whole else _MOST_BYTES
            found += (a.size != b.size) + known
    return found


# --- evidence -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run's outcome."""

    failures: Sequence[CaseState]  # all that failed
    simulation: Simulation  # runs misreadings
    # by clause, the ids of its own directed cases that passed
    passed: Mapping[str, Sequence[str]] = field(default_factory=dict[str, "Sequence[str]"])
    drawn: Sequence[str] = ()  # the ids of vectors drawn from a seed that passed
    # gives one of those by its id, and what is expected of it
    passed_case: Callable[[str], tuple[Case, Observation]] | None = None
    misreadings: Sequence[Mutant] = MISREADINGS  # those that are tried


# --- the set ------------------------------------------------------------------------------------------

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


@dataclass
class Search:
    """The set of misreadings of parts of a store that are searched together, and what was run."""

    evidence: Evidence  # of the run, as far as it is about these parts
    left: int  # how often the reference may still run a case
    # the set so far, in the order in which it grew
    found: list[Mutant] = field(default_factory=list["Mutant"])
    # the misreadings that are proved for a failing case, by its id
    claims: dict[str, frozenset[Mutant]] = field(default_factory=dict[str, "frozenset[Mutant]"])

    def __post_init__(self) -> None:
        failures = [
            failure
            for failure in self.evidence.failures
            if failure.shown.actual
            and all(can_be_run(trial.case, trial.expected) for trial in failure.trials)
        ]
        failures.sort(key=lambda failure: (len(failure.shown.case.ops), failure.id))
        self.failures = [failure for failure in failures if failure.all_kept]
        self.properties = [failure for failure in failures if not failure.all_kept]
        self.outcomes: dict[tuple[frozenset[Mutant], str], _Outcome] = {}
        self.refuted: set[Mutant] = set()
        self.taken_out: set[Mutant] = set()
        self._hidden: dict[Mutant, set[str]] = {}

    # --- running ------------------------------------------------------------------------------------------

    def outcome(self, misreadings: Iterable[Mutant], failure: CaseState) -> _Outcome:
        """The effect of these misreadings on a failing case."""
        key = frozenset(misreadings), failure.id
        if key not in self.outcomes:
            self.outcomes[key] = self._run(key[0], failure)
        return self.outcomes[key]

    def _run(self, misreadings: frozenset[Mutant], failure: CaseState) -> _Outcome:
        exact, passes, far = True, True, 0.0
        for trial in failure.trials:
            if trial.actual is None:
                continue
            shown: Observation | None = trial.expected
            if misreadings:
                self._count()
                shown = self.evidence.simulation.observe(misreadings, trial.case, trial.expected)
            if shown is None:
                return _Outcome(exact=False, passes=False, distance=_BROKEN)
            exact = exact and is_same(trial.actual, shown)
            passes = passes and is_same(trial.expected, shown)
            far += distance(trial.actual, shown)
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

    def begin_with(self, shown: Iterable[Mutant]) -> None:
        """Takes the misreadings that are shown already and that explain more here, before any other."""
        for mutant in shown:
            if self._gain(mutant, self.failures[:_COMPARED]) > 0 and not self.refuting(mutant, self.found):
                self.found.append(mutant)

    def grow(self) -> None:
        """Adds misreadings as long as they explain more, and takes out those that stood for several which were found later.

        Then properties are looked at of which only some failing lists were kept, for misreadings that no other case shows.
        """
        self._add()
        while (worst := self._worst()) is not None:
            self.found.remove(worst)
            self.taken_out.add(worst)
            self._add()
        rest = [failure for failure in self.properties if not self.outcome(self.found, failure).exact]
        near = [
            mutant
            for mutant in self._suspects()
            if any(self.gives([*self.found, mutant], item) for item in rest[:_SAMPLE])
        ]
        if near:
            self.taken_out.update(mutant for mutant in self.evidence.misreadings if mutant not in near)
            self.failures, self.properties = (
                self.failures + rest,
                [i for i in self.properties if i not in rest],
            )
            self._add()

    def _suspects(self) -> list[Mutant]:
        return [
            mutant
            for mutant in self.evidence.misreadings
            if mutant not in self.found and mutant not in self.refuted | self.taken_out
        ]

    def gives(self, misreadings: Iterable[Mutant], failure: CaseState) -> bool:
        """Whether misreadings give what was seen of the smallest failing list."""
        trial = failure.shown
        self._count()
        shown = self.evidence.simulation.observe(frozenset(misreadings), trial.case, trial.expected)
        return shown is not None and trial.actual is not None and is_same(trial.actual, shown)

    def _worst(self) -> Mutant | None:
        """The misreading without which the set gives most more; None if there is none."""
        found, gains = self.found, dict[Mutant, float]()
        try:
            for mutant in found:
                self.found = [other for other in found if other != mutant]
                gains[mutant] = self._gain(mutant, self.failures[:_COMPARED])
        finally:
            self.found = found
        worst = min(gains, key=gains.__getitem__, default=None)
        return worst if worst is not None and gains[worst] < 0 else None

    def _add(self) -> None:
        while len(self.found) < _MOST_MISREADINGS:
            rest = [failure for failure in self.failures if not self.outcome(self.found, failure).exact]
            suspects = self._suspects()
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

    def _surest(self, suspects: Sequence[Mutant], rest: Sequence[CaseState]) -> Mutant | None:
        """The misreading of the first possible clause that explains its smallest directed cases, and most of the others of that clause."""
        for clause in dict.fromkeys(mutant.clause for mutant in suspects):
            own = [item for item in rest if item.planned.is_directed and item.clause == clause]
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

    def _best(self, suspects: Sequence[Mutant], rest: Sequence[CaseState]) -> Mutant | None:
        """The misreading that explains most of the rest; None where none explains more than it spoils."""
        own: dict[str, list[CaseState]] = {}
        firsts: dict[str, CaseState] = {}
        for failure in rest:
            firsts.setdefault(failure.clause, failure)
            if failure.planned.is_directed:
                own.setdefault(failure.clause, []).append(failure)
        tried: list[tuple[float, Mutant]] = []
        for mutant in suspects:
            mine = own.get(mutant.clause, [])[:_OWN_SAMPLE]
            near = [item for item in firsts.values() if item not in mine]
            score = self._gain(mutant, [*mine, *near[:_SAMPLE]])
            if score > 0:
                tried.append((score, mutant))
        ordered = [*rest, *(failure for failure in self.failures if failure not in rest)]
        best, most = None, 0.0
        for _, mutant in sorted(tried, key=lambda item: -item[0])[:_FINALISTS]:
            gain = self._gain(mutant, ordered[:_COMPARED])
            if gain > most:
                best, most = mutant, gain
        return best

    def _gain(self, mutant: Mutant, failures: Sequence[CaseState]) -> float:
        """The gain of a set in agreement with what was seen: 1 for a case that it gives exactly, less where it comes nearer."""
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
        self, best: Mutant, against: str, suspects: Sequence[Mutant], rest: Sequence[CaseState]
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
        family = family_of(mutant.clause)
        clauses = sorted(
            self.evidence.passed, key=lambda clause: (clause != mutant.clause, family_of(clause) != family)
        )
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
