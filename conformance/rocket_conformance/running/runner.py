"""A run: every selected case and property against one implementation, to a whole report."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from rocket_spec.profiles import GROUND
from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.attribution import (
    MOST_RUNS,
    Evidence,
    Simulation,
    as_examples,
    elsewhere,
    find_causes,
    place_of,
    places_of,
)
from rocket_conformance.cases import Case, Observation
from rocket_conformance.comparison import Difference, hashed_texts, specified
from rocket_conformance.counterexamples import replay_name, replay_of, shrink, write_replay
from rocket_conformance.files import scratch
from rocket_conformance.judging import FAILING, INTERRUPTED, Trial, Verdict, can_be_run, disputed_at
from rocket_conformance.misreadings import Mutant
from rocket_conformance.planning import CaseState, Planned, all_ids, beyond_must, is_odd, plan
from rocket_conformance.properties import MOVES, Property
from rocket_conformance.protocol import FAMILIES, OPERATIONS, Hello
from rocket_conformance.report import CaseLine, Report, ReportWriter, family_of, footer_line, header_line
from rocket_conformance.running.execution import SHORT_SECONDS, Execution, Options
from rocket_conformance.transport import InterruptedBySignal, Transport

_DIED: Final[frozenset[Verdict]] = frozenset({"crash", "timeout"})
_SHRUNK: Final[frozenset[Verdict]] = frozenset({"diverged", "errored"})


def line_of(planned: Planned, verdict: Verdict, detail: str, **fields: Any) -> CaseLine:
    """A line of the report."""
    return CaseLine(
        id=planned.id, clauses=planned.clauses, level=planned.level, verdict=verdict, detail=detail, **fields
    )


def _titled(mutant: Mutant) -> str:
    return f"{mutant.words} ({mutant.clause})"


def _named(trial: Trial, case: Case, place: int) -> Trial:
    """The trial with the operation of a crash or hang in its detail."""
    return replace(trial, detail=f"operation {place} ({case.ops[place]['op']}): {trial.detail}")


Concluded = tuple[CaseLine, "dict[str, Any] | None"]
"""A line of the report, and the replay file of a case that failed."""


class Concluder:
    """Concludes the cases of a run, within limits of time for making inputs smaller and for naming operations."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._options = execution.options
        self._seconds = self._naming = execution.options.shrink_seconds
        self._most_runs = MOST_RUNS
        self._small: set[str | None] = set()
        self._smallest_known: set[str] = set()
        # the misreadings that are proved, as the report's footer holds them
        self.causes: list[dict[str, Any]] = []
        self.examples: dict[str, str] = {}  # by clause, the failing case that shows it best
        # by clause, where its failing cases differ first, if none does in what the clause is about
        self.elsewhere: dict[str, list[str]] = {}
        # by failing case, the places and kinds of its differences
        self.places: dict[str, list[str]] = {}
        # the ids of failing cases on files that are too large to look for causes
        self.unexamined: list[str] = []

    def stop(self) -> None:
        """Leaves further inputs as they are, looks for no cause, and runs nothing any more."""
        self._seconds = self._naming = 0.0
        self._most_runs = 0

    def conclude(self, state: CaseState) -> Concluded:
        """The state's line of the report, and its replay file if it failed."""
        if state.verdict not in FAILING:
            return self._line(state, ()), None
        self._make_small(state)
        return self._failed_line(state)

    def conclude_failing(
        self, states: Sequence[CaseState], passed: Iterable[CaseState]
    ) -> Iterator[Concluded]:
        """The lines and replay files of all that failed, with what passed as evidence; `causes` and `examples` are known from the first on."""
        hanging = self._execution.hanging
        if self._naming:
            self._execution.name_hangs(states)
            died = (state for state in states if state.verdict in _DIED and state.id not in hanging)
            self._naming += 2 * sum(state.millis for state in died) / 1000
        # what was drawn from a seed comes last: it stays as it is where a smaller case fails at the same place
        for state in sorted(
            states, key=lambda item: (not item.planned.is_directed, not item.planned.is_property)
        ):
            self._make_small(state)
        failures = [state for state in states if state.worst is not None]
        by_clause: dict[str, list[CaseState]] = {}
        for failure in failures:
            by_clause.setdefault(failure.clause, []).append(failure)
        self.examples = {
            clause: as_examples(group, written_first=True)[0].id for clause, group in by_clause.items()
        }
        self.places = {state.id: places for state in failures if (places := places_of(state))}
        self.elsewhere = {
            clause: places for clause, group in by_clause.items() if (places := elsewhere(group))
        }
        self.unexamined = [
            state.id for state in failures if not can_be_run(state.shown.case, state.shown.expected)
        ]
        explained = failures and self._most_runs and self._options.explained
        self.causes = self._causes(failures, passed) if explained else []
        for state in states:
            yield self._failed_line(state)

    def _causes(self, failures: Sequence[CaseState], passed: Iterable[CaseState]) -> list[dict[str, Any]]:
        own: dict[str, list[str]] = {}
        by_id = {
            state.id: state.planned
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
                "sure": cause.is_sure,
                "shows": cause.shows,
                "otherwise": [failure.id for failure in cause.otherwise],
                "cases": [failure.id for failure in cause.failures],
                "properties": [failure.id for failure in cause.sampled],
                "together": [_titled(mutant) for mutant in cause.together],
                "hidden": [_titled(mutant) for mutant in cause.hidden],
                "hangs": [failure.id for failure in cause.hangs],
                "example": cause.example.id,
            }
            for cause in found
        ]

    def _make_small(self, state: CaseState) -> None:
        """Makes the state's failing example the smallest one that is found, once."""
        if state.worst is not None and state.id not in self._smallest_known:
            self._smallest_known.add(state.id)
            state.worst = self._smallest(state.planned, state.worst)
            state.detail = state.worst.detail

    def _specified(self, planned: Planned) -> tuple[Case, Observation]:
        execution = self._execution
        [case] = planned.instances(
            seed=self._options.seed, count=self._options.examples, hello=execution.transport.hello
        )
        return specified(case, execution.private(), self._options.rules)

    def _failed_line(self, state: CaseState) -> Concluded:
        document: dict[str, Any] | None = None
        divergence: list[dict[str, Any]] = []
        if (trial := state.worst) is not None:
            for item in trial.found:
                texts = hashed_texts(item, trial.case.ops) or self._left_by_put(trial, item)
                divergence.append(item.to_json(state.clause) | ({"texts": texts} if texts else {}))
            if self._options.explained:
                document = replay_of(trial, divergence)
        replay = None if document is None else f"replay/{replay_name(state.id)}"
        return self._line(state, divergence, replay), document

    def _left_by_put(self, trial: Trial, item: Difference) -> dict[str, str]:
        """The effect of a put that ends a case and was wrongly rejected, in words, if it changes no file."""
        case, after = trial.case, trial.expected
        if item.kind != "wrongly rejected" or item.op != len(case.ops) - 1 or "put" not in after.results[-1]:
            return {}
        start = replace(case, ops=case.ops[:-1])
        before = specified(start, self._execution.private(), self._options.rules)[1].files
        same = before.keys() == after.files.keys() and all(
            image.is_like(before[path]) for path, image in after.files.items()
        )
        return {"expected": "no file changed"} if same else {}

    def _line(
        self, state: CaseState, divergence: Sequence[Mapping[str, Any]], replay: str | None = None
    ) -> CaseLine:
        planned, detail = state.planned, state.detail
        if planned.is_property and state.failed:
            detail = f"{len(state.failed)} of {state.examples} lists" + (f": {detail}" if detail else "")
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
        level = "OBSERVED" if self._is_beyond_must(state) else line.level
        return replace(line, level=level, baselined=self._options.baseline.excuses(line))

    def _is_beyond_must(self, state: CaseState) -> bool:
        """Whether a property fails only with lists that no broker makes, or that a misreading of an OBSERVED clause answers differently."""
        if not (state.planned.is_property and state.verdict == "diverged"):
            return False
        directory, options = self._execution.private(), self._options
        hello = self._execution.transport.hello
        drawn = state.planned.instances(
            seed=options.seed, count=options.examples, hello=hello, level=options.level
        )
        others = (case for case in drawn if case.producer in state.failed and not state.all_kept)
        cases = (specified(case, directory) for case in chain((trial.case for trial in state.trials), others))
        return options.profile.version == GROUND and all(
            is_odd(case) or beyond_must(case, expected, directory) is not None for case, expected in cases
        )

    # --- the smallest input -------------------------------------------------------------------------------

    def _smallest(self, planned: Planned, failing: Trial) -> Trial:
        """The failing case made small, unless it was written by hand; of a crash or hang the operation is named."""
        if (place := self._execution.hanging.get(planned.id)) is not None:
            self._small.add(f"{failing.verdict} {failing.case.ops[place]['op']}")
            return _named(failing, failing.case, place)
        if failing.verdict in _DIED:
            return self._with_operation(failing, keep=planned.is_directed) if self._naming > 0 else failing
        if self._seconds <= 0 or failing.verdict not in _SHRUNK:
            return failing
        if planned.is_property or not (planned.is_directed or self._place(failing) in self._small):
            failing = self._shrunk(failing, None, values=True)
        self._small.add(self._place(failing))
        return failing

    def _shrunk(self, failing: Trial, limit: float | None, *, values: bool) -> Trial:
        """The smallest list found in a quarter of the time that is left."""
        start = time.monotonic()
        try_case = partial(self._execution.try_case, seconds=limit)
        found = shrink(failing, try_case, self._place, seconds=self._seconds / 4, values=values)
        self._seconds = max(0.0, self._seconds - (time.monotonic() - start))
        return found

    def _with_operation(self, failing: Trial, *, keep: bool) -> Trial:
        """A crash or hang with the operation at which it happens: the last one of the shortest beginning that shows it.

        A list is made smaller with a short limit of time, and what comes of it has to hang for as long as any case may,
        unless a smaller case is known that ends so in the same operation.
        With `keep` the case stays as it is, and only the operation is looked for.
        """
        family = failing.case.clauses[0].rpartition("-")[0]
        limit = self._execution.hang_seconds(family)
        start, left = time.monotonic(), self._seconds
        smaller, is_known = failing, False
        if not keep and left > 0:
            short = self._execution.hang_seconds(family, least=SHORT_SECONDS)
            smaller = self._shortest_start(failing, short) or failing
            kind = f"{failing.verdict} {smaller.case.ops[-1]['op']}"
            is_known = smaller is not failing and kind in self._small
            if not is_known:
                smaller = self._shrunk(smaller, short, values=True)
            self._small.add(kind)
        found = smaller if is_known else self._shortest_start(smaller, limit)
        if found is None and smaller is not failing:
            found = self._shortest_start(failing, limit)
        self._naming -= time.monotonic() - start - (left - self._seconds)
        if found is None:
            return failing
        return _named(failing if keep else found, found.case, len(found.case.ops) - 1)

    def _shortest_start(self, failing: Trial, limit: float) -> Trial | None:
        """The shortest beginning of a list that ends alike, tried from one operation on: only the last try hangs."""
        until = time.monotonic() + self._naming
        for length in range(1, len(failing.case.ops) + 1):
            start = replace(failing.case, ops=failing.case.ops[:length])
            tried = self._execution.try_case(start, seconds=limit)
            if tried is not None and tried.verdict == failing.verdict:
                return tried
            if tried is None or time.monotonic() > until:
                return None
        return None

    @staticmethod
    def _place(trial: Trial) -> str | None:
        """The first difference of a failing list; a smaller one has to differ there, too."""
        return place_of(trial.found[0], trial.case.ops) if trial.found else None


