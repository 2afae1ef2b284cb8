"""The verb `digest`: one number for the content of each file, and for the store."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds `digest` to the command."""
    app.command("digest")(digest)


def digest(
    store: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="The directory of a store, one of its directories, or a file."),
    ],
    *,
    geometry: Annotated[
        str | None, typer.Option(metavar="S,N", help="Slots and entries of the index files. \\[inferred]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each line.")] = False,
) -> None:
    """Print a SHA-256 for the content of each file, and one for the store; equal on replicas with equal content.

    Only what was written counts: header and entries of an index file, units of a queue, records of the log. Paths, the
    names of index files, the checkpoint and an abort file make no difference to the store's.

    Example: `rocketspec digest ~/store`
    """
    from rocket_columnar.describe import digest as engine
    from rocket_columnar.describe import store_digest
    from rocket_columnar.index import parse_geometry

    from rocketspec._notes import one_line, skipped
    from rocketspec.verbs._waiting import waiting

    with waiting("reading"):
        given = None if geometry is None else parse_geometry(geometry)
        files = list(engine(store, geometry=given, on_skip=skipped))
    whole = store_digest(files)
    if as_json:
        lines = [{"path": file.path, "kind": file.kind, "digest": file.digest} for file in files]
        for line in [*lines, {"store": whole}]:
            sys.stdout.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        return
    for file in files:
        typer.echo(f"{file.digest}  {one_line(file.path)}")
    typer.echo(f"{whole}  {store}")
