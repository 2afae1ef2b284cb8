"""A run: every selected case and property against one implementation, to a whole report."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocket_conformance.attribution import attribute
from rocket_conformance.baseline import Baseline
from rocket_conformance.expect import specified
from rocket_conformance.judge import Judgement, disagreement, judge
from rocket_conformance.plan import Level, Planned, level_of, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS
from rocket_conformance.replays import replay_name, replay_of, write_replay
from rocket_conformance.report import CaseLine, Report, ReportWriter, coverage_of, header_line
from rocket_conformance.shrink import shrink
from rocket_conformance.transport import Job
from rocket_conformance.verdicts import FAILING, Verdict, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rocket_conformance.cases import Case, Observation
    from rocket_conformance.protocol import Hello
    from rocket_conformance.transport import Reply, Transport

__all__ = ["Options", "run", "run_planned"]

_SEVERITY: tuple[Verdict, ...] = (
    "disputed", "crash", "timeout", "errored", "unstable", "diverged", "unsupported", "skipped", "pass",
)  # fmt: skip
_GIVE_UP: frozenset[Verdict] = frozenset({"crash", "timeout", "unstable"})


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
    """

    select: Sequence[str] = ()
    level: Level = "observed"
    examples: int = 100
    seed: int = 0
    require: Sequence[str] = ()
    baseline: Baseline = field(default_factory=Baseline)
    shrink_seconds: float = 30.0
    command: Sequence[str] = ()


@dataclass(slots=True)
class _State:
    """What is known of one planned case while it runs."""

    planned: Planned
    verdict: Verdict = "pass"
    detail: str = ""
    examples: int = 0
    failing: int = 0
    millis: float = 0.0
    worst: tuple[Case, Observation, Judgement] | None = None

    def add(self, case: Case, expected: Observation, judgement: Judgement) -> None:
        """Counts one example; the smallest diverging one is kept."""
        self.examples += 1
        if judgement.verdict != "pass":
            self.failing += 1
        if _SEVERITY.index(judgement.verdict) < _SEVERITY.index(self.verdict):
            self.verdict, self.detail, self.worst = judgement.verdict, judgement.detail, None
        if judgement.verdict == self.verdict and judgement.verdict != "pass":
            if self.worst is None or len(case.ops) < len(self.worst[0].ops):
                self.worst = (case, expected, judgement)

    def dispute(self, case: Case, detail: str) -> None:
        """Notes that reference and real jar disagree on an example."""
        self.examples += 1
        self.verdict, self.detail, self.worst = "disputed", f"{case.producer}: {detail}", None


@dataclass(slots=True)
class _InFlight:
    state: _State
    case: Case
    expected: Observation
    since: float


class _Run:
    def __init__(self, transport: Transport, options: Options, root: Path) -> None:
        self.transport = transport
        self.options = options
        self.root = root
        self.tokens = 0
        self.disputed: dict[tuple[str, str], str] = {}
        self.in_flight: dict[str, _InFlight] = {}
        self.last_answer = 0.0
        self.shrink_seconds = options.shrink_seconds

    def directory(self) -> Path:
        """A path that is not used yet."""
        self.tokens += 1
        return self.root / str(self.tokens)

    def _jobs(self, states: Sequence[_State]) -> Iterator[Job]:
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
                self.in_flight[job.token] = _InFlight(state, case, expected, time.monotonic())
                yield job

    def _is_disputed(self, state: _State, case: Case, expected: Observation) -> bool:
        found = disagreement(case, expected)
        detail = self.disputed.get((case.id, case.producer))
        if found:
            first = found[0]
            detail = f"real jar {first.expected!r}, reference {first.actual!r} in {first.field}"
        if detail is not None:
            state.dispute(case, detail)
        return detail is not None

    def all(self, states: Sequence[_State]) -> Iterator[_State]:
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
        yield from open_states.values()

    def _finished(self, open_states: dict[str, _State]) -> Iterator[_State]:
        busy = {id(entry.state) for entry in self.in_flight.values()}
        for name, state in list(open_states.items()):
            if id(state) in busy or not state.examples:
                break
            wanted = self.options.examples if state.planned.is_property else 1
            if state.examples < wanted and state.verdict not in _GIVE_UP:
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

    def conclude(self, state: _State) -> tuple[CaseLine, dict[str, Any] | None]:
        """The state's line of the report, and its replay file: the smallest input that still fails alike."""
        planned, options = state.planned, self.options
        document: dict[str, Any] | None = None
        divergence: list[dict[str, Any]] = []
        if state.verdict in FAILING and state.worst is not None:
            case, expected, judgement = state.worst
            if planned.is_property and judgement.verdict in {"diverged", "errored", "crash"}:
                case, expected, judgement = self._shrunk(state.worst)
            if judgement.found:
                found = attribute(case, judgement.found, self.directory(), directed=not planned.is_property)
                divergence = [item.to_json() for item in found]
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
        smallest = shrink(failing, self.try_case, self._clause, seconds=self.shrink_seconds / 4)
        self.shrink_seconds = max(0.0, self.shrink_seconds - (time.monotonic() - start))
        return smallest

    def _clause(self, case: Case, judgement: Judgement) -> str | None:
        if not judgement.found:
            return None
        return attribute(case, judgement.found[:1], self.directory(), directed=False)[0].clause


