"""The report line of a case, and its replay file: the smallest input found that still fails alike."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rocket_conformance.attribution import attribute
from rocket_conformance.plan import level_of
from rocket_conformance.replays import replay_name, replay_of
from rocket_conformance.report import CaseLine
from rocket_conformance.shrink import shrink
from rocket_conformance.verdicts import FAILING, Verdict

if TYPE_CHECKING:
    from rocket_conformance.case_state import CaseState, Failing
    from rocket_conformance.cases import Case
    from rocket_conformance.execution import Execution
    from rocket_conformance.judge import Judgement
    from rocket_conformance.plan import Planned

__all__ = ["Concluder", "line_of"]

_DIED: Final[frozenset[Verdict]] = frozenset({"crash", "timeout"})
_SHRUNK: Final[frozenset[Verdict]] = _DIED | {"diverged", "errored"}
_HANG_SECONDS: Final = 1.0
"""How long a shorter list of a case that hung may take before it counts as hanging, too."""


def line_of(planned: Planned, verdict: Verdict, detail: str, **fields: Any) -> CaseLine:
    """A line of the report."""
    return CaseLine(
        id=planned.id,
        clauses=planned.clauses,
        level=level_of(planned.clauses[0]),
        verdict=verdict,
        detail=detail,
        **fields,
    )


class Concluder:
    """Concludes the cases of a run, within one limit of time for making inputs smaller."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._options = execution.options
        self._seconds = execution.options.shrink_seconds

    def stop_shrinking(self) -> None:
        """Leaves further inputs as they are, and runs nothing any more."""
        self._seconds = 0.0

    def conclude(self, state: CaseState) -> tuple[CaseLine, dict[str, Any] | None]:
        """The state's line of the report, and its replay file where it failed."""
        planned = state.planned
        document: dict[str, Any] | None = None
        divergence: list[dict[str, Any]] = []
        if state.verdict in FAILING and state.worst is not None:
            case, expected, judgement = self._smallest(planned, state.worst)
            if judgement.found:
                found = attribute(
                    case, judgement.found, self._execution.private(), directed=planned.is_directed
                )
                divergence = [item.to_json() for item in found]
            if self._options.replays:
                document = replay_of(case, expected, judgement, divergence)
            state.detail = judgement.detail
        detail = state.detail
        if planned.is_property and state.failing:
            detail = f"{state.failing} of {state.examples} lists" + (f": {detail}" if detail else "")
        line = line_of(
            planned,
            state.verdict,
            detail,
            baselined=self._options.baseline.excuses(planned.id, state.verdict),
            examples=state.examples,
            millis=round(state.millis),
            divergence=tuple(divergence),
            replay=None if document is None else f"replay/{replay_name(planned.id)}",
        )
        return line, document

    # --- the smallest input -------------------------------------------------------------------------------

    def _smallest(self, planned: Planned, failing: Failing) -> Failing:
        """The failing case made small, unless it was written by hand; of a crash or hang the operation is named."""
        verdict = failing[2].verdict
        if self._seconds <= 0 or verdict not in _SHRUNK:
            return failing
        start = time.monotonic()
        until = start + self._seconds / 4
        if verdict in _DIED:
            failing = self._with_operation(failing, until, keep=planned.is_directed)
        elif planned.is_property:
            failing = shrink(failing, self._execution.try_case, self._clause, seconds=until - start)
        self._seconds = max(0.0, self._seconds - (time.monotonic() - start))
        return failing

    def _with_operation(self, failing: Failing, until: float, *, keep: bool) -> Failing:
        """A crash or hang with the operation at which it happens: the last one of the shortest list that shows it.

        Args:
            failing: the case.
            until: when to stop, of the monotonic clock.
            keep: whether the case stays as it is, and only the operation is looked for.
        """
        verdict = failing[2].verdict
        smallest = self._shortest_start(failing, until)
        if not keep:
            smallest = shrink(smallest, self._quickly, self._clause, seconds=until - time.monotonic())
        if smallest is failing:
            checked: Failing | None = failing
        else:
            checked = self._execution.try_case(smallest[0])
        if checked is None or checked[2].verdict != verdict:
            return failing
        case, expected, judgement = failing if keep else checked
        place = len(smallest[0].ops) - 1
        detail = f"operation {place} ({smallest[0].ops[place]['op']}): {judgement.detail}"
        return case, expected, replace(judgement, detail=detail)

    def _shortest_start(self, failing: Failing, until: float) -> Failing:
        """The shortest beginning of a list that ends alike, by halving."""
        ops = failing[0].ops
        low = 0  # a list of so many operations does not
        while low + 1 < len(failing[0].ops) and time.monotonic() < until:
            middle = (low + len(failing[0].ops)) // 2
            tried = self._quickly(replace(failing[0], ops=ops[:middle]))
            if tried is None:
                break
            if tried[2].verdict == failing[2].verdict:
                failing = tried
            else:
                low = middle
        return failing

    def _quickly(self, case: Case) -> Failing | None:
        return self._execution.try_case(case, seconds=_HANG_SECONDS)

    def _clause(self, case: Case, judgement: Judgement) -> str | None:
        if not judgement.found:
            return None
        return attribute(case, judgement.found[:1], self._execution.private(), directed=False)[0].clause
