"""Causes of failures, proved: misreadings with which the reference gives the implementation's own answers and bytes.

An implementation is taken for the reference with a set of misreadings of the catalogue. The set grows by one misreading at
a time, the one with which the reference gives most further failing cases exactly, or comes nearest to them. A misreading
is ruled out if it would fail a case that passed.

Index files, queues with the log that fills them, and the checkpoint are searched one after the other, each with its own
misreadings and those that are shown already: `hash factor 33` makes tags codes wrong, too.

A failing case that the set gives exactly is then claimed for the misreadings of the set that matter in it. The reference
with them alone must give what the implementation gave, and with the rest of the set what is expected: fixing them then fixes
the case, except for other faults that they hide. Misreadings that they may hide are stated with them.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self

from rocket_conformance.attribution.evidence import (
    CaseState,
    Evidence,
    as_examples,
    can_be_run,
    distance,
    family_of,
    is_same,
    part_of,
)
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


@dataclass
class Search:
    """The set of misreadings of parts of a store that are searched together, and what was run.

    Attributes:
        evidence: of the run, as far as it is about these parts.
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
        """Adds misreadings as long as they explain more."""
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


# --- causes -------------------------------------------------------------------------------------------

MOST_RUNS: Final = 30_000
"""Runs of a case on the reference that each step takes at most in each search: some ten seconds, if faults are many."""
_SEARCHED: Final = (("IDX",), ("CQ", "LOG"), ("CKP",))
"""The parts of a store that are searched together: faults of queues and of the log's fields hide in the same tags codes."""
_MOST_TOGETHER: Final = 8
"""Maximum number of misreadings that one case may show."""

_MOST_ALIKE: Final = 3
"""Maximum number of misreadings of one cause that give the same."""

_READABLE: Final = 12
"""Number of operations up to which a person can read an example."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A misreading that failing cases show exactly, alone or with other causes.

    Attributes:
        misreadings: it, and those of its family that come to the same in all that is claimed.
        failures: what is claimed.
        shows: the number of failing cases in which it would show, or of properties if no other case shows it.
        example: the case to show: one that it gives alone, if there is one.
        sampled: properties of which too many lists failed to run all, and the first ones show exactly it, too.
        together: causes that hide it in cases that pass: to mend it alone would break those.
        hidden: misreadings that make no difference beside the causes: the implementation may have them, too.
        doubted: whether a case that was written for its clause fails otherwise than the causes do.
    """

    misreadings: tuple[Mutant, ...]
    failures: tuple[CaseState, ...]
    shows: int
    example: CaseState
    sampled: tuple[CaseState, ...] = ()
    together: tuple[Mutant, ...] = ()
    hidden: tuple[Mutant, ...] = ()
    doubted: bool = False

    def with_more(self, other: Self) -> Self:
        """Itself with what other parts of the store show of the same misreading."""
        both = [self, other]
        return replace(
            self,
            misreadings=tuple(item for item in self.misreadings if item in other.misreadings),
            failures=self.failures + other.failures,
            shows=sum(cause.shows for cause in [cause for cause in both if cause.failures] or both),
            sampled=self.sampled + other.sampled,
            together=self.together + other.together,
            hidden=self.hidden + other.hidden,
            doubted=self.doubted or other.doubted,
        )

    @property
    def is_sure(self) -> bool:
        """Whether all cases in which it would show do show it, they or the properties are more than one, and there is no doubt."""
        several = len(self.failures) + len(self.sampled) >= FEWEST_CASES
        return several and self.shows == len(self.failures or self.sampled) and not self.doubted


def find_causes(evidence: Evidence, *, most_runs: int = MOST_RUNS) -> tuple[Cause, ...]:
    """The causes that are proved, those first that no failing case speaks against; a failure may belong to several.

    Args:
        evidence: of the run.
        most_runs: how often the reference may run a case to find the set, to prove it, and to look for what it hides.
    """
    found: list[Cause] = []
    for parts in _SEARCHED:
        shown = [mutant for cause in found for mutant in cause.misreadings[:1]]
        search = _Claims(_part_of_evidence(evidence, parts, shown), most_runs)
        with suppress(EnoughError):
            search.begin_with(shown)
            search.grow()
        search.left = most_runs
        with suppress(EnoughError):
            search.prove()
        search.left = most_runs
        with suppress(EnoughError):  # a claim that was not examined is not made
            search.look_behind()
            search.left = most_runs
            for cause in search.causes():
                known = next((item for item in found if item.misreadings[0] == cause.misreadings[0]), None)
                if known is not None:
                    found.remove(known)
                found.append(cause if known is None else known.with_more(cause))
    return tuple(sorted(found, key=lambda item: (not item.is_sure, -len(item.failures))))