def run(
    transport: Transport,
    options: Options,
    *,
    oracle: Transport | None = None,
    report: Path | None = None,
    on_case: Callable[[CaseLine, int], None] | None = None,
) -> Report:
    """Runs the suite.

    Args:
        transport: the started adapter of the implementation under test.
        options: what is asked for.
        oracle: the real 4.9.3 jar; each case runs there first, and where it disagrees with the reference
            the case is disputed, the suite's own error.
        report: a folder for report.jsonl and replay/, made if it is not there.
        on_case: called with each line as it is known, and the number of lines there will be.

    Raises:
        UsageError: when nothing is selected.
    """
    planned = plan(select=options.select, level=options.level)
    header = header_line(transport.hello, options.command, options.seed, options.examples)
    with ReportWriter(report) as writer, _scratch() as root:
        writer.header(header)
        lines: list[CaseLine] = []

        def settle(line: CaseLine, document: Mapping[str, Any] | None = None) -> None:
            if document is not None and report is not None:
                write_replay(report / str(line.replay), document)
            lines.append(line)
            writer.case(line)
            if on_case is not None:
                on_case(line, len(planned))

        running = _Run(transport, options, root)
        if oracle is not None:
            running.disputed = _disputes(oracle, options, planned, transport.hello, root / "oracle")
        states: list[_State] = []
        for item in planned:
            obstacle = item.obstacle(transport.hello)
            if obstacle is None:
                states.append(_State(item))
            else:
                settle(_without_run(item, "not_applicable", obstacle))
        failing: list[_State] = []
        for state in running.all(states):
            if not state.examples:
                settle(_without_run(state.planned, "skipped", transport.gave_up or "not run"))
            elif state.verdict in FAILING:
                failing.append(state)
            else:
                settle(running.conclude(state)[0])
        for state in failing:
            settle(*running.conclude(state))
        return writer.finish(_report(header, lines, options, transport))


def run_planned(
    transport: Transport, planned: Planned, options: Options
) -> tuple[CaseLine, dict[str, Any] | None]:
    """Runs one case or property: its line of a report, and its replay file where it failed."""
    obstacle = planned.obstacle(transport.hello)
    if obstacle is not None:
        return _without_run(planned, "not_applicable", obstacle), None
    with _scratch() as root:
        running = _Run(transport, options, root)
        for state in running.all([_State(planned)]):
            if state.examples:
                return running.conclude(state)
    return _without_run(planned, "skipped", transport.gave_up or "not run"), None


class _scratch:  # noqa: N801 - a context manager, used like a function
    """A temporary folder that is removed as far as the system lets us."""

    def __enter__(self) -> Path:
        self._path = Path(tempfile.mkdtemp(prefix="rocketspec-"))
        (self._path / "oracle").mkdir()
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


def _without_run(planned: Planned, verdict: Verdict, detail: str) -> CaseLine:
    return CaseLine(
        id=planned.id,
        clauses=planned.clauses,
        level=level_of(planned.clauses[0]),
        verdict=verdict,
        detail=detail,
    )


def _disputes(
    oracle: Transport, options: Options, planned: Sequence[Planned], hello: Hello, root: Path
) -> dict[tuple[str, str], str]:
    """The cases on which the real jar disagrees with the reference, and how."""
    running = _Run(oracle, options, root)
    found: dict[tuple[str, str], str] = {}

    def jobs() -> Iterator[Job]:
        for item in planned:
            if item.obstacle(hello) is None and item.obstacle(oracle.hello) is None:
                for drawn in item.instances(seed=options.seed, count=options.examples, hello=hello):
                    case, expected = specified(drawn, running.directory())
                    directory = running.directory()
                    job = Job(directory.name, directory, case.ops, case.files)
                    running.in_flight[job.token] = _InFlight(_State(item), case, expected, 0.0)
                    yield job

    for job, reply in oracle.run(jobs()):
        entry = running.in_flight.pop(job.token)
        judgement = judge(entry.case, entry.expected, job, reply)
        if judgement.verdict != "pass":
            first = judgement.found[0] if judgement.found else None
            what = judgement.detail or (
                f"{first.field}: reference {first.expected!r}, real jar {first.actual!r}" if first else ""
            )
            found[entry.case.id, entry.case.producer] = what
        shutil.rmtree(job.directory, ignore_errors=True)
    return found


def _report(
    header: dict[str, Any], lines: Sequence[CaseLine], options: Options, transport: Transport
) -> Report:
    counts: dict[Verdict, int] = {}
    for line in lines:
        counts[line.verdict] = counts.get(line.verdict, 0) + 1
    failed = sum(line.verdict in FAILING and not line.baselined for line in lines)
    stale = options.baseline.stale({line.id: line.verdict for line in lines})
    missing = {
        name
        for name, operation in OPERATIONS.items()
        if operation.family in options.require and name not in transport.hello.ops
    } | {family for family in options.require if family not in {item.family for item in OPERATIONS.values()}}
    code = exit_code(
        counts,
        failed=failed,
        stale=bool(stale),
        cut_short=transport.gave_up is not None,
        missing_required=bool(missing),
    )
    footer = {
        "type": "footer",
        "counts": counts,
        "coverage": coverage_of(lines),
        "stale": stale,
        "missing": sorted(missing),
        "cut_short": transport.gave_up,
        "ops": sorted(transport.hello.ops & OPERATIONS.keys()),
        "families": [
            family
            for family in FAMILIES
            if (names := {name for name, item in OPERATIONS.items() if item.family == family})
            and names <= transport.hello.ops
        ],
        "exit_code": code,
    }
    return Report(header, tuple(lines), footer)
