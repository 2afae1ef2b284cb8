"""Puts the verbs on the command, in the order in which `--help` lists them."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

from rocketspec._options import exit_codes

if TYPE_CHECKING:
    import typer

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
        own = command.callback.__doc__ if command.callback else None
        command.help = shown(getattr(module, "HELP", own) or "")  # of decode, with the columns of the tables


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
