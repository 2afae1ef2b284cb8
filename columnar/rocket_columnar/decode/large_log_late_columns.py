"""Columns that a scan's compiled loop does not fill: bodies, checksums, hosts, and all properties.

They are made from the places of each record's parts while the window contains them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar import arrow, kernels
from rocket_columnar.formats import host_text, parse_properties
from rocket_columnar.kernels import SLACK, DistinctStrings, Items, PropertyPairs, PropertyTexts, RowSpans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocket_columnar.arrow import Array, Columns

__all__ = ["PARTS", "Parts"]

PARTS: Final = frozenset({"body", "crc_ok", "born_host", "store_host", "properties"})
_MOST_HOSTS: Final = 1 << 16  # known at a time: ports make each client another
_BORN_HOST: Final = 48  # its offset in a record
_TIMESTAMP: Final = 8  # bytes
_BEFORE_BODY: Final = 16  # bytes between the store host and the body


class Parts:
    """The columns of these names."""

    def __init__(self, names: set[str]) -> None:
        self._names = names & PARTS
        self.fields = {"body_crc"} if "crc_ok" in names else set()
        self._hosts = DistinctStrings()
        self._crc_table = kernels.crc_table()

    def columns(self, window: NDArray[np.uint8], spans: RowSpans, body_crcs: NDArray[np.int64]) -> Columns:
        """The columns of these records; `crc_ok` compares the bodies with the given checksums."""
        start, after_born, body, body_length, properties, length = spans
        made: Columns = {}
        if "born_host" in self._names:
            at = start + np.int32(_BORN_HOST)
            made["born_host"] = self._host_column(window, at, after_born - at)
        if "store_host" in self._names:
            at = after_born + np.int32(_TIMESTAMP)
            made["store_host"] = self._host_column(window, at, body - np.int32(_BEFORE_BODY) - at)
        if "body" in self._names:
            made["body"] = arrow.gathered(*_gathered(window, b"", body, body_length))
        if "crc_ok" in self._names:
            good = np.empty(len(body), np.bool_)
            kernels.check_bodies(window, Items(body, body_length), body_crcs, self._crc_table, good)
            made["crc_ok"] = arrow.booleans(good)
        if "properties" in self._names:
            made["properties"] = _pair_column(window, properties, length)
        return made

    def _host_column(
        self, window: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
    ) -> Array:
        if len(self._hosts) > _MOST_HOSTS:
            self._hosts = DistinctStrings()
        numbers = self._hosts.numbers(window, starts, lengths)
        used, places = np.unique(numbers, return_inverse=True)
        known = self._hosts.items
        texts = arrow.strings([host_text(known[number]) for number in used.tolist()])
        return arrow.taken(texts, places.astype(np.int32))


def _gathered(
    window: NDArray[np.uint8], extra: bytes, starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where each item begins, and the bytes of all; a negative start is one in `extra`."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = np.empty(int(offsets[-1]) + SLACK, np.uint8)
    kernels.gather_bytes(window, np.frombuffer(extra + bytes(SLACK), np.uint8), starts, offsets, data)
    return offsets, data


def _pair_column(window: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]) -> Array:
    """The properties of each record as a map; those whose text is not well formed are parsed in Python."""
    count = len(starts)
    most = int(lengths.sum(dtype=np.int64)) // 2 + count
    source = PropertyTexts(window, starts, lengths)
    pairs = PropertyPairs(
        np.empty(count, np.int32), np.empty((2, most), np.int32), np.empty((2, most), np.int32)
    )
    counts, places, sizes = pairs
    extra = bytearray()
    row, used = 0, 0
    while True:
        row, used = kernels.split_properties(source, pairs, row, used)
        if row == count:
            break
        found = parse_properties(window[starts[row] :][: lengths[row]].tobytes())
        for pair in found.items():
            for kind, text in enumerate(pair):
                places[kind, used], sizes[kind, used] = -1 - len(extra), len(text)
                extra += text
            used += 1
        counts[row] = len(found)
        row += 1
    texts: list[Any] = [
        arrow.gathered(*_gathered(window, bytes(extra), places[kind, :used], sizes[kind, :used]), text=True)
        for kind in (0, 1)
    ]
    return arrow.map_of(counts, *texts)
