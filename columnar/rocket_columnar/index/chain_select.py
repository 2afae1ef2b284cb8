"""Chain walks for many keys at once: by NumPy, all chains a step at a time, and large batches by compiled loops.

If there are about as many keys as entries, one pass over the file finds what the walks would find.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocket_columnar.index.header import IndexHeader
    from rocket_columnar.index.mapping import FileImage, Mapping
    from rocket_columnar.index.pass_select import IndexWords

__all__ = ["WALK_BELOW", "Chains", "Hits", "select_batch"]

WALK_BELOW: Final = 64
"""Length of a batch below which a walk in Python is faster than NumPy's start."""

_ROUNDS: Final = 4096  # steps of a chain after which the compiled loop takes over, however few the keys
_PART: Final = 1 << 18  # keys that a thread takes at a time
_PIECE: Final = 1 << 16  # entries that are read at a time: about a megabyte, which stays in the cache
_SPARSE: Final = 16  # entries per key from which walks are faster than a pass over the file


class Hits(NamedTuple):
    """Hits of many keys: those of key `i` are `phy_offsets[bounds[i]:bounds[i + 1]]`, newest first."""

    bounds: NDArray[np.int64]
    phy_offsets: NDArray[np.int64]


class Chains(NamedTuple):
    """What a walk needs of a file: its bytes, number of slots (not 0), position of entry 0, and header.

    The bytes are in `mapping` after `image`, if there is one, has fetched them.
    """

    mapping: Mapping
    slots: int
    entries_position: int
    header: IndexHeader
    image: FileImage | None = None

    def fetch_all(self, threads: int) -> None:
        """Makes sure that all bytes are in `mapping`."""
        if self.image is not None:
            self.image.fetch_all(threads)


def select_batch(
    chains: Chains,
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    window: tuple[int, int],
    *,
    compiled: bool,
    threads: int = 1,
) -> Hits | int:
    """Hits of each hash, or the number of a hash whose chain never ends.

    Args:
        chains: the file.
        hashes: key hashes.
        rooms: maximum number of hits, one for all keys or one for each.
        window: first and last ms, inclusive.
        compiled: whether to use the compiled loop.
        threads: number of threads for the compiled loop.

    Source: IDX-SEL-1 .. IDX-SEL-8.
    """
    if not compiled:
        chains.fetch_all(threads)
        hits = _by_steps(chains, hashes, rooms, window)
        if hits is not None:
            return hits
    hits = _by_join(chains, hashes, rooms, window, threads)
    return _by_walks(chains, hashes, rooms, window, threads) if hits is None else hits


