"""Which entries of an index file no query of their own key reaches, though slots and chains are sound."""

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.audit.fault_runs import MOST, runs_of
from rocket_columnar.index import EntryWindows


def unreached(windows: EntryWindows, *, ended: bool) -> tuple[tuple[int, int], ...]:
    """Runs (number of the first, length) of entries at which no walk arrives that begins at their slot.

    A walk over a sound chain ends early for two reasons alone: the slot names an entry beyond the count in the header, or
    an entry has a negative time diff (IDX-SEL-1, IDX-SEL-5). All entries from there on are older.

    Args:
        windows: of a file whose slots and chains are sound.
        ended: whether any entry has a negative time diff.
    """
    state, slots = windows.state, windows.slots()
    count = max(state.header.index_count, 1)
    heads = slots[slots > count]
    if not (heads.size or ended):
        return ()
    previous = np.zeros(state.written, np.int32)
    stops: list[NDArray[np.int64]] = [heads.astype(np.int64)]
    for start, raw in windows.each(state.written, 1):
        previous[start : start + raw.size] = raw["prev_entry"]
        stops.append(np.flatnonzero(raw["time_diff"] < 0) + start)
    lost = np.zeros(previous.size, np.bool_)
    for entry in np.concatenate(stops).tolist():
        while 0 < entry < lost.size and not lost[entry]:
            lost[entry] = True
            entry = int(previous[entry])  # noqa: PLW2901 - the walk goes on
    numbers = np.flatnonzero(lost[: min(count, state.written)])
    return tuple((int(numbers[place]), length) for place, length in runs_of(numbers)[:MOST])
