"""The verb `rebuild`: index files and consume queues again from the commit log."""

from __future__ import annotations

import json
import sys
from pathlib import Path  # noqa: TC003  typer reads the annotation
from typing import Annotated, Final

import typer

__all__ = ["register"]

_FINDINGS: Final = 1


def register(app: typer.Typer) -> None:
    """Adds `rebuild` to the command."""
    app.command("rebuild")(rebuild)


def rebuild(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The directory of a store.")],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Where the new files go; outside the store.")
    ],
    geometry: Annotated[
        str | None,
        typer.Option(
            metavar="S,N", help="Slots and entries of the index files. \\[the store's, else the default]"
        ),
    ] = None,
    queue_file_size: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES", min=1, help="Length of a consume-queue file. \\[the store's, else 6000000]"
        ),
    ] = None,
    only_missing: Annotated[
        bool, typer.Option("--only-missing", help="Only the files that the store lacks or holds otherwise.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make index files and consume queues again from the commit log, into a new directory.

    They are what an unbroken broker would have written, byte for byte; only index files have other names. Put them in
    place while the broker is down. Ext files cannot be made again, and are copied. What had to be left out - gaps in the
    log, topics that no directory can have - goes to stderr and makes exit code 1.

    Example: `rocketspec rebuild ~/store -o ~/rebuilt`
    """
    from dataclasses import asdict, replace

    from rocket_columnar.audit import audit
    from rocket_columnar.index import parse_geometry
    from rocket_columnar.rebuild import rebuild as engine
    from rocket_columnar.store import find_files

    from rocketspec._notes import note, skipped
    from rocketspec.verbs._waiting import waiting

    given = None if geometry is None else parse_geometry(geometry)
    find_files(store, on_skip=skipped)
    with waiting("rebuilding"):
        done = engine(
            store, output, geometry=given, queue_file_size=queue_file_size, only_missing=only_missing
        )
    if (store / "commitlog").is_dir():  # the engine takes the log's files as they come
        missing = (one for one in audit(store, "quick") if one.code == "log.gap")
        done = replace(done, findings=(*missing, *done.findings))
    if as_json:
        shown = asdict(done) | {"geometry": list(done.geometry)}
        sys.stdout.write(json.dumps(shown, ensure_ascii=False, separators=(",", ":")) + "\n")
    else:
        for found in done.findings:
            place = found.file if found.offset is None else f"{found.file} at byte {found.offset:,}"
            note(f"{found.code} {place}: {found.message}")
        slots, entries = done.geometry
        typer.echo(
            f"{output}: {len(done.files):,} files from {done.records:,} records; index files of {slots:,} slots and "
            f"{entries:,} entries, consume-queue files of {done.queue_file_size:,} bytes"
        )
    if done.findings:
        raise typer.Exit(_FINDINGS)
