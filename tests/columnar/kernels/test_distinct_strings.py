"""Distinct byte strings by number, as a compiled loop finds them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
from rocket_columnar.kernels import SLACK, DistinctStrings

if TYPE_CHECKING:
    from numpy.typing import NDArray


def array(data: bytes) -> NDArray[np.uint8]:
    """The bytes, and as many behind them as compiled loops may look at."""
    return np.frombuffer(bytearray(data + bytes(SLACK)), np.uint8)


def test_distinct_strings_have_numbers_in_their_order() -> None:
    known = DistinctStrings()
    assert [known.add(item) for item in (b"a", b"", b"b", b"a", b"a\0", b"", b"12345678", b"123456789")] == [
        0, 1, 2, 0, 3, 1, 4, 5,
    ]  # fmt: skip
    assert known.items == [b"a", b"", b"b", b"a\0", b"12345678", b"123456789"]


def test_many_distinct_strings_of_any_length() -> None:
    dice = random.Random(5)  # noqa: S311
    items = [dice.randbytes(dice.randrange(40)) for _ in range(4000)]
    items += dice.choices(items, k=4000)
    numbers = {item: number for number, item in enumerate(dict.fromkeys(items))}
    data = array(b"".join(items))
    lengths = np.array([len(item) for item in items], np.int32)
    starts = (np.cumsum(lengths) - lengths).astype(np.int32)
    known = DistinctStrings()
    assert known.numbers(data, starts, lengths).tolist() == [numbers[item] for item in items]
    assert known.items == list(numbers)
    assert len(known) == len(numbers)
