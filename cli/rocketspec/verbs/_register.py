"""Puts the verbs on the command, in the order in which `--help` lists them, each with the flags and help of `options.txt`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from inspect import Signature, cleandoc, signature
from pathlib import Path
from typing import Annotated, Any, Final, get_origin

import typer
from rocket_spec.tables import TABLES

from rocketspec._options import FORMATS, KINDS, TIME_FORMS, exit_codes

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
    text = Path(__file__).parents[1].joinpath("options.txt").read_text("utf-8")
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


def is_verb(word: str) -> bool:
    """Whether `word` is a verb."""
    return word in _VERBS
