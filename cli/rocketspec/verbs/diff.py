"""The verb `diff`: two files, field by field."""

from __future__ import annotations

import base64
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rocketspec import _options as option

if TYPE_CHECKING:
    from rocket_columnar.describe import Difference

__all__ = ["register"]

_SHOWN: Final = 60  # characters of a value


def register(app: typer.Typer) -> None:
    """Adds `diff` to the command."""
    app.command("diff", epilog=option.exit_codes("the files differ"))(diff)


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _short(value: Any) -> str:
    text = str(_plain(value))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _line(found: Difference) -> str:
    number = "" if found.number is None else f" {found.number:,}"
    place = "" if found.offset is None else f" (byte {found.offset:,})"
    return f"{found.part}{number} {found.field}{place}: {_short(found.first)} | {_short(found.second)}"


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another file of the same kind.")],
    *,
    kind: option.KindText = None,
    geometry: option.GeometryText = None,
    broker_conf: option.BrokerConfFile = None,
    as_json: option.JsonLines = False,
) -> None:
    """Compare two files of a store field by field.

    Example: `rocketspec diff ~/master/index/20260131120000000 ~/slave/index/20260131120000012`
    """
    from rocket_columnar.describe import diff as engine
    from rocket_columnar.store import read_broker_conf

    from rocketspec._terminal import progress, say

    given = option.read_geometry(geometry)
    if given is None and broker_conf is not None:
        given = read_broker_conf(broker_conf).geometry
    count = 0
    with progress("comparing", unit="bytes") as step:
        for found in engine(first, second, kind=kind, geometry=given, on_progress=step):
            count += 1
            if as_json:
                option.write_json({name: _plain(value) for name, value in asdict(found).items()})
            else:
                say(_line(found))
    if not as_json:
        typer.echo(option.counted(count, "difference") if count else "no differences")
    if count:
        raise typer.Exit(option.FINDINGS)
