"""Vectors of IDX-SEL: what a select finds, in healthy files and in damaged ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from generator.vectors.building import (
    I32_MAX,
    I32_MIN,
    I64_MAX,
    I64_MIN,
    NOW,
    Clause,
    Entry,
    Header,
    close,
    full,
    header,
    image,
    in_slot,
    key_of,
    open_file,
    put,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from generator.vectors.building import Vector

__all__ = ["vectors"]

KEY: Final = key_of(9)
"""Slot 2 of 7."""

OTHER: Final = key_of(16)
"""Slot 2 too, of another hash."""

MISSING: Final = key_of(23)
"""Slot 2 too, never put."""

EVER: Final = (I64_MIN, I64_MAX)
"""The window that holds every time."""


def chain(
    entries: Mapping[int, tuple[int, int]],
    *,
    newest: int = 5,
    count: int = 6,
    begin: int = NOW,
    last: int = NOW,
    geometry: tuple[int, int] = (7, 12),
) -> dict[str, bytes]:
    """A file with one chain in slot 2: entries of `KEY` by number, each a time diff and a previous entry.

    Entry n has the physical offset 100 * n.
    """
    return image(
        Header(begin, last, 100, 500, 1, count),
        {2: newest},
        {number: Entry(9, 100 * number, diff, prev) for number, (diff, prev) in entries.items()},
        geometry=geometry,
    )


STRAIGHT: Final = {5: (50, 4), 4: (40, 3), 3: (30, 2), 2: (20, 1), 1: (0, 0)}
"""A healthy chain of five, one entry every ten seconds but the first."""


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _nothing()
    yield from _order()
    yield from _maximum()
    yield from _window()
    yield from _negative_time()
    yield from _chain_end()
    yield from _before_window()
    yield from _outside()
    yield from _collision()
    yield from _zero_slots()


def _nothing() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-1", "messages that were never sent under the key are shown, or the search runs into garbage"
    )
    yield clause(
        "fresh-file", "a search through a file without entries", open_file(), select("k"), select("", *EVER)
    )
    yield clause(
        "empty-slot",
        "an empty slot followed to entry 0",
        open_file(),
        put(in_slot(1), 100),
        select(in_slot(2)),
        select(in_slot(0), *EVER),
    )
    for value, slug, bug in (
        (-1, "slot-negative", "a negative slot followed, counted from the file's end"),
        (I32_MIN, "slot-smallest", "a negative slot's absolute value followed"),
        (7, "slot-above-count", "a slot beyond the count followed to a stale entry"),
        (I32_MAX, "slot-largest", "a slot beyond the file followed"),
        (5, "slot-below-count", "a good slot dropped"),
        (6, "slot-equals-count", "a test for >= instead of >: the entry with the count's number is read"),
    ):
        yield clause(
            slug,
            bug,
            open_file(load=True),
            select(KEY),
            select(KEY, initial=[7]),
            files=chain({**STRAIGHT, 6: (60, 5), 7: (70, 6)}, newest=value),
        )
    yield clause(
        "slot-equals-count-unwritten",
        "the entry with the count's number taken for none: its zeros are a hit of a key whose hash is 0",
        open_file(load=True),
        select("", *EVER),
        select("polygenelubricants", NOW, NOW),
        select("", NOW + 1),
        files=image(Header(NOW, NOW, 1, 1, 1, 4), {0: 4}),
    )
    yield clause(
        "count-1",
        "a file without entries searched because its slot says 1",
        open_file(load=True),
        select(KEY),
        files=chain({1: (0, 0)}, newest=1, count=1),
    )
    yield clause(
        "count-2",
        "a file of one entry taken for empty",
        open_file(load=True),
        select(KEY),
        files=chain({1: (0, 0)}, newest=1, count=2),
    )
    yield clause(
        "before-load",
        "the file's count used instead of the one in memory",
        open_file(),
        select(KEY),
        close(),
        open_file(load=True),
        select(KEY),
        files=chain(STRAIGHT),
    )


def _order() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-2", "the newest messages of a busy key are cut off by the maximum, or misses are reported"
    )
    yield clause(
        "newest-first",
        "hits in the order of their puts",
        open_file(),
        *(put("k", 100 * number, NOW + 1000 * number) for number in (1, 2, 3, 4)),
        select("k"),
    )
    yield clause(
        "order-of-puts-not-of-offsets",
        "hits sorted by offset or time",
        open_file(),
        *(
            put("k", offset, NOW + after)
            for offset, after in ((300, 0), (100, 9000), (400, 2000), (200, 5000))
        ),
        select("k"),
    )
    yield clause(
        "other-hashes-between",
        "a search that ends at the first other hash of the slot",
        open_file(),
        put(KEY, 100),
        put(OTHER, 200),
        put(OTHER, 300),
        put(KEY, 400),
        put(OTHER, 500),
        select(KEY),
        select(OTHER),
        select(MISSING),
    )
    yield clause(
        "repeats-kept",
        "equal offsets reported once",
        open_file(),
        put("k", 100),
        put("k", 100),
        put("k", 100, NOW + 1000),
        select("k"),
    )
    yield clause(
        "long-chain",
        "a limit on the length of a chain",
        open_file(1, 150),
        put(KEY, 1),
        *(put(OTHER, 10 + number) for number in range(140)),
        select(KEY),
        select(OTHER, max_num=3),
    )
    yield clause(
        "forward-and-back",
        "a search that expects previous entries to have lower numbers",
        open_file(load=True),
        select(KEY),
        files=chain({2: (0, 5), 5: (0, 1), 1: (0, 4), 4: (0, 0)}, newest=2),
    )
    yield clause(
        "select-writes-nothing",
        "a search that repairs what it meets",
        open_file(load=True),
        select(KEY, *EVER),
        header(),
        files=chain({5: (-5, 99), 4: (0, 4)}, newest=5),
    )


def _maximum() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-3",
        "more answers than asked for, or the oldest missing: the broker's limit is per query, not per file",
    )
    yield clause(
        "below-at-and-above",
        "a limit that is off by one",
        open_file(load=True),
        *(select(KEY, max_num=number) for number in (1, 4, 5, 6)),
        files=chain(STRAIGHT),
    )
    yield clause(
        "zero-and-negative",
        "a maximum of 0 or less taken for none",
        open_file(load=True),
        *(select(KEY, max_num=number) for number in (0, -1, I32_MIN)),
        files=chain(STRAIGHT),
    )
    yield clause(
        "initial-counts",
        "hits counted apart from what the list held",
        open_file(load=True),
        select(KEY, max_num=4, initial=[1, 2]),
        select(KEY, max_num=2, initial=[1, 2]),
        select(KEY, max_num=1, initial=[1, 2]),
        select(KEY, max_num=0, initial=[1]),
        select(KEY, initial=[]),
        files=chain(STRAIGHT),
    )
    yield clause(
        "initial-kept-in-place",
        "hits put before what the list held, or merged with it",
        open_file(load=True),
        select(KEY, initial=[I64_MAX, -1, 500, I64_MIN]),
        select(MISSING, initial=[5, 5]),
        files=chain(STRAIGHT),
    )
    yield clause(
        "misses-do-not-count",
        "entries read counted instead of hits",
        open_file(),
        put(KEY, 100),
        put(OTHER, 200),
        put(OTHER, 300),
        put(KEY, 400),
        select(KEY, max_num=2),
        select(KEY, NOW, NOW, max_num=1),
    )
    yield clause(
        "cycle-ends-at-the-maximum",
        "a damaged chain in a circle taken for endless, or each entry reported once",
        open_file(load=True),
        select(KEY, max_num=7),
        files=chain({5: (50, 3), 3: (30, 5)}),
        also=("IDX-SEL-6",),
    )


def _window() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-4", "messages at the edge of the window are missed or shown twice by queries that adjoin"
    )
    edges = (NOW + 19_999, NOW + 20_000, NOW + 20_001)
    yield clause(
        "begin-inclusive",
        "an exclusive begin",
        open_file(load=True),
        *(select(KEY, edge) for edge in edges),
        files=chain(STRAIGHT),
    )
    yield clause(
        "end-inclusive",
        "an exclusive end",
        open_file(load=True),
        *(select(KEY, NOW, edge) for edge in edges),
        files=chain(STRAIGHT),
    )
    yield clause(
        "one-millisecond",
        "windows compared in seconds",
        open_file(load=True),
        *(select(KEY, NOW + after, NOW + after) for after in (0, 1, 19_999, 20_000, 20_001, 50_000)),
        files=chain(STRAIGHT),
    )
    yield clause(
        "reversed",
        "the window's ends exchanged where they stand the wrong way round",
        open_file(load=True),
        select(KEY, NOW + 60_000, NOW),
        select(KEY, I64_MAX, I64_MIN),
        files=chain(STRAIGHT),
    )
    yield clause(
        "whole-seconds-of-the-entry",
        "the store timestamp itself compared: it is not in the file",
        open_file(),
        put("k", 100, NOW + 500),
        put("k", 200, NOW + 500 + 1999),
        select("k", NOW + 2000, NOW + 3000),
        select("k", NOW + 1500, NOW + 1500),
        select("k", NOW + 500, NOW + 500),
    )
    yield clause(
        "end-beyond-every-time",
        "a window's end added to, or held in 32 bits",
        open_file(load=True),
        select(KEY, *EVER),
        select(KEY, 0, 1 << 32),
        select(KEY, I64_MIN, NOW - 1),
        files=chain(STRAIGHT),
    )
    yield clause(
        "time-wraps",
        "a sum that widens: after the largest time the smallest follows",
        open_file(load=True),
        select(KEY, *EVER),
        select(KEY, 0, I64_MAX),
        select(KEY, I64_MIN, 0),
        files=chain({5: (2, 4), 4: (1, 3), 3: (0, 0)}, begin=I64_MAX - 1500),
    )
    yield clause(
        "largest-time-diff",
        "seconds multiplied in 32 bits",
        open_file(load=True),
        select(KEY, NOW + 1000 * I32_MAX, NOW + 1000 * I32_MAX),
        select(KEY, NOW, NOW + 1000 * I32_MAX - 1),
        files=chain({5: (I32_MAX, 4), 4: (I32_MAX // 1000 + 1, 0)}),
    )
    yield clause(
        "negative-begin",
        "times before 1970 refused",
        open_file(load=True),
        select(KEY, -5000, -5000),
        select(KEY, 0, 0),
        files=chain({5: (5, 4), 4: (0, 0)}, begin=-5000),
    )
    yield clause(
        "begin-of-the-first-put",
        "the begin of the old file used instead of the first put's",
        open_file(),
        put(KEY, 1, NOW + 90_000),
        put(KEY, 2, NOW + 90_000),
        select(KEY, NOW + 90_000, NOW + 90_000),
        select(KEY, NOW, NOW),
        files=chain(STRAIGHT),
    )
    yield clause(
        "begin-overwritten",
        "entry times kept from the put: they move with the header's begin",
        open_file(timestamp=NOW),
        put("k", 100, NOW + 30_000),
        select("k", NOW + 60_000, NOW + 60_000),
        select("k", NOW + 30_000, NOW + 30_000),
        also=("IDX-PUT-8",),
    )


def _negative_time() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-5",
        "the answer for a damaged file differs from the broker's: a support case goes the wrong way",
    )
    yield clause(
        "ends-the-walk",
        "the entry skipped and the walk gone on",
        open_file(load=True),
        select(KEY, *EVER),
        files=chain({**STRAIGHT, 3: (-1, 2)}),
    )
    yield clause(
        "first-entry",
        "the entry reported before its time is looked at",
        open_file(load=True),
        select(KEY, *EVER),
        select(KEY, *EVER, initial=[1]),
        files=chain({**STRAIGHT, 5: (I32_MIN, 4)}),
    )
    yield clause(
        "other-hash",
        "the time looked at only where the hash is equal",
        open_file(load=True),
        select(KEY, *EVER),
        files=image(
            Header(NOW, NOW, 100, 500, 1, 4),
            {2: 3},
            {3: Entry(9, 300, 3, 2), 2: Entry(16, 200, -2, 1), 1: Entry(9, 100, 0, 0)},
        ),
    )
    yield clause(
        "zero-goes-on",
        "a time diff of 0 taken for the end",
        open_file(load=True),
        select(KEY, *EVER),
        files=chain({5: (0, 4), 4: (0, 3), 3: (0, 0)}),
    )


def _chain_end() -> Iterator[Vector]:
    clause = Clause("IDX-SEL-6", "the search loops, or follows a damaged entry into foreign chains")
    for value, slug, bug in (
        (0, "previous-0", "entry 0 read"),
        (-1, "previous-negative", "a negative number followed, counted from the end"),
        (I32_MIN, "previous-smallest", "a negative number's absolute value followed"),
        (3, "previous-self", "an entry that precedes itself read for ever, or until the maximum"),
        (6, "previous-equals-count", "a test for >= instead of >: the entry with the count's number is read"),
        (7, "previous-above-count", "a previous entry beyond the count followed to a stale entry"),
        (I32_MAX, "previous-largest", "a previous entry beyond the file followed"),
        (1, "previous-skips", "a previous entry not followed because it is not the one before"),
    ):
        yield clause(
            slug,
            bug,
            open_file(load=True),
            select(KEY),
            select(MISSING),
            files=chain({**STRAIGHT, 3: (30, value), 6: (60, 1), 7: (70, 1)}),
        )
    yield clause(
        "self-at-the-head",
        "an entry that precedes itself reported more than once",
        open_file(load=True),
        select(KEY),
        select(MISSING),
        files=chain({5: (50, 5)}),
    )
    yield clause(
        "self-made-by-a-put",
        "an entry that precedes itself reported more than once",
        open_file(),
        put(KEY, 100),
        select(KEY),
        put(KEY, 200, NOW + 1000),
        select(KEY),
        files=image(None, {2: 1}),
        also=("IDX-PUT-5",),
    )


def _before_window() -> Iterator[Vector]:
    clause = Clause("IDX-SEL-7", "other answers than the broker's wherever times in a file are out of order")
    yield clause(
        "hides-older-hits",
        "a search that goes on past an entry before the window",
        open_file(load=True),
        select(KEY, NOW + 25_000),
        select(KEY, NOW + 10_000),
        files=chain({**STRAIGHT, 4: (15, 3), 2: (90, 1)}),
    )
    yield clause(
        "at-begin-goes-on",
        "a search that ends at the window's begin itself",
        open_file(load=True),
        select(KEY, NOW + 40_000),
        select(KEY, NOW + 40_001),
        files=chain({**STRAIGHT, 3: (60, 2)}),
    )
    yield clause(
        "other-hash-ends-too",
        "the time of an entry of another hash not looked at",
        open_file(),
        put(KEY, 100, NOW + 50_000),
        put(KEY, 200, NOW + 60_000),
        put(OTHER, 300, NOW + 50_000),
        put(KEY, 400, NOW + 70_000),
        select(KEY, NOW + 60_000),
        select(KEY, NOW + 50_000),
    )
    yield clause(
        "after-the-window-goes-on",
        "a search that ends at an entry after the window",
        open_file(load=True),
        select(KEY, NOW + 20_000, NOW + 20_000),
        select(KEY, NOW, NOW),
        files=chain(STRAIGHT),
    )
    yield clause(
        "first-entry-before-window",
        "the newest entry taken for the latest",
        open_file(),
        put(KEY, 100, NOW),
        put(KEY, 200, NOW + 90_000),
        put(KEY, 300, NOW + 1000),
        select(KEY, NOW + 60_000),
    )


def _outside() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-8", "a query dies on a damaged file, and takes the answers of the healthy ones with it"
    )
    yield clause(
        "previous-beyond-file",
        "an error instead of the hits found so far",
        open_file(load=True),
        select(KEY),
        select(KEY, initial=[1, 2]),
        files=chain({**STRAIGHT, 3: (30, 12)}, count=100),
    )
    yield clause(
        "head-beyond-file",
        "an error instead of an empty answer",
        open_file(load=True),
        select(KEY),
        select(KEY, initial=[1]),
        full(),
        files=chain(STRAIGHT, newest=12, count=100),
    )
    yield clause(
        "last-entry-of-the-file",
        "a bounds check that is off by one entry",
        open_file(load=True),
        select(KEY),
        files=chain({11: (30, 5), **STRAIGHT}, newest=11, count=100),
    )
    yield clause(
        "position-wraps-negative",
        "positions computed in 64 bits, or negative ones counted from the end",
        open_file(load=True),
        select(KEY),
        files=chain({**STRAIGHT, 4: (40, 107_374_184)}, count=I32_MAX),
    )
    yield clause(
        "slot-outside",
        "an error instead of an empty answer",
        open_file(1 << 30, 4),
        select(key_of(500_000_000)),
        select(key_of((1 << 30) - 11), initial=[3]),
        also=("IDX-FILE-3",),
    )
    yield clause(
        "long-file",
        "entries beyond the mapped length read, since the file holds them",
        open_file(7, 4, load=True),
        select(KEY),
        files=chain(STRAIGHT, geometry=(7, 12)),
        also=("IDX-FILE-1",),
    )


def _collision() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-9", "a tool that hides collisions cannot explain the wrong message that a user was shown"
    )
    yield clause(
        "topic-and-key-collide",
        "keys compared or remembered beside their hashes",
        open_file(),
        put("AaTopic#Aa", 100),
        put("AaTopic#BB", 200),
        put("BBTopic#Aa", 300),
        put("BBTopic#BB", 400),
        select("AaTopic#Aa"),
        select("BBTopic#BB", max_num=2),
    )
    yield clause(
        "opposite-codes-collide",
        "hash codes compared before their absolute value is taken",
        open_file(),
        put(key_of(-12_345), 100),
        put(key_of(12_345), 200),
        select(key_of(12_345)),
        select(key_of(-12_345)),
    )
    yield clause(
        "never-put",
        "a key that was never put answered with nothing",
        open_file(),
        put("T#Aa", 100),
        select("T#BB"),
        select("T#Bb"),
    )
    yield clause(
        "same-slot-is-no-hit",
        "all entries of the slot reported",
        open_file(1, 6),
        put(KEY, 100),
        put(OTHER, 200),
        select(KEY),
        select(MISSING),
    )


def _zero_slots() -> Iterator[Vector]:
    clause = Clause(
        "IDX-SEL-10", "a misconfiguration that 4.9.3 reports goes on in silence, and nothing is found"
    )
    yield clause(
        "empty-file",
        "an empty answer where 4.9.3 throws",
        open_file(0, 5),
        select("k"),
        select("", initial=[1]),
    )
    yield clause(
        "maximum-of-0",
        "the maximum looked at before the slot",
        open_file(0, 5, load=True),
        select("k", max_num=0),
        select("k"),
        header(),
        files=image(Header(NOW, NOW, 1, 1, 1, 2), None, {1: Entry(107, 100)}, geometry=(0, 5)),
    )
