"""Sends the cases of a run, judges the answers, and limits what crashes and hangs may cost."""

import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from rocket_spec.profiles import GROUND
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import specified
from rocket_conformance.judging import Verdict, disagreement, judge
from rocket_conformance.planning import fit_expected, limit_broken
from rocket_conformance.running.case_state import CaseState, Failing, InFlight
from rocket_conformance.running.options import Options
from rocket_conformance.transport import Failed, Job, Reply, Transport

_PATIENT: Final = 2
_HANG_SECONDS: Final = 1.0
_SHORT_HANG: Final = 0.05
"""After how many crashes and hangs a family's cases have a shorter limit; the least one; and what part of a restart a hang counts
then."""
_GIVE_UP: Final[frozenset[Verdict]] = frozenset({"crash", "timeout", "unstable"})


class Execution:
    """A run on one transport.

    Attributes:
        disputed: what the oracle disagrees on, by case id and producer.
        in_flight: what was sent and not yet judged, by token.
    """

    def __init__(self, transport: Transport, options: Options, root: Path) -> None:
        self.transport = transport
        self.options = options
        self.disputed: dict[tuple[str, str], str] = {}
        self.in_flight: dict[str, InFlight] = {}
        self._root = root
        self._tokens = 0
        self._last_answer = 0.0
        self._answered = False
        self._ends: defaultdict[str, float] = defaultdict(float)
        self._slowest: defaultdict[str, float] = defaultdict(float)

    def directory(self) -> Path:
        """A path for a case that is not used yet."""
        self._tokens += 1
        return self._root / "cases" / str(self._tokens)

    def private(self) -> Path:
        """A path for the reference, beside the folder that adapters know of."""
        return self._root / "reference" / "case"

    # --- limits -------------------------------------------------------------------------------------------

    def hang_seconds(self, family: str, *, least: float = _HANG_SECONDS) -> float:
        """How long a case of a family that hangs may take: twice as long as any of its cases that was answered."""
        return max(least, round(2 * self._slowest[family], 1))

    def obstacle(self, family: str) -> str | None:
        """Why no more cases of a family of clauses are sent; None while they are."""
        limit = self.options.restarts
        if self.transport.gave_up is not None:
            return self.transport.gave_up
        if not self._answered and sum(self._ends.values()) >= limit:
            return f"the adapter crashed or hung too often and never answered (--restarts {limit})"
        if self._ends[family] >= limit:
            return f"the adapter crashed or hung too often in {family} (--restarts {limit})"
        return None

    def cut_short(self) -> str | None:
        """Why not everything ran; None when everything did."""
        obstacles = dict.fromkeys(filter(None, (self.obstacle(family) for family in sorted(self._ends))))
        return "; ".join(obstacles) or self.transport.gave_up

    # --- cases --------------------------------------------------------------------------------------------

    def _jobs(self, states: Sequence[CaseState]) -> Iterator[Job]:
        for state in states:
            for job in self._jobs_of(state):
                yield job
                if state.verdict in _GIVE_UP:  # one death is enough of a property
                    break
            else:
                state.whole = self.obstacle(state.family) is None
            state.drawn = True

    def _jobs_of(self, state: CaseState) -> Iterator[Job]:
        if self.obstacle(state.family) is not None:
            return
        options, hello = self.options, self.transport.hello
        for drawn in state.planned.instances(
            seed=options.seed, count=options.examples, hello=hello, level=options.level
        ):
            case, expected = specified(drawn, self.private(), self.options.rules)
            if limit_broken(case, expected.results, self.transport.hello.features) is not None:
                continue
            if self._is_disputed(state, case, expected):
                continue
            expected = fit_expected(expected, self.transport.hello.features)
            directory = self.directory()
            patient = self._ends[state.family] < _PATIENT
            seconds = None if patient else self.hang_seconds(state.family)
            job = Job(directory.name, directory, case.ops, case.files, seconds)
            self.in_flight[job.token] = InFlight(state, case, expected, time.monotonic())
            yield job
            if self.obstacle(state.family) is not None:
                return

    def _is_disputed(self, state: CaseState, case: Case, expected: Observation) -> bool:
        found = disagreement(case, expected) if self.options.profile.version == GROUND else []
        detail = self.disputed.get((case.id, case.producer))
        if found:
            first = found[0]
            detail = f"real jar {first.expected!r}, reference {first.actual!r} in {first.field}"
        if detail is not None:
            state.dispute(case, detail)
        return detail is not None

    def all(self, states: Sequence[CaseState]) -> Generator[CaseState]:
        """Runs everything, and yields each state when its last example is done.

        What could not be run to its end is yielded as skipped, with the reason.
        """
        open_states = {state.planned.id: state for state in states}
        with closing(self.transport.run(self._jobs(states))) as replies:
            for job, reply in replies:
                self._add(job, reply)
                if len(open_states) > 1:
                    yield from self._finished(open_states)
        for state in open_states.values():
            yield self._over(state)

    def _add(self, job: Job, reply: Reply) -> None:
        entry = self.in_flight.pop(job.token)
        family = entry.state.family
        now = time.monotonic()
        took = now - max(entry.since, self._last_answer)
        if isinstance(reply, Failed) and reply.ended:
            is_short = reply.verdict == "timeout" and job.seconds is not None
            self._ends[family] += _SHORT_HANG if is_short else 1
        else:
            self._answered = True
            self._slowest[family] = max(self._slowest[family], took)
        entry.state.add(entry.case, entry.expected, judge(entry.case, entry.expected, job, reply))
        entry.state.millis += took * 1000
        self._last_answer = now
        remove_tree(job.directory)

    def _finished(self, open_states: dict[str, CaseState]) -> Iterator[CaseState]:
        busy = {id(entry.state) for entry in self.in_flight.values()}
        for name, state in list(open_states.items()):
            if id(state) in busy or not state.drawn:
                break
            yield self._over(open_states.pop(name))

    def _over(self, state: CaseState) -> CaseState:
        if state.verdict == "pass" and state.whole and not state.examples:
            state.verdict, state.detail = "not_applicable", "every list asks for what the adapter rules out"
        elif state.verdict == "pass" and not state.whole:
            state.skip(self.obstacle(state.family) or "not run")
        return state

    def try_case(self, case: Case, *, seconds: float | None = None) -> Failing | None:
        """Runs one case, outside the count, for at most `seconds`, and judges it; None when the adapter gave no reply any more."""
        case, expected = specified(case, self.private(), self.options.rules)
        expected = fit_expected(expected, self.transport.hello.features)
        directory = self.directory()
        job = Job(directory.name, directory, case.ops, case.files, seconds)
        try:
            for answered, reply in self.transport.run([job]):
                return case, expected, judge(case, expected, answered, reply)
        finally:
            remove_tree(directory)
        return None
