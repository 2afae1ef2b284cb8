"""Looks up many keys in one index file by passing over it once, on one or more threads; see `kernels.key_pass`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER

from rocket_columnar import kernels as loops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["IndexWords", "join_keys"]

_HEADER, _ENTRY = INDEX_HEADER.size // 4, INDEX_ENTRY.size // 4
_PART: Final = 1 << 15  # entries of a part, approximately: two thirds of a megabyte
_WIDEST: Final = 16  # a part is at most 1 << _WIDEST slots
_SPARE: Final = 2  # bits of a code beyond those that count the entries of a part
_BITS: Final = 20  # of a code at most
_BLOCK: Final = 1 << 16  # keys whose hits are put in order at once: about a megabyte of places and hits
_CHUNK: Final = 1 << 11  # rows of a chunk at most
_FULL: Final = 8  # chunks of a part at least, if it has as many rows: then few rows stay free
_Item = TypeVar("_Item")
_Span = tuple[int, int]


class IndexWords(NamedTuple):
    """An index file to pass over.

    Attributes:
        heads: the slots, more than none, as words of the file.
        index_count: of the header, more than 1.
        entries: the words of the entries from one number up to another, in pieces of whole entries. Each piece is valid
            until the next is asked for; threads may ask at once.
    """

    heads: NDArray[np.uint32]
    index_count: int
    entries: Callable[[int, int], Iterable[NDArray[np.uint32]]]

    @classmethod
    def of(cls, words: NDArray[np.uint32], slots: int, index_count: int) -> IndexWords:
        """A file in memory."""
        entries = words[_HEADER + slots :]
        return cls(
            words[_HEADER : _HEADER + slots],
            index_count,
            lambda first, stop: [entries[_ENTRY * first : _ENTRY * stop]],
        )


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
        file: the file.
        seconds: the least and the greatest time diff in the window.
        hashes: key hashes.
        rooms: maximum number of hits, one for all keys or one for each.
        threads: number of threads.

    Returns:
        None if an entry is outside the window, or a hash is negative.
    """
    joined = _join(file, seconds, hashes, rooms, threads)
    if joined is None:
        return None
    return *_in_order(joined, len(hashes), threads), np.sort(np.concatenate(joined.left))


def _join(
    file: IndexWords,
    seconds: tuple[int, int],
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    threads: int,
) -> _Joined | None:
    slots, count = len(file.heads), file.index_count - 1
    width = min(max(slots * _PART // count, 1), slots)
    shift = min(width.bit_length() - 1, _WIDEST)
    parts = ((slots - 1) >> shift) + 1
    bits = max(shift, min((count // parts).bit_length() + _SPARE, _BITS))
    parted_keys = _parted_keys(hashes, (slots, shift), parts, threads)
    parted_rows = parted_keys and _parted_rows(file, (slots, shift), parts, seconds, threads)
    if parted_keys is None or parted_rows is None:
        return None
    keys, key_bounds = parted_keys
    items = loops.PartedItems(*parted_rows, keys, key_bounds)
    parted_file = loops.PartedFile(file.heads, shift, bits, file.index_count)
    begins = np.empty(parts, np.int64)

    def join(_: int, span: _Span) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        expected = int(key_bounds[span[1]] - key_bounds[span[0]])
        tape = np.empty(expected + (expected >> 4), np.int64)  # different keys may have the same hash
        left = np.empty(expected, np.int64)  # hardly ever touched
        hits, odd = loops.join_parts(items, parted_file, rooms, span, begins, loops.HitTape(tape, left))
        return hits, left[:odd].copy()

    tapes, left = zip(*_each(join, _ranges(parts, threads)), strict=True)
    return _Joined(keys, key_bounds, begins, list(tapes), list(left))


def _parted_keys(
    hashes: NDArray[np.int32], division: _Span, parts: int, threads: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]] | None:
    """Keys as of `kernels.part_keys`, and where those of each part begin; None if a hash is negative."""
    ranges, counts = _ranges(len(hashes), threads), np.zeros((threads, parts), np.int64)

    def count(number: int, span: _Span) -> bool:
        return loops.count_keys(hashes[slice(*span)], *division, counts[number])

    if not all(_each(count, ranges)):
        return None
    keys = np.empty(len(hashes), np.uint64)
    places, bounds = _places(counts)

    def part(number: int, span: _Span) -> None:
        loops.part_keys(hashes[slice(*span)], span[0], *division, places[number], keys)

    _each(part, ranges)
    return keys, bounds


def _parted_rows(
    file: IndexWords, division: _Span, parts: int, seconds: tuple[int, int], threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]] | None:
    """Rows, runs and their bounds, as of `kernels.PartedItems`; None if an entry is outside the window or a hash negative."""
    count = file.index_count - 1
    size = min(max(count // (parts * threads * _FULL), 1), _CHUNK)
    ranges = _ranges(count, threads)
    # Each thread takes chunks of its own: those that it fills, and one for each part.
    taken = np.cumsum([0, *(((stop - begin) // size) + parts for begin, stop in ranges)])
    rows, owners = np.empty(_ENTRY * (taken[-1] * size), np.uint32), np.full(taken[-1], parts)
    places = np.zeros((threads, parts + 1, 2), np.int64)
    places[:, parts, 0] = taken[:-1]
    chunks = loops.RowChunks(rows, size, owners)

    def part(number: int, span: _Span) -> bool:
        first = span[0] + 1
        for words in file.entries(first, span[1] + 1):
            if not loops.part_entries(words, first, division, seconds, chunks, places[number]):
                return False
            first += len(words) // _ENTRY
        return True

    if not all(_each(part, ranges)):
        return None
    order = np.argsort(owners, kind="stable")
    begins = order * size
    ends = (np.arange(len(owners)) + 1) * size
    last = places[:, :parts, 0]
    last = last[last > 0]
    ends[(last - 1) // size] = last
    return rows, np.stack([begins, ends[order]], axis=1), np.searchsorted(owners[order], np.arange(parts + 1))


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
