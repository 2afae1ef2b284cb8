"""Ext addresses of units: the store's own ext units, found again by what they say of their message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar.decode import ExtUnits

__all__ = ["Addresses"]


class Addresses:
    """The ext units of one queue, taken in order.

    Bit maps depend on the consumers of their day, so ext units cannot be made again; where they are there, each
    belongs to the next message of the queue that has its store timestamp and tags code. Units that no message
    takes are orphans of repeated puts.
    """

    def __init__(self, ext: ExtUnits, topic: str, queue_id: int) -> None:
        self._addresses, self._tags, self._times = ext.of(topic, queue_id)
        self._next = 0

    def take(self, tags_code: NDArray[np.int64], store_timestamp: NDArray[np.int64]) -> NDArray[np.int64]:
        """What goes into the units' tags codes: addresses, or the tags code itself where no ext unit is left."""
        if self._next >= self._addresses.size:
            return tags_code
        taken = tags_code.copy()
        for number, (tags, time) in enumerate(zip(tags_code.tolist(), store_timestamp.tolist(), strict=True)):
            at = self._find(tags, time)
            if at is not None:
                taken[number] = self._addresses[at]
                self._next = at + 1
        return taken

    def _find(self, tags: int, time: int) -> int | None:
        """The place of the next ext unit with this tags code and time; nearly always the very next one."""
        at = self._next
        if at < self._tags.size and self._tags[at] == tags and self._times[at] == time:
            return at
        hits = np.flatnonzero((self._tags[at:] == tags) & (self._times[at:] == time))
        return at + int(hits[0]) if hits.size else None
