"""Consume-queue ext units by their address, queue by queue."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError

from rocket_columnar.arrow import values
from rocket_columnar.decode.tables import decode
from rocket_columnar.store import StoreFile, by_queue


class ExtUnits:
    """The ext units of a store; those of a queue are read at their first use."""

    def __init__(self, files: Sequence[StoreFile]) -> None:
        self._files = by_queue(file for file in files if file.kind == "ext")

    def of(self, topic: str, queue_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Addresses, tags codes and store timestamps of a queue's ext units, in the order of their addresses."""
        parts: list[list[NDArray[np.int64]]] = [[np.empty(0, np.int64)] for _ in range(3)]
        columns = ["address", "tags_code", "store_timestamp"]
        for file in self._files.get((topic, queue_id), []):
            try:
                for _, batch in decode([file], tables=["consume_queue_ext"], columns=columns):
                    for part, name in zip(parts, columns, strict=True):
                        part.append(values(batch.column(name)))
            except MalformedError:
                continue  # addresses into it will not be found
        addresses, tags, times = (np.concatenate(part) for part in parts)
        return addresses, tags, times

    def tags_codes(
        self, topic: str, queue_id: int, addresses: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
        """For each address, whether there is a unit, its tags code and its store timestamp (0 without a unit)."""
        known, tags, times = self.of(topic, queue_id)
        if not known.size:
            none = np.zeros(addresses.shape, np.int64)
            return np.zeros(addresses.shape, np.bool_), none, none
        at = np.searchsorted(known, addresses)
        at[at == known.size] = 0
        found = known[at] == addresses
        return found, np.where(found, tags[at], 0), np.where(found, times[at], 0)
