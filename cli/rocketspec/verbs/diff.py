"""The verb `diff`: two files, field by field."""

from __future__ import annotations

import base64
import json
import sys
from dataclasses import asdict
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import Annotated, Any, Final

import typer

__all__ = ["register"]

_DIFFERENT: Final = 1
_SHOWN: Final = 60  # characters of a value


def register(app: typer.Typer) -> None:
    """Adds `diff` to the command."""
    app.command("diff")(diff)


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _short(value: Any) -> str:
    text = str(_plain(value))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another file of the same kind.")],
    *,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="index, queue, ext, log or checkpoint. \\[from path and content]"),
    ] = None,
    geometry: Annotated[
        str | None, typer.Option(metavar="S,N", help="Slots and entries of two index files. \\[inferred]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a difference.")] = False,
) -> None:
    """Compare two files field by field.

    Exit code 1 when they differ.

    Example: `rocketspec diff ~/master/index/20260131120000000 ~/slave/index/20260131120000012`
    """
    from rocket_columnar.describe import diff as engine
    from rocket_columnar.index import parse_geometry

    given = None if geometry is None else parse_geometry(geometry)
    count = 0
    for found in engine(first, second, kind=kind, geometry=given):
        count += 1
        if as_json:
            shown = {name: _plain(value) for name, value in asdict(found).items()}
            text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"), default=dict)
            sys.stdout.write(text + "\n")
            continue
        number = "" if found.number is None else f" {found.number:,}"
        place = "" if found.offset is None else f" (byte {found.offset:,})"
        typer.echo(
            f"{found.part}{number} {found.field}{place}: {_short(found.first)} | {_short(found.second)}"
        )
    if not as_json:
        typer.echo(f"{count:,} difference{'s' * (count != 1)}" if count else "no differences")
    if count:
        raise typer.Exit(_DIFFERENT)
