"""Failures grouped by cause: the clause whose misreading explains most of them, then the next one.

A clause is suspected when directed cases of its own fail. For each wrong reading of it that the catalogue knows, a few
failing cases are run on the reference with that reading: the nearer the outcome is to what the implementation did, the
likelier is the clause. The share of its own directed cases that fail is the other half of the evidence, and the only
one for a defect that is like none in the catalogue. What the best clause explains is set aside, and the rest asked again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rocket_conformance.attribution.simulation import EXACT, Agreement, can_be_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rocket_conformance.attribution.evidence import Evidence, Failure
    from rocket_conformance.misreadings import Mutant
    from rocket_conformance.verdicts import Verdict

__all__ = ["Cause", "find_causes"]

_MOST_CLAUSES: Final = 40
_FEW_CLAUSES: Final = 8
_FEW_CASES: Final = 8
_MORE_CASES: Final = 24
_MOST_REFUTING: Final = 6
_OWN_WEIGHT: Final = 0.3
_LEADING: Final = 0.2
_NEARLY: Final = 0.8
_MOST_NEAR: Final = 2
"""How many clauses are tried on a few failing cases, how many of them on more, and against how many passing cases of
their own; and what the share of own cases that fail counts beside the agreement of the best misreading. The weight was
chosen on the catalogue, each misreading left out in turn. Without directed cases the first clause of a property gets a
small share instead. Clauses with nearly the best score are named, too."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What explains some of the failures.

    Attributes:
        clause: the clause that is broken.
        like: name of the misreading in the catalogue that comes nearest; None where none comes near.
        exact: whether that misreading gives the very same results and bytes in most cases of the clause.
        instead: other clauses that are nearly as likely; none where the misreading is exact.
        verdict: of its cases: `diverged`, or `crash`, `timeout`, `errored`, `unstable`.
        failures: what it explains, the most telling one first: own directed cases of the clause, small ones first.
    """

    clause: str
    like: str | None
    exact: bool
    instead: tuple[str, ...]
    verdict: Verdict
    failures: tuple[Failure, ...]


def find_causes(evidence: Evidence) -> tuple[Cause, ...]:
    """The causes, what explains most first; each failure belongs to exactly one."""
    causes: list[Cause] = []
    agreements: dict[tuple[str, str], Agreement] = {}
    rest = [failure for failure in evidence.failures if failure.judgement.found]
    while rest:
        if not any(failure.directed for failure in rest):
            causes, rest = _carried(causes, rest)
            if not rest:
                break
        cause = _Search(rest, evidence, agreements).best()
        causes.append(cause)
        explained = {failure.id for failure in cause.failures}
        rest = [failure for failure in rest if failure.id not in explained]
    return tuple(sorted([*_without_answer(evidence), *causes], key=lambda cause: -len(cause.failures)))


def _carried(causes: Sequence[Cause], rest: Sequence[Failure]) -> tuple[list[Cause], list[Failure]]:
    """The causes with lists of properties that differ first where a cause's cases do, and what is left.

    A list may meet several causes at once, so that no single misreading gives it.
    """
    taken: set[str] = set()
    grown: list[Cause] = []
    for cause in sorted(causes, key=lambda item: -len(item.failures)):
        places = frozenset[str]().union(*(failure.places for failure in cause.failures))
        more = [item for item in rest if item.id not in taken and item.symptom.place in places]
        taken |= {item.id for item in more}
        grown.append(replace(cause, failures=(*cause.failures, *more)))
    return grown, [item for item in rest if item.id not in taken]


def _without_answer(evidence: Evidence) -> list[Cause]:
    """Crashes, hangs and errors; the clause is the one whose own cases fail most.

    Errors are grouped by operation, crashes and hangs by its family: the operation of those is looked for by running shorter
    lists, not always to the end. Those without an operation join the first group of their verdict.
    """
    groups: dict[tuple[str, str], list[Failure]] = {}
    for failure in sorted(evidence.failures, key=lambda item: not item.symptom.place):
        if failure.judgement.found:
            continue
        verdict, operation = failure.judgement.verdict, failure.symptom.place
        key: tuple[str, str] = verdict, operation if verdict == "errored" else operation.partition(".")[0]
        if not operation:
            key = next((known for known in groups if known[0] == verdict), key)
        groups.setdefault(key, []).append(failure)
    causes: list[Cause] = []
    for group in groups.values():
        clause = next(iter(_shares_failing(group, evidence.passed)), group[0].clauses[0])
        verdict = group[0].judgement.verdict
        causes.append(Cause(clause, None, False, (), verdict, _sorted(group, clause)))
    return causes


def _shares_failing(failures: Sequence[Failure], passed: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """By clause with failing directed cases of its own, the share of those that fail, the highest first."""
    failing = Counter(failure.clauses[0] for failure in failures if failure.directed)
    shares = {name: count / (count + len(passed.get(name, ()))) for name, count in failing.items()}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], -failing[item[0]], item[0])))


def _sorted(failures: Iterable[Failure], clause: str) -> tuple[Failure, ...]:
    """Own directed cases first, then those without files, then short ones."""

    def order(failure: Failure) -> tuple[Any, ...]:
        own = failure.clauses[0] == clause
        return not own, not failure.directed, bool(failure.case.files), len(failure.case.ops), failure.id

    return tuple(sorted(failures, key=order))


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A clause, and the misreading of it that agrees best; the score is what both kinds of evidence add up to."""

    clause: str
    mutant: Mutant | None
    score: float