def _part_of_evidence(evidence: Evidence, parts: Collection[str], shown: Sequence[Mutant]) -> Evidence:
    """The evidence about parts of a store, with the misreadings of those that have failing cases, and those that are shown already."""
    failures = [item for item in evidence.failures if part_of(item.clause) in parts]
    failing = {part_of(item.clause) for item in failures}
    return replace(
        evidence,
        failures=failures,
        passed={clause: names for clause, names in evidence.passed.items() if part_of(clause) in parts},
        drawn=[name for name in evidence.drawn if part_of(name.partition("/")[0]) in parts],
        misreadings=[*shown, *(item for item in evidence.misreadings if part_of(item.clause) in failing)],
    )


class _Claims(Search):
    """Claims of the set, with the results of their examination."""

    # --- proofs -------------------------------------------------------------------------------------------

    def prove(self) -> None:
        """Leaves out misreadings that no case needs beside the others, and finds what each failing case can be claimed for."""
        for mutant in tuple(self.found):
            rest = [other for other in self.found if other != mutant]
            if not any(
                self._needs(mutant, item) for item in self.failures if self.outcome(self.found, item).exact
            ):
                self.found = rest
        for failure in self.failures:
            if not self.outcome(self.found, failure).exact:
                continue
            active = frozenset(m for m in self.found if self._matters(m, failure))
            if 0 < len(active) <= _MOST_TOGETHER and self._is_proved(active, failure):
                self.claims[failure.id] = active

    def _is_proved(self, misreadings: frozenset[Mutant], failure: CaseState) -> bool:
        """Whether they give what was seen, and the rest of the set what is expected."""
        rest = set(self.found) - misreadings
        return self.outcome(misreadings, failure).exact and self.outcome(rest, failure).passes

    def _matters(self, mutant: Mutant, failure: CaseState) -> bool:
        """Whether the set needs a misreading for a case that it gives exactly, or it alone changes something there."""
        return self._needs(mutant, failure) or not self.outcome([mutant], failure).passes

    def _needs(self, mutant: Mutant, failure: CaseState) -> bool:
        return not self.outcome(set(self.found) - {mutant}, failure).exact

    def look_behind(self) -> None:
        """Finds the misreadings that the claims may hide: the set with one of them gives the same in all that is claimed.

        A claim that is not examined is not made.
        """
        hidden = {mutant: set[str]() for mutant in self.evidence.misreadings if self._may_hide(mutant)}
        claims, self.claims = self.claims, {}
        with suppress(EnoughError):
            for failure in self.failures:
                if failure.id not in claims:
                    continue
                for mutant in list(hidden):
                    if self.outcome([mutant], failure).passes:
                        continue
                    hidden[mutant].add(failure.id)
                    if not self.outcome([*self.found, mutant], failure).exact:
                        del hidden[mutant]
                self.claims[failure.id] = claims[failure.id]
        self._hidden = hidden

    def _may_hide(self, mutant: Mutant) -> bool:
        """Whether the cases written for its clause, failed and passed, do not speak against it beside the set."""
        misread = {other.clause for other in self.found}
        if not self.claims or mutant.clause in misread or mutant in self.refuted:
            return False
        together = frozenset((*self.found, mutant))
        own = [item for item in self.failures if item.planned.is_directed and item.clause == mutant.clause]
        known = (item for item in own if self.outcome(self.found, item).exact)
        passed = self.evidence.passed.get(mutant.clause, ())
        return all(self.outcome(together, item).exact for item in known) and not self.failing(
            together, passed
        )

    def like(self, mutant: Mutant) -> Iterator[Mutant]:
        """The misreadings of its family with which the set gives all cases that are claimed for it, and itself."""
        rest = frozenset(self.found) - {mutant}
        claimed = [item for item in self.failures if mutant in self.claims.get(item.id, ())]
        for other in self.evidence.misreadings:
            if other == mutant or (
                family_of(other.clause) == family_of(mutant.clause)
                and other not in rest
                and all(
                    self.outcome(self.claims[item.id] - {mutant} | {other}, item).exact for item in claimed
                )
                and not self.refuting(other, rest)
            ):
                yield other

    # --- what is stated -----------------------------------------------------------------------------------

    def causes(self) -> tuple[Cause, ...]:
        """Causes, without misreadings that a case contradicts or of which there is doubt."""
        unclear = self._contradicted() | {mutant for mutant in self.found if self._is_doubtful(mutant)}
        alike = {mutant: self._alike(mutant) for mutant in self.found if mutant not in unclear}
        unclear |= {mutant for mutant, others in alike.items() if not 0 < len(others) <= _MOST_ALIKE}
        claims = {name: claimed for name, claimed in self.claims.items() if not claimed & unclear}
        sampled = dict(self._sampled(unclear))
        together = self._together()
        found: list[Cause] = []
        for mutant in self.found:
            claimed = [item for item in self.failures if mutant in claims.get(item.id, ())]
            if mutant in unclear or not claimed:
                continue
            names = {item.id for item in claimed}
            failures = tuple(item for item in claimed if item.all_kept)
            lists = [item for item in self.properties if mutant in sampled.get(item.id, ())]
            lists += [item for item in claimed if not item.all_kept]
            alike_kept = [item for item in self._otherwise(mutant, names) if item.all_kept == bool(failures)]
            cause = Cause(
                misreadings=alike[mutant],
                failures=failures,
                shows=len(failures or lists) + len(alike_kept),
                example=self._example(mutant, (*failures, *lists)),
                sampled=tuple(lists),
                together=tuple(other for other in self.found if other in together.get(mutant, ())),
                hidden=tuple(other for other, seen in self._hidden.items() if seen & names),
                doubted=any(
                    item.clause == mutant.clause and item.planned.is_directed
                    for item in self.failures
                    if item.id not in self.claims
                ),
            )
            found.append(cause)
        return tuple(found)

    def _example(self, mutant: Mutant, claimed: Sequence[CaseState]) -> CaseState:
        """The first short one that it gives alone, as others of the set may show there, too, and even first."""
        ordered = as_examples(claimed, mutant.clause)
        ordered.sort(key=lambda item: len(item.shown.case.ops) > _READABLE)
        with suppress(EnoughError):
            return next((item for item in ordered if self.gives([mutant], item)), ordered[0])
        return ordered[0]

    def _otherwise(self, mutant: Mutant, names: Collection[str]) -> list[CaseState]:
        """Other failing cases in which a misreading would show."""
        rest = [item for item in self.failures if item.id not in names]
        return [item for item in rest if not self.outcome([mutant], item).passes]

    def _is_doubtful(self, mutant: Mutant) -> bool:
        """Whether no case needs it, or most cases in which it would show show something else."""
        claimed = [item for item in self.failures if mutant in self.claims.get(item.id, ())]
        if not any(self._needs(mutant, item) for item in claimed):
            return True
        return len(self._otherwise(mutant, {item.id for item in claimed})) > len(claimed)

    def _alike(self, mutant: Mutant) -> tuple[Mutant, ...]:
        """Misreadings that cannot be distinguished in what is claimed for one: of its family, of its whole part for a single case.

        A single case has to be written for the clause of one of them, which comes first.
        """
        claimed = [item for item in self.failures if mutant in self.claims.get(item.id, ())]
        if len(claimed) >= FEWEST_CASES:
            return tuple(self.like(mutant))
        [failure] = claimed
        rest, own = self.claims[failure.id] - {mutant}, failure.clause
        near = self.evidence.misreadings
        found = [other for other in near if self.outcome(rest | {other}, failure).exact]
        found = [other for other in found if other == mutant or not self.refuting(other, rest)]
        found.sort(key=lambda item: item.clause != own)
        return tuple(found) if failure.planned.is_directed and found[0].clause == own else ()

    def _passed(self) -> Iterator[tuple[Case, Observation]]:
        """The cases that the implementation passes, if there is a set."""
        passed_case = self.evidence.passed_case
        if passed_case is None or not self.found:
            return
        names = (name for group in self.evidence.passed.values() for name in group)
        for name in (*names, *self.evidence.drawn):
            case, expected = passed_case(name)
            if can_be_run(case, expected):
                yield case, expected

    def _contradicted(self) -> set[Mutant]:
        """The misreadings without which the set would pass a case that the implementation passes and the set fails."""
        found = set(self.found)
        wrong: set[Mutant] = set()
        for case, expected in self._passed():
            if found and not self.passes(found, case, expected):
                alone = {mutant for mutant in found if self.passes(found - {mutant}, case, expected)}
                wrong |= alone or {m for m in found if not self.passes({m}, case, expected)}
        return wrong

    def _together(self) -> dict[Mutant, set[Mutant]]:
        """By misreading, those that hide it in a case that the implementation passes: mended alone, it would fail that."""
        found = set(self.found)
        needed: dict[Mutant, set[Mutant]] = {}
        with suppress(EnoughError):
            for case, expected in self._passed() if len(found) > 1 else ():
                for mutant in found:
                    rest = found - {mutant}
                    if not self.passes(rest, case, expected):
                        both = {other for other in rest if self.passes(rest - {other}, case, expected)}
                        needed.setdefault(mutant, set()).update(both)
        return needed

    def _sampled(self, unclear: Collection[Mutant]) -> Iterator[tuple[str, set[Mutant]]]:
        """Properties with more failing lists than were kept: the misreadings that those that were kept show exactly."""
        with suppress(EnoughError):
            for failure in self.properties:
                if self.outcome(self.found, failure).exact:
                    active = {mutant for mutant in self.found if self._needs(mutant, failure)}
                    if not active.intersection(unclear):
                        yield failure.id, active
