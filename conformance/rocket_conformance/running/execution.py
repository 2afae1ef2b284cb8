"""Sends the cases of a run, judges the answers, and limits what crashes and hangs may cost."""

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Final

from rocket_spec.profiles import GROUND
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import specified
from rocket_conformance.judging import Judgement, Verdict, disagreement, judge
from rocket_conformance.planning import beyond_must, fit_expected, limit_broken
from rocket_conformance.properties import MOVES, triples_in
from rocket_conformance.running.case_state import CaseState, Failing, InFlight
from rocket_conformance.running.options import Options
from rocket_conformance.transport import Failed, Job, Reply, Transport

_PATIENT: Final = 3
"""Number of hangs that may each take as long as the transport allows."""
_SIDE_BY_SIDE: Final = 4
"""Number of processes that run the remaining cases: they mostly wait."""
_TIMES_AS_LONG: Final = 100
_HANG_SECONDS: Final = 0.5

_LARGE: Final = 1 << 20
"""Size of the files from which a case may take as long as the transport allows."""
_GIVE_UP: Final[frozenset[Verdict]] = frozenset({"crash", "timeout", "unstable"})


class Execution:
    """A run on one transport.

    Attributes:
        disputed: what the oracle disagrees on, by case id and producer.
        in_flight: what was sent and not yet judged, by token.
        triples: by family of operations, the triples of moves that were sent.
    """

    def __init__(self, transport: Transport, options: Options, root: Path) -> None:
        self.transport = transport
        self.options = options
        self.disputed: dict[tuple[str, str], str] = {}
        self.in_flight: dict[str, InFlight] = {}
        self.triples: dict[str, set[tuple[str, ...]]] = {family: set() for family in MOVES}
        self._root = root
        self._tokens = 0
        self._last_answer = 0.0
        self._answered = False
        self._ends: Counter[str] = Counter()
        self._hangs = 0
        self._took: defaultdict[str, list[float]] = defaultdict(list)

    def directory(self) -> Path:
        """A path for a case that is not used yet."""
        self._tokens += 1
        return self._root / "cases" / str(self._tokens)

    def private(self) -> Path:
        """A path for the reference, beside the folder that adapters know of."""
        return self._root / "reference" / "case"

    # --- limits -------------------------------------------------------------------------------------------

    def hang_seconds(self, family: str, *, least: float = _HANG_SECONDS) -> float:
        """How long a case may take where others hang: a hundred times the median of its family, or of all before that has one."""
        took = self._took[family] or [time for times in self._took.values() for time in times]
        return max(least, round(_TIMES_AS_LONG * median(took), 1) if took else 0.0)

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
            for name, seen in self.triples.items():
                seen.update(triples_in(name, case.ops))
            directory = self.directory()
            is_large = any(image.size > _LARGE for image in expected.files.values())
            patient = self._hangs < _PATIENT or is_large
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
        jobs = self._jobs(states)
        for replies in (self._replies(self._until_it_hangs(jobs)), self._side_by_side(jobs)):
            with closing(replies):
                for job, reply in replies:
                    self._add(job, reply)
                    if len(open_states) > 1:
                        yield from self._finished(open_states)
        for state in open_states.values():
            yield self._over(state)

    def _replies(self, jobs: Iterator[Job]) -> Generator[tuple[Job, Reply]]:
        yield from self.transport.run(jobs)

    def _until_it_hangs(self, jobs: Iterator[Job]) -> Iterator[Job]:
        """The jobs as long as few of them hang; the others stay where they come from."""
        while self._hangs < _PATIENT:
            job = next(jobs, None)
            if job is None:
                return
            yield job

    def _side_by_side(self, jobs: Iterator[Job]) -> Generator[tuple[Job, Reply]]:
        """What is left of the jobs, in several processes."""
        if self._hangs >= _PATIENT:
            with self.transport.side_by_side(_SIDE_BY_SIDE) as transport:
                yield from transport.run(jobs)

    def _add(self, job: Job, reply: Reply) -> None:
        entry = self.in_flight.pop(job.token)
        family = entry.state.family
        now = time.monotonic()
        took = now - max(entry.since, self._last_answer)
        if isinstance(reply, Failed) and reply.ended:
            is_hang = reply.verdict == "timeout"
            self._hangs += is_hang
            if not (is_hang and self._answered):  # hangs are short by then, and nothing is skipped for them
                self._ends[family] += 1
        else:
            self._answered = True
            self._took[family].append(took)
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
                return (
                    case,
                    expected,
                    self._within_level(case, expected, judge(case, expected, answered, reply)),
                )
        finally:
            remove_tree(directory)
        return None

    def _within_level(self, case: Case, expected: Observation, judgement: Judgement) -> Judgement:
        """The judgement, or a pass at `--level must` on what an OBSERVED clause may decide: no list is made smaller into that."""
        if self.options.level != "must" or judgement.verdict != "diverged":
            return judgement
        is_beyond = beyond_must(case, expected, self.private()) is not None
        return Judgement("pass") if is_beyond else judgement

    def hanging_operations(self, cases: Mapping[str, Case]) -> dict[str, int]:
        """By name, the place of the operation at which a case hangs: the last of its shortest beginning that does."""
        found: dict[str, int] = {}
        if not cases:
            return found
        with self.transport.side_by_side(min(_SIDE_BY_SIDE, len(cases))) as transport:
            for place in range(max((len(case.ops) for case in cases.values()), default=0)):
                left = {
                    name: case for name, case in cases.items() if name not in found and place < len(case.ops)
                }
                jobs = {name: self._start_of(case, place + 1) for name, case in left.items()}
                names = {job.token: name for name, job in jobs.items()}
                for job, reply in transport.run(iter(jobs.values())):
                    remove_tree(job.directory)
                    if isinstance(reply, Failed) and reply.verdict == "timeout":
                        found[names[job.token]] = place
        return found

    def _start_of(self, case: Case, length: int) -> Job:
        directory, family = self.directory(), case.clauses[0].rpartition("-")[0]
        seconds = self.hang_seconds(family)
        return Job(directory.name, directory, case.ops[:length], case.files, seconds)
