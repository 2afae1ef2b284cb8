"""Puts every verb on the command, in the order in which `--help` lists them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

__all__ = ["register_all"]

_VERBS = (
    "conform",
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
        import_module(f"rocketspec.verbs.{verb}").register(app)
