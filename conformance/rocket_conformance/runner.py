"""A run: every selected case and property against one implementation, to a whole report."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from rocket_conformance._running import InFlight, Options, Running, State
from rocket_conformance._scratch import scratch
from rocket_conformance.expect import specified
from rocket_conformance.judge import judge
from rocket_conformance.plan import Planned, level_of, plan
from rocket_conformance.protocol import FAMILIES, OPERATIONS
from rocket_conformance.replays import write_replay
from rocket_conformance.report import CaseLine, Report, ReportWriter, coverage_of, header_line
from rocket_conformance.transport import Job
from rocket_conformance.verdicts import FAILING, Verdict, exit_code

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from rocket_conformance.protocol import Hello
    from rocket_conformance.transport import Transport

__all__ = ["Options", "run", "run_planned"]


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
    with ReportWriter(report) as writer, scratch(options.scratch) as root:
        writer.header(header)
        lines: list[CaseLine] = []
        running = Running(transport, options, root)
        if oracle is not None:
            running.disputed = _disputes(oracle, options, planned, transport.hello, root / "oracle")
        for line, document in _lines(running, planned):
            if document is not None and report is not None:
                write_replay(report / str(line.replay), document)
            lines.append(line)
            writer.case(line)
            if on_case is not None:
                on_case(line, len(planned))
        return writer.finish(_report(header, lines, options, running))


def _lines(
    running: Running, planned: Sequence[Planned]
) -> Generator[tuple[CaseLine, Mapping[str, Any] | None]]:
    """The lines of the report as they are known: what fails comes last, made small by then."""
    states: list[State] = []
    for item in planned:
        obstacle = item.obstacle(running.transport.hello)
        if obstacle is None:
            states.append(State(item))
        else:
            yield _without_run(item, "not_applicable", obstacle), None
    failing: list[State] = []
    for state in running.all(states):
        if not state.examples:
            yield _without_run(state.planned, "skipped", running.transport.gave_up or "not run"), None
        elif state.verdict in FAILING:
            failing.append(state)
        else:
            yield running.conclude(state)
    running.cut_short = running.transport.gave_up
    for state in failing:
        yield running.conclude(state)


def run_planned(
    transport: Transport, planned: Planned, options: Options
) -> tuple[CaseLine, dict[str, Any] | None]:
    """Runs one case or property: its line of a report, and its replay file where it failed."""
    obstacle = planned.obstacle(transport.hello)
    if obstacle is not None:
        return _without_run(planned, "not_applicable", obstacle), None
    with scratch(options.scratch) as root:
        running = Running(transport, options, root)
        for state in running.all([State(planned)]):
            if state.examples:
                return running.conclude(state)
    return _without_run(planned, "skipped", transport.gave_up or "not run"), None


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
    root.mkdir()
    running = Running(oracle, options, root)
    found: dict[tuple[str, str], str] = {}

    def jobs() -> Generator[Job]:
        for item in planned:
            if item.obstacle(hello) is None and item.obstacle(oracle.hello) is None:
                for drawn in item.instances(seed=options.seed, count=options.examples, hello=hello):
                    case, expected = specified(drawn, running.directory())
                    directory = running.directory()
                    job = Job(directory.name, directory, case.ops, case.files)
                    running.in_flight[job.token] = InFlight(State(item), case, expected, 0.0)
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


def _report(header: dict[str, Any], lines: Sequence[CaseLine], options: Options, running: Running) -> Report:
    counts: dict[Verdict, int] = {}
    for line in lines:
        counts[line.verdict] = counts.get(line.verdict, 0) + 1
    failed = sum(line.verdict in FAILING and not line.baselined for line in lines)
    stale = options.baseline.stale({line.id: line.verdict for line in lines})
    missing = {
        name
        for name, operation in OPERATIONS.items()
        if operation.family in options.require and name not in running.transport.hello.ops
    } | {family for family in options.require if family not in {item.family for item in OPERATIONS.values()}}
    code = exit_code(
        counts,
        failed=failed,
        stale=bool(stale),
        cut_short=running.cut_short is not None,
        missing_required=bool(missing),
    )
    footer = {
        "type": "footer",
        "counts": counts,
        "coverage": coverage_of(lines),
        "stale": stale,
        "missing": sorted(missing),
        "cut_short": running.cut_short,
        "ops": sorted(running.transport.hello.ops & OPERATIONS.keys()),
        "families": [
            family
            for family in FAMILIES
            if (names := {name for name, item in OPERATIONS.items() if item.family == family})
            and names <= running.transport.hello.ops
        ],
        "exit_code": code,
    }
    return Report(header, tuple(lines), footer)
