"""The memory of one batch of a log scan: columns that the compiled loop fills, as Arrow arrays once they are full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from rocket_columnar import arrow
from rocket_columnar.kernels import SLACK, FieldColumns, LogColumns, RowSpans, TextColumn

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from rocket_columnar.arrow import Array, Columns

__all__ = ["TEXTS", "Rows"]

_LOW: Final = 0xFFFFFFFF
_LONGS: Final = {
    "queue_offset": (20, -1),
    "phy_offset": (28, -1),
    "born_timestamp": (40, -1),
    "store_timestamp": (56, -1),
    "prepared_transaction_offset": (76, -1),
    "body_crc": (4, _LOW),  # the lower half of the eight bytes there
}
"""Columns of 64 bits: where eight bytes of them are in a record with IPv4 hosts, and which bits of those they are."""

_INTS: Final = {"size": 0, "queue_id": 12, "flag": 16, "sys_flag": 36, "reconsume_times": 72}
"""Columns of 32 bits, and where they are in such a record."""

TEXTS: Final = {"keys": b"KEYS", "uniq_key": b"UNIQ_KEY", "tags": b"TAGS"}
"""Columns of text, and the names of their properties."""

_LONGEST: Final = 3 * 0x7FFF  # bytes of a text: each malformed byte becomes three


def _memory(count: int, kind: DTypeLike) -> NDArray[Any]:
    """Memory of Arrow's pool, which reuses it once a batch is released."""
    dtype = np.dtype(kind)
    return np.frombuffer(memoryview(pa.allocate_buffer(count * dtype.itemsize)), dtype)


class Rows:
    """Memory for `rows` rows of the columns named.

    Attributes:
        count: rows that are filled.
        most: number of rows that fit.
        columns: as the compiled loop fills them.
    """

    def __init__(self, names: set[str], rows: int, room: dict[str, int], *, with_spans: bool) -> None:
        self.count = 0
        self.most = rows
        self._names = names
        self._longs = [name for name in _LONGS if name in names]
        self._ints = [name for name in _INTS if name in names]
        self._texts: dict[str, TextColumn] = {}
        for name in TEXTS:
            wanted = rows if name in names else 0
            data = _memory((room[name] + _LONGEST if wanted else 0) + SLACK, np.uint8)
            offsets = _memory(wanted + 1, np.int32)
            offsets[0] = 0
            self._texts[name] = TextColumn(data, offsets, np.empty(wanted, np.bool_))
        self._unknown: list[int] = []
        wide = FieldColumns(
            np.array([_LONGS[name][0] for name in self._longs], np.int64),
            np.array([_LONGS[name][1] for name in self._longs], np.int64),
            _memory(len(self._longs) * rows, np.int64).reshape(-1, rows),
        )
        narrow = FieldColumns(
            np.array([_INTS[name] for name in self._ints], np.int64),
            np.empty(0, np.int64),
            _memory(len(self._ints) * rows, np.int32).reshape(-1, rows),
        )
        self.columns = LogColumns(
            capacity=rows,
            wide=wide,
            narrow=narrow,
            topics=_memory(rows if "topic" in names else 0, np.int32),
            codes=_memory(rows if "tags_code" in names else 0, np.int64),
            keys=self._texts["keys"],
            unique=self._texts["uniq_key"],
            tags=self._texts["tags"],
            spans=RowSpans(*(np.empty(rows if with_spans else 0, np.int32) for _ in RowSpans._fields)),
        )

    def add_texts(self, pairs: dict[bytes, bytes], code: int | None) -> bool:
        """Completes a row that the compiled loop left; returns whether there was room."""
        row = self.count
        for name, raw in TEXTS.items():
            data, offsets, valid = self._texts[name]
            if len(valid):
                value = pairs.get(raw, b"")
                begin, end = int(offsets[row]), int(offsets[row]) + len(value)
                if end + SLACK > len(data):
                    return False
                data[begin:end] = np.frombuffer(value, np.uint8)
                offsets[row + 1], valid[row] = end, bool(value)
        if len(self.columns.codes):
            self.columns.codes[row] = code or 0
            if code is None:
                self._unknown.append(row)
        self.count += 1
        return True

    def field(self, name: str) -> NDArray[np.int64]:
        """A column of 64 bits, empty if it is not wanted."""
        places = [place for place, known in enumerate(self._longs) if known == name]
        return self.columns.wide.values[places, : self.count].reshape(-1)

    def used(self, name: str) -> int:
        """Bytes of text in a column."""
        return int(self._texts[name][1][self.count]) if name in self._names else 0

    def take(self, topics: Array) -> Columns:
        """The columns; `topics` has the names by number."""
        count = self.count
        columns: Columns = {}
        for names, block in (
            (self._longs, self.columns.wide.values),
            (self._ints, self.columns.narrow.values),
        ):
            for name, values in zip(names, block, strict=True):
                columns[name] = arrow.integers(values[:count])
        if "topic" in self._names:
            columns["topic"] = arrow.dictionary(self.columns.topics[:count], topics)
        for name, (data, offsets, valid) in self._texts.items():
            if name in self._names:
                columns[name] = arrow.gathered(offsets[: count + 1], data, valid=valid[:count], text=True)
        if "tags_code" in self._names:
            known = None
            if self._unknown:
                known = np.ones(count, np.bool_)
                known[self._unknown] = False
            columns["tags_code"] = arrow.integers(self.columns.codes[:count], known)
        return columns
