"""Every key of an index file asked by 4.9.3's own select."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.errors import InvalidError

from rocket_columnar._audit_finding import Finding, finding, runs
from rocket_columnar._audit_index_read import EntryWindows, entry_position
from rocket_columnar.index_file import IndexFile

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

    from rocket_columnar._audit_look import IndexLook
    from rocket_columnar.store import StoreFile

__all__ = ["check_selects"]

_ALL: Final = 0x7FFFFFFF
_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_AT_ONCE: Final = 1 << 20
_LOOKS: Final = 3
_MOST: Final = 10_000  # entries that are asked for again one by one


def check_selects(
    file: StoreFile, geometry: Geometry, look: IndexLook, report: Callable[[Finding], None]
) -> None:
    """Reports entries that a query of their own key does not come to; the file's chains are sound, so all end."""
    count = min(look.count, max(look.header.index_count, 1))
    if count < 2 or file.source is not None:
        return
    hashes, offsets = np.empty(count - 1, np.int32), np.empty(count - 1, np.int64)
    with file.open() as reader:
        for start, raw in EntryWindows(reader, geometry).each(count, 1):
            part = slice(start - 1, start - 1 + raw.size)
            hashes[part], offsets[part] = raw["key_hash"], raw["phy_offset"]
    order = np.lexsort((offsets, hashes))
    sorted_hashes, sorted_offsets = hashes[order], offsets[order]
    lost = np.zeros(count - 1, np.bool_)
    with IndexFile.open_for_reading(file.path, geometry) as index:
        distinct = np.unique(hashes[hashes >= 0])
        for start in range(0, distinct.size, _AT_ONCE):
            asked = distinct[start : start + _AT_ONCE]
            try:
                hits = index.select_many(asked, _ALL, _LONG_MIN, _LONG_MAX)
            except InvalidError:  # a chain without an end, told as such
                return
            part = slice(
                int(np.searchsorted(sorted_hashes, asked[0], side="left")),
                int(np.searchsorted(sorted_hashes, asked[-1], side="right")),
            )
            found_hashes = np.repeat(asked, np.diff(hits.bounds))
            found = _unique(found_hashes, hits.phy_offsets)
            wanted = _unique(sorted_hashes[part], sorted_offsets[part])
            missing = np.setdiff1d(wanted, found, assume_unique=True)
            if missing.size:
                pairs = _pairs(sorted_hashes[part], sorted_offsets[part])
                lost[order[part]] = np.isin(pairs, missing)
        _ask_again(index, hashes, offsets, lost)
    for first, length in runs(np.flatnonzero(lost) + 1):
        report(
            finding(
                "index.missing_key",
                file.name,
                entry_position(geometry, first, "key_hash"),
                f"{length:,} entries from entry {first:,} on are not found by a query of their own key",
            )
        )


def _ask_again(
    index: IndexFile, hashes: NDArray[np.int32], offsets: NDArray[np.int64], lost: NDArray[np.bool_]
) -> None:
    """Clears what is found now: a broker that writes moves slots past the count that was read before (IDX-SEL-1)."""
    for _ in range(_LOOKS):
        for place in np.flatnonzero(lost)[:_MOST].tolist():
            index.load()
            hits = index.select_many(hashes[place : place + 1], _ALL, _LONG_MIN, _LONG_MAX)
            lost[place] = int(offsets[place]) not in hits.phy_offsets


def _pairs(hashes: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.void]:
    pairs = np.empty(hashes.size, np.dtype([("hash", "i4"), ("offset", "i8")]))
    pairs["hash"], pairs["offset"] = hashes, offsets
    return pairs


def _unique(hashes: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.void]:
    unique: NDArray[np.void] = np.unique(_pairs(hashes, offsets))
    return unique
