"""Puts the verbs on the command, in the order in which `--help` lists them."""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING

from rocketspec._quick import QuickCommand, QuickGroup

if TYPE_CHECKING:
    import typer

__all__ = ["is_verb", "register_all", "register_one"]

_VERBS = (
    "conform",
    "workload",
    "replay",
    "case",
    "conform_diff",
    "compare",
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
    """Registers one verb, spelled as on the command line: a start needs no other."""
    import_module(f"rocketspec.verbs.{verb.replace('-', '_')}").register(app)
    _prepare(app)


def _prepare(app: typer.Typer) -> None:
    """Reads options fast, and wraps the paragraphs of each help text at the terminal's width."""
    for command in app.registered_commands:
        command.cls = QuickCommand
        text = command.help or (command.callback and command.callback.__doc__) or ""
        paragraphs = cleandoc(text).split("\n\n")
        command.help = "\n\n".join(
            paragraph if paragraph.startswith("\b") else paragraph.replace("\n", " ")
            for paragraph in paragraphs
        )
    for group in app.registered_groups:
        group.cls = QuickGroup
        if group.typer_instance is not None:
            _prepare(group.typer_instance)


def is_verb(word: str) -> bool:
    """Whether `word` is a verb, as the command line spells it."""
    return word.replace("-", "_") in _VERBS and "_" not in word
