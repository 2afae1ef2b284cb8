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
from typing import Annotated, Any, Final, NamedTuple, get_origin

import typer
from rocket_spec.errors import FormatError, UsageError, error_line
from rocket_spec.tables import TABLES

from rocketspec._extras import missing_extra
from rocketspec._options import FORMATS, INTERRUPTED, KINDS, TIME_FORMS, UNREADABLE, USAGE
from rocketspec._terminal import counted_skips, note, replace_unencodable

_EXAMPLES: Final = re.compile("^Example: `.*`(?:\nExample: `.*`)*$", re.MULTILINE)

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
    if arguments and arguments[0] in _verbs():
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


_VALUES: Final = {"fmt": FORMATS, "kind": KINDS, "table": tuple(TABLES), "timestamps": TIME_FORMS}
"""Parameters with values that a shell completes."""


class _Section(NamedTuple):
    """A section of `options.txt`: its panel, when the verb exits with 1, and of each parameter its flags with the metavar, and help."""

    panel: str
    findings: str
    parameters: dict[str, list[str]]


@cache
def _table() -> dict[str, _Section]:
    """The sections, by verb."""
    panel, found = "", dict[str, _Section]()
    parameters: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("options.txt").read_text("utf-8").splitlines():
        if line.startswith("= "):
            panel = line[2:]
        elif line.startswith("["):
            verb, _, findings = line[1:].partition("]")
            parameters = {}
            found[verb] = _Section(panel, findings.strip(), parameters)
        elif line and not line.startswith("#"):
            name, *row = re.split(" {2,}", line, maxsplit=2)
            parameters[name] = row
    return found


def _verbs() -> dict[str, str]:
    """The verbs, each with its panel."""
    return {verb.partition(" ")[0]: section.panel for verb, section in _table().items() if section.panel}


def register_all(app: typer.Typer) -> None:
    """Registers each verb's command or group of commands on `app`."""
    for verb in _verbs():
        register_one(app, verb)


def register_one(app: typer.Typer, verb: str) -> None:
    """Registers one verb, spelled as on the command line: a start needs no other."""
    name = verb.replace("-", "_")
    module = import_module(f"rocketspec.verbs.{name}")
    group: typer.Typer | None = getattr(module, "GROUP", None)
    if group is None:
        app.command(verb, rich_help_panel=_verbs()[verb])(getattr(module, name))
        commands = app.registered_commands[-1:]
    else:
        app.add_typer(group, name=verb, rich_help_panel=_verbs()[verb])
        commands = group.registered_commands
    for command in commands:
        whole = f"{verb} {command.name}" if group else verb
        if command.callback is not None:
            command.callback = described(whole, command.callback)
        own = command.callback.__doc__ if command.callback else None
        command.help = shown(getattr(module, "HELP", own) or "")  # of decode, with the columns of the tables
        findings = _table()[whole].findings if whole in _table() else ""
        if findings:
            ones = "" if findings == "never" else f"1 {findings}; "
            command.epilog = f"Exit codes: 0 success; {ones}2 usage; 3 unreadable input."


def _declared(verb: str, name: str) -> Any:
    """A parameter of a verb as typer has it declared; StopIteration for one that `options.txt` lacks."""
    words = verb.split()
    places = (verb, words[0], words[-1], "every verb")
    found = (_table()[place].parameters for place in places if place in _table())
    columns, text = next(parameters[name] for parameters in found if name in parameters)
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
