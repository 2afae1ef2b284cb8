"""Records that dispatch has not come to yet: late, not lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocket_columnar._audit_finding import Finding, finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocket_columnar._audit_log import Frames

__all__ = ["last_frame", "late_frames"]


def late_frames(
    frames: Frames, dispatched: NDArray[np.bool_], report: Callable[[Finding], None]
) -> NDArray[np.bool_]:
    """Which records lie behind the last one that is in a queue or in the index; they are told as one note.

    Where nothing is dispatched at all, nothing is late: the queues and the index are gone.
    """
    late = np.zeros(dispatched.shape, np.bool_)
    places = np.flatnonzero(dispatched)
    if not places.size:
        return late
    late[places[-1] + 1 :] = True
    due = late & (frames.queued() | (frames.all.key_count > 0))
    if due.any():
        file, offset = frames.at(int(np.argmax(due)))
        text = f"{int(due.sum()):,} records at the log's end are in no queue and no index yet"
        report(finding("store.lag", file, offset, text))
    return late


def last_frame(dispatched: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The last record that is in a queue: its keys may be on their way."""
    last = np.zeros(dispatched.shape, np.bool_)
    places = np.flatnonzero(dispatched)
    last[places[-1:]] = True
    return last