class _Search:
    """One round: the clause that explains most of what is left.

    Args:
        rest: what is left.
        evidence: of the run.
        agreements: by misreading and failure, how far they agree; kept from round to round.
    """

    def __init__(
        self, rest: Sequence[Failure], evidence: Evidence, agreements: dict[tuple[str, str], Agreement]
    ) -> None:
        self._rest = rest
        self._evidence = evidence
        self._agreements = agreements

    def best(self) -> Cause:
        """The cause of at least one of the failures."""
        shares = _shares_failing(self._rest, self._evidence.passed)
        if not shares:
            named = Counter(clause for failure in self._rest for clause in failure.clauses)
            leading = {failure.clauses[0] for failure in self._rest}
            shares = {clause: _LEADING if clause in leading else 0.0 for clause, _ in named.most_common()}
        sample = self._sample()
        suspected = list(shares)[:_MOST_CLAUSES]
        for clauses, cases in ((_FEW_CLAUSES, _FEW_CASES), (1, _MORE_CASES)):
            suspects = [self._suspect(clause, shares[clause], sample[:cases]) for clause in suspected]
            suspects.sort(key=lambda suspect: -suspect.score)
            suspected = [suspect.clause for suspect in suspects[:clauses]]
        best = suspects[0]
        near = [item.clause for item in suspects[1:] if item.score >= _NEARLY * best.score]
        return self._cause(best, near[:_MOST_NEAR])

    def _sample(self) -> list[Failure]:
        """A few failures of as many clauses as there are, small ones first."""
        groups: dict[str, list[Failure]] = {}
        for failure in sorted(self._rest, key=lambda item: (not item.directed, len(item.case.ops), item.id)):
            if can_be_run(failure.case, failure.expected):
                groups.setdefault(failure.clauses[0], []).append(failure)
        rounds = max((len(group) for group in groups.values()), default=0)
        picked = [
            group[number] for number in range(rounds) for group in groups.values() if number < len(group)
        ]
        return picked[:_MORE_CASES]

    def _suspect(self, clause: str, share: float, sample: Sequence[Failure]) -> _Suspect:
        best, most = None, 0.0
        for mutant in self._evidence.misreadings:
            if mutant.clause == clause and sample:
                agreed = sum(self._agreement(mutant, failure).score for failure in sample)
                score = agreed / (len(sample) + self._refuted(mutant))
                if score > most:
                    best, most = mutant, score
        return _Suspect(clause, best, most + _OWN_WEIGHT * share)

    def _refuted(self, mutant: Mutant) -> int:
        """The number of the clause's own cases that the implementation passes and the misreading does not."""
        count = 0
        for name in self._evidence.passed.get(mutant.clause, ())[:_MOST_REFUTING]:
            case, expected = self._evidence.passed_case(name)
            count += can_be_run(case, expected) and self._evidence.simulation.diverges(mutant, case, expected)
        return count

    def _agreement(self, mutant: Mutant, failure: Failure) -> Agreement:
        key = mutant.name, failure.id
        if key not in self._agreements:
            seen = [
                self._evidence.simulation.agreement(
                    mutant, case, (expected, judgement.actual), judgement.found
                )
                for case, expected, judgement in failure.observations
                if judgement.actual is not None and can_be_run(case, expected)
            ]
            score = sum(agreement.score for agreement in seen) / len(seen) if seen else 0.0
            self._agreements[key] = Agreement(
                score, covers=bool(seen) and all(agreement.covers for agreement in seen)
            )
        return self._agreements[key]

    def _has_cause_of_its_own(self, failure: Failure) -> bool:
        """Whether a misreading of the clause that a directed case is named after gives exactly what was observed."""
        return failure.directed and any(
            self._agreement(mutant, failure).score == EXACT
            for mutant in self._evidence.misreadings
            if mutant.clause == failure.clauses[0]
        )

    def _cause(self, best: _Suspect, near: Sequence[str]) -> Cause:
        own = [item for item in self._rest if item.clauses[0] == best.clause]
        own = own or [item for item in self._rest if best.clause in item.clauses]
        own_ids = {item.id for item in own}
        mutant = best.mutant
        agreed = {item.id: self._agreement(mutant, item) for item in self._rest} if mutant else {}
        same = {name for name, agreement in agreed.items() if agreement.score == EXACT}
        exact = sum(item.id in same for item in own) * 2 > len(own)
        places = frozenset[str]().union(
            *(item.places for item in self._rest if item.id in own_ids or item.id in same)
        )

        def is_explained(item: Failure) -> bool:
            if item.id in own_ids or item.id in same:
                return True
            if mutant is not None and agreed[item.id].covers:
                is_alike = True
            elif not can_be_run(item.case, item.expected):
                is_alike = item.places <= places
            else:
                is_alike = not exact and item.symptom.place in places
            return is_alike and not self._has_cause_of_its_own(item)

        return Cause(
            clause=best.clause,
            like=mutant.name if mutant is not None else None,
            exact=exact,
            instead=() if exact else tuple(near),
            verdict="diverged",
            failures=_sorted(filter(is_explained, self._rest), best.clause),
        )
