"""The verbs `adapter new` and `adapter check`: a starter to copy, and a check of what an adapter sends."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import typer
from rocket_spec.printable import counted

from rocketspec._options import print_rows

if TYPE_CHECKING:
    from rocket_conformance.adapter_check import Exchange, Summary


_LANGUAGES = {
    "go": ("go build -o adapter .", "./adapter"),
    "java": ("javac -d classes *.java", "java -cp classes Adapter"),
    "javascript": ("", "node adapter.js"),
    "python": ("", "python3 adapter.py"),
    "python-decoder": ("", "python3 decoder.py"),
    "rust": ("cargo build --release", "target/release/rocketspec-adapter"),
}
"""The build command of each starter, and the command that runs it."""

_LONGEST_LINE = 400


GROUP: Final = typer.Typer(help="Create an adapter from a starter, and check it.", no_args_is_help=True)


@GROUP.command("new")
def new(
    language: str,
    directory: Path | None = None,
    *,
    decoder: bool = False,
) -> None:
    """Copy a starter adapter: a small complete program that passes the suite.

    Example: `rocketspec adapter new rust -o my-adapter`
    """
    from rocket_spec.data import find_data
    from rocket_spec.errors import UsageError
    from rocket_spec.store_folders import refuse_store

    choices = [name for name in _LANGUAGES if "-" not in name]
    if language not in choices:
        raise UsageError(f"unknown language {language!r}; expected {', '.join(choices)}")
    if decoder:
        language += "-decoder"
        if language not in _LANGUAGES:
            raise UsageError("--decoder: the decoder is in Python; expected python")
    target = directory or Path(f"adapter-{language}")
    refuse_store(target)
    if target.is_symlink():
        target = Path(os.path.realpath(target, strict=True))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target}: already exists and is not empty")
    left_out = shutil.ignore_patterns("__pycache__", "target", "classes", "node_modules")
    source = find_data(f"conformance/adapters/{language}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".rocketspec-", dir=target.parent) as folder:  # whole, or nothing
        try:
            made = shutil.copytree(source, Path(folder) / "adapter", ignore=left_out)
        except shutil.Error as error:
            raise OSError(error.args[0][0][2]) from error
        if target.exists():
            target.rmdir()
        made.rename(target)
    marked = [
        path.name
        for path in sorted(target.rglob("*"))
        if path.is_file() and "YOURS" in path.read_text("utf-8")
    ]
    build, command = _LANGUAGES[language]
    typer.echo(
        f"{target}: call your code at the lines marked YOURS in {' and '.join(name for name in marked if name != 'README.md')}, then run in that directory:"
    )
    for line in filter(
        None, (build, f"rocketspec adapter check -- {command}", f"rocketspec conform -- {command}")
    ):
        typer.echo(f"  {line}")


@GROUP.command("check")
def check(
    command: list[str],
    *,
    case_timeout: float = 10.0,
    as_json: bool = False,
) -> None:
    """Check that an adapter follows the protocol, and explain each violation.

    Sends hello, a small case for each operation that the adapter declares, and bye. Each violation is shown with the rule of
    PROTOCOL.md. Run it before conform: what it finds is a fault of the adapter, not of the implementation.

    Example:
      rocketspec adapter check -- python3 adapter.py

    Exit codes:
      0 ready for conform       2 usage
      1 protocol broken, or a smoke case failed
      3 not started
    """
    from contextlib import closing
    from dataclasses import asdict

    from rocket_conformance.adapter_check import check_adapter, summary
    from rocket_conformance.transport import stop_on_signals

    from rocketspec._implementation import adapter_errors

    exchanges: list[Exchange] = []
    checked = closing(check_adapter(command, case_timeout=case_timeout))
    with stop_on_signals(), adapter_errors(), checked as coming:
        for exchange in coming:
            exchanges.append(exchange)
            print_rows([asdict(exchange)], _told(exchange), as_json=as_json)
    result = summary(exchanges)
    print_rows([], _verdict(result, command), as_json=as_json)
    raise typer.Exit(int(not result.good))


def _told(exchange: Exchange) -> Iterator[str]:
    """One line for a correct exchange; the whole exchange for a wrong one."""
    if not exchange.broken and exchange.verdict in {None, "pass"}:
        yield f"ok   {exchange.about}"
        return
    yield f"{'BAD ' if exchange.broken else exchange.verdict} {exchange.about}"
    yield f"  > {_cut(exchange.sent)}"
    yield f"  < {_cut(exchange.received)}"
    for broken in exchange.broken:
        yield f"  {broken.place}: {broken.text}"
    for difference in exchange.differences:
        yield f"  {difference}"


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}... ({len(line):,} characters)"


def _verdict(result: Summary, command: list[str]) -> Iterator[str]:
    yield ""
    if result.broken:
        yield (
            f"not ready: the protocol is broken in {result.broken} of {result.exchanges} exchanges; "
            "see PROTOCOL.md for the rules"
        )
    elif result.good:
        passed = counted(result.passed, "smoke case passes", "smoke cases pass")
        yield f"ready: {passed}; next: rocketspec conform -- {' '.join(command)}"
    elif result.cases:
        yield (
            f"the protocol is followed, but {result.cases - result.passed} of {result.cases} smoke cases fail: "
            "check the implementation, and how the adapter calls it"
        )
    else:
        yield "not ready: no operation could be tried"
