"""Pytest plugin: the suite inside your own test run.

    pytest --pyargs rocket_conformance.suite --rocketspec-adapter "./my-adapter --fast"

Each case and each property is one test, its case id is the test id, and each clause is a marker
(`-m IDX-PUT-5`). Every pytest run in an environment that has rocketspec installed imports this module, so
nothing but pytest is imported until the suite is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from rocket_conformance.planning import Level, Planned
    from rocket_conformance.report import Baseline
    from rocket_conformance.running import Options
    from rocket_conformance.transport import Transport

_Number = TypeVar("_Number", int, float)

_ADAPTER = "--rocketspec-adapter"
_SKIPPED = pytest.StashKey[str]()
_DEFAULT_EXAMPLES = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("rocketspec", "rocketspec: conformance to RocketMQ 4.9.3's store files")
    group.addoption(_ADAPTER, metavar="CMD", help="command of the adapter that the suite talks to")
    group.addoption(
        "--rocketspec-select",
        action="append",
        default=[],
        metavar="GLOB",
        help="only cases whose id matches; repeatable",
    )
    group.addoption(
        "--rocketspec-examples",
        type=int,
        default=_DEFAULT_EXAMPLES,
        metavar="N",
        help=f"operation lists per property (default {_DEFAULT_EXAMPLES})",
    )
    group.addoption(
        "--rocketspec-seed", type=int, default=0, metavar="N", help="seed of the lists (default 0)"
    )
    group.addoption(
        "--rocketspec-case-timeout",
        type=float,
        default=10.0,
        metavar="SECONDS",
        help="longest time of a case (default 10)",
    )
    group.addoption(
        "--rocketspec-level",
        choices=("must", "observed"),
        default="observed",
        help="must: leave out what is only OBSERVED",
    )
    group.addoption(
        "--rocketspec-baseline",
        metavar="FILE",
        help="known failures, CASE-OR-GLOB verdict reason: they are expected to fail, and fail when they pass",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Registers a marker for each clause, when the suite is asked for."""
    if config.getoption(_ADAPTER) is None:
        return
    from rocket_spec.clauses import clauses

    for clause in clauses().values():
        config.addinivalue_line("markers", f"{clause.id}: {clause.summary}")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes one test of each case and property."""
    if "rocketspec_case" not in metafunc.fixturenames:
        return
    if metafunc.config.getoption(_ADAPTER) is None:
        reason = f'give {_ADAPTER} "COMMAND" to run the conformance suite'
        skipped = pytest.param(None, id="no-adapter", marks=pytest.mark.skip(reason=reason))
        metafunc.parametrize("rocketspec_case", [skipped])
        metafunc.config.stash[_SKIPPED] = reason
        return
    from rocket_spec.errors import UsageError

    from rocket_conformance.planning import plan

    try:
        planned = plan(
            select=metafunc.config.getoption("--rocketspec-select") or (), level=_level(metafunc.config)
        )
    except UsageError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    metafunc.parametrize(
        "rocketspec_case",
        [
            pytest.param(item, id=item.id, marks=[getattr(pytest.mark, clause) for clause in item.clauses])
            for item in planned
        ],
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Says why nothing ran, where no adapter was given."""
    if reason := config.stash.get(_SKIPPED, None):
        terminalreporter.write_line(f"nothing ran: {reason}")


def _level(config: pytest.Config) -> Level:
    return "must" if config.getoption("--rocketspec-level") == "must" else "observed"


def _number(config: pytest.Config, option: str, kind: type[_Number]) -> _Number:
    return kind(str(config.getoption(option)))


def started_adapter(pytestconfig: pytest.Config) -> Generator[Transport]:
    """The started adapter; one process per worker."""
    import os
    import shlex

    from rocket_conformance.transport import AdapterError, open_command

    text = str(pytestconfig.getoption(_ADAPTER))
    command = (
        [part.strip('"') for part in shlex.split(text, posix=False)] if os.name == "nt" else shlex.split(text)
    )
    if not command:
        pytest.fail(f"{_ADAPTER} is empty", pytrace=False)
    try:
        with open_command(
            command, case_timeout=_number(pytestconfig, "--rocketspec-case-timeout", float)
        ) as transport:
            yield transport
    except AdapterError as error:
        pytest.fail(f"the adapter did not start: {error}", pytrace=False)


rocketspec_transport = pytest.fixture(started_adapter, scope="session", name="rocketspec_transport")


@pytest.fixture(scope="session")
def rocketspec_baseline(pytestconfig: pytest.Config) -> Baseline:
    """The cases that are known to fail."""
    from pathlib import Path

    from rocket_spec.errors import UsageError

    from rocket_conformance.report import Baseline, read_baseline

    path = pytestconfig.getoption("--rocketspec-baseline")
    if path is None:
        return Baseline()
    try:
        return read_baseline(Path(str(path)))
    except (UsageError, OSError) as error:
        pytest.fail(f"the baseline: {error}", pytrace=False)


@pytest.fixture(scope="session")
def rocketspec_check(
    rocketspec_transport: Transport, rocketspec_baseline: Baseline, pytestconfig: pytest.Config
) -> Callable[[Planned], None]:
    """Runs a case or property, and fails or skips the test by its verdict."""
    return partial(check, rocketspec_transport, rocketspec_baseline, options_of(pytestconfig))


def options_of(config: pytest.Config) -> Options:
    """The options of a run, as the command line gives them."""
    from rocket_conformance.running import Options

    return Options(
        level=_level(config),
        examples=_number(config, "--rocketspec-examples", int),
        seed=_number(config, "--rocketspec-seed", int),
    )


def check(transport: Transport, baseline: Baseline, options: Options, planned: Planned) -> None:
    """Runs a case or property, and fails or skips the test by its verdict."""
    from rocket_conformance.report import failure_text
    from rocket_conformance.running import run_planned

    line, document = run_planned(transport, planned, options)
    if line.verdict in {"not_applicable", "skipped", "unsupported"}:
        pytest.skip(f"{line.verdict.replace('_', ' ')}: {line.detail}")
    if line.verdict != "pass":
        text = failure_text(line, document)
        if baseline.excuses(line):
            pytest.xfail(text)
        pytest.fail(text, pytrace=False)
    stale = baseline.stale([line], unmatched=False)
    if stale:
        pytest.fail(f"stale baseline line: {stale[0]}", pytrace=False)
