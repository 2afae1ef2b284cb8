"""The records of a log by compiled loops: the form for large logs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.fast.compiled import log_loops
from rocket_columnar.fast.compiled.log_loops import StringTable, number_strings
from rocket_columnar.fast.plain_log import LogRange, PlainLog, PlainNumbers


class _Numbers(PlainNumbers):
    """Distinct byte strings, numbered by a compiled loop."""

    def __init__(self) -> None:
        super().__init__()
        self._used = 0
        self._strings = StringTable(
            np.full(1 << 10, -1, np.int32), np.empty(1 << 12, np.uint8), np.zeros(1 << 8, np.int64)
        )

    def numbers(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        items = np.ascontiguousarray(at), np.ascontiguousarray(lengths)
        numbers, done = np.empty(len(at), np.int32), 0
        while True:
            done, self._used = number_strings(window, items, done, self._strings, self._used, numbers)
            if done == len(at):
                break
            self._grow(int(lengths[done]))
        _, pool, bounds = self._strings
        for number in range(len(self.items), self._used):
            self.items.append(pool[bounds[number] : bounds[number + 1]].tobytes())
        return numbers

    def _grow(self, length: int) -> None:
        """Makes room for twice as many items, and for one of `length` bytes."""
        _, pool, bounds = self._strings
        room, used = 2 * len(bounds), self._used
        self._strings = StringTable(
            np.full(4 * room, -1, np.int32),
            np.empty(2 * len(pool) + length, np.uint8),
            np.zeros(room, np.int64),
        )
        items = bounds[:used].copy(), np.diff(bounds[: used + 1])
        _, self._used = number_strings(pool, items, 0, self._strings, 0, np.empty(used, np.int32))


class CompiledLog(PlainLog):
    """The same by compiled loops."""

    def find_records(
        self, window: NDArray[np.uint8], range_: LogRange, rows: NDArray[np.void]
    ) -> tuple[int, int]:
        """See `PlainLog`."""
        return log_loops.find_records(window, range_, rows)

    def find_values(self, window: NDArray[np.uint8], rows: NDArray[np.void]) -> None:
        """See `PlainLog`."""
        log_loops.find_values(window, rows)

    def gather(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """See `PlainLog`."""
        offsets = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        log_loops.gather_bytes(window, np.ascontiguousarray(at), offsets, data)
        return offsets, data

    def hash_codes(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """See `PlainLog`."""
        codes = np.empty(len(at), np.int32)
        log_loops.hash_codes(window, np.ascontiguousarray(at), np.ascontiguousarray(lengths), codes)
        return codes

    def hash_keys(
        self, window: NDArray[np.uint8], rows: NDArray[np.void], codes: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """See `PlainLog`."""
        most = int(rows["keys_length"].sum()) // 2 + 2 * len(rows)
        counts, hashes = np.empty(len(rows), np.int32), np.empty(most, np.int32)
        used = log_loops.hash_row_keys(window, rows, codes, (counts, hashes))
        return counts, hashes[:used].copy()

    def split_properties(
        self, window: NDArray[np.uint8], rows: NDArray[np.void]
    ) -> tuple[NDArray[np.int32], Any, Any]:
        """See `PlainLog`."""
        counts = np.empty(len(rows), np.int32)
        pairs = np.empty((4, int(rows["properties_length"].sum()) // 2 + len(rows)), np.int64)
        used = log_loops.split_pairs(window, rows, counts, pairs)
        names, values = (self.gather(window, pairs[k, :used], pairs[k + 1, :used]) for k in (0, 2))
        return counts, names, values

    def new_numbers(self) -> _Numbers:
        """See `PlainLog`."""
        return _Numbers()
