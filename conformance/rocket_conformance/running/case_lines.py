"""The report line of a case, and its replay file: the smallest input found that still fails alike."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final

from rocket_conformance.attribution import (
    MOST_RUNS,
    Evidence,
    Failure,
    Simulation,
    example_of,
    find_causes,
    place_of,
)
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, hashed_texts, specified
from rocket_conformance.counterexamples import replay_name, replay_of, shrink
from rocket_conformance.judging import FAILING, Judgement, Verdict
from rocket_conformance.planning import Planned
from rocket_conformance.protocol import Op
from rocket_conformance.report import CaseLine
from rocket_conformance.running.case_state import CaseState, Failing
from rocket_conformance.running.execution import Execution

_DIED: Final[frozenset[Verdict]] = frozenset({"crash", "timeout"})
_SHRUNK: Final[frozenset[Verdict]] = _DIED.union(("diverged", "errored"))


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


def _texts(difference: Difference, ops: Sequence[Op]) -> dict[str, Any]:
    """The field `texts` of a differing hash whose texts are known."""
    texts = hashed_texts(difference, ops)
    return {"texts": texts} if texts else {}


Concluded = tuple[CaseLine, "dict[str, Any] | None"]
"""A line of the report, and the replay file of a case that failed."""


class Concluder:
    """Concludes the cases of a run, within one limit of time for making inputs smaller.

    Attributes:
        causes: the misreadings that are proved, as the report's footer holds them.
        examples: by clause, the failing case that shows it best.
    """

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._options = execution.options
        self._seconds = execution.options.shrink_seconds
        self._most_runs = MOST_RUNS
        self._small: set[str | None] = set()
        self.causes: list[dict[str, Any]] = []
        self.examples: dict[str, str] = {}

    def stop(self) -> None:
        """Leaves further inputs as they are, looks for no cause, and runs nothing any more."""
        self._seconds, self._most_runs = 0.0, 0

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
        self.causes = self._causes(failures, passed) if self._most_runs else []
        for state in states:
            yield self._failed_line(state, smallest[state.planned.id])

    def _causes(self, failures: Sequence[Failure], passed: Iterable[CaseState]) -> list[dict[str, Any]]:
        own: dict[str, list[str]] = {}
        by_id: dict[str, Planned] = {}
        for state in passed:
            if state.verdict == "pass" and state.planned.is_directed:
                own.setdefault(state.planned.clauses[0], []).append(state.planned.id)
                by_id[state.planned.id] = state.planned

        @cache
        def passed_case(name: str) -> tuple[Case, Observation]:
            return self._specified(by_id[name])

        features, rules = self._execution.transport.hello.features, self._options.rules
        simulation = Simulation(self._execution.private, features, rules)
        found = find_causes(Evidence(failures, simulation, own, passed_case), most_runs=self._most_runs)
        return [
            {
                "misreadings": [" or ".join(mutant.name for mutant in alike) for alike in cause.misreadings],
                "clauses": [alike[0].clause for alike in cause.misreadings],
                "cases": [failure.id for failure in cause.failures],
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
        return line_of(
            planned,
            state.verdict,
            detail,
            baselined=self._options.baseline.excuses(planned.id, state.verdict),
            examples=state.examples,
            millis=round(state.millis),
            divergence=tuple(divergence),
            replay=replay,
        )

    # --- the smallest input -------------------------------------------------------------------------------

    def _smallest(self, planned: Planned, failing: Failing) -> Failing:
        """The failing case made small, unless it was written by hand; of a crash or hang the operation is named."""
        verdict = failing[2].verdict
        if self._seconds <= 0 or verdict not in _SHRUNK:
            return failing
        start = time.monotonic()
        until = start + self._seconds / 4
        case, _, judgement = failing
        if verdict in _DIED:
            failing = self._with_operation(failing, until, keep=planned.is_directed)
        elif planned.is_property or not (planned.is_directed or self._place(case, judgement) in self._small):
            failing = shrink(failing, self._execution.try_case, self._place, seconds=until - start)
        case, _, judgement = failing
        self._small.add(self._place(case, judgement))
        self._seconds = max(0.0, self._seconds - (time.monotonic() - start))
        return failing

    def _with_operation(self, failing: Failing, until: float, *, keep: bool) -> Failing:
        """A crash or hang with the operation at which it happens: the last one of the shortest beginning that shows it.

        Args:
            failing: the case.
            until: when to stop, of the monotonic clock.
            keep: whether the case stays as it is, and only the operation is looked for.
        """
        found = self._shortest_start(failing, until)
        if found is None:
            return failing
        kind = f"{failing[2].verdict} {found[0].ops[-1]['op']}"
        if not keep and kind not in self._small:
            self._small.add(kind)
            smaller = shrink(found, self._quickly, self._place, seconds=until - time.monotonic())
            found = self._shortest_start(smaller, until + self._seconds / 4) or found
        case, expected, judgement = failing if keep else found
        place = len(found[0].ops) - 1
        detail = f"operation {place} ({found[0].ops[place]['op']}): {judgement.detail}"
        return case, expected, replace(judgement, detail=detail)

    def _shortest_start(self, failing: Failing, until: float) -> Failing | None:
        """The shortest beginning of a list that ends alike, tried from one operation on: only the last try hangs."""
        case, _, judgement = failing
        for length in range(1, len(case.ops) + 1):
            tried = self._quickly(replace(case, ops=case.ops[:length]))
            if tried is None or time.monotonic() > until:
                break
            if tried[2].verdict == judgement.verdict:
                return tried
        return None

    def _quickly(self, case: Case) -> Failing | None:
        """Runs a shorter list of a case that hung or crashed."""
        seconds = self._execution.hang_seconds(case.clauses[0].rpartition("-")[0])
        return self._execution.try_case(case, seconds=seconds)

    @staticmethod
    def _place(case: Case, judgement: Judgement) -> str | None:
        """Where a failing list differs first; a smaller one has to differ there, too."""
        return place_of(judgement.found[0], case.ops) if judgement.found else None
