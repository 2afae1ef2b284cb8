"""Checks the checkpoint: compares its three times with the newest data."""

from collections.abc import Callable, Sequence
from typing import Final

from rocket_spec.layout import CHECKPOINT

from rocket_columnar.findings import Finding, finding
from rocket_columnar.index import IndexHeader
from rocket_columnar.store import StoreFile

_PATIENCE: Final = 600_000
"""ms that a checkpoint may be older than the newest record: a broker flushes all three times at least each minute."""

_CLAUSES: Final = {
    "physic_msg_timestamp": "CKP-4",
    "logics_msg_timestamp": "CQ-PUT-9",
    "index_msg_timestamp": "IDX-SVC-18",
}
"""The clauses of the times."""


def check_checkpoint(
    file: StoreFile,
    found: tuple[int, int, int],
    newest: int | None,
    indexes: Sequence[tuple[StoreFile, IndexHeader]],
    report: Callable[[Finding], None],
    *,
    live: bool,
) -> None:
    """Compares the checkpoint with the data.

    Args:
        file: the checkpoint.
        found: its three times, read before `newest`.
        newest: store timestamp of the log's last record, ms; None if it is not known.
        indexes: the index files that two others follow: full, and flushed for long (the roll itself only starts it).
        report: takes findings.
        live: whether a broker runs or was killed: one that had just begun has flushed none of its times yet.
    """
    times = dict(zip((field.name for field in CHECKPOINT.fields), found, strict=True))
    if newest is None:
        return
    stale = []
    for name, time in times.items():
        if time > newest:
            report(
                finding(
                    "checkpoint.ahead",
                    file.name,
                    CHECKPOINT.offset_of(name),
                    f"found {name} {time:,}, but the newest record was stored at {newest:,}: "
                    "a recovery begins too late and leaves queues and index short",
                    clause=_CLAUSES[name],
                )
            )
        elif time < 0 or (name != "index_msg_timestamp" and 0 < time < newest - _PATIENCE):
            stale.append(name)
    begun = not times["physic_msg_timestamp"] and not times["logics_msg_timestamp"]
    if begun:
        stale = ["physic_msg_timestamp"]
    for name in stale:
        report(
            finding(
                "checkpoint.behind",
                file.name,
                CHECKPOINT.offset_of(name),
                f"found {name} {times[name]:,}, while the newest record was stored at {newest:,}: "
                "after a crash a recovery goes a long way back, and indexes messages twice",
                severity="note" if begun and live else None,
                clause="CKP-6" if name == "physic_msg_timestamp" else _CLAUSES[name],
            )
        )
    ends = [header.end_timestamp for _, header in indexes]
    due = max(ends, default=0)
    if times["index_msg_timestamp"] < due and "index_msg_timestamp" not in stale:
        lost = sum(end > times["index_msg_timestamp"] for end in ends)
        report(
            finding(
                "checkpoint.behind",
                file.name,
                CHECKPOINT.offset_of("index_msg_timestamp"),
                f"found index_msg_timestamp {times['index_msg_timestamp']:,}, but a full index file ends at {due:,}: "
                f"after a crash a start deletes {lost:,} full index files",
                clause="IDX-SVC-18",
            )
        )
