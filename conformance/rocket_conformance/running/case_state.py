"""The state of one case or property while it runs."""

from dataclasses import dataclass, field
from typing import Final

from rocket_conformance.cases import Case, Observation
from rocket_conformance.judging import Judgement, Verdict
from rocket_conformance.planning import Planned

_SEVERITY: Final[tuple[Verdict, ...]] = (
    "disputed", "crash", "timeout", "diverged", "errored", "unstable", "unsupported", "skipped", "pass",
)  # fmt: skip

_KEPT: Final = 5
"""Failing examples that are kept to look for the cause."""

Failing = tuple["Case", "Observation", "Judgement"]
"""A case that failed, what was expected of it, and its judgement."""


@dataclass(slots=True)
class CaseState:
    """The state of one planned case while it runs.

    Attributes:
        planned: the case or property.
        verdict: the worst of its examples so far.
        detail: what happened, in words.
        examples: number of examples that were judged.
        failing: number of those that did not pass.
        millis: time between sending and judging, all examples together.
        drawn: whether no further example will be sent.
        whole: whether all its examples were sent.
        worst: the smallest example with that verdict.
        alike: a few examples with that verdict, the first ones.
    """

    planned: Planned
    verdict: Verdict = "pass"
    detail: str = ""
    examples: int = 0
    failing: int = 0
    millis: float = 0.0
    drawn: bool = False
    whole: bool = False
    worst: Failing | None = None
    alike: list[Failing] = field(default_factory=list["Failing"])

    @property
    def family(self) -> str:
        """The family of clauses that it belongs to, such as `IDX-SEL`."""
        return self.planned.clauses[0].rpartition("-")[0]

    def add(self, case: Case, expected: Observation, judgement: Judgement) -> None:
        """Counts one example; the smallest failing one is kept."""
        self.examples += 1
        if judgement.verdict != "pass":
            self.failing += 1
        if _SEVERITY.index(judgement.verdict) < _SEVERITY.index(self.verdict):
            self.verdict, self.detail, self.worst = judgement.verdict, judgement.detail, None
            self.alike.clear()
        if judgement.verdict != self.verdict or judgement.verdict == "pass":
            return
        if len(self.alike) < _KEPT:
            self.alike.append((case, expected, judgement))
        if self.worst is None or len(case.ops) < len(self.worst[0].ops):
            self.worst = (case, expected, judgement)

    def dispute(self, case: Case, detail: str) -> None:
        """Records that reference and real jar disagree on an example."""
        self.examples += 1
        self.verdict, self.detail, self.worst = "disputed", f"{case.producer}: {detail}", None

    def skip(self, reason: str) -> None:
        """Records that not all examples ran, and why."""
        self.verdict = "skipped"
        self.detail = f"not all ran: {reason}" if self.examples else reason


@dataclass(slots=True)
class InFlight:
    """A case that was sent and not yet judged; `since` is of the monotonic clock."""

    state: CaseState
    case: Case
    expected: Observation
    since: float
