"""Looks up every key of an index file as 4.9.3 does."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.errors import InvalidError

from rocket_columnar.audit.fault_runs import stretches
from rocket_columnar.findings import Finding, finding
from rocket_columnar.formats import LONG_MAX, LONG_MIN
from rocket_columnar.index import EntryWindows, IndexFile, entry_position

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

    from rocket_columnar.audit.file_survey import IndexSurvey
    from rocket_columnar.store import StoreFile

__all__ = ["check_selects"]

_ALL: Final = 0x7FFFFFFF
_AT_ONCE: Final = 1 << 20  # entries, whatever the size of the file
_LOOKS: Final = 3
_MOST: Final = 10_000  # entries that are asked for again one by one


def check_selects(
    file: StoreFile, geometry: Geometry, survey: IndexSurvey, report: Callable[[Finding], None]
) -> None:
    """Reports entries that a query of their own key does not reach. The file's chains are sound, so all end.

    The file is read once for each million entries; entries with neighbouring hashes are looked up together.
    """
    count = min(survey.count, max(survey.header.index_count, 1))
    if count < 2 or file.source is not None:
        return
    parts = -(-count // _AT_ONCE)
    bounds = [(part << 31) // parts for part in range(parts + 1)]
    lost = [np.empty(0, np.int64)]
    with IndexFile.open_for_reading(file.path, geometry) as index, file.open() as reader:
        windows = EntryWindows(reader, geometry)
        for low, high in pairwise(bounds):
            try:
                lost.append(_lost(index, *_entries(windows, count, low, high)))
            except InvalidError:  # a chain without an end, reported as such
                return
    numbers = np.sort(np.concatenate(lost))
    for place, length in stretches(numbers):
        first = int(numbers[place])
        report(
            finding(
                "index.missing_key",
                file.name,
                entry_position(geometry, first, "key_hash"),
                f"{length:,} entries from entry {first:,} on are not found by a query for their own key",
            )
        )


def _entries(
    windows: EntryWindows, count: int, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Numbers, hashes and physical offsets of the entries before `count` with hashes in [low, high)."""
    found = [(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))]
    for start, raw in windows.each(count, 1):
        hashes = raw["key_hash"].astype(np.int32)
        chosen = np.flatnonzero((hashes >= low) & (hashes < high))
        found.append((chosen + start, hashes[chosen], raw["phy_offset"][chosen].astype(np.int64)))
    numbers, hashes, offsets = (np.concatenate(column) for column in zip(*found, strict=True))
    return numbers, hashes, offsets


def _lost(
    index: IndexFile, numbers: NDArray[np.int64], hashes: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Numbers of the entries that a query of their hash does not reach."""
    asked, ranks = np.unique(hashes, return_inverse=True)
    hits = index.select_many(asked, _ALL, LONG_MIN, LONG_MAX)
    found = np.repeat(np.arange(asked.size), np.diff(hits.bounds)), hits.phy_offsets
    lost = np.flatnonzero(~_are_among((ranks, offsets), found))
    if not lost.size:
        return lost
    return numbers[lost[_still_lost(index, hashes[lost], offsets[lost])]]


def _still_lost(index: IndexFile, hashes: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which entries are still not found: a broker that writes moves slots past the count that was read before (IDX-SEL-1)."""
    lost = np.ones(hashes.size, np.bool_)
    for _ in range(_LOOKS):
        for place in np.flatnonzero(lost)[:_MOST].tolist():
            index.load()
            hits = index.select_many(hashes[place : place + 1], _ALL, LONG_MIN, LONG_MAX)
            lost[place] = int(offsets[place]) not in hits.phy_offsets
    return lost


def _are_among(
    asked: tuple[NDArray[np.int64], NDArray[np.int64]], found: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> NDArray[np.bool_]:
    """Which pairs of a hash, by its rank, and an offset are among others; each pair becomes one number for it."""
    (ranks, offsets), (others, hits) = asked, found
    if not offsets.size:
        return np.zeros(0, np.bool_)
    low, high = int(offsets.min()), int(offsets.max())
    if (high - low + 1) * (int(ranks.max()) + 1) > LONG_MAX:  # so far apart that they go by rank, too
        known = np.unique(offsets)
        places = np.searchsorted(known, hits)
        there = known[places % known.size] == hits
        others, hits = others[there], places[there]
        offsets, low, high = np.searchsorted(known, offsets), 0, known.size - 1
    near = (hits >= low) & (hits <= high)
    step = high - low + 1
    return np.isin(ranks * step + (offsets - low), others[near] * step + (hits[near] - low))
