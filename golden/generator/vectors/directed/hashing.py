"""Vectors of IDX-HASH: the key hash and the slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import (
    I32_MAX,
    I32_MIN,
    NOW,
    Clause,
    header,
    key_hash,
    key_of,
    open_file,
    put,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]

COLLIDING = ("AaTopic#Aa", "AaTopic#BB", "BBTopic#Aa", "BBTopic#BB")
OF_MIN_VALUE = ("polygenelubricants", "GydZG_", "DESIGNING WORKHOUSES")


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _hash()
    yield from _min_value()
    yield from _slot()


def _hash() -> Iterator[Vector]:
    clause = Clause("IDX-HASH-1", "every key so hashed is in a slot in which the broker does not look for it")
    yield clause(
        "empty",
        "a hash that starts from a constant, as FNV and djb2 do",
        key_hash(""),
    )
    yield clause(
        "one-unit",
        "a hash that multiplies after the last unit",
        *(key_hash(key) for key in ("a", "\0", "\x7f", "~")),
    )
    yield clause(
        "ascii",
        "a multiplier other than 31 or the wrong order of units",
        *(key_hash(key) for key in ("ab", "ba", "TopicTest#OrderID188", "T#7F0000010BB018B4AAC2")),
    )
    yield clause(
        "wraps",
        "arithmetic that saturates, widens or raises where 32 bits run over",
        key_hash("z" * 7),
        key_hash("A fairly long key, as trace identifiers are: " + "0123456789abcdef" * 8),
        key_hash("x" * 10_000),
    )
    yield clause(
        "negative-code",
        "the signed hash used as it is, or with its sign bit masked instead of its absolute value",
        *(key_hash(key) for key in COLLIDING),
        key_hash(key_of(-1)),
        key_hash(key_of(-I32_MAX)),
    )
    yield clause(
        "positive-and-negative-meet",
        "a hash that keeps h and -h apart, as a mask does",
        key_hash(key_of(123_456_789)),
        key_hash(key_of(-123_456_789)),
        open_file(),
        put(key_of(123_456_789), 100),
        put(key_of(-123_456_789), 200),
        select(key_of(123_456_789)),
        select(key_of(-123_456_789)),
    )
    yield clause(
        "latin-1",
        "units read as signed bytes, or UTF-8 bytes hashed instead of UTF-16 units",
        *(key_hash(key) for key in ("é", "ÿ", "T#straße", "T#naïve")),
    )
    yield clause(
        "cjk",
        "UTF-8 bytes hashed instead of UTF-16 units",
        *(key_hash(key) for key in ("订单", "订单主题#订单号12345", "注文#番号", "주문#번호")),
    )
    yield clause(
        "emoji",
        "code points hashed instead of UTF-16 units: a character beyond U+FFFF is two",
        *(
            key_hash(key)
            for key in (
                "😀",
                "T#😀",
                "T#\U0001f469\u200d\U0001f469\u200d\U0001f467",
                "\U0001d4b3#\U00020bb7",
                "\U0010ffff",
            )
        ),
    )
    yield clause(
        "emoji-put-and-select",
        "one hash at the put and another at the select where a key leaves the basic plane",
        open_file(),
        put("T#😀", 100),
        put("T#订单", 200),
        put("T#😀", 300),
        select("T#😀"),
        select("T#订单"),
        select("T#😁"),
    )
    yield clause(
        "lone-surrogates",
        "surrogates replaced or dropped when they stand alone or in the wrong order",
        *(
            key_hash(key)
            for key in ("\ud800", "\udc00", "T#\ud83d", "\udc00\ud800", "a\ud83db", "\ud800\ud800\udc00")
        ),
    )
    yield clause(
        "lone-surrogate-put",
        "a key with a lone surrogate stored under the hash of its replacement character",
        open_file(),
        put("T#\ud83d", 100),
        put("T#?", 200),
        put("T#\ufffd", 300),
        select("T#\ud83d"),
        select("T#?"),
        select("T#\ufffd"),
    )
    yield clause(
        "not-normalised",
        "a key normalised, trimmed or folded before it is hashed",
        *(
            key_hash(key)
            for key in ("\u00e9", "e\u0301", "T#K", "T#k", "T# k", "T#k ", "\ufeffk", "\ufb01", "fi")
        ),
    )
    yield clause(
        "control-characters",
        "a key cut at a NUL, as a C string is, or its line ends changed",
        *(key_hash(key) for key in ("a\0b", "\0\0", "a\r\nb", "a\nb", "\x01\x02", "\u2028")),
    )


def _min_value() -> Iterator[Vector]:
    clause = Clause(
        "IDX-HASH-2",
        "a negative slot position: a crash, or bytes of the header overwritten, by one unlucky key",
    )
    yield clause(
        "known-keys",
        "abs() of the smallest integer taken as positive 2^31 or left negative",
        *(key_hash(key) for key in OF_MIN_VALUE),
    )
    yield clause(
        "every-spelling",
        "a table of special keys instead of the rule",
        key_hash(key_of(I32_MIN)),
        key_hash("T#" + OF_MIN_VALUE[0]),
    )
    yield clause(
        "neighbours",
        "the rule applied to other hash codes than the smallest",
        *(key_hash(key_of(code)) for code in (I32_MIN + 1, I32_MAX, I32_MIN + 2, I32_MAX - 1, -1, 0, 1)),
    )
    yield clause(
        "put-goes-to-slot-0",
        "the key hash 0 computed but another one stored or used for the slot",
        open_file(),
        put(OF_MIN_VALUE[0], 100),
        put(key_of(I32_MIN + 1), 200),
        select(OF_MIN_VALUE[0]),
        select(key_of(I32_MAX)),
        header(),
    )
    yield clause(
        "shares-slot-and-hash-with-empty",
        "a key of hash code 0 kept apart from one of the smallest",
        open_file(),
        put("", 100),
        put(OF_MIN_VALUE[1], 200, NOW + 1000),
        select(""),
        select(OF_MIN_VALUE[2]),
        also=("IDX-SEL-9",),
    )


def _slot() -> Iterator[Vector]:
    clause = Clause("IDX-HASH-3", "the key is in a slot in which the broker does not look for it")
    yield clause(
        "small-hashes",
        "a slot computed by another modulus, such as S - 1 or the next power of two",
        open_file(),
        *(put(key_of(code), 100 * code) for code in (0, 1, 5, 6, 7, 8, 13, 14)),
        *(select(key_of(code)) for code in (0, 6, 7, 14, 20)),
    )
    yield clause(
        "largest-hash",
        "a modulus taken in floating point or of a sign-extended hash",
        open_file(5, 12),
        put(key_of(I32_MAX), 100),
        put(key_of(I32_MAX - 1), 200),
        put(key_of(I32_MAX - 2), 300),
        select(key_of(I32_MAX)),
        select(key_of(-I32_MAX)),
    )
    yield clause(
        "negative-code",
        "the modulus of the signed hash code: Python and Java disagree on it, and both are wrong here",
        open_file(),
        put(key_of(-1), 100),
        put(key_of(-8), 200),
        put(key_of(-13), 300),
        select(key_of(-1)),
        select(key_of(1)),
        select(key_of(8)),
    )
    yield clause(
        "one-slot",
        "a bit mask used for the modulus: with one slot every key shares it",
        open_file(1, 6),
        *(put(key_of(code), code) for code in (1, 2, 3)),
        select(key_of(1)),
        select(key_of(4)),
        header(),
    )
    yield clause(
        "power-of-two",
        "high bits folded into the hash, as java.util.HashMap does",
        open_file(8, 12),
        put(key_of(0x10000), 100),
        put(key_of(0x7FFF0000), 200),
        put(key_of(0x7FFF0007), 300),
        select(key_of(0x10000)),
        select(key_of(0x7FFF0007)),
    )
    yield clause(
        "more-slots-than-hash",
        "slots counted from 1, or from the end",
        open_file(1000, 4),
        put(key_of(999), 100),
        put(key_of(0), 200),
        put(key_of(1000), 300),
        select(key_of(999)),
        select(key_of(1000)),
    )
