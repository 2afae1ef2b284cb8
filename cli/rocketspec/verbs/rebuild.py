"""The verb `rebuild`: index files and consume queues from the commit log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rocketspec._options import (
    FINDINGS,
    AsJson,
    CommitLogPaths,
    OnlyMissing,
    QueueFileSize,
    RebuildGeometry,
    StorePath,
    exit_codes,
    read_geometry,
    write_json,
)

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds `rebuild` to the command."""
    app.command("rebuild", epilog=exit_codes("something had to be left out"))(rebuild)


def rebuild(
    store: StorePath,
    *,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Directory for the new files, outside the store."),
    ],
    commitlog: CommitLogPaths = None,
    geometry: RebuildGeometry = None,
    queue_file_size: QueueFileSize = None,
    only_missing: OnlyMissing = False,
    as_json: AsJson = False,
) -> None:
    """Rebuild index files and consume queues from the commit log, in a new directory.

    The files equal those of a healthy broker byte for byte; only the names of index files differ. Put them in place
    while the broker is stopped. Ext files cannot be rebuilt and are copied. _manifest.json, written last, lists every
    file. Missing log files, gaps in the log, and topics whose name cannot be a directory, are reported on stderr.

    Example: `rocketspec rebuild ~/store -o ~/rebuilt`
    """
    from dataclasses import asdict

    from rocket_columnar.rebuild import rebuild as engine

    from rocketspec._terminal import note, progress, skipped

    given = read_geometry(geometry)
    with progress("rebuilding"):
        done = engine(
            store,
            output,
            geometry=given,
            queue_file_size=queue_file_size,
            only_missing=only_missing,
            commitlog=commitlog or (),
        )
    for name, reason in done.skipped:
        skipped(name, reason)
    if as_json:
        shown = asdict(done) | {"geometry": list(done.geometry)}
        del shown["skipped"]
        write_json(shown)
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
        raise typer.Exit(FINDINGS)
