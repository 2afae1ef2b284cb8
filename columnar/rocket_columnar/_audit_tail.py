"""The end of the log, for audits that do not walk it all: only the last file that holds records is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_columnar._audit_dispatch import values
from rocket_columnar.decode import Gap, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocket_columnar.store import StoreFile

__all__ = ["log_end"]


def _pass(_: Gap) -> None:
    """Gaps are for the levels that walk the log."""


def log_end(files: Sequence[StoreFile]) -> tuple[int, int | None]:
    """Physical offset behind the log's last record, and the newest store timestamp of its file.

    Without records the offset is where the log begins, and the time None.
    """
    columns = ["phy_offset", "size", "store_timestamp"]
    for file in reversed(files):
        end, newest = 0, None
        if not file.path.stat().st_size:
            continue
        for _, batch in decode([file], tables=["commit_log"], columns=columns, on_gap=_pass):
            if batch.num_rows:
                offset, size, times = (values(batch.column(name)) for name in columns)
                end = int(offset[-1]) + int(size[-1])
                newest = max(int(times.max()), newest or 0)
        if end:
            return end, newest
    return (files[0].base_offset if files else 0), None
