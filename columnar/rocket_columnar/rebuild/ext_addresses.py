"""Ext addresses of units: finds the store's own ext units by what they contain of their message."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from rocket_columnar.decode import ExtUnits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Addresses:
    """The ext units of one queue, taken in order.

    Bit maps depend on the consumers at that time, so ext units cannot be rebuilt. Each existing one belongs to
    the next message of the queue that has its store timestamp and tags code. Units that no message takes are orphans of
    repeated puts.
    """

    def __init__(self, ext: ExtUnits, topic: str, queue_id: int) -> None:
        self._addresses, tags, times = ext.of(topic, queue_id)
        self._next = 0
        self._places: dict[tuple[int, int], list[int]] = {}
        for place, key in enumerate(zip(tags.tolist(), times.tolist(), strict=True)):
            self._places.setdefault(key, []).append(place)

    def __bool__(self) -> bool:
        """Whether an ext unit is left."""
        return self._next < self._addresses.size

    def take(self, tags_code: NDArray[np.int64], store_timestamp: NDArray[np.int64]) -> NDArray[np.int64]:
        """The content of the units' tags codes: addresses, or the tags code itself if no ext unit is left."""
        taken = tags_code.copy()
        for number, key in enumerate(zip(tags_code.tolist(), store_timestamp.tolist(), strict=True)):
            places = self._places.get(key, [])
            at = bisect_left(places, self._next)
            if at < len(places):
                taken[number] = self._addresses[places[at]]
                self._next = places[at] + 1
        return taken
