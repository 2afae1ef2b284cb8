"""A run: every selected case and property against one implementation, to a whole report."""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rocket_spec.temporary_folders import remove_tree

from rocket_conformance.comparison import specified
from rocket_conformance.counterexamples import write_replay
from rocket_conformance.files import scratch
from rocket_conformance.judging import FAILING, INTERRUPTED, judge
from rocket_conformance.planning import Planned, all_ids, plan
from rocket_conformance.properties import MOVES
from rocket_conformance.protocol import FAMILIES, OPERATIONS, Hello
from rocket_conformance.report import CaseLine, Report, ReportWriter, family_of, footer_line, header_line
from rocket_conformance.running.case_lines import Concluder, line_of
from rocket_conformance.running.case_state import CaseState, InFlight
from rocket_conformance.running.execution import Execution
from rocket_conformance.running.options import Options
from rocket_conformance.transport import InterruptedBySignal, Job, Transport


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

    Raises:
        UsageError: when nothing is selected.
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
    """The lines of a run as they are known: what fails comes last, made small by then.

    Attributes:
        stopped: why the run ended at its first failure; None while it goes on.
    """

    def __init__(self, execution: Execution, planned: Sequence[Planned]) -> None:
        self.stopped: str | None = None
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
                done.add(state.planned.id)
                if state.verdict not in FAILING:
                    yield self._concluder.conclude(state)
                    continue
                failing.append(state)
                if self._execution.options.fail_fast and not self._is_known(state):
                    self.stopped = f"stopped at the first failure, {state.planned.id} (--fail-fast)"
                    break
        yield from self._concluder.conclude_failing(failing, self._states.values())
        if self.stopped is not None:
            yield from self.rest(
                self.stopped, done | {item.id for item in self._planned} - self._states.keys()
            )

    @property
    def known(self) -> Mapping[str, Any]:
        """What the footer holds of the failures: the causes, and of each clause an example, or where its cases differ instead."""
        known = self._concluder
        return {"causes": known.causes, "examples": known.examples, "elsewhere": known.elsewhere}

    def _is_known(self, state: CaseState) -> bool:
        found = state.worst[2].found[:1] if state.worst is not None else ()
        first = tuple(difference.to_json(state.planned.clauses[0]) for difference in found)
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

    def jobs() -> Generator[Job]:
        for item in planned:
            if item.obstacle(hello) is None and item.obstacle(oracle.hello) is None:
                for drawn in item.instances(
                    seed=options.seed, count=options.examples, hello=hello, level=options.level
                ):
                    case, expected = specified(drawn, execution.private(), options.rules)
                    directory = execution.directory()
                    job = Job(directory.name, directory, case.ops, case.files)
                    execution.in_flight[job.token] = InFlight(CaseState(item), case, expected, 0.0)
                    yield job

    for job, reply in oracle.run(jobs()):
        entry = execution.in_flight.pop(job.token)
        judgement = judge(entry.case, entry.expected, job, reply)
        if judgement.verdict != "pass":
            first = judgement.found[0] if judgement.found else None
            what = judgement.detail or (
                f"{first.field}: reference {first.expected!r}, real jar {first.actual!r}" if first else ""
            )
            found[entry.case.id, entry.case.producer] = what
        remove_tree(job.directory)
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
