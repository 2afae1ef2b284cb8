"""What every contender works on: the same keys, offsets and times, pinned by arithmetic.

Key `i` is 16 fixed characters and 16 hexadecimal digits of `i` times an odd 64-bit constant: as long as a client's
unique key, all different, hashes spread evenly. `java/StoreBench.java` makes the same ones.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rocket_spec.layout import DEFAULT_GEOMETRY, Geometry

TOPIC: Final = "BenchTopic"
PREFIX: Final = b"7F00000100002A9F"
SCRAMBLE: Final = 0x9E3779B97F4A7C15
BEGIN: Final = 1_700_000_000_000

_DIGITS: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)
_WIDTH: Final = 32


@dataclass(frozen=True, slots=True)
class Puts:
    """Puts in order: index keys without their topic, physical offsets in bytes, store timestamps in ms."""

    keys: pa.StringArray
    phy_offsets: NDArray[np.int64]
    store_timestamps: NDArray[np.int64]


def geometry_for(entries: int) -> Geometry:
    """The geometry that `entries` puts fill, four entries a slot as by default; the default one for 19,999,999."""
    slots_per_entry = DEFAULT_GEOMETRY.index_num // DEFAULT_GEOMETRY.hash_slot_num
    return Geometry(max(1, (entries + 1) // slots_per_entry), entries + 1)


def keys(numbers: NDArray[np.int64]) -> pa.StringArray:
    """The keys of these numbers as an Arrow string array."""
    bits = numbers.astype(np.uint64) * np.uint64(SCRAMBLE)
    characters = np.empty((len(numbers), _WIDTH), np.uint8)
    characters[:, : len(PREFIX)] = np.frombuffer(PREFIX, np.uint8)
    for place in range(16):
        nibble = (bits >> np.uint64(60 - 4 * place)) & np.uint64(15)
        characters[:, len(PREFIX) + place] = _DIGITS[nibble]
    bounds = np.arange(len(numbers) + 1, dtype=np.int32) * np.int32(_WIDTH)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(bounds.data), pa.py_buffer(characters.data))


def make_puts(count: int) -> Puts:
    """The first `count` puts."""
    numbers = np.arange(count, dtype=np.int64)
    return Puts(keys(numbers), numbers * 1024, BEGIN + numbers)
