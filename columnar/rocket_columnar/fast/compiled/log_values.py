"""Compiled loops over the properties of records: the values that dispatch reads, hashes of tags and keys, all pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar.fast.compiled.compilation import inlined, jit, long
from rocket_columnar.fast.compiled.intrinsics import (
    byte,
    high_marks,
    i64,
    lowest,
    marks,
    separators,
    spaces,
)
from rocket_columnar.fast.compiled.raw_bytes import address, byte_hash, same, until
from rocket_columnar.fast.compiled.utf8_text import key_hash, text_hash, well_formed

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["find_values", "hash_codes", "hash_row_keys", "split_pairs"]

_ONE: Final = np.uint64(1)

# The first bytes of a pair, with the separator, as the high bytes of a big-endian long.
_KEYS: Final = int.from_bytes(b"KEYS\1")
_UNIQ_KEY: Final = int.from_bytes(b"UNIQ_KEY")
_TAGS: Final = int.from_bytes(b"TAGS\1")
_DELAY: Final = int.from_bytes(b"DELAY\1")
_MULTI_DISPATCH: Final = tuple(map(int.from_bytes, (b"INNER_MU", b"LTI_DISP", b"ISPATCH\1")))


@jit
def find_values(window: NDArray[np.uint8], rows: Any) -> None:
    """See `LogForm.find_values`."""
    base = address(window)
    for i in range(len(rows)):
        row = rows[i]
        begin = base + row.properties_at
        end = begin + row.properties_length
        keys, keys_end, unique, unique_end = begin, begin, begin, begin
        tags, tags_end, delay, delay_end = begin, begin, begin, begin
        multi_dispatch, high = False, np.uint64(0)
        at, block = begin, begin
        while True:
            left = end - block
            ends = until(marks(block), left)  # the last pair ends with the properties
            tops = high_marks(block)
            high |= tops if left >= 64 else tops & ((_ONE << np.uint64(left)) - _ONE)
            while ends:
                pair_end = block + lowest(ends)
                ends &= ends - _ONE
                head = i64(at)
                if head >> 24 == _KEYS and pair_end > at + 5:
                    keys, keys_end = at + 5, pair_end
                elif head == _UNIQ_KEY and pair_end > at + 9 and byte(at + 8) == 1:
                    unique, unique_end = at + 9, pair_end
                elif head >> 24 == _TAGS and pair_end > at + 5:
                    tags, tags_end = at + 5, pair_end
                elif head >> 16 == _DELAY and pair_end > at + 6:
                    delay, delay_end = at + 6, pair_end
                elif (
                    head == _MULTI_DISPATCH[0]
                    and pair_end > at + 21
                    and i64(at + 8) == _MULTI_DISPATCH[1]
                    and i64(at + 13) == _MULTI_DISPATCH[2]
                ):
                    multi_dispatch = True
                at = pair_end + 1
            if left < 64:
                break
            block += 64
        row.keys_at, row.keys_length = keys - base, keys_end - keys
        row.uniq_key_at, row.uniq_key_length = unique - base, unique_end - unique
        row.tags_at, row.tags_length = tags - base, tags_end - tags
        row.delay_at, row.delay_length = delay - base, delay_end - delay
        row.multi_dispatch = multi_dispatch
        row.readable = high == 0 or well_formed(begin, end)


@inlined
def _hash(at: int, end: int, code: int) -> Any:
    """`String.hashCode` of well-formed UTF-8 after a text whose hash is `code`, as an unsigned number."""
    low, plain = byte_hash(at, end, code)
    return long(low) if plain else text_hash(at, end, code)


@jit
def hash_codes(
    window: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    codes: NDArray[np.int32],
) -> None:
    """See `LogForm.hash_codes`."""
    base = address(window)
    for i in range(len(starts)):
        at = base + starts[i]
        codes[i] = np.int32(_hash(at, at + lengths[i], long(0)))


@jit
def hash_row_keys(
    window: NDArray[np.uint8], rows: Any, codes: NDArray[np.uint32], room: tuple[Any, Any]
) -> int:
    """See `LogForm.hash_keys`; `room` is that for the number of keys of each row, and for the hashes. Returns their number."""
    counts, hashes = room
    base, used = address(window), 0
    for i in range(len(rows)):
        row, first, code = rows[i], used, long(codes[i])
        if row.uniq_key_length > 0:
            at = base + row.uniq_key_at
            hashes[used] = key_hash(_hash(at, at + row.uniq_key_length, code))
            used += 1
        word = block = base + row.keys_at
        end = word + row.keys_length
        while block <= end and row.keys_length > 0:
            ends = until(spaces(block), end - block)
            while ends:
                word_end = block + lowest(ends)
                ends &= ends - _ONE
                if word_end > word:
                    hashes[used] = key_hash(_hash(word, word_end, code))
                    used += 1
                word = word_end + 1
            block += 64
        counts[i] = used - first
    return used


@inlined
def _value(at: int, end: int) -> Any:
    """Where the value of a pair begins, after the separator; after the end of a pair without one."""
    while at < end:
        found = separators(at)
        if found:
            return min(at + lowest(found), end) + 1
        at += 64
    return end + 1


@jit
def split_pairs(
    window: NDArray[np.uint8], rows: Any, counts: NDArray[np.int32], pairs: NDArray[np.int64]
) -> int:
    """Finds all pairs of each row, and their number; a name keeps its first place and its last value, as in a dict.

    `pairs` gets place and length of each name, and of each value. Returns the number of all pairs.
    """
    base, used = address(window), 0
    for i in range(len(rows)):
        name = block = base + rows[i].properties_at
        end = name + rows[i].properties_length
        first = used
        while block <= end:
            ends = until(marks(block), end - block)
            while ends:
                pair_end = block + lowest(ends)
                ends &= ends - _ONE
                value = _value(name, pair_end)
                length = value - 1 - name
                if length > 0 and value < pair_end:
                    number = first
                    while number < used and not (
                        pairs[1, number] == length and same(base + pairs[0, number], name, length)
                    ):
                        number += 1
                    if number == used:
                        pairs[0, number], pairs[1, number] = name - base, length
                        used += 1
                    pairs[2, number], pairs[3, number] = value - base, pair_end - value
                name = pair_end + 1
            block += 64
        counts[i] = used - first
    return used