# --- runner -------------------------------------------------------------------------------------------


def run(
    transport: Transport,
    options: Options,
    *,
    oracle: Transport | None = None,
    report: Path | None = None,
    on_case: Callable[[CaseLine, int], None] | None = None,
) -> Report:
    """Runs the suite.

    A KeyboardInterrupt ends it early: what is not known then is skipped, and the report is whole all the same.

    Args:
        transport: the started adapter of the implementation under test.
        options: what is asked for.
        oracle: the real 4.9.3 jar; each case runs there first, and where it disagrees with the reference
            the case is disputed, the suite's own error.
        report: a folder for report.jsonl and replay/, made if it does not exist.
        on_case: called with each line as it is known, and the number of lines there will be.

    Raises UsageError: when nothing is selected.
    """
    planned = plan(select=options.select, level=options.level)
    header = header_line(
        transport.hello, options.command, options.seed, options.examples, options.profile.version
    )
    with ReportWriter(report) as writer, scratch(options.scratch) as root:
        writer.write(header)
        execution = Execution(transport, options, root)
        progress = _Progress(execution, planned)
        lines: dict[str, CaseLine] = {}

        def add(line: CaseLine, document: Mapping[str, Any] | None) -> None:
            if document is not None and report is not None:
                write_replay(report / str(line.replay), document)
            lines[line.id] = line
            writer.write(line.to_json())
            if on_case is not None:
                on_case(line, len(planned))

        interrupted: str | None = None
        try:
            if oracle is not None:
                execution.disputed = _disputes(oracle, options, planned, transport.hello, root / "oracle")
            for line, document in progress.lines():
                add(line, document)
        except KeyboardInterrupt as error:
            name = error.name if isinstance(error, InterruptedBySignal) else "SIGINT"
            interrupted = f"interrupted by {name}"
            for line, document in progress.rest(interrupted, lines.keys()):
                add(line, document)
        cut_short = interrupted or progress.stopped or execution.cut_short()
        result = _report(
            header,
            tuple(lines.values()),
            execution,
            cut_short,
            known=progress.known,
            interrupted=interrupted is not None,
        )
        if interrupted is not None:
            writer.write_again(result)
        elif result.footer is not None:
            writer.write(result.footer)
        return result


