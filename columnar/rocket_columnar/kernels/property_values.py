"""The properties of a record that dispatch reads, found in one pass over their bytes."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from rocket_columnar.kernels.compilation import inlined, long
from rocket_columnar.kernels.raw_bytes import byte, high_marks, i64, lowest, marks, until

__all__ = ["PropertyValues", "delay_level", "property_values"]

_ONE: Final = np.uint64(1)

# The first bytes of a pair, with the separator, as the high bytes of a big-endian long.
_KEYS: Final = int.from_bytes(b"KEYS\1")
_UNIQ_KEY: Final = int.from_bytes(b"UNIQ_KEY")
_TAGS: Final = int.from_bytes(b"TAGS\1")
_DELAY: Final = int.from_bytes(b"DELAY\1")
_MULTI_DISPATCH: Final = tuple(map(int.from_bytes, (b"INNER_MU", b"LTI_DISP", b"ISPATCH\1")))


class PropertyValues(NamedTuple):
    """Addresses at which values begin and end, 0 and 0 for a property that is absent or empty.

    Attributes:
        keys: begin of KEYS.
        keys_end: end of KEYS.
        unique: begin of UNIQ_KEY.
        unique_end: end of UNIQ_KEY.
        tags: begin of TAGS.
        tags_end: end of TAGS.
        delay: begin of DELAY.
        delay_end: end of DELAY.
        multi_dispatch: whether there is an INNER_MULTI_DISPATCH.
        plain: whether all bytes are ASCII.
    """

    keys: Any
    keys_end: Any
    unique: Any
    unique_end: Any
    tags: Any
    tags_end: Any
    delay: Any
    delay_end: Any
    multi_dispatch: Any
    plain: Any


@inlined
def property_values(at: int, end: int) -> PropertyValues:
    """The values between two addresses (LOG-PROP-1); of a repeated name the last one that is not empty."""
    keys, keys_end, unique, unique_end = long(0), long(0), long(0), long(0)
    tags, tags_end, delay, delay_end = long(0), long(0), long(0), long(0)
    multi_dispatch, high = False, np.uint64(0)
    block = at
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
    return PropertyValues(
        keys, keys_end, unique, unique_end, tags, tags_end, delay, delay_end, multi_dispatch, high == 0
    )


@inlined
def delay_level(at: int, end: int) -> Any:
    """The delay level in a value of at most nine digits, 0 for none; -1 for any other text, which Python must read."""
    if end - at > 9:
        return long(-1)
    level = long(0)
    for place in range(at, end):
        digit = byte(place) - 48
        if not 0 <= digit <= 9:
            return long(-1)
        level = level * 10 + digit
    return level
