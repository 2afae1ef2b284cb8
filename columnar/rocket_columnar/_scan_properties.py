"""Properties of the records of a window to columns: compiled loops, and Python for the rows that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rocket_columnar import _arrow, _compiled_log, _compiled_text
from rocket_columnar._compiled_log import PROPERTIES, TOPIC
from rocket_columnar._record import DELAY_SECONDS, parse_properties, tags_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar._arrow import Array, Columns
    from rocket_columnar._scan_log import Part

__all__ = ["pair_columns", "text_columns"]

_NAMES: Final = {"keys": b"KEYS", "uniq_key": b"UNIQ_KEY", "tags": b"TAGS"}
_SECONDS: Final = np.array(DELAY_SECONDS, np.int64)


class _Extra:
    """Bytes that lie in no window; their places are negative."""

    def __init__(self) -> None:
        self.data = bytearray()

    def place(self, value: bytes) -> int:
        """The place of `value`, which is added."""
        place = -1 - len(self.data)
        self.data += value
        return place

    def texts(self, part: Part, places: NDArray[np.int32], sizes: NDArray[np.int32]) -> Array:
        """Texts of places and sizes, null where the size is negative."""
        offsets = np.zeros(len(sizes) + 1, np.int32)
        np.cumsum(np.maximum(sizes, 0), out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        extra = np.array(self.data, np.uint8)
        _compiled_log.gather(part.window, extra, places, offsets, data)
        return _arrow.gathered(offsets, data, valid=sizes >= 0, text=True)


def text_columns(part: Part, names: set[str]) -> Columns:
    """Keys, unique key, tags and tags code, of these those in `names`."""
    starts, lengths = part.span(PROPERTIES)
    count = len(starts)
    store_timestamps = part.fixed["store_timestamp"].astype(np.int64, copy=False)
    places = np.zeros((len(_NAMES), count), np.int32)
    sizes = np.empty((len(_NAMES), count), np.int32)
    codes = np.empty(count, np.int64)
    valid = np.ones(count, np.bool_)
    extra = _Extra()
    row = 0
    while True:
        row = _compiled_text.dispatch_texts(
            part.window,
            starts,
            lengths,
            part.scheduled,
            store_timestamps,
            _SECONDS,
            row,
            places,
            sizes,
            codes,
        )
        if row == count:
            break
        found = parse_properties(part.bytes(row, PROPERTIES))
        code = tags_code(part.bytes(row, TOPIC), found, int(store_timestamps[row]))
        codes[row], valid[row] = code or 0, code is not None
        for number, name in enumerate(_NAMES.values()):
            value = found.get(name)
            sizes[number, row] = -1 if value is None else len(value)
            places[number, row] = 0 if value is None else extra.place(value)
        row += 1
    columns = {
        name: extra.texts(part, places[number], sizes[number])
        for number, name in enumerate(_NAMES)
        if name in names
    }
    if "tags_code" in names:
        columns["tags_code"] = _arrow.integers(codes, valid)
    return columns


def pair_columns(part: Part) -> Array:
    """The properties of each record as a map."""
    starts, lengths = part.span(PROPERTIES)
    count = len(starts)
    most = int(lengths.sum(dtype=np.int64)) // 2 + count
    counts = np.empty(count, np.int32)
    places = np.empty((2, most), np.int32)
    sizes = np.empty((2, most), np.int32)
    extra = _Extra()
    row, used = 0, 0
    while True:
        row, used = _compiled_text.pairs(part.window, starts, lengths, row, counts, places, sizes, used)
        if row == count:
            break
        found = parse_properties(part.bytes(row, PROPERTIES))
        for name, value in found.items():
            places[0, used], sizes[0, used] = extra.place(name), len(name)
            places[1, used], sizes[1, used] = extra.place(value), len(value)
            used += 1
        counts[row] = len(found)
        row += 1
    names = extra.texts(part, places[0, :used], sizes[0, :used])
    values = extra.texts(part, places[1, :used], sizes[1, :used])
    return _arrow.map_of(counts, names, values)
