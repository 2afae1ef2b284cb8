"""Looks up many keys in one index file by passing over it once, on one or more threads; see `kernels.key_pass`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER

from rocket_columnar import kernels as loops

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["IndexWords", "join_keys"]

_HEADER, _ENTRY = INDEX_HEADER.size // 4, INDEX_ENTRY.size // 4
_PART: Final = 1 << 15  # entries of a part, approximately: two thirds of a megabyte
_WIDEST: Final = 16  # a part is at most 1 << _WIDEST slots
_SPARE: Final = 2  # bits of a code beyond those that count the entries of a part
_BITS: Final = 20  # of a code at most
_BLOCK: Final = 1 << 17  # keys whose hits are put in order at once: about two megabytes of places and hits
_Item = TypeVar("_Item")
_Span = tuple[int, int]


class IndexWords(NamedTuple):
    """An index file: its words, number of slots (more than 0), and the header's index count."""

    words: NDArray[np.uint32]
    slots: int
    index_count: int


class _Joined(NamedTuple):
    """Keys and hits in the order of the parts; see `kernels.join_parts`."""

    keys: NDArray[np.uint64]
    key_bounds: NDArray[np.int64]
    begins: NDArray[np.int64]
    tapes: list[NDArray[np.int64]]
    left: list[NDArray[np.int64]]


def join_keys(
    file: IndexWords,
    seconds: tuple[int, int],
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """The bounds and physical offsets of the hits, as in `Hits`, and the numbers of the keys left to the walk.

    Args:
        file: contains a header, all slots, and `index_count` entries.
        seconds: the least and the greatest time diff in the window.
        hashes: key hashes.
        rooms: maximum number of hits, one for all keys or one for each.
        threads: number of threads.

    Returns:
        None if an entry is outside the window, or a hash is negative.
    """
    words, slots, index_count = file
    heads, entries = words[_HEADER : _HEADER + slots], words[_HEADER + slots :]
    joined = _join(heads, entries[_ENTRY : _ENTRY * index_count], seconds, hashes, rooms, threads)
    if joined is None:
        return None
    return *_in_order(joined, len(hashes), threads), np.sort(np.concatenate(joined.left))


def _join(
    heads: NDArray[np.uint32],
    entries: NDArray[np.uint32],
    seconds: tuple[int, int],
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    threads: int,
) -> _Joined | None:
    slots, count = len(heads), len(entries) // _ENTRY
    width = min(max(slots * _PART // count, 1), slots)
    shift = min(width.bit_length() - 1, _WIDEST)
    parts = ((slots - 1) >> shift) + 1
    bits = max(shift, min((count // parts).bit_length() + _SPARE, _BITS))
    entry_ranges, key_ranges = _ranges(count, threads), _ranges(len(hashes), threads)
    row_counts, key_counts = np.zeros((threads, parts), np.int64), np.zeros((threads, parts), np.int64)

    def count_entries(number: int, span: _Span) -> bool:
        some = entries[_ENTRY * span[0] : _ENTRY * span[1]]
        least, most = loops.count_entries(some, slots, shift, row_counts[number])
        return max(seconds[0], 0) <= least and most <= seconds[1]

    def count_keys(number: int, span: _Span) -> bool:
        return loops.count_keys(hashes[slice(*span)], slots, shift, key_counts[number])

    if not all(_each(count_entries, entry_ranges)) or not all(_each(count_keys, key_ranges)):
        return None
    rows, keys = np.empty(_ENTRY * count, np.uint32), np.empty(len(hashes), np.uint64)
    row_places, row_bounds = _places(row_counts)
    key_places, key_bounds = _places(key_counts)

    def part_entries(number: int, span: _Span) -> None:
        some = entries[_ENTRY * span[0] : _ENTRY * span[1]]
        loops.part_entries(some, span[0] + 1, slots, shift, row_places[number], rows)

    def part_keys(number: int, span: _Span) -> None:
        loops.part_keys(hashes[slice(*span)], span[0], slots, shift, key_places[number], keys)

    _each(part_entries, entry_ranges)
    _each(part_keys, key_ranges)
    begins = np.empty(parts, np.int64)
    items = loops.PartedItems(rows, row_bounds, keys, key_bounds)
    file = loops.PartedFile(heads, shift, bits, count + 1)

    def join(_: int, span: _Span) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        expected = int(key_bounds[span[1]] - key_bounds[span[0]])
        tape = np.empty(expected + (expected >> 4), np.int64)  # different keys may have the same hash
        left = np.empty(expected, np.int64)  # hardly ever touched
        hits, odd = loops.join_parts(items, file, rooms, span, begins, loops.HitTape(tape, left))
        return hits, left[:odd].copy()

    tapes, left = zip(*_each(join, _ranges(parts, threads)), strict=True)
    return _Joined(keys, key_bounds, begins, list(tapes), list(left))


def _in_order(joined: _Joined, count: int, threads: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bounds and physical offsets of the hits of `count` keys, in the order of the keys."""
    keys, key_bounds, begins, tapes, _ = joined
    ranges, parts = _ranges(count, threads), _ranges(len(begins), threads)
    cursors, totals = [np.stack([key_bounds[:-1], begins], axis=1)], [0]
    for _, stop in ranges[:-1]:
        ahead = cursors[-1].copy()
        totals.append(totals[-1] + loops.advance_cursors(loops.KeyCursors(keys, key_bounds, ahead), stop))
        cursors.append(ahead)
    bounds, found = np.zeros(count + 1, np.int64), np.empty(sum(map(len, tapes)), np.int64)

    def order(number: int, span: _Span) -> None:
        here, total = loops.KeyCursors(keys, key_bounds, cursors[number]), totals[number]
        for first in range(*span, _BLOCK):
            block = first, min(first + _BLOCK, span[1])
            total = loops.place_hits(here, block, total, bounds[1:])
            for some, tape in zip(parts, tapes, strict=True):
                loops.fill_hits(here, some, block[1], tape, bounds[1:], found)

    _each(order, ranges)
    return bounds, found


def _ranges(count: int, threads: int) -> list[_Span]:
    """0 .. `count` in ranges of about equal size, one for each thread."""
    cuts = [count * number // threads for number in range(threads + 1)]
    return list(pairwise(cuts))


def _each(work: Callable[[int, _Span], _Item], ranges: list[_Span]) -> list[_Item]:
    """The results of `work(number, range)` for all ranges, each on a thread of its own."""
    if len(ranges) == 1:
        return [work(0, ranges[0])]
    with ThreadPoolExecutor(len(ranges)) as pool:
        return list(pool.map(work, range(len(ranges)), ranges))


def _places(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the items of each range and part go, part after part, and where each part begins."""
    bounds = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=bounds[1:])
    places = np.zeros_like(counts)
    np.cumsum(counts[:-1], axis=0, out=places[1:])
    return places + bounds[:-1], bounds
