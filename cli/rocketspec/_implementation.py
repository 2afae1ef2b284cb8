"""The implementation under test: the command of an adapter, the real jar of a version, or the bundled engine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rocket_conformance.running import Options, run
from rocket_conformance.transport import AdapterError, open_command, open_handler, open_jar
from rocket_spec.errors import UsageError
from rocket_spec.printable import shell_word

from rocketspec._extras import missing_extra
from rocketspec._options import UNREADABLE
from rocketspec._terminal import note

if TYPE_CHECKING:
    from rocket_conformance.report import Report
    from rocket_conformance.transport import Transport


@contextlib.contextmanager
def adapter_errors() -> Iterator[None]:
    """Turns an adapter that does not start into one line and exit code 3."""
    try:
        yield
    except AdapterError as error:
        note(str(error))
        raise typer.Exit(UNREADABLE) from None


def conform(command: Sequence[str] = (), **options: Any) -> Report:
    """Runs the suite against an adapter's command, or against the bundled engine without one; UsageError when nothing is selected.

    The options are fields of `rocket_conformance.running.Options`.
    """
    with open_implementation(list(command), None, None) as transport:
        return run(transport, Options(**options))


@contextlib.contextmanager
def open_implementation(
    command: list[str] | None,
    rocketmq: str | None,
    jars: Path | None,
    *,
    case_timeout: float = 10.0,
    check_schema: bool = False,
    jobs: int = 1,
) -> Iterator[Transport]:
    """The adapter that the options name: a command, the real jar, or the bundled engine.

    `jobs` is the number of processes; the bundled engine always runs in this one. UsageError for both a command and a version.
    """
    if command and rocketmq:
        raise UsageError("COMMAND and --rocketmq are mutually exclusive")
    if command and Path(command[0]).is_dir():
        raise UsageError(
            f"{command[0]}: a directory; a store is judged by `rocketspec conform --store {shell_word(command[0])}`"
        )
    limits: dict[str, Any] = {"case_timeout": case_timeout, "check_schema": check_schema, "jobs": jobs}
    opening: contextlib.AbstractContextManager[Transport]
    if command:
        opening = open_command(command, notice=note, **limits)
    elif rocketmq:
        opening = open_jar(rocketmq, jars=jars, notice=note, **limits)
    else:
        try:
            from rocket_columnar.adapter import Adapter
        except ModuleNotFoundError as error:
            raise UsageError(
                missing_extra(error, "the bundled engine, tested without a COMMAND,") or str(error)
            ) from error
        opening = open_handler(Adapter(), check_schema=check_schema)
    with opening as opened:
        yield opened
