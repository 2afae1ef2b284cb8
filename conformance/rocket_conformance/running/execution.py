"""Sends the cases of a run, judges the answers, and limits what crashes and hangs may cost."""

import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rocket_reference import Rules
from rocket_spec.profiles import GROUND, Profile
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import specified
from rocket_conformance.judging import Trial, Verdict, can_be_run, disagreement, disputed_at
from rocket_conformance.planning import (
    CaseState,
    Level,
    beyond_must,
    fit_expected,
    is_odd,
    is_within,
    limit_broken,
)
from rocket_conformance.properties import MOVES, triples_in
from rocket_conformance.report import Baseline
from rocket_conformance.transport import Transport

DEFAULT_EXAMPLES: Final = 100
"""Lists of a property in a whole run."""

DEFAULT_RESTARTS: Final = 10
"""Crashes and hangs of a family of clauses after which the rest of that family is skipped."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run."""

    select: Sequence[str] = ()  # globs on case ids; none for all
    level: Level = "observed"  # `must` leaves out what only OBSERVED clauses ask for
    examples: int = DEFAULT_EXAMPLES  # lists per property
    seed: int = 0  # of the generator
    require: Sequence[str] = ()  # families whose operations must all be declared
    baseline: Baseline = field(default_factory=Baseline)  # what is known to fail
    # crashes and hangs of a family of clauses (`IDX-SEL`) after which the rest of that family is skipped
    restarts: int = DEFAULT_RESTARTS
    fail_fast: bool = False  # whether the run ends at the first failure that the baseline does not excuse
    # longest time to spend on making failing lists smaller, all of them together
    shrink_seconds: float = 30.0
    command: Sequence[str] = ()  # the adapter's command, for the report
    scratch: Path | None = None  # the folder to make temporary folders in; None for the fastest there is
    # whether causes are looked for in what fails, and replay files are made; without it there are verdicts
    # alone
    explained: bool = True
    profile: Profile = field(default_factory=Profile)  # of the release that is aimed at

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
"""Number of hangs after which the operation of each is looked for, and cases run side by side."""
_DOUBTFUL_SECONDS: Final = 2.0
"""Minimum time limit of a case after the first hang, which may take as long as the transport allows."""
_SIDE_BY_SIDE: Final = 4
"""Number of processes that run the remaining cases: they mostly wait."""
_TIMES_AS_LONG: Final = 30
_HANG_SECONDS: Final = 0.5

SHORT_SECONDS: Final = 0.1
"""Minimum time limit of what uses an operation that hung: it is cut there, or made smaller."""

_GIVE_UP: Final[frozenset[Verdict]] = frozenset({"crash", "timeout", "unstable"})


