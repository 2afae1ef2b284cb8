"""IDX-HASH: from a key to its slot."""

from __future__ import annotations

import pytest
from rocket_reference import IndexFile, key_hash


@pytest.mark.parametrize("key", ["AaTopic#Aa", "AaTopic#BB", "BBTopic#Aa", "BBTopic#BB"])
def test_idx_hash_1_colliding_keys(key: str) -> None:
    assert key_hash(key) == 10606476  # hashCode -10606476, from the real jar


def test_idx_hash_1_non_bmp_is_two_units() -> None:
    assert key_hash("\U0001f600") == 31 * 0xD83D + 0xDE00


def test_idx_hash_1_lone_surrogate() -> None:
    assert key_hash("\ud800") == 0xD800


def test_idx_hash_2_least_int_is_0() -> None:
    assert key_hash("polygenelubricants") == 0  # hashCode -2147483648


def test_idx_hash_3_slot_is_the_remainder() -> None:
    buffer = bytearray(40 + 4 * 7 + 20 * 12)
    assert IndexFile(buffer, 7, 12).put("a", 0, 1)
    slot = 97 % 7
    assert buffer[40 + 4 * slot : 44 + 4 * slot] == b"\0\0\0\x01"
    assert sum(buffer[40:68]) == 1
