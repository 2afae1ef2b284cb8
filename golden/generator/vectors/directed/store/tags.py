"""Vectors of CQ-TAGS-1: the tags code of a message's tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import I32_MIN, Clause, key_of
from generator.vectors.building_store import tags_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]


def vectors() -> Iterator[Vector]:
    """The vectors."""
    clause = Clause("CQ-TAGS-1", "subscriptions to a tag miss its messages")
    yield clause("one-tag", "another hash than Java's", tags_code("TagA"), tags_code("TagB"))
    yield clause("absent", "a tags code for no tags", tags_code(None), tags_code(""))
    yield clause(
        "several-tags",
        "the tags taken apart: the code is that of the whole text",
        tags_code("TagA || TagB"),
        tags_code("TagA||TagB"),
        tags_code("TagA"),
    )
    yield clause("spaces-count", "spaces cut off", tags_code("TagA "), tags_code(" TagA"), tags_code(" "))
    yield clause(
        "negative",
        "a code extended with zeros, or its absolute value",
        tags_code(key_of(-1)),
        tags_code(key_of(I32_MIN)),
        tags_code(key_of(-10_606_476)),
    )
    yield clause(
        "beyond-ascii",
        "a hash over bytes, or over characters instead of UTF-16 code units",
        tags_code("标签"),
        tags_code("é"),
        tags_code("\U0001f680"),
        tags_code("a\U0001f680b"),
    )
    yield clause(
        "lone-surrogates",
        "a lone surrogate replaced before it is hashed",
        tags_code("\ud800"),
        tags_code("a\udfffb"),
    )
    yield clause("collisions", "a hash that differs for Aa and BB", tags_code("Aa"), tags_code("BB"))
