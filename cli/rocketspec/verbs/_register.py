"""Puts the verbs on the command, in the order in which `--help` lists them."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import typer
    from typer.models import CommandInfo


_EXAMPLES: Final = re.compile("^Example: `.*`(?:\nExample: `.*`)*$", re.MULTILINE)

_STORES: Final = "For operators and data engineers: the store of a broker"
_SPARK: Final = "For data engineers: the same jobs on a cluster"
_PORTS: Final = "For implementers and CI: the conformance suite"
_SUITE: Final = "About the suite itself"

_VERBS: Final = {
    "decode": _STORES,
    "inspect": _STORES,
    "query": _STORES,
    "audit": _STORES,
    "rebuild": _STORES,
    "repair": _STORES,
    "diff": _STORES,
    "digest": _STORES,
    "spark": _SPARK,
    "conform": _PORTS,
    "workload": _PORTS,
    "replay": _PORTS,
    "conform_diff": _PORTS,
    "compare": _PORTS,
    "adapter": _PORTS,
    "spec": _SUITE,
    "case": _SUITE,
    "mutants": _SUITE,
    "golden": _SUITE,
}
"""The verbs, each with the panel of `--help` that lists it."""


def register_all(app: typer.Typer) -> None:
    """Registers each verb's command or group of commands on `app`."""
    for verb in _VERBS:
        register_one(app, verb)


def register_one(app: typer.Typer, verb: str) -> None:
    """Registers one verb, spelled as on the command line: a start needs no other."""
    name = verb.replace("-", "_")
    commands, groups = len(app.registered_commands), len(app.registered_groups)
    import_module(f"rocketspec.verbs.{name}").register(app)
    for command in app.registered_commands[commands:]:
        _prepare(command)
        command.rich_help_panel = _VERBS[name]
    for group in app.registered_groups[groups:]:
        group.rich_help_panel = _VERBS[name]
        for command in group.typer_instance.registered_commands if group.typer_instance else ():
            _prepare(command)


def _prepare(command: CommandInfo) -> None:
    """Lets the paragraphs of the help text be wrapped at the terminal's width; examples get lines of their own, to be copied."""
    text = command.help or (command.callback and command.callback.__doc__) or ""
    paragraphs = _EXAMPLES.sub(_listed, cleandoc(text)).split("\n\n")
    command.help = "\n\n".join(
        paragraph if paragraph.startswith("\b") else paragraph.replace("\n", " ") for paragraph in paragraphs
    )


def _listed(found: re.Match[str]) -> str:
    commands = [f"  {command}" for command in re.findall("`(.*)`", found[0])]
    return "\n".join(["\b", "Examples:" if commands[1:] else "Example:", *commands])


def is_verb(word: str) -> bool:
    """Whether `word` is a verb, as the command line spells it."""
    return word.replace("-", "_") in _VERBS and "_" not in word
