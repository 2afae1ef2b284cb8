"""The index file against a model that knows no bytes: a list of puts, searched from its end."""

from __future__ import annotations

import random

import pytest
from rocket_reference import IndexFile, key_hash

T0 = 1700000000000
KEYS = ("AaTopic#Aa", "AaTopic#BB", "T#a", "T#b", "T#\u4e2d", "T#\U0001f600", "", "polygenelubricants")


class Model:
    """An undamaged, unseeded file, with times at or after the first put's."""

    def __init__(self, index_num: int) -> None:
        self.index_num = index_num
        self.puts: list[tuple[int, int, int]] = []

    def put(self, key: str, phy_offset: int, store_timestamp: int) -> bool:
        if len(self.puts) + 1 >= self.index_num:
            return False
        self.puts.append((key_hash(key), phy_offset, store_timestamp))
        return True

    def select(self, key: str, max_num: int, begin: int, end: int) -> list[int]:
        first = self.puts[0][2] if self.puts else 0
        found: list[int] = []
        for hash_, phy_offset, store_timestamp in reversed(self.puts):
            seconds = (store_timestamp - first) // 1000
            if hash_ == key_hash(key) and begin <= first + 1000 * seconds <= end:
                found.append(phy_offset)
        return found[: max(max_num, 0)]


@pytest.mark.parametrize("hash_slot_num", [1, 2, 7, 1000])
def test_random_lists(hash_slot_num: int) -> None:
    choose = random.Random(hash_slot_num)  # noqa: S311 - a reproducible list
    for _ in range(40):
        index_num = choose.choice((0, 1, 2, 5, 40))
        index = IndexFile(bytearray(40 + 4 * hash_slot_num + 20 * index_num), hash_slot_num, index_num)
        model = Model(index_num)
        clock = T0
        for _ in range(60):
            key = choose.choice(KEYS)
            if choose.random() < 0.5:
                clock += choose.randrange(3000)
                put = (key, choose.randrange(1 << 40), clock)
                assert index.put(*put) == model.put(*put)
            else:
                # Times never go back, so a begin within the window cuts off no older hit (IDX-SEL-7).
                window = (choose.choice((0, T0 + choose.randrange(60_000))), choose.choice((clock, 1 << 62)))
                query = (key, choose.choice((-1, 0, 1, 3, 64)), *window)
                assert index.select(*query) == model.select(*query)
        assert index.header().index_count == len(model.puts) + 1
        assert index.header().hash_slot_count == len({put[0] % hash_slot_num for put in model.puts})
