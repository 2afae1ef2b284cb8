"""The verbs as one command; an error is one line and an exit code."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from typing import Annotated, Final

import typer
from rocket_spec.errors import FormatError, UsageError, error_line

from rocketspec._extras import missing_extra
from rocketspec._options import INTERRUPTED, UNREADABLE, USAGE
from rocketspec._terminal import counted_skips, note, replace_unencodable
from rocketspec.verbs import is_verb, register_all, register_one

_HELP: Final = """Format specification and conformance suite for the store files of Apache RocketMQ 4.9.3.

\b
Examples:
  rocketspec audit ~/store
  rocketspec query ~/store --topic Orders --key order-1001
  rocketspec conform -- python adapter.py"""


def _version(asked: bool) -> None:
    if asked:
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
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    if arguments and is_verb(arguments[0]):
        register_one(app, arguments[0])
    else:
        register_all(app)
    return app


def run_command(arguments: list[str]) -> int:
    """Runs a verb, and returns its exit code. Bad input prints one line on stderr; a closed pipe ends it silently."""
    replace_unencodable()
    try:
        with counted_skips():
            status = _app(arguments)(arguments, standalone_mode=False) or 0
        sys.stdout.flush()
    except typer.TyperException as error:
        line = usage_line(error)
        return USAGE if line is None else _failed(line, USAGE)
    except UsageError as error:
        return _failed(str(error), USAGE)
    except FormatError as error:
        return _failed(str(error), UNREADABLE)
    except ModuleNotFoundError as error:
        message = missing_extra(error, arguments[0])
        if message is None:
            raise
        return _failed(message, USAGE)
    except OSError as error:
        _settle_stdout()
        return 0 if isinstance(error, BrokenPipeError) else _failed(error_line(error), UNREADABLE)
    except SystemExit:  # typer's own for a closed pipe: it takes the error before it comes here
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    return int(status)


def _settle_stdout() -> None:
    """Redirects a broken stdout to /dev/null so that Python's exit flush does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message: str, code: int) -> int:
    note(message)
    return code


_EXAMPLE: Final = re.compile(r"^\s*(?:Examples?: )?`?(rocketspec [^`\n]+)", re.MULTILINE)


def usage_line(error: typer.TyperException) -> str | None:
    """The message, with an example of the verb or where its commands are listed; None if typer printed the help."""
    message = error.format_message().rstrip(".")
    if not message:
        return None
    message = message[:1].lower() + message[1:]
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return message
    verb = context.command_path.removeprefix(context.find_root().command_path).strip()
    named = f"{verb}: {message}" if verb else message
    example = _EXAMPLE.search(context.command.help or "")
    if verb and example is not None:
        return f"{named}; example: `{example[1].strip()}`"
    return f"{named}; see `{' '.join(['rocketspec', *verb.split()])} --help`"


_LIBRARIES: Final = {
    "": ("typer", "rich", "jsonschema"),
    "engine": ("numpy", "numba", "pyarrow"),
    "plot": ("matplotlib",),
    "spark": ("pyspark", "pandas"),
}
"""Libraries by the extra that brings them."""


def version_lines() -> Iterator[str]:
    """Versions of rocketspec, Python, the system and the libraries; where `java` is."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def version_of(library: str) -> str | None:
        try:
            return version(library)
        except PackageNotFoundError:
            return None

    yield f"rocketspec {version('rocketspec')} (RocketMQ 4.9.3, adapter protocol 1)"
    yield f"{platform.python_implementation()} {platform.python_version()}, {platform.platform()}"
    for extra, libraries in _LIBRARIES.items():
        found = {library: version_of(library) for library in libraries}
        if all(found.values()):
            yield ", ".join(f"{library} {number}" for library, number in found.items())
        else:
            yield f"extra {extra}: not installed"
    yield f"java: {shutil.which('java') or 'not found'}; output in {sys.stdout.encoding}"
