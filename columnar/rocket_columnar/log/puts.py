"""The puts of a queue's records: which of them get a unit (CQ-PUT-2, CQ-PUT-3; `ConsumeQueue.putMessagePositionInfo` 481-513)."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.request_columns import Requests, TopicNames
from rocket_columnar.log.request_walk import RULES_4_9_3, KeyRules, RequestScan
from rocket_columnar.store import Reader, StoreFile


def units_taken(offsets: NDArray[np.int64], next_unit: int) -> NDArray[np.bool_]:
    """Which of a queue's records, in the order of the log, get a unit.

    A record that states a logical offset below the next unit's gets none, unless it states 0; one that states a greater
    offset gets the next unit.

    Args:
        offsets: the logical offset that each record states.
        next_unit: logical offset of the next unit before them.
    """
    if offsets.size and offsets[0] >= next_unit and (np.diff(offsets) > 0).all():
        return np.ones(offsets.size, np.bool_)
    taken = np.zeros(offsets.size, np.bool_)
    for place, offset in enumerate(offsets.tolist()):
        if offset == 0 or offset >= next_unit:
            taken[place] = True
            next_unit += 1
    return taken


def requests_before_gap(
    files: Iterable[tuple[StoreFile, int]],
    names: TopicNames,
    *,
    bounds: tuple[int, int],
    on_gap: Callable[[Gap], None] = lambda _: None,
    keys: KeyRules = RULES_4_9_3,
) -> Iterator[tuple[Reader, int, Requests]]:
    """The requests of a log up to its first gap, with the reader and the start of their file; a missing file is none.

    Args:
        files: of the log, each with its length.
        names: to which topics are added.
        bounds: physical offsets from which on and up to which records begin.
        on_gap: called with the first gap.
        keys: of the release.
    """
    for file, size in files:
        base = file.base_offset
        first, stop = max(bounds[0] - base, 0), min(bounds[1] - base, size)
        if first >= stop:
            continue
        gaps: list[Gap] = []
        with file.open() as reader:
            scan = RequestScan(reader, base, names, keys=keys)
            for batch in scan.run(first, stop, exact=True, on_gap=gaps.append):
                if not gaps:
                    yield reader, base, batch
        if gaps:
            on_gap(gaps[0])
            return