class Execution:
    """A run on one transport."""

    def __init__(self, transport: Transport, options: Options, root: Path) -> None:
        self.transport = transport
        self.options = options
        # what the oracle disagrees on, by case id and producer
        self.disputed: dict[tuple[str, str], str] = {}
        # the states of the trials that were sent and not yet judged, by token
        self.in_flight: dict[str, CaseState] = {}
        # by id, the place of the operation at which a case hangs, as far as it was looked for
        self.hanging: dict[str, int] = {}
        # by family of operations, the triples of moves that were sent
        self.triples: dict[str, set[tuple[str, ...]]] = {family: set() for family in MOVES}
        self._root = root
        self._tokens = 0
        self._last_answer = 0.0
        self._answered = False
        self._ends: Counter[str] = Counter()
        self._hangs = self._unnamed = 0
        self._kinds: set[str] = set()
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
        """Processor time that a case may take if others hang: thirty times what the quickest tenth of its family took.

        On a busy machine the others mostly waited, and few may have run before the first hang: it is two seconds at most.
        Until the family has any times, those of all count.
        """
        took = sorted(self._took[family] or (time for times in self._took.values() for time in times))
        usual = round(_TIMES_AS_LONG * took[len(took) // 10], 1) if took else 0.0
        return max(least, min(usual, _DOUBTFUL_SECONDS))

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
            if state.drawn:  # its beginning hung
                continue
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
        for case, expected in self._specified(state):
            for name, seen in self.triples.items():
                seen.update(triples_in(name, case.ops))
            trial = self.trial(case, expected, self._limit(case, expected))
            self.in_flight[trial.token] = state
            yield trial
            if self.obstacle(state.family) is not None:
                return

    def _limit(self, case: Case, expected: Observation) -> float | None:
        """Time limit of a case: that of the transport until the first hang, and on large files."""
        if not self._hangs or not can_be_run(case, expected):
            return None
        family = case.clauses[0].rpartition("-")[0]
        least = _DOUBTFUL_SECONDS if self._hangs < _PATIENT else _HANG_SECONDS
        least = SHORT_SECONDS if self._kinds & case.op_names else least
        return self.hang_seconds(family, least=least)

    def _specified(self, state: CaseState) -> Iterator[tuple[Case, Observation]]:
        """The operations sent for a case or property, and the answers of the reference."""
        options, hello = self.options, self.transport.hello
        for drawn in state.planned.instances(
            seed=options.seed, count=options.examples, hello=hello, level=options.level
        ):
            case, expected = specified(drawn, self.private(), self.options.rules)
            if limit_broken(case, expected.results, hello.features) is None and not self._is_disputed(
                state, case, expected
            ):
                yield case, expected

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
        with closing(self._replies(states)) as answered:
            for trial in answered:
                self._add(trial)
                if len(open_states) > 1:
                    yield from self._finished(open_states)
        for state in open_states.values():
            yield self._over(state)

    def _replies(self, states: Sequence[CaseState]) -> Generator[Trial]:
        """Everything that is sent; after the third hang in several processes, and of suspects their beginnings first."""
        trials = self._trials(states)
        yield from self.transport.run(self._until_it_hangs(trials))
        if self._unnamed >= _PATIENT:
            with self.transport.side_by_side(_SIDE_BY_SIDE) as transport:
                while self._unnamed >= _PATIENT:
                    yield from self._suspected(states, transport)
                    yield from transport.run(self._until_it_hangs(trials))

    def _until_it_hangs(self, trials: Iterator[Trial]) -> Iterator[Trial]:
        """The trials as long as few of them hang; the others stay where they come from."""
        while self._unnamed < _PATIENT:
            trial = next(trials, None)
            if trial is None:
                return
            yield trial

    def _suspected(self, states: Sequence[CaseState], transport: Transport) -> Generator[Trial]:
        """The cases that hang at an operation of a kind that hung before: a beginning that ends with it shows that, and its place."""
        self._unnamed = 0
        named = {state.id: state.shown.case for state in states if state.verdict == "timeout"}
        self._name_hangs(states, transport)
        kinds = {named[name].ops[place]["op"] for name, place in self.hanging.items() if name in named}
        fresh, self._kinds = kinds - self._kinds, kinds
        whole = {
            state.id: (state, case, expected)
            for state in states
            if fresh & state.planned.ops and not (state.drawn or state.planned.is_property)
            if self.obstacle(state.family) is None
            for case, expected in self._specified(state)
            if can_be_run(case, expected)
        }
        lengths = {
            name: sorted(
                {
                    length
                    for place, op in enumerate(case.ops)
                    if op["op"] in fresh
                    for length in (place, place + 1)
                }
                - {0}
            )
            for name, (_, case, _) in whole.items()
        }
        for name, trial in self._hanging_starts(list(whole.values()), lengths, transport):
            state, case, expected = whole[name]
            place = len(trial.case.ops) - 1
            if case.ops[place]["op"] in fresh:
                self.hanging[name] = place
                self.in_flight[trial.token] = state
                state.drawn = state.whole = True
                yield replace(trial, case=case, expected=expected)

    def _add(self, trial: Trial) -> None:
        state, now = self.in_flight.pop(trial.token), time.monotonic()
        took = now - max(trial.since, self._last_answer)
        if trial.ended:
            is_hang = trial.verdict == "timeout"
            self._hangs += is_hang
            self._unnamed += is_hang and state.id not in self.hanging
            if not (is_hang and self._answered):  # hangs are short by then, and nothing is skipped for them
                self._ends[state.family] += 1
        else:
            self._answered = True
            computed = took if trial.seconds is None else trial.computed
            if computed is not None and can_be_run(trial.case, trial.expected):
                self._took[state.family].append(computed)
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
        """Runs one case, outside the count, for at most `seconds`, and judges it.

        None for one that asks for what the adapter rules out, and when it gave no reply any more.
        """
        case, expected = specified(case, self.private(), self.options.rules)
        if not is_within(case, expected.results, self.transport.hello):
            return None
        trial = self.trial(case, expected, seconds)
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
        is_beyond = is_odd(trial.case) or beyond_must(trial.case, trial.expected, self.private()) is not None
        return trial.fail("pass", "") if is_beyond else trial

    def name_hangs(self, states: Sequence[CaseState]) -> None:
        """Finds the operation at which each case hangs, the last of its shortest beginning that does."""
        if any(state.verdict == "timeout" and state.id not in self.hanging for state in states):
            with self.transport.side_by_side(_SIDE_BY_SIDE) as transport:
                self._name_hangs(states, transport)

    def _name_hangs(self, states: Sequence[CaseState], transport: Transport) -> None:
        whole = [
            (state, state.shown.case, state.shown.expected)
            for state in states
            if state.verdict == "timeout" and not state.planned.is_property and state.id not in self.hanging
        ]
        lengths = {state.id: range(1, len(case.ops) + 1) for state, case, _ in whole}
        for name, trial in self._hanging_starts(whole, lengths, transport):
            self.hanging[name] = len(trial.case.ops) - 1

    def _hanging_starts(
        self,
        whole: Sequence[tuple[CaseState, Case, Observation]],
        lengths: Mapping[str, Sequence[int]],
        transport: Transport,
    ) -> Generator[tuple[str, Trial]]:
        """By id, the first beginning that hangs, of these lengths in their order; each step runs all cases side by side."""
        found: set[str] = set()
        for step in range(max(map(len, lengths.values()), default=0)):
            trials: dict[str, tuple[str, Trial]] = {}
            for state, case, expected in whole:
                if state.id not in found and step < len(lengths[state.id]):
                    start = replace(case, ops=case.ops[: lengths[state.id][step]])
                    trial = self.trial(start, expected, self.hang_seconds(state.family, least=SHORT_SECONDS))
                    trials[trial.token] = state.id, trial
            for trial in transport.run(trial for _, trial in trials.values()):
                remove_tree(trial.directory)
                if trial.verdict == "timeout":
                    name, _ = trials[trial.token]
                    found.add(name)
                    yield name, trial
