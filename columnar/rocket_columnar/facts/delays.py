"""The delays of a broker's levels, as the units of its delayed messages show them."""

from collections import Counter
from typing import Final

import numpy as np
from rocket_spec.layout import QUEUE_UNIT

from rocket_columnar.facts.files import Files
from rocket_columnar.formats import HEAD_SIZE, LAST_ADDRESS, SCHEDULE_TOPIC, UNIT_DTYPE, fixed_fields
from rocket_columnar.store import StoreFile, read_at

_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_SAMPLE: Final = 64  # units of a file that are compared with their records
_STEP: Final = 1000  # ms: a delay is a whole number of seconds
_UNIT: Final = QUEUE_UNIT.size


def shown_delays(store: Files, expected: tuple[int, ...]) -> tuple[int, ...]:
    """Ms of each level: what most of its units wait, else the `expected` delay."""
    levels = list(expected)
    for file in store.queues:
        level = file.queue_id
        if file.topic != _SCHEDULE or level is None or level < 0:
            continue
        seen = _delays_of(store, file).most_common(1)
        if seen and seen[0][0] > 0 and not seen[0][0] % _STEP:
            levels += [1000] * (level + 1 - len(levels))  # of levels that are not configured
            levels[level] = seen[0][0]
    return tuple(levels)


def _delays_of(store: Files, file: StoreFile) -> Counter[int]:
    """Delays in ms of the first units of a file after their records were stored, each with its count."""
    raw = read_at(file, 0, _SAMPLE * _UNIT)
    delays = Counter[int]()
    for unit in np.frombuffer(raw, UNIT_DTYPE, len(raw) // _UNIT):
        offset, size, due = (int(unit[name]) for name in ("phy_offset", "size", "tags_code"))
        log = store.log_at(offset) if size > 0 and due > LAST_ADDRESS else None
        if log is None:
            continue
        head = read_at(log, offset - log.base_offset, HEAD_SIZE)
        if len(head) == HEAD_SIZE:
            delays[due - fixed_fields(head).store_timestamp] += 1
    return delays