class _Progress:
    """The lines of a run as they are known: what fails comes last, made small by then."""

    def __init__(self, execution: Execution, planned: Sequence[Planned]) -> None:
        self.stopped: str | None = None  # why the run ended at its first failure; None while it goes on
        self._execution = execution
        self._planned = planned
        self._concluder = Concluder(execution)
        self._states: dict[str, CaseState] = {}

    def lines(self) -> Generator[tuple[CaseLine, Mapping[str, Any] | None]]:
        """Runs everything."""
        hello = self._execution.transport.hello
        for item in self._planned:
            obstacle = item.obstacle(hello)
            if obstacle is None:
                self._states[item.id] = CaseState(item)
            else:
                yield line_of(item, "not_applicable", obstacle), None
        failing: list[CaseState] = []
        done: set[str] = set()
        with closing(self._execution.all(tuple(self._states.values()))) as states:
            for state in states:
                done.add(state.id)
                if state.verdict not in FAILING:
                    yield self._concluder.conclude(state)
                    continue
                failing.append(state)
                if self._execution.options.fail_fast and not self._is_known(state):
                    self.stopped = f"stopped at the first failure, {state.id} (--fail-fast)"
                    break
        yield from self._concluder.conclude_failing(failing, self._states.values())
        if self.stopped is not None:
            yield from self.rest(
                self.stopped, done | {item.id for item in self._planned} - self._states.keys()
            )

    @property
    def known(self) -> Mapping[str, Any]:
        """The footer's part about the failures: the causes, and of each clause an example, or where its cases differ instead."""
        known = self._concluder
        return {
            "causes": known.causes,
            "examples": known.examples,
            "elsewhere": known.elsewhere,
            "places": known.places,
            "unexamined": known.unexamined,
        }

    def _is_known(self, state: CaseState) -> bool:
        found = state.worst.found[:1] if state.worst is not None else ()
        first = tuple(difference.to_json(state.clause) for difference in found)
        line = line_of(state.planned, state.verdict, state.detail, divergence=first)
        return self._execution.options.baseline.excuses(line)

    def rest(
        self, reason: str, done: Collection[str]
    ) -> Generator[tuple[CaseLine, Mapping[str, Any] | None]]:
        """The lines that are not known yet, without running anything: failures as they are, else skipped."""
        self._concluder.stop()
        left = [self._states.get(item.id) or CaseState(item) for item in self._planned if item.id not in done]
        failing = [state for state in left if state.verdict in FAILING]
        for state in left:
            if state.verdict not in FAILING:
                state.skip(reason)
                yield self._concluder.conclude(state)
        if failing:
            yield from self._concluder.conclude_failing(failing, self._states.values())


