"""What is known of a run while it goes on: states, jobs, and how a failing one is concluded."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rocket_conformance.attribution import attribute
from rocket_conformance.baseline import Baseline
from rocket_conformance.expect import specified
from rocket_conformance.judge import Judgement, disagreement, judge
from rocket_conformance.plan import Level, Planned, level_of
from rocket_conformance.replays import replay_name, replay_of
from rocket_conformance.report import CaseLine
from rocket_conformance.shrink import shrink
from rocket_conformance.transport import Job
from rocket_conformance.verdicts import FAILING, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rocket_conformance.cases import Case, Observation
    from rocket_conformance.transport import Reply, Transport

__all__ = ["Options", "Running", "State"]

_SEVERITY: Final[tuple[Verdict, ...]] = (
    "disputed", "crash", "timeout", "diverged", "errored", "unstable", "unsupported", "skipped", "pass",
)  # fmt: skip
_GIVE_UP: Final[frozenset[Verdict]] = frozenset({"crash", "timeout", "unstable"})
_SHRUNK: Final[frozenset[Verdict]] = frozenset({"diverged", "errored", "crash"})


@dataclass(frozen=True, slots=True)
class Options:
    """What a run is asked for.

    Attributes:
        select: globs on case ids; none for all.
        level: `must` leaves out what only OBSERVED clauses ask for.
        examples: lists per property.
        seed: of the generator.
        require: families whose operations must all be declared.
        baseline: what is known to fail.
        shrink_seconds: longest time to spend on making diverging lists smaller, all properties together.
        command: the adapter's command, for the report.
        scratch: the folder to make temporary folders in; None for the fastest there is.
        replays: whether replay files are made of what fails; they take longest where files are large.
    """

    select: Sequence[str] = ()
    level: Level = "observed"
    examples: int = 100
    seed: int = 0
    require: Sequence[str] = ()
    baseline: Baseline = field(default_factory=Baseline)
    shrink_seconds: float = 30.0
    command: Sequence[str] = ()
    scratch: Path | None = None
    replays: bool = True


@dataclass(slots=True)
class State:
    """What is known of one planned case while it runs."""

    planned: Planned
    verdict: Verdict = "pass"
    detail: str = ""
    examples: int = 0
    failing: int = 0
    millis: float = 0.0
    drawn: bool = False
    worst: tuple[Case, Observation, Judgement] | None = None

    def add(self, case: Case, expected: Observation, judgement: Judgement) -> None:
        """Counts one example; the smallest diverging one is kept."""
        self.examples += 1
        if judgement.verdict != "pass":
            self.failing += 1
        if _SEVERITY.index(judgement.verdict) < _SEVERITY.index(self.verdict):
            self.verdict, self.detail, self.worst = judgement.verdict, judgement.detail, None
        if judgement.verdict != self.verdict or judgement.verdict == "pass":
            return
        if self.worst is None or len(case.ops) < len(self.worst[0].ops):
            self.worst = (case, expected, judgement)

    def dispute(self, case: Case, detail: str) -> None:
        """Notes that reference and real jar disagree on an example."""
        self.examples += 1
        self.verdict, self.detail, self.worst = "disputed", f"{case.producer}: {detail}", None


@dataclass(slots=True)
class InFlight:
    """A case that was sent and not yet judged; `since` is of the monotonic clock."""

    state: State
    case: Case
    expected: Observation
    since: float


class Running:
    """The states of a run on one transport.

    Attributes:
        disputed: what the oracle disagrees on, by case id and producer.
        cut_short: why the run ended before its last case, or None.
    """

    def __init__(self, transport: Transport, options: Options, root: Path) -> None:
        self.transport = transport
        self.options = options
        self.root = root
        self.tokens = 0
        self.disputed: dict[tuple[str, str], str] = {}
        self.in_flight: dict[str, InFlight] = {}
        self.last_answer = 0.0
        self.shrink_seconds = options.shrink_seconds
        self.cut_short: str | None = None

    def directory(self) -> Path:
        """A path that is not used yet."""
        self.tokens += 1
        return self.root / str(self.tokens)

    def _jobs(self, states: Sequence[State]) -> Iterator[Job]:
        for state in states:
            cases = state.planned.instances(
                seed=self.options.seed, count=self.options.examples, hello=self.transport.hello
            )
            for drawn in cases:
                if state.verdict in _GIVE_UP:  # one death is enough of a property
                    break
                case, expected = specified(drawn, self.directory())
                if self._is_disputed(state, case, expected):
                    continue
                directory = self.directory()
                job = Job(directory.name, directory, case.ops, case.files)
                self.in_flight[job.token] = InFlight(state, case, expected, time.monotonic())
                yield job
            state.drawn = True

    def _is_disputed(self, state: State, case: Case, expected: Observation) -> bool:
        found = disagreement(case, expected)
        detail = self.disputed.get((case.id, case.producer))
        if found:
            first = found[0]
            detail = f"real jar {first.expected!r}, reference {first.actual!r} in {first.field}"
        if detail is not None:
            state.dispute(case, detail)
        return detail is not None

    def all(self, states: Sequence[State]) -> Iterator[State]:
        """Runs everything, and gives each state when its last example is done."""
        open_states = {state.planned.id: state for state in states}
        for job, reply in self.transport.run(self._jobs(states)):
            entry = self.in_flight.pop(job.token)
            entry.state.add(entry.case, entry.expected, judge(entry.case, entry.expected, job, reply))
            now = time.monotonic()
            entry.state.millis += (now - max(entry.since, self.last_answer)) * 1000
            self.last_answer = now
            shutil.rmtree(job.directory, ignore_errors=True)
            if len(open_states) > 1:
                yield from self._finished(open_states)
        for state in open_states.values():
            if state.verdict == "pass" and self.transport.gave_up is not None:
                state.verdict, state.detail = "skipped", f"not all ran: {self.transport.gave_up}"
            yield state

    def _finished(self, open_states: dict[str, State]) -> Iterator[State]:
        busy = {id(entry.state) for entry in self.in_flight.values()}
        for name, state in list(open_states.items()):
            if id(state) in busy or not state.examples:
                break
            if not state.drawn:
                break
            yield open_states.pop(name)

    def observe(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Job, Reply]]:
        """Runs cases outside the count, one after the other."""
        for case in cases:
            directory = self.directory()
            job = Job(directory.name, directory, case.ops, case.files)
            try:
                for answered, reply in self.transport.run([job]):
                    yield case, answered, reply
            finally:
                shutil.rmtree(directory, ignore_errors=True)

    def try_case(self, case: Case) -> tuple[Case, Observation, Judgement] | None:
        """Runs one case and judges it; None when the adapter gave no reply any more."""
        case, expected = specified(case, self.directory())
        for _, job, reply in self.observe([case]):
            return case, expected, judge(case, expected, job, reply)
        return None

    def conclude(self, state: State) -> tuple[CaseLine, dict[str, Any] | None]:
        """The state's line of the report, and its replay file: the smallest input that still fails alike."""
        planned, options = state.planned, self.options
        document: dict[str, Any] | None = None
        divergence: list[dict[str, Any]] = []
        if state.verdict in FAILING and state.worst is not None:
            case, expected, judgement = state.worst
            if planned.is_property and judgement.verdict in _SHRUNK:
                case, expected, judgement = self._shrunk(state.worst)
            if judgement.found:
                found = attribute(case, judgement.found, self.directory(), directed=planned.is_directed)
                divergence = [item.to_json() for item in found]
            if options.replays:
                document = replay_of(case, expected, judgement, divergence)
            state.detail = judgement.detail
        detail = state.detail
        if planned.is_property and state.failing:
            detail = f"{state.failing} of {state.examples} lists" + (f": {detail}" if detail else "")
        line = CaseLine(
            id=planned.id,
            clauses=planned.clauses,
            level=level_of(planned.clauses[0]),
            verdict=state.verdict,
            baselined=options.baseline.excuses(planned.id, state.verdict),
            examples=state.examples,
            millis=round(state.millis),
            detail=detail,
            divergence=tuple(divergence),
            replay=None if document is None else f"replay/{replay_name(planned.id)}",
        )
        return line, document

    def _shrunk(self, failing: tuple[Case, Observation, Judgement]) -> tuple[Case, Observation, Judgement]:
        start = time.monotonic()
        self.transport.forgive()
        smallest = shrink(failing, self.try_case, self._clause, seconds=self.shrink_seconds / 4)
        self.shrink_seconds = max(0.0, self.shrink_seconds - (time.monotonic() - start))
        return smallest

    def _clause(self, case: Case, judgement: Judgement) -> str | None:
        if not judgement.found:
            return None
        return attribute(case, judgement.found[:1], self.directory(), directed=False)[0].clause
