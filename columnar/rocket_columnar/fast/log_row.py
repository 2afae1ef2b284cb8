"""The columns that a log loop fills for each record, and the range that it searches."""

from typing import Final, NamedTuple

import numpy as np

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
