"""What is found of each record of a log, and how it is asked for: the one interface of both forms."""

from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

SLACK: Final = 64
"""Bytes after the last one of a window, whose content does not matter: compiled loops may look past what they read."""

_FIELDS: Final = (
    *("born_host", "store_host", "body", "topic", "properties"),
    *("keys", "uniq_key", "tags", "delay"),
)
"""Parts of a record that are bytes; the last four are values of its properties, of length 0 if absent."""

ROW: Final = np.dtype(
    [
        ("size", np.int32),
        ("body_crc", np.int32),
        ("queue_id", np.int32),
        ("flag", np.int32),
        ("queue_offset", np.int64),
        ("phy_offset", np.int64),
        ("sys_flag", np.int32),
        ("born_timestamp", np.int64),
        ("store_timestamp", np.int64),
        ("reconsume_times", np.int32),
        ("prepared_transaction_offset", np.int64),
        *((f"{part}_{what}", np.int64) for part in _FIELDS for what in ("at", "length")),
        ("multi_dispatch", np.bool_),
        ("readable", np.bool_),
    ]
)
"""A record: its fixed fields as they are, and where in the window its parts begin, and their lengths.

`multi_dispatch` is whether it names queues for multi-dispatch, `readable` whether its properties are well-formed UTF-8.
"""


class LogRange(NamedTuple):
    """A range of a log file in a window.

    Attributes:
        at: place in the window at which the first record begins.
        stop: place before which a record must begin.
        end: place at which the bytes end.
        room: bytes that the file has from the first record on.
        position: physical offset of the first record.
    """

    at: int
    stop: int
    end: int
    room: int
    position: int


class StringNumbers(Protocol):
    """Distinct byte strings, numbered in the order in which they came.

    Attributes:
        items: all of them.
    """

    items: list[bytes]

    def numbers(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """The number of each item of a window, as an index into `items`; new ones are added."""
        ...


class LogForm(Protocol):
    """How the records of a window are read. A window has `SLACK` bytes more than it holds."""

    def find_records(
        self, window: NDArray[np.uint8], range_: LogRange, rows: NDArray[np.void]
    ) -> tuple[int, int]:
        """Fills rows with the records that verify and follow one another, without what their properties contain.

        Returns the number of rows, and where the next record begins.
        """
        ...

    def find_values(self, window: NDArray[np.uint8], rows: NDArray[np.void]) -> None:
        """Completes rows with what their properties contain (LOG-PROP-1); of a repeated name the last value counts."""
        ...

    def gather(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Byte strings of a window one after the other: where each begins and the last ends, and the bytes."""
        ...

    def hash_codes(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """`String.hashCode` of each text."""
        ...

    def hash_keys(
        self, window: NDArray[np.uint8], rows: NDArray[np.void], codes: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The number of index keys of each row, and the hashes of all, in the order of their puts (IDX-SVC-1, IDX-SVC-2).

        `codes` has for each row the `String.hashCode` of what precedes its keys in the index.
        """
        ...

    def split_properties(
        self, window: NDArray[np.uint8], rows: NDArray[np.void]
    ) -> tuple[NDArray[np.int32], Any, Any]:
        """The number of pairs of each row, and all names and all values, as `gather` gives byte strings."""
        ...

    def new_numbers(self) -> StringNumbers:
        """No strings so far."""
        ...