def run_planned(
    transport: Transport, planned: Planned, options: Options
) -> tuple[CaseLine, dict[str, Any] | None]:
    """Runs one case or property: its line of a report, and its replay file if it failed."""
    obstacle = planned.obstacle(transport.hello)
    if obstacle is not None:
        return line_of(planned, "not_applicable", obstacle), None
    with scratch(options.scratch) as root:
        execution = Execution(transport, options, root)
        [state] = execution.all([CaseState(planned)])
        return Concluder(execution).conclude(state)


def _disputes(
    oracle: Transport, options: Options, planned: Sequence[Planned], hello: Hello, root: Path
) -> dict[tuple[str, str], str]:
    """The cases on which the real jar disagrees with the reference, and how."""
    execution = Execution(oracle, options, root)
    found: dict[tuple[str, str], str] = {}

    def trials() -> Generator[Trial]:
        for item in planned:
            if item.obstacle(hello) is None and item.obstacle(oracle.hello) is None:
                for drawn in item.instances(
                    seed=options.seed, count=options.examples, hello=hello, level=options.level
                ):
                    case, expected = specified(drawn, execution.private(), options.rules)
                    yield Trial(case, expected, execution.directory())

    for trial in oracle.run(trials()):
        if trial.judge().verdict != "pass":
            first = trial.found[0] if trial.found else None
            what = trial.detail or (
                disputed_at(first, jar=first.actual, reference=first.expected) if first else ""
            )
            found[trial.case.id, trial.case.producer] = what
        remove_tree(trial.directory)
    return found


def _report(
    header: dict[str, Any],
    lines: Sequence[CaseLine],
    execution: Execution,
    cut_short: str | None,
    *,
    known: Mapping[str, Any],
    interrupted: bool,
) -> Report:
    options, declared = execution.options, execution.transport.hello.ops
    needed = {
        family: {name for name, item in OPERATIONS.items() if item.family == family and not item.decodes}
        for family in FAMILIES
    }
    missing = {name for family in options.require for name in needed.get(family, {family}) - declared}
    families = [family for family, names in needed.items() if names <= declared]
    more = {
        **known,
        "ops": sorted(declared & OPERATIONS.keys()),
        "families": families,
        "narrowed": options.narrowed,
        "suite_cases": Counter(map(family_of, all_ids())),
        "triples": {
            family: [len(seen), len(MOVES[family]) ** 3] for family, seen in execution.triples.items() if seen
        },
    }
    footer = footer_line(lines, options.baseline, missing=sorted(missing), cut_short=cut_short, more=more)
    return Report(header, tuple(lines), footer | ({"exit_code": INTERRUPTED} if interrupted else {}))
