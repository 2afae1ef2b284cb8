"""The verb `rebuild`: index files and consume queues from the commit log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rocket_spec.printable import counted

from rocketspec import _options as option
from rocketspec._options import differences, note_differences, read_settings
from rocketspec._terminal import note, progress, say, skipped

if TYPE_CHECKING:
    from rocket_columnar.rebuild import Rebuilt


def rebuild(
    store: Path | None = None,
    *,
    output: Path,
    commitlog: list[str] | None = None,
    geometry: str | None = None,
    queue_file_size: int | None = None,
    broker_conf: Path | None = None,
    rocketmq_profile: str | None = None,
    gentle: bool = False,
    rate: float | None = None,
    only_missing: bool = False,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Rebuild index files and consume queues from the commit log, in a new directory.

    The files equal those of a healthy broker byte for byte; only the names of index files differ. Put them in place
    while the broker is stopped. Ext files cannot be rebuilt and are copied. _manifest.json, written last, lists every
    file. Files that are missing or cannot be read, gaps in the log, and topics whose name cannot be a directory, are reported on stderr.

    Units keep the logical offsets that the records state: pre-blank units stand for records that were lost in a hole of the
    log, and the store's own last units stay if their records are lost. A queue whose offsets contradict each other is
    reported and left out.

    Geometry and file size are those of the store's own files. If it has none, they are taken from --broker-conf, else
    4.9.3's defaults are assumed, with a warning.

    Example: `rocketspec rebuild ~/store -o ~/new --broker-conf b.conf`
    """
    from dataclasses import asdict

    from rocket_columnar.rebuild import rebuild as engine
    from rocket_columnar.report import rebuild_warnings
    from rocket_columnar.store import Unreadable

    option.be_gentle(gentle=gentle, rate=rate)
    settings = read_settings(store, commitlog, geometry, broker_conf)
    facts = settings.open(rocketmq_profile)
    with progress("rebuilding", unit="bytes") as step:
        differing, done = facts.looked_at(
            lambda: (
                differences(facts),
                engine(
                    facts,
                    output,
                    queue_file_size=queue_file_size,
                    only_missing=only_missing,
                    force=force,
                    on_progress=step,
                ),
            )
        )
    note_differences(facts, differing)
    said = {one.message for one in differing}
    for text in rebuild_warnings(
        done,
        settings.conf,
        geometry_assumed=settings.conf is None and facts.geometry is None,
        size_assumed=settings.conf is None and queue_file_size is None and not facts.queues,
    ):
        if text not in said:
            note(f"WARNING: {text}")
    for name, reason in done.skipped:
        if not isinstance(reason, Unreadable):
            skipped(name, reason)
    if as_json:
        shown = asdict(done) | {
            "geometry": list(done.geometry),
            "findings": [found.row() for found in done.findings],
        }
        del shown["skipped"]
        option.write_json(shown)
    else:
        show_rebuilt(done, str(output))
    if done.findings:
        raise typer.Exit(option.FINDINGS)


def show_rebuilt(done: Rebuilt, output: str, *, store: str = "") -> None:
    """Prints what was rebuilt into `output`, and notes what was left out, of several stores with the store's name."""
    for found in done.findings:
        place = found.file if found.offset is None else f"{found.file} at byte {found.offset:,}"
        note(f"{found.code} {store}{': ' * bool(store)}{place}: {found.message}")
    slots, entries = done.geometry
    say(
        f"{output}: {counted(len(done.files), 'file')} from {counted(done.records, 'record')}; index files of {slots:,} slots and "
        f"{entries:,} entries, consume-queue files of {done.queue_file_size:,} bytes"
    )
