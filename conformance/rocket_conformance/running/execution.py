"""Sends the cases of a run, judges the answers, and limits what crashes and hangs may cost."""

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Final

from rocket_reference import Rules
from rocket_spec.profiles import GROUND, Profile
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import specified
from rocket_conformance.judging import Trial, Verdict, disagreement, disputed_at
from rocket_conformance.planning import CaseState, Level, beyond_must, fit_expected, limit_broken
from rocket_conformance.properties import MOVES, triples_in
from rocket_conformance.report import Baseline
from rocket_conformance.transport import Transport

DEFAULT_EXAMPLES: Final = 100
"""Lists of a property in a whole run."""

DEFAULT_RESTARTS: Final = 10
"""Crashes and hangs of a family of clauses after which the rest of that family is skipped."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run.

    Attributes:
        select: globs on case ids; none for all.
        level: `must` leaves out what only OBSERVED clauses ask for.
        examples: lists per property.
        seed: of the generator.
        require: families whose operations must all be declared.
        baseline: what is known to fail.
        restarts: crashes and hangs of a family of clauses (`IDX-SEL`) after which the rest of that family is skipped.
        fail_fast: whether the run ends at the first failure that the baseline does not excuse.
        shrink_seconds: longest time to spend on making failing lists smaller, all of them together.
        command: the adapter's command, for the report.
        scratch: the folder to make temporary folders in; None for the fastest there is.
        profile: of the release that is aimed at.
        replays: whether replay files are made of what fails; they take longest where files are large.
    """

    select: Sequence[str] = ()
    level: Level = "observed"
    examples: int = DEFAULT_EXAMPLES
    seed: int = 0
    require: Sequence[str] = ()
    baseline: Baseline = field(default_factory=Baseline)
    restarts: int = DEFAULT_RESTARTS
    fail_fast: bool = False
    shrink_seconds: float = 30.0
    command: Sequence[str] = ()
    scratch: Path | None = None
    replays: bool = True
    profile: Profile = field(default_factory=Profile)

    @property
    def narrowed(self) -> list[str]:
        """The options that leave out part of the suite, as they are given; empty of a whole run."""
        given = {
            "--select": self.select,
            "--level must": self.level == "must",
            f"--examples {self.examples}": self.examples < DEFAULT_EXAMPLES,
            "--fail-fast": self.fail_fast,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def rules(self) -> Rules:
        """The parameters of the reference."""
        return Rules(**self.profile.rules)


_PATIENT: Final = 3
"""Number of hangs that may each take as long as the transport allows."""
_SIDE_BY_SIDE: Final = 4
"""Number of processes that run the remaining cases: they mostly wait."""
_TIMES_AS_LONG: Final = 100
_HANG_SECONDS: Final = 0.5

SHORT_SECONDS: Final = 0.25
"""Minimum time limit of a hanging list while it is made smaller, and while its operation is looked for."""

_LARGE: Final = 1 << 20
"""Size of the files from which a case may take as long as the transport allows."""
_GIVE_UP: Final[frozenset[Verdict]] = frozenset({"crash", "timeout", "unstable"})


class Execution:
    """A run on one transport.

    Attributes:
        disputed: what the oracle disagrees on, by case id and producer.
        in_flight: the states of the trials that were sent and not yet judged, by token.
        triples: by family of operations, the triples of moves that were sent.
    """

    def __init__(self, transport: Transport, options: Options, root: Path) -> None:
        self.transport = transport
        self.options = options
        self.disputed: dict[tuple[str, str], str] = {}
        self.in_flight: dict[str, CaseState] = {}
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
        """Time limit of a case if others hang: a hundred times the median of its family, or of all before that has one."""
        took = self._took[family] or [time for times in self._took.values() for time in times]
        return max(least, round(_TIMES_AS_LONG * median(took), 1) if took else 0.0)

    def obstacle(self, family: str) -> str | None:
        """The reason why no more cases of a family of clauses are sent; None while they are."""
        limit = self.options.restarts
        if self.transport.gave_up is not None:
            return self.transport.gave_up
        if not self._answered and sum(self._ends.values()) >= limit:
            return f"the adapter crashed or hung too often and never answered (--restarts {limit})"
        if self._ends[family] >= limit:
            return f"the adapter crashed or hung too often in {family} (--restarts {limit})"
        return None

    def cut_short(self) -> str | None:
        """The reason why not everything ran; None if everything did."""
        obstacles = dict.fromkeys(filter(None, (self.obstacle(family) for family in sorted(self._ends))))
        return "; ".join(obstacles) or self.transport.gave_up

    # --- cases --------------------------------------------------------------------------------------------

    def _trials(self, states: Sequence[CaseState]) -> Iterator[Trial]:
        for state in states:
            for trial in self._trials_of(state):
                yield trial
                if state.verdict in _GIVE_UP:  # one death is enough of a property
                    break
            else:
                state.whole = self.obstacle(state.family) is None
            state.drawn = True

    def _trials_of(self, state: CaseState) -> Iterator[Trial]:
        if self.obstacle(state.family) is not None:
            return
        options, hello = self.options, self.transport.hello
        for drawn in state.planned.instances(
            seed=options.seed, count=options.examples, hello=hello, level=options.level
        ):
            case, expected = specified(drawn, self.private(), self.options.rules)
            if limit_broken(case, expected.results, hello.features) is not None:
                continue
            if self._is_disputed(state, case, expected):
                continue
            for name, seen in self.triples.items():
                seen.update(triples_in(name, case.ops))
            is_large = any(image.size > _LARGE for image in expected.files.values())
            patient = self._hangs < _PATIENT or is_large
            trial = self.trial(case, expected, None if patient else self.hang_seconds(state.family))
            self.in_flight[trial.token] = state
            yield trial
            if self.obstacle(state.family) is not None:
                return

    def trial(self, case: Case, expected: Observation, seconds: float | None = None) -> Trial:
        """A case on its way, in a directory of its own; what is expected is fitted to the adapter."""
        fitted = fit_expected(expected, self.transport.hello.features)
        return Trial(case, fitted, self.directory(), seconds, time.monotonic())

    def _is_disputed(self, state: CaseState, case: Case, expected: Observation) -> bool:
        found = disagreement(case, expected) if self.options.profile.version == GROUND else []
        detail = self.disputed.get((case.id, case.producer))
        if found:
            detail = disputed_at(found[0], jar=found[0].expected, reference=found[0].actual)
        if detail is not None:
            state.dispute(case, detail)
        return detail is not None

    def all(self, states: Sequence[CaseState]) -> Generator[CaseState]:
        """Runs everything, and yields each state when its last example is done.

        What could not be run to its end is yielded as skipped, with the reason.
        """
        open_states = {state.id: state for state in states}
        trials = self._trials(states)
        for answered in (self.transport.run(self._until_it_hangs(trials)), self._side_by_side(trials)):
            with closing(answered):
                for trial in answered:
                    self._add(trial)
                    if len(open_states) > 1:
                        yield from self._finished(open_states)
        for state in open_states.values():
            yield self._over(state)

    def _until_it_hangs(self, trials: Iterator[Trial]) -> Iterator[Trial]:
        """The trials as long as few of them hang; the others stay where they come from."""
        while self._hangs < _PATIENT:
            trial = next(trials, None)
            if trial is None:
                return
            yield trial

    def _side_by_side(self, trials: Iterator[Trial]) -> Generator[Trial]:
        """Runs the remaining trials in several processes."""
        if self._hangs >= _PATIENT:
            with self.transport.side_by_side(_SIDE_BY_SIDE) as transport:
                yield from transport.run(trials)

    def _add(self, trial: Trial) -> None:
        state, now = self.in_flight.pop(trial.token), time.monotonic()
        took = now - max(trial.since, self._last_answer)
        if trial.ended:
            is_hang = trial.verdict == "timeout"
            self._hangs += is_hang
            if not (is_hang and self._answered):  # hangs are short by then, and nothing is skipped for them
                self._ends[state.family] += 1
        else:
            self._answered = True
            if self._hangs < _PATIENT:  # beside processes that hang everything takes longer
                self._took[state.family].append(took)
        state.add(trial.judge())
        state.millis += took * 1000
        self._last_answer = now
        remove_tree(trial.directory)

    def _finished(self, open_states: dict[str, CaseState]) -> Iterator[CaseState]:
        busy = {id(state) for state in self.in_flight.values()}
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

    def try_case(self, case: Case, *, seconds: float | None = None) -> Trial | None:
        """Runs one case, outside the count, for at most `seconds`, and judges it; None when the adapter gave no reply any more."""
        trial = self.trial(*specified(case, self.private(), self.options.rules), seconds)
        try:
            for answered in self.transport.run([trial]):
                return self._within_level(answered.judge())
        finally:
            remove_tree(trial.directory)
        return None

    def _within_level(self, trial: Trial) -> Trial:
        """The trial, or a pass at `--level must` on what an OBSERVED clause may decide: no list is made smaller into that."""
        if self.options.level != "must" or trial.verdict != "diverged":
            return trial
        is_beyond = beyond_must(trial.case, trial.expected, self.private()) is not None
        return trial.fail("pass", "") if is_beyond else trial

    def hanging_operations(self, hung: Sequence[CaseState]) -> dict[str, int]:
        """By id, the place of the operation at which a case hangs: the last of its shortest beginning that does."""
        found: dict[str, int] = {}
        if not hung:
            return found
        cases = {state.id: state.shown.case for state in hung}
        with self.transport.side_by_side(min(_SIDE_BY_SIDE, len(cases))) as transport:
            for place in range(max(len(case.ops) for case in cases.values())):
                left = [state for state in hung if state.id not in found and place < len(cases[state.id].ops)]
                trials = {state.id: self._start_of(state, place + 1) for state in left}
                names = {trial.token: name for name, trial in trials.items()}
                for trial in transport.run(iter(trials.values())):
                    remove_tree(trial.directory)
                    if trial.verdict == "timeout":
                        found[names[trial.token]] = place
        return found

    def _start_of(self, state: CaseState, length: int) -> Trial:
        case = state.shown.case
        start = replace(case, ops=case.ops[:length])
        return self.trial(start, state.shown.expected, self.hang_seconds(state.family, least=SHORT_SECONDS))
