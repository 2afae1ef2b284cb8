"""Key hashes: Java's `String.hashCode`, made non-negative as in an index file.

One key goes through plain Python. A batch becomes one run of UTF-16 code units, which NumPy hashes as polynomials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.formats.java import string_hash

_Units = NDArray[np.uint16] | NDArray[np.uint8]

_LOOP_BELOW = 64  # units; longer keys are hashed by NumPy
_UNITS_AT_ONCE = 1 << 22
_MASK = 0xFFFFFFFF
_SIGN = 0x80000000


def index_key(topic: str, key: str) -> str:
    """The string that the index hashes for a key of a topic (`IndexService.buildKey`)."""
    return f"{topic}#{key}"


def tag_key(topic: str, tags: str) -> str:
    """The string that 5.4.0 and later also hash for a message with tags (`IndexService.buildKey`)."""
    return index_key(topic, f"T#{tags}")


def hash_key(key: str) -> int:
    """Key hash of one index key, 0 .. 2^31-1.

    Non-BMP characters count as two code units and lone surrogates as themselves; the one hash code
    without a positive counterpart, -2^31, becomes 0.

    Source: IDX-HASH-1, IDX-HASH-2; `IndexFile.indexKeyHashMethod` 164-170.
    """
    if len(key) >= _LOOP_BELOW:
        return int(_hash_units(*_units_of_list([key]), _NOTHING)[0])
    units: bytes | memoryview
    if key.isascii():
        units = key.encode("ascii")
    else:
        units = memoryview(key.encode(_UTF16, "surrogatepass")).cast("H")
    code = 0
    for unit in units:
        code = code * 31 + unit
    code &= _MASK
    if code < _SIGN:
        return code
    return (-code) & _MASK if code != _SIGN else 0


def hash_keys(
    keys: Sequence[str] | Any,
    topic: str | None = None,
    *,
    after: NDArray[np.uint32] | None = None,
    of_strings: Callable[[Any, NDArray[np.uint32]], NDArray[np.int32]] | None = None,
) -> NDArray[np.int32]:
    """Key hashes of a list of index keys, or of a pyarrow string array or chunked array.

    With a `topic` the keys are those of its messages, and the hashes are those of `topic#key`, without making these strings.
    `after` has the `String.hashCode` of what precedes each key of a list instead. `of_strings` hashes an Arrow array of strings
    or binaries after such a code; by default NumPy does.

    Raises:
        ValueError: an Arrow array that contains a null.

    Source: IDX-HASH-1, IDX-HASH-2.
    """
    codes = np.array([0 if topic is None else string_hash(index_key(topic, "")) & _MASK], np.uint32)
    if isinstance(keys, (list, tuple)):
        return _hash_units(*_units_of_list(keys), codes if after is None else after)
    chunks: list[Any] = getattr(keys, "chunks", [keys])
    hashes = [_hash_arrow(chunk, codes, of_strings or _hash_strings) for chunk in chunks]
    return np.concatenate(hashes) if hashes else np.empty(0, np.int32)


_UTF16 = "utf-16-le" if np.little_endian else "utf-16-be"


def _units_of_list(keys: Sequence[str]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Code units of all keys one after the other, and the bounds of each."""
    units = np.frombuffer("".join(keys).encode(_UTF16, "surrogatepass"), np.uint16)
    bounds = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, keys), np.int64, len(keys)), out=bounds[1:])
    if bounds[-1] != len(units):  # characters beyond the BMP
        lengths = (len(key.encode(_UTF16, "surrogatepass")) // 2 for key in keys)
        np.cumsum(np.fromiter(lengths, np.int64, len(keys)), out=bounds[1:])
    return units, bounds


def _hash_arrow(
    array: Any,
    codes: NDArray[np.uint32],
    of_strings: Callable[[Any, NDArray[np.uint32]], NDArray[np.int32]],
) -> NDArray[np.int32]:
    import pyarrow as pa

    if array.null_count:
        raise ValueError("a null has no key hash")
    if pa.types.is_dictionary(array.type):
        hashes: NDArray[np.int32] = _hash_arrow(array.dictionary, codes, of_strings)[array.indices.to_numpy()]
        return hashes
    return of_strings(array, codes) if len(array) else np.empty(0, np.int32)


def _hash_strings(array: Any, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    import pyarrow as pa

    large = array.cast(pa.large_string())
    _, offsets_buffer, data_buffer = large.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[large.offset : large.offset + len(large) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    bounds = offsets - offsets[0]
    if not (data & 0x80).any():
        return _hash_units(data, bounds, codes)
    # a character takes one unit, counted at its lead byte, and two from U+10000 on (lead byte F0 and up)
    per_byte = ((data & 0xC0) != 0x80).astype(np.int64) + (data >= 0xF0)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(per_byte)])
    units = np.frombuffer(data.tobytes().decode("utf-8").encode(_UTF16), np.uint16)
    return _hash_units(units, before[bounds], codes)


_NOTHING = np.zeros(1, np.uint32)  # the hash code of what precedes a whole key


def _hash_units(units: _Units, bounds: NDArray[np.int64], codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Hashes of the strings whose units are between neighbouring bounds, after one with the code in `codes`."""
    count = len(bounds) - 1
    hashes = np.zeros(count, np.int32)
    start = 0
    while start < count:
        stop = int(np.searchsorted(bounds, bounds[start] + _UNITS_AT_ONCE, side="right")) - 1
        stop = min(max(stop, start + 1), count)
        hashes[start:stop] = _polynomials(
            units, bounds[start : stop + 1], codes if len(codes) == 1 else codes[start:stop]
        )
        start = stop
    return hashes


def _polynomials(units: _Units, bounds: NDArray[np.int64], before: NDArray[np.uint32]) -> NDArray[np.int32]:
    lengths = np.diff(bounds)
    longest = int(lengths.max(initial=0))
    codes = before * _powers(longest + 1)[lengths]
    if longest:
        first, last = int(bounds[0]), int(bounds[-1])
        exponents = np.repeat(bounds[1:] - 1, lengths) - np.arange(first, last)
        terms = units[first:last].astype(np.uint32) * _powers(longest)[exponents]
        filled = lengths > 0
        codes[filled] += np.add.reduceat(terms, bounds[:-1][filled] - first)
    signed = codes.view(np.int32)
    hashes: NDArray[np.int32] = np.abs(signed)
    hashes[hashes < 0] = 0
    return hashes


def _powers(length: int) -> NDArray[np.uint32]:
    """At least `length` powers of 31, mod 2^32."""
    return _power_table(max(256, 1 << (length - 1).bit_length()))


@cache
def _power_table(length: int) -> NDArray[np.uint32]:
    powers = np.full(length, 31, np.uint32)
    powers[0] = 1
    return np.multiply.accumulate(powers, dtype=np.uint32)
