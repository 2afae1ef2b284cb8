"""Many keys against one index file by passing over it once, on one thread or more; see `_compiled_join`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER

from rocket_columnar import _compiled_join as loops

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["ODD", "join_keys"]

ODD: Final = loops.ODD

_HEADER, _ENTRY = INDEX_HEADER.size // 4, INDEX_ENTRY.size // 4
_PART: Final = 1 << 15  # entries of a part, about: half a megabyte of chains
_WIDEST: Final = 16  # a part is 1 << so many slots at most
_ROOM: Final = 1 << 16  # hits more than keys, at first
_Item = TypeVar("_Item")
_Span = tuple[int, int]


def join_keys(  # noqa: C901 - the stages of one pass
    words: NDArray[np.uint32],
    slots: int,
    index_count: int,
    seconds: tuple[int, int],
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    threads: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """How many hits each key has, `ODD` for one that has to be walked, and the physical offsets of all hits.

    Args:
        words: the file, which has a header, so many slots, and `index_count - 1` entries behind the first.
        slots: more than 0.
        index_count: of the header.
        seconds: the least and the largest time diff that lie in the window.
        hashes: key hashes.
        rooms: hits a key at most, one for all or one for each.
        threads: among which the work is divided.

    Returns:
        None where entries do not all lie in the window, or a hash is negative.
    """
    heads, entries = words[_HEADER : _HEADER + slots], words[_HEADER + slots :]
    entries = entries[_ENTRY : _ENTRY * index_count]
    number = index_count - 1
    shift = min(max(slots * _PART // max(number, 1), 1).bit_length() - 1, _WIDEST)
    parts = ((slots - 1) >> shift) + 1
    with ThreadPoolExecutor(threads) as pool:

        def each(work: Callable[[_Span], _Item], ranges: list[_Span]) -> list[_Item]:
            return list(pool.map(work, ranges)) if threads > 1 else [work(one) for one in ranges]

        entry_ranges, key_ranges = _ranges(number, threads), _ranges(len(hashes), threads)
        row_counts = np.zeros((len(entry_ranges), parts), np.int64)
        key_counts = np.zeros((len(key_ranges), parts), np.int64)

        def count_entries(span: _Span) -> bool:
            counts = row_counts[entry_ranges.index(span)]
            least, most = loops.count_entries(
                entries[_ENTRY * span[0] : _ENTRY * span[1]], slots, shift, counts
            )
            return max(seconds[0], 0) <= least and most <= seconds[1]

        def count_keys(span: _Span) -> bool:
            return loops.count_keys(hashes[slice(*span)], slots, shift, key_counts[key_ranges.index(span)])

        if not all(each(count_entries, entry_ranges)) or not all(each(count_keys, key_ranges)):
            return None
        rows, keys = np.empty(_ENTRY * number, np.uint32), np.empty(len(hashes), np.int64)
        row_places, row_bounds = _places(row_counts)
        key_places, key_bounds = _places(key_counts)

        def part_entries(span: _Span) -> None:
            places = row_places[entry_ranges.index(span)]
            some = entries[_ENTRY * span[0] : _ENTRY * span[1]]
            loops.part_entries(some, span[0] + 1, slots, shift, places, rows)

        def part_keys(span: _Span) -> None:
            places = key_places[key_ranges.index(span)]
            loops.part_keys(hashes[slice(*span)], span[0], slots, shift, places, keys)

        each(part_entries, entry_ranges)
        each(part_keys, key_ranges)
        counts = np.empty(len(hashes), np.int32)

        def join(span: _Span) -> NDArray[np.int64]:
            room = int(key_bounds[span[1]] - key_bounds[span[0]]) + _ROOM
            tape = np.empty(room, np.int64)
            part, used = span[0], 0
            while True:
                part, used = loops.join(
                    rows,
                    row_bounds,
                    keys,
                    key_bounds,
                    heads,
                    shift,
                    index_count,
                    rooms,
                    (part, span[1]),
                    used,
                    counts,
                    tape,
                )
                if part == span[1]:
                    return tape
                tape = np.concatenate([tape[:used], np.empty(len(tape) - used + room, np.int64)])

        part_ranges = _ranges(parts, threads)
        tapes = each(join, part_ranges)
        bounds = np.zeros(len(hashes) + 1, np.int64)
        np.cumsum(np.maximum(counts, 0), out=bounds[1:])
        found = np.empty(int(bounds[-1]), np.int64)

        def fill(span: _Span) -> None:
            some = keys[key_bounds[span[0]] : key_bounds[span[1]]]
            loops.fill(some, bounds, tapes[part_ranges.index(span)], found)

        each(fill, part_ranges)
    return counts, found


def _ranges(count: int, threads: int) -> list[_Span]:
    """0 .. `count` in about equal ranges, one a thread."""
    cuts = [count * number // threads for number in range(threads + 1)]
    return list(pairwise(cuts))


def _places(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each range's items of each part go, part after part, and where each part begins."""
    bounds = np.zeros(counts.shape[1] + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=bounds[1:])
    places = np.zeros_like(counts)
    np.cumsum(counts[:-1], axis=0, out=places[1:])
    return places + bounds[:-1], bounds
