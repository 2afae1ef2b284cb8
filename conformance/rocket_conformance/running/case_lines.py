"""The report line of a case, and its replay file: the smallest input found that still fails alike."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from rocket_conformance.attribution import (
    MOST_RUNS,
    Evidence,
    Failure,
    Simulation,
    elsewhere,
    example_of,
    find_causes,
    place_of,
)
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, hashed_texts, specified
from rocket_conformance.counterexamples import replay_name, replay_of, shrink
from rocket_conformance.judging import FAILING, Judgement, Verdict
from rocket_conformance.misreadings import Mutant
from rocket_conformance.planning import Planned
from rocket_conformance.properties import Property
from rocket_conformance.protocol import Op
from rocket_conformance.report import CaseLine
from rocket_conformance.running.case_state import CaseState, Failing
from rocket_conformance.running.execution import Execution

_DIED: Final[frozenset[Verdict]] = frozenset({"crash", "timeout"})
_SHRUNK: Final[frozenset[Verdict]] = frozenset({"diverged", "errored"})

_SHORT_SECONDS: Final = 0.25
"""Minimum time limit of a hanging list while it is made smaller."""


def line_of(planned: Planned, verdict: Verdict, detail: str, **fields: Any) -> CaseLine:
    """A line of the report."""
    return CaseLine(
        id=planned.id,
        clauses=planned.clauses,
        level=planned.level,
        verdict=verdict,
        detail=detail,
        **fields,
    )


def _titled(mutant: Mutant) -> str:
    return f"{mutant.words} ({mutant.clause})"


def _texts(difference: Difference, ops: Sequence[Op]) -> dict[str, Any]:
    """The field `texts` of a differing hash whose texts are known."""
    texts = hashed_texts(difference, ops)
    return {"texts": texts} if texts else {}


def _named(failing: Failing, case: Case, place: int) -> Failing:
    """The failing case with the operation of a crash or hang in its detail."""
    own, expected, judgement = failing
    detail = f"operation {place} ({case.ops[place]['op']}): {judgement.detail}"
    return own, expected, replace(judgement, detail=detail)


Concluded = tuple[CaseLine, "dict[str, Any] | None"]
"""A line of the report, and the replay file of a case that failed."""


class Concluder:
    """Concludes the cases of a run, within limits of time for making inputs smaller and for naming operations.

    Attributes:
        causes: the misreadings that are proved, as the report's footer holds them.
        examples: by clause, the failing case that shows it best.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._options = execution.options
        self._seconds = self._naming = execution.options.shrink_seconds
        self._most_runs = MOST_RUNS
        self._small: set[str | None] = set()
        self._hangs: dict[str, int] = {}
        self.causes: list[dict[str, Any]] = []
        self.examples: dict[str, str] = {}
        self.elsewhere: dict[str, list[str]] = {}

    def stop(self) -> None:
        """Leaves further inputs as they are, looks for no cause, and runs nothing any more."""
        self._seconds = self._naming = 0.0
        self._most_runs = 0

    def conclude(self, state: CaseState) -> Concluded:
        """The state's line of the report, and its replay file if it failed."""
        if state.verdict not in FAILING:
            return self._line(state, ()), None
        return self._failed_line(state, self._failure(state))

    def conclude_failing(
        self, states: Sequence[CaseState], passed: Iterable[CaseState]
    ) -> Iterator[Concluded]:
        """The lines and replay files of all that failed; `causes` and `examples` are known from the first on.

        Args:
            states: what failed.
            passed: what passed, the evidence against a cause.
        """
        if self._naming:
            hung = [state for state in states if state.verdict == "timeout" and not state.planned.is_property]
            cases = {state.planned.id: state.worst[0] for state in hung if state.worst is not None}
            self._hangs = self._execution.hanging_operations(cases)
            died = (state for state in states if state.verdict in _DIED and state not in hung)
            self._naming += 2 * sum(state.millis for state in died) / 1000
        # what was drawn from a seed comes last: it stays as it is where a smaller case fails at the same place
        ordered = sorted(
            states, key=lambda state: (not state.planned.is_directed, not state.planned.is_property)
        )
        smallest = {state.planned.id: self._failure(state) for state in ordered}
        failures = [failure for state in states if (failure := smallest[state.planned.id]) is not None]
        by_clause: dict[str, list[Failure]] = {}
        for failure in failures:
            by_clause.setdefault(failure.clauses[0], []).append(failure)
        self.examples = {clause: example_of(group).id for clause, group in by_clause.items()}
        self.elsewhere = {
            clause: places for clause, group in by_clause.items() if (places := elsewhere(group))
        }
        self.causes = self._causes(failures, passed) if self._most_runs else []
        for state in states:
            yield self._failed_line(state, smallest[state.planned.id])

    def _causes(self, failures: Sequence[Failure], passed: Iterable[CaseState]) -> list[dict[str, Any]]:
        own: dict[str, list[str]] = {}
        by_id = {
            state.planned.id: state.planned
            for state in passed
            if state.verdict == "pass" and not state.planned.is_property
        }
        for name, planned in by_id.items():
            if planned.is_directed:
                own.setdefault(planned.clauses[0], []).append(name)
        drawn = [name for name, planned in by_id.items() if not planned.is_directed]

        @cache
        def passed_case(name: str) -> tuple[Case, Observation]:
            return self._specified(by_id[name])

        features, rules = self._execution.transport.hello.features, self._options.rules
        simulation = Simulation(self._execution.private, features, rules)
        found = find_causes(
            Evidence(failures, simulation, own, drawn, passed_case), most_runs=self._most_runs
        )
        return [
            {
                "clause": cause.misreadings[0].clause,
                "misreadings": [_titled(mutant) for mutant in cause.misreadings],
                "shows": cause.shows,
                "cases": [failure.id for failure in cause.failures],
                "properties": [failure.id for failure in cause.sampled],
                "together": [_titled(mutant) for mutant in cause.together],
                "hidden": [_titled(mutant) for mutant in cause.hidden],
                "example": example_of((*cause.failures, *cause.sampled), cause.misreadings[0].clause).id,
            }
            for cause in found
        ]

    def _failure(self, state: CaseState) -> Failure | None:
        """The state's smallest failing input; None where none is known."""
        if state.worst is None:
            return None
        planned = state.planned
        case, expected, judgement = self._smallest(planned, state.worst)
        state.detail = judgement.detail
        alike = tuple(state.alike) if planned.is_property else ()
        return Failure(
            planned.id,
            planned.clauses,
            planned.is_directed,
            case,
            expected,
            judgement,
            alike,
            whole=not planned.is_property or state.failing <= len(alike),
        )

    def _specified(self, planned: Planned) -> tuple[Case, Observation]:
        execution = self._execution
        [case] = planned.instances(
            seed=self._options.seed, count=self._options.examples, hello=execution.transport.hello
        )
        return specified(case, execution.private(), self._options.rules)

    def _failed_line(self, state: CaseState, failure: Failure | None) -> Concluded:
        document: dict[str, Any] | None = None
        divergence: list[dict[str, Any]] = []
        if failure is not None:
            divergence = [
                item.to_json(failure.clauses[0]) | _texts(item, failure.case.ops)
                for item in failure.judgement.found
            ]
            if self._options.replays:
                document = replay_of(failure.case, failure.expected, failure.judgement, divergence)
        replay = None if document is None else f"replay/{replay_name(state.planned.id)}"
        return self._line(state, divergence, replay), document

    def _line(
        self, state: CaseState, divergence: Sequence[Mapping[str, Any]], replay: str | None = None
    ) -> CaseLine:
        planned, detail = state.planned, state.detail
        if planned.is_property and state.failing:
            detail = f"{state.failing} of {state.examples} lists" + (f": {detail}" if detail else "")
        line = line_of(
            planned,
            state.verdict,
            detail,
            examples=state.examples,
            millis=round(state.millis),
            divergence=tuple(divergence),
            replay=replay,
            description="" if isinstance(planned.source, Property) else planned.source.description,
        )
        return replace(line, baselined=self._options.baseline.excuses(line))

    # --- the smallest input -------------------------------------------------------------------------------

    def _smallest(self, planned: Planned, failing: Failing) -> Failing:
        """The failing case made small, unless it was written by hand; of a crash or hang the operation is named."""
        case, _, judgement = failing
        if planned.id in self._hangs:
            return _named(failing, case, self._hangs[planned.id])
        if judgement.verdict in _DIED:
            return self._with_operation(failing, keep=planned.is_directed) if self._naming > 0 else failing
        if self._seconds <= 0 or judgement.verdict not in _SHRUNK:
            return failing
        place = self._place(case, judgement)
        if planned.is_property or not (planned.is_directed or place in self._small):
            failing = self._shrunk(failing, None, values=True)
        self._small.add(self._place(failing[0], failing[2]))
        return failing

    def _shrunk(self, failing: Failing, limit: float | None, *, values: bool) -> Failing:
        """The smallest list found in a quarter of the time that is left."""
        start = time.monotonic()
        try_case = partial(self._execution.try_case, seconds=limit)
        found = shrink(failing, try_case, self._place, seconds=self._seconds / 4, values=values)
        self._seconds = max(0.0, self._seconds - (time.monotonic() - start))
        return found

    def _with_operation(self, failing: Failing, *, keep: bool) -> Failing:
        """A crash or hang with the operation at which it happens: the last one of the shortest beginning that shows it.

        A list is made smaller with a short limit of time, and what comes of it has to hang for as long as any case may.

        Args:
            failing: the case.
            keep: whether the case stays as it is, and only the operation is looked for.
        """
        family = failing[0].clauses[0].rpartition("-")[0]
        limit = self._execution.hang_seconds(family)
        start, left = time.monotonic(), self._seconds
        smaller = failing
        if not keep and left > 0:
            short = self._execution.hang_seconds(family, least=_SHORT_SECONDS)
            smaller = self._shortest_start(failing, short) or failing
            kind = f"{failing[2].verdict} {smaller[0].ops[-1]['op']}"
            smaller = self._shrunk(smaller, short, values=kind not in self._small)
            self._small.add(kind)
        found = self._shortest_start(smaller, limit)
        if found is None and smaller is not failing:
            found = self._shortest_start(failing, limit)
        self._naming -= time.monotonic() - start - (left - self._seconds)
        if found is None:
            return failing
        return _named(failing if keep else found, found[0], len(found[0].ops) - 1)

    def _shortest_start(self, failing: Failing, limit: float) -> Failing | None:
        """The shortest beginning of a list that ends alike, tried from one operation on: only the last try hangs."""
        case, _, judgement = failing
        until = time.monotonic() + self._naming
        for length in range(1, len(case.ops) + 1):
            tried = self._execution.try_case(replace(case, ops=case.ops[:length]), seconds=limit)
            if tried is not None and tried[2].verdict == judgement.verdict:
                return tried
            if tried is None or time.monotonic() > until:
                return None
        return None

    @staticmethod
    def _place(case: Case, judgement: Judgement) -> str | None:
        """Where a failing list differs first; a smaller one has to differ there, too."""
        return place_of(judgement.found[0], case.ops) if judgement.found else None
