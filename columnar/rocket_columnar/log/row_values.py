"""Values that decode and dispatch both derive from a scan's records: topics, tags codes, and checks of the bodies."""

from collections.abc import Callable, Sequence
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.fast import PlainLog
from rocket_columnar.formats import DELAYS, SCHEDULE_TOPIC, tags_code
from rocket_columnar.log.scan import Records

_CRC_NAME: Final = b"__CRC32#\1"
_CRC_SIZE: Final = 20  # bytes: the name, ten digits and a byte 2


class RowTopics:
    """The topics met so far, and a value for each.

    Args:
        form: how records are read.
        value: of a topic's bytes, called once for each topic.
    """

    def __init__(self, form: PlainLog, value: Callable[[bytes], int]) -> None:
        self._distinct = form.new_numbers()
        self._value = value
        self._values = np.empty(0, np.int64)
        self.scheduled = np.empty(0, np.bool_)
        """Of each topic, whether it is that of delayed messages."""

    def numbers(self, records: Records) -> NDArray[np.int32]:
        """The number of each record's topic among those met."""
        numbers = self._distinct.numbers(*records.places("topic"))
        new = self._distinct.items[len(self._values) :]
        if new:
            self._values = np.append(self._values, np.array([self._value(raw) for raw in new], np.int64))
            self.scheduled = np.append(self.scheduled, [raw == SCHEDULE_TOPIC for raw in new])
        return numbers

    def values(self, numbers: NDArray[np.int32]) -> NDArray[np.int64]:
        """The value of each topic by its number."""
        return self._values[numbers]


def tags_codes(
    records: Records, scheduled: NDArray[np.bool_], delays: Sequence[int] = DELAYS
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """What a healthy dispatch puts into the consume queue (LOG-DSP-1), and which rows have a code; None if all do.

    Args:
        records: with values.
        scheduled: which of them are delayed messages.
        delays: ms of each delay level.
    """
    form, rows = records.form, records.rows
    codes = form.hash_codes(*records.places("tags")).astype(np.int64)
    window, at, lengths = records.places("delay")
    delayed = np.flatnonzero(scheduled & (lengths > 0))
    if not delayed.size:
        return codes, None
    known = np.ones(len(rows), np.bool_)
    distinct = form.new_numbers()
    numbers = distinct.numbers(window, at[delayed], lengths[delayed])
    for number, text in enumerate(distinct.items):
        places = delayed[numbers == number]
        delay = tags_code(SCHEDULE_TOPIC, {b"DELAY": text}, 0, delays)
        if delay is None:
            known[places], codes[places] = False, 0
        elif delay > 0:
            codes[places] = rows["store_timestamp"][places] + np.int64(delay)
    return codes, known


def bodies_match(records: Records) -> NDArray[np.bool_]:
    """Whether each body has the CRC in its record; true for no body (LOG-REC-4)."""
    view, rows = records.window.data, records.rows
    begins, lengths = rows["body_at"].tolist(), rows["body_length"].tolist()
    good = [
        not length or crc32(view[begin : begin + length]) & 0x7FFFFFFF == expected
        for begin, length, expected in zip(begins, lengths, rows["body_crc"].tolist(), strict=True)
    ]
    return np.array(good, np.bool_)


def property_crc_matches(record: bytes | memoryview) -> bool:
    """Whether the checksum that ends a whole record is that of the bytes before it; true without one (LOG-PROP-8)."""
    name, digits = bytes(record[-_CRC_SIZE:-11]), bytes(record[-11:-1])
    if name != _CRC_NAME or not digits.isdigit():
        return True
    return crc32(record[:-_CRC_SIZE]) & 0x7FFFFFFF == int(digits[::-1])


def properties_match(records: Records) -> NDArray[np.bool_]:
    """Whether each record has the CRC of its own property `__CRC32#`; only before its values are found."""
    view, rows = records.window.data, records.rows
    ends = (rows["properties_at"] + rows["properties_length"]).tolist()
    good = [
        property_crc_matches(view[end - size : end])
        for end, size in zip(ends, rows["size"].tolist(), strict=True)
    ]
    return np.array(good, np.bool_)
