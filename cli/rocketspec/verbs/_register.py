"""Puts every verb on the command, in the order in which `--help` lists them."""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["is_verb", "register_all", "register_one"]

_VERBS = (
    "conform",
    "workload",
    "replay",
    "conform_diff",
    "adapter",
    "decode",
    "inspect",
    "query",
    "audit",
    "rebuild",
    "diff",
    "digest",
    "spec",
    "mutants",
    "golden",
    "spark",
)


def register_all(app: typer.Typer) -> None:
    """Registers each verb's command or group of commands on `app`."""
    for verb in _VERBS:
        register_one(app, verb)


def register_one(app: typer.Typer, verb: str) -> None:
    """Registers one verb only, as the command line spells it: a start needs no other."""
    import_module(f"rocketspec.verbs.{verb.replace('-', '_')}").register(app)
    _flow(app)


def _flow(app: typer.Typer) -> None:
    """Lets the paragraphs of each help text flow into the terminal's width, where typer would keep the source's lines."""
    for command in app.registered_commands:
        text = command.help or (command.callback and command.callback.__doc__) or ""
        paragraphs = cleandoc(text).split("\n\n")
        command.help = "\n\n".join(
            one if one.startswith("\b") else one.replace("\n", " ") for one in paragraphs
        )
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _flow(group.typer_instance)


def is_verb(word: str) -> bool:
    """Whether `word` is a verb, as the command line spells it."""
    return word.replace("-", "_") in _VERBS and "_" not in word