def _by_join(
    chains: Chains,
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    window: tuple[int, int],
    threads: int,
) -> Hits | int | None:
    """By one pass over the file, if there are enough keys and the file is an ordinary one; otherwise None."""
    header = chains.header
    last = chains.entries_position + 20 * header.index_count
    few = len(hashes) * _SPARSE < header.index_count
    plain = chains.entries_position == 40 + 4 * chains.slots
    if few or header.index_count < 2 or not plain or last > len(chains.mapping):
        return None
    begin = header.begin_timestamp
    seconds = -((begin - window[0]) // 1000), (window[1] - begin) // 1000
    if seconds[0] > 0 or (header.end_timestamp - begin) // 1000 > seconds[1]:
        return None  # the first or the last entry is outside the window
    from rocket_columnar.index.pass_select import join_keys

    joined = join_keys(_index_words(chains, threads), seconds, hashes, rooms, threads)
    if joined is None:
        return None
    bounds, found, odd = joined
    if odd.size:
        walked = _by_walks(chains, hashes[odd], rooms[odd] if len(rooms) > 1 else rooms, window, threads)
        if not isinstance(walked, Hits):
            return int(odd[walked])
        counts = np.diff(walked.bounds)
        found = np.insert(found, np.repeat(bounds[odd], counts), walked.phy_offsets)
        more = np.zeros(len(hashes), np.int64)
        more[odd] = counts
        bounds[1:] += np.cumsum(more)
    return Hits(bounds, found)


def _index_words(chains: Chains, threads: int) -> IndexWords:
    """The file to pass over: in memory if it is or must be, otherwise its entries are read piece by piece."""
    from rocket_columnar.index.pass_select import IndexWords

    image, slots, index_count = chains.image, chains.slots, chains.header.index_count
    if image is None or not image.streams:
        chains.fetch_all(threads)
        return IndexWords.of(_words_of(chains), slots, index_count)

    def entries(first: int, stop: int) -> Iterator[NDArray[np.uint32]]:
        buffer = np.empty(5 * min(_PIECE, stop - first), np.uint32)
        for number in range(first, stop, _PIECE):
            piece = buffer[: 5 * (stop - number)]
            image.read_into(chains.entries_position + 20 * number, piece)
            yield piece

    heads = np.empty(slots, np.uint32)
    image.read_into(40, heads)
    return IndexWords(heads, index_count, entries)


def _words_of(chains: Chains) -> NDArray[np.uint32]:
    return np.frombuffer(chains.mapping, np.uint32, len(chains.mapping) // 4)


def _by_walks(
    chains: Chains,
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    window: tuple[int, int],
    threads: int,
) -> Hits | int:
    """By compiled walks of the chains."""
    cuts = range(0, len(hashes), _PART) if threads > 1 else [0] * bool(len(hashes))
    step = _PART if threads > 1 else len(hashes)
    chains.fetch_all(threads)
    words = _words_of(chains)

    def work(cut: int) -> Hits | int:
        part = rooms[cut : cut + step] if len(rooms) > 1 else rooms
        hits = _compiled_part(words, chains, hashes[cut : cut + step], part, window)
        return hits if isinstance(hits, Hits) else cut + hits

    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(work, cuts))
    else:
        parts = [work(cut) for cut in cuts]
    bounds = np.zeros(len(hashes) + 1, np.int64)
    offsets: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for cut, hits in zip(cuts, parts, strict=True):
        if not isinstance(hits, Hits):
            return hits
        bounds[cut + 1 : cut + len(hits.bounds)] = hits.bounds[1:] + bounds[cut]
        offsets.append(hits.phy_offsets)
    return Hits(bounds, offsets[1] if len(offsets) == 2 else np.concatenate(offsets))


def _compiled_part(
    words: NDArray[np.uint32],
    chains: Chains,
    hashes: NDArray[np.int32],
    rooms: NDArray[np.int64],
    window: tuple[int, int],
) -> Hits | int:
    from rocket_columnar import kernels

    header = chains.header
    file = kernels.ChainFile(
        words, chains.slots, chains.entries_position, header.index_count, header.begin_timestamp
    )
    keys = kernels.ChainKeys(hashes, rooms, *window)
    counts = np.zeros(len(hashes), np.int64)
    found = np.empty(max(len(hashes), 64), np.int64)
    lanes, offsets = np.empty(1 << 10, np.int64), np.empty(1 << 10, np.int64)
    first, used = 0, 0
    while True:
        hits = kernels.ChainHits(counts, found, lanes, offsets)
        first, used, state = kernels.select_chains(file, keys, hits, first, used)
        if state == 0:
            bounds = np.zeros(len(hashes) + 1, np.int64)
            np.cumsum(counts, out=bounds[1:])
            return Hits(bounds, found[:used])
        if state == 1:
            found = np.concatenate([found[:used], np.empty(len(found) + len(lanes), np.int64)])
        elif state == 2:
            lanes, offsets = (np.empty(2 * len(lanes), np.int64) for _ in range(2))
        else:
            return first


def _by_steps(
    chains: Chains, hashes: NDArray[np.int32], rooms: NDArray[np.int64], window: tuple[int, int]
) -> Hits | int | None:
    """As `select_batch`, all chains a step at a time; None if a chain is too long for that."""
    words = np.frombuffer(chains.mapping, ">i4", len(chains.mapping) // 4)
    last, count, begin = len(words) - 5, chains.header.index_count, chains.header.begin_timestamp
    key = np.arange(len(hashes))
    left = np.array(np.broadcast_to(rooms, hashes.shape))
    at = _words(40 + 4 * (hashes.astype(np.int64) % chains.slots))
    key = key[(at >= 0) & (at < len(words)) & (left > 0)]
    entry = words[at[key]].astype(np.int64)
    started = (entry > 0) & (entry <= count) & (count > 1)
    key, entry = key[started], entry[started]
    mark = entry.copy()
    steps, limit = np.zeros(len(hashes), np.int64), np.ones(len(hashes), np.int64)
    keys, offsets = [key[:0]], [np.empty(0, np.int64)]
    for _ in range(_ROUNDS):
        if not key.size:
            return _in_order(np.concatenate(keys), np.concatenate(offsets), len(hashes))
        at = _words(chains.entries_position + 20 * entry)
        inside = (at >= 0) & (at <= last)
        key, entry, mark, at = key[inside], entry[inside], mark[inside], at[inside]
        time_diff = words[at + 3].astype(np.int64)
        time = begin + 1000 * time_diff
        good = time_diff >= 0
        hit = good & (words[at] == hashes[key]) & (time >= window[0]) & (time <= window[1])
        hits = key[hit]
        keys.append(hits)
        offsets.append(words[at[hit] + 1].astype(np.int64) << 32 | words[at[hit] + 2].astype(np.uint32))
        left[hits] -= 1
        mark[hit], steps[hits], limit[hits] = entry[hit], 0, 1
        previous = words[at + 4].astype(np.int64)
        good &= (previous > 0) & (previous <= count) & (previous != entry) & (time >= window[0])
        good &= left[key] > 0
        key, entry, mark = key[good], previous[good], mark[good]
        steps[key] += 1
        if (entry == mark).any():  # Brent: back at the mark without a hit since
            return int(key[entry == mark][0])
        again = steps[key] == limit[key]
        mark[again], steps[key[again]] = entry[again], 0
        limit[key[again]] *= 2
    return None


def _words(positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The word at each position in bytes, which wraps as a Java int."""
    return positions.astype(np.int32).astype(np.int64) >> 2


def _in_order(keys: NDArray[Any], offsets: NDArray[np.int64], count: int) -> Hits:
    """Hits in the order in which they were found, as hits by key."""
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=bounds[1:])
    return Hits(bounds, offsets[np.argsort(keys, kind="stable")])
