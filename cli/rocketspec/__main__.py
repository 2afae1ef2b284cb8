"""The command `rocketspec` and `python -m rocketspec`: one module per verb; an error is one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated, Final, NoReturn

import typer
from rocket_columnar.kept_memory import keep_freed_memory
from rocket_spec.errors import FormatError, UsageError

from rocketspec._departure import quick_departure
from rocketspec._extras import missing_extra
from rocketspec._options import INTERRUPTED, UNREADABLE, USAGE
from rocketspec._quick import QuickGroup
from rocketspec._terminal import note, replace_unencodable
from rocketspec._usage import CommandLineError, usage_line
from rocketspec.verbs import is_verb, register_all, register_one

__all__ = ["main", "run"]

_COLLECTED: Final = 200_000
"""New objects after which Python looks for cycles: imports make half as many, and none of them is garbage."""


def _version(asked: bool) -> None:
    if asked:
        from rocketspec._version import version_lines

        typer.echo("\n".join(version_lines()))
        raise typer.Exit


def _root(
    version_asked: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version, and those of Python and the libraries.",
        ),
    ] = False,
) -> None:
    """Declares the options before the verb."""


def _app(arguments: list[str]) -> typer.Typer:
    """The command, with the one verb that the arguments begin with, or all."""
    app = typer.Typer(
        name="rocketspec",
        help="Format specification and conformance suite for Apache RocketMQ 4.9.3's index files and consume queues.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(cls=QuickGroup)(_root)
    if arguments and is_verb(arguments[0]):
        register_one(app, arguments[0])
    else:
        register_all(app)
    return app


def _fail(message: str, code: int) -> NoReturn:
    note(message)
    raise SystemExit(code)


def _os_error(error: OSError) -> str:
    reason = error.strerror.lower() if error.strerror else str(error)
    return f"{error.filename}: {reason}" if error.filename is not None else reason


def main() -> None:
    """Runs the command.

    Bad input prints one line on stderr and exits with 2 or 3; a closed pipe ends it silently.
    """
    gc.set_threshold(_COLLECTED)
    replace_unencodable()
    try:
        raise SystemExit(_app(sys.argv[1:])(standalone_mode=False) or 0)
    except CommandLineError as error:
        line = usage_line(error)
        if line is None:
            raise SystemExit(USAGE) from None
        _fail(line, USAGE)
    except UsageError as error:
        _fail(str(error), USAGE)
    except FormatError as error:
        _fail(str(error), UNREADABLE)
    except ModuleNotFoundError as error:
        message = missing_extra(error, sys.argv[1])
        if message is None:
            raise
        _fail(message, USAGE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        _fail(_os_error(error), UNREADABLE)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def run() -> None:
    """Runs the command as a process of its own."""
    keep_freed_memory()
    quick_departure(main)


if __name__ == "__main__":
    run()
