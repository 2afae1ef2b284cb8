"""The verbs as one command; an error is one line and an exit code."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache, wraps
from importlib import import_module
from inspect import Signature, cleandoc, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_origin

import typer
from rocket_spec.errors import FormatError, UsageError, error_line
from rocket_spec.tables import TABLES

from rocketspec._extras import missing_extra
from rocketspec._options import FORMATS, INTERRUPTED, KINDS, TIME_FORMS, UNREADABLE, USAGE, exit_codes
from rocketspec._terminal import counted_skips, note, replace_unencodable

_EXAMPLES: Final = re.compile("^Example: `.*`(?:\nExample: `.*`)*$", re.MULTILINE)

_STORES: Final = "For operators and data engineers: the store of a broker"
_SPARK: Final = "For data engineers: the same jobs on a cluster"
_PORTS: Final = "For implementers and CI: the conformance suite"
_SUITE: Final = "About the suite itself"

_VERBS: Final = {
    "decode": (_STORES, "part of the input could not be decoded"),
    "inspect": (_STORES, ""),
    "query": (_STORES, "no message is found"),
    "audit": (_STORES, "there are errors or warnings, or a start would delete or lose something"),
    "rebuild": (_STORES, "something had to be left out"),
    "repair": (_STORES, "something is left to do"),
    "diff": (_STORES, "the files or stores differ"),
    "digest": (_STORES, None),
    "spark": (_SPARK, None),
    "conform": (_PORTS, None),
    "workload": (_PORTS, None),
    "replay": (_PORTS, None),
    "conform-diff": (_PORTS, None),
    "adapter": (_PORTS, None),
    "spec": (_SUITE, None),
    "case": (_SUITE, None),
    "mutants": (_SUITE, None),
    "golden": (_SUITE, None),
}
"""The verbs, each with the panel of `--help` that lists it; if the help ends with its exit codes, when it exits with 1."""

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
    if arguments and arguments[0] in _VERBS:
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


# The verbs on the command, each with the flags and help of `options.txt`.


def register_all(app: typer.Typer) -> None:
    """Registers each verb's command or group of commands on `app`."""
    for verb in _VERBS:
        register_one(app, verb)


def register_one(app: typer.Typer, verb: str) -> None:
    """Registers one verb, spelled as on the command line: a start needs no other."""
    panel, findings = _VERBS[verb]
    name = verb.replace("-", "_")
    module = import_module(f"rocketspec.verbs.{name}")
    group: typer.Typer | None = getattr(module, "GROUP", None)
    if group is None:
        epilog = None if findings is None else exit_codes(findings)
        app.command(verb, epilog=epilog, rich_help_panel=panel)(getattr(module, name))
        commands = app.registered_commands[-1:]
    else:
        app.add_typer(group, name=verb, rich_help_panel=panel)
        commands = group.registered_commands
    for command in commands:
        if command.callback is not None:
            command.callback = described(f"{verb} {command.name}" if group else verb, command.callback)
        own = command.callback.__doc__ if command.callback else None
        command.help = shown(getattr(module, "HELP", own) or "")  # of decode, with the columns of the tables


_VALUES: Final = {"fmt": FORMATS, "kind": KINDS, "table": tuple(TABLES), "timestamps": TIME_FORMS}
"""Parameters with values that a shell completes."""


@cache
def _table() -> dict[str, dict[str, list[str]]]:
    """The parameters of each section of `options.txt`: flags and metavar, and help."""
    text = Path(__file__).with_name("options.txt").read_text("utf-8")
    found: dict[str, dict[str, list[str]]] = {}
    for title, lines in re.findall(r"^\[(.+)\]\n((?:.+\n)+)", text, re.MULTILINE):
        rows = (re.split(" {2,}", line, maxsplit=2) for line in lines.splitlines())
        found[title] = {name: row for name, *row in rows}
    return found


def _declared(verb: str, name: str) -> Any:
    """A parameter of a verb as typer has it declared; StopIteration for one that `options.txt` lacks."""
    words = verb.split()
    places = (_table().get(place, {}) for place in (verb, words[0], words[-1], "every verb"))
    columns, text = next(place[name] for place in places if name in place)
    flags = re.findall(r"-[\w-]+", columns)
    metavar, _, least = re.sub(r"-[\w-]+(, | |$)", "", columns).partition(">=")
    how: dict[str, Any] = {
        "metavar": metavar or None,
        "help": re.sub(r"\[(?=[a-z])", r"\[", text),  # no markup
        "show_default": bool(flags) and "[default" not in text,
        "min": None if not least else float(least) if "." in least else int(least),
        "autocompletion": (lambda: list(_VALUES[name])) if name in _VALUES else None,
    }
    return typer.Option(*flags, **how) if flags else typer.Argument(**how)


def described(verb: str, function: Callable[..., None]) -> Callable[..., None]:
    """The function of a verb as a command whose parameters have the flags and the help of `options.txt`."""
    parameters = signature(function, eval_str=True).parameters.values()
    if any(get_origin(one.annotation) is Annotated for one in parameters):
        return function  # of a group that has been registered

    @wraps(function)
    def run(**given: Any) -> None:
        function(**given)

    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [one.replace(annotation=Annotated[one.annotation, _declared(verb, one.name)]) for one in parameters]
    )
    return run


def shown(text: str) -> str:
    """A help text whose paragraphs are wrapped at the terminal's width; lists and examples keep their lines, to be copied."""
    paragraphs = _EXAMPLES.sub(_listed, cleandoc(text)).split("\n\n")
    return "\n\n".join(
        f"\b\n{paragraph}" if "\n  " in paragraph else paragraph.replace("\n", " ")
        for paragraph in paragraphs
    )


def _listed(found: re.Match[str]) -> str:
    commands = [f"  {command}" for command in re.findall("`(.*)`", found[0])]
    return "\n".join(["Examples:" if commands[1:] else "Example:", *commands])
