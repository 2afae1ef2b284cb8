"""Vectors of CQ-PUT: which units a put writes, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import I32_MAX, I64_MAX, I64_MIN, Clause
from generator.vectors.building_store import (
    bounds,
    correct_min,
    get,
    open_queue,
    put_unit,
    queue_files,
    recover,
    truncate,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _built_before()
    yield from _written_before()
    yield from _gap()
    yield from _zero()
    yield from _rolling()
    yield from _pre_blank()
    yield from _end()
    yield from _negative()


def _built_before() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-1", "a restart queues messages twice, or loses the first new one")
    for slug, offset, size, bug in (
        ("same-again", 100, 100, "a message queued twice after a restart"),
        ("ends-at-the-maximum", 150, 50, "a message that ends at the maximum queued again: the test is <="),
        ("ends-behind-the-maximum", 150, 51, "a message dropped since it begins before the maximum"),
        ("ends-before-the-maximum", 0, 199, "an older message queued again"),
        ("begins-at-the-maximum", 200, 1, "the next message dropped"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(),
            put_unit(0, 0, 100),
            put_unit(1, 100, 100),
            put_unit(2, offset, size),
            bounds(),
        )
    yield clause(
        "ends-at-minus-1",
        "a fresh queue whose maximum is not -1, or a file made by a put that writes nothing",
        open_queue(),
        put_unit(0, 0, -1),
        bounds(),
    )
    yield clause(
        "ends-at-0",
        "a fresh queue whose maximum is 0: the test lets an end of 0 through",
        open_queue(),
        put_unit(0, 0, 0),
        bounds(),
    )
    yield clause(
        "sum-wraps",
        "a sum that widens: past the largest i64 it is negative, and the put is dropped",
        open_queue(),
        put_unit(0, I64_MAX, 1),
        bounds(),
        put_unit(0, I64_MAX - 1, 1),
        bounds(),
    )
    yield clause(
        "checked-before-the-place",
        "the place checked first: nothing is made for a message that was built before",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        put_unit(3, 250, 50),
        bounds(),
    )


def _written_before() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-2", "one logical offset is given to two messages")
    for slug, cq_offset, bug in (
        ("one-before", 2, "a unit written again after the others"),
        ("at-the-end", 3, "the next unit dropped"),
        ("first-but-one", 1, "a unit overwritten"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(),
            *(put_unit(number, 100 * number) for number in range(3)),
            put_unit(cq_offset, 1000),
            bounds(),
            put_unit(3, 1000),
            bounds(),
        )
    yield clause(
        "new-file-stays",
        "the file that the put made for itself removed again: it stays, empty",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        put_unit(1, 1000),
        bounds(),
        put_unit(3, 2000),
        bounds(),
    )
    yield clause(
        "after-load",
        "positions of a loaded, not recovered queue read out of its units",
        open_queue(load=True),
        put_unit(2, 1000),
        bounds(),
        put_unit(5, 1000),
        bounds(),
        files=queue_files([unit(100), unit(200)]),
    )


def _gap() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-3", "the queue's later messages are at other offsets than the broker gave them")
    yield clause(
        "one-ahead",
        "a gap filled, or left: the unit is appended at the write position",
        open_queue(),
        put_unit(0, 0),
        put_unit(2, 100),
        put_unit(3, 200),
        bounds(),
        *(get(number) for number in range(4)),
    )
    yield clause(
        "far-ahead",
        "files made for a gap",
        open_queue(60),
        put_unit(0, 0),
        put_unit(100, 100),
        bounds(),
    )
    yield clause(
        "ahead-at-a-full-file",
        "the file chosen by the logical offset: the next one always adjoins",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        put_unit(100, 300),
        bounds(),
    )


def _zero() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-4", "an LMQ queue after a restart holds other units than 4.9.3's")
    yield clause(
        "appended",
        "a logical offset of 0 compared with the write position",
        open_queue(),
        put_unit(0, 0),
        put_unit(1, 100),
        put_unit(0, 200),
        bounds(),
        get(2),
    )
    yield clause(
        "repeatedly",
        "a second message at 0 dropped",
        open_queue(60),
        *(put_unit(0, 100 * number) for number in range(5)),
        bounds(),
    )
    yield clause(
        "one-is-compared",
        "a logical offset of 1 treated as 0",
        open_queue(),
        put_unit(0, 0),
        put_unit(1, 100),
        put_unit(1, 200),
        bounds(),
    )


def _rolling() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-5", "a queue has a hole, or units of two files in one")
    yield clause(
        "rolls",
        "a file that is left one unit early, or one late",
        open_queue(60),
        *(put_unit(number, 100 * number, 100, number) for number in range(7)),
        bounds(),
    )
    yield clause(
        "not-before-it-is-needed",
        "the next file made as soon as the last one is full",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        bounds(),
    )
    yield clause(
        "first-holds-the-offset",
        "a first file at 0 whatever the logical offset",
        open_queue(60),
        put_unit(7, 100),
        bounds(),
    )
    yield clause(
        "first-at-its-start",
        "the first file chosen one too early or too late",
        open_queue(60),
        put_unit(6, 100),
        put_unit(7, 200),
        bounds(),
    )
    yield clause(
        "adjoins-whatever-the-offset",
        "a later file made at the logical offset, with a hole before it",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        put_unit(10, 5000),
        bounds(),
    )
    yield clause(
        "after-load",
        "a new file where the loaded last one is not full after recovery",
        open_queue(load=True),
        recover(),
        put_unit(2, 300),
        bounds(),
        files=queue_files([unit(100), unit(200)]),
    )


def _pre_blank() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-6", "consumers begin at messages that never were")
    yield clause(
        "minimum-moves",
        "a minimum of 0 in a queue that begins later",
        open_queue(),
        put_unit(3, 100),
        bounds(),
        put_unit(4, 200),
        bounds(),
    )
    yield clause(
        "not-at-0",
        "the minimum of a queue that begins at 0 moved",
        open_queue(),
        put_unit(0, 100),
        bounds(),
    )
    yield clause(
        "not-in-a-later-file",
        "pre-blank units in front of every file",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        put_unit(5, 300),
        bounds(),
    )
    yield clause(
        "not-in-a-loaded-file",
        "pre-blank units in a file that was loaded: only one that this process made first has them",
        open_queue(load=True),
        truncate(150),
        put_unit(3, 300),
        bounds(),
        files=queue_files([unit(100), unit(200)]),
    )
    yield clause(
        "again-after-truncation",
        "a queue that was emptied begun as a new one at 0",
        open_queue(),
        put_unit(2, 100),
        truncate(0),
        put_unit(4, 300),
        bounds(),
    )
    yield clause(
        "empty-first-file-of-another-offset",
        "the bytes to fill reckoned from the file's name: they are 20 times the offset modulo the file's size",
        open_queue(60),
        put_unit(0, 0, 0),
        recover(),
        put_unit(7, 500),
        bounds(),
    )


def _end() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-7", "later messages are taken for repeated ones, and lost from the queue")
    yield clause(
        "not-the-maximum",
        "the greatest end kept instead of the last one",
        open_queue(),
        put_unit(0, 0, 100),
        put_unit(1, 500, 100),
        bounds(),
        correct_min(100),
        bounds(),
    )
    yield clause(
        "unchanged-by-a-skip",
        "the end moved by a put that wrote nothing",
        open_queue(),
        put_unit(0, 0, 100),
        put_unit(1, 100, 100),
        put_unit(1, 1000, 100),
        bounds(),
        put_unit(2, 200, 100),
        bounds(),
    )
    yield clause(
        "large",
        "an end of 32 bits",
        open_queue(),
        put_unit(0, I64_MAX - I32_MAX, I32_MAX),
        bounds(),
    )


def _negative() -> Iterator[Vector]:
    clause = Clause("CQ-PUT-8", "an implementation stops where 4.9.3 goes on")
    yield clause(
        "whole-files",
        "a negative logical offset refused: 4.9.3 makes the file -00000000000000000060",
        open_queue(60),
        put_unit(-3, 100),
        bounds(),
        put_unit(-2, 200),
        bounds(),
    )
    yield clause(
        "inside-a-file",
        "a negative place rounded down: the file is 0, and the unit is dropped",
        open_queue(),
        put_unit(-3, 100),
        bounds(),
        put_unit(0, 200),
        bounds(),
    )
    yield clause(
        "product-wraps",
        "a product that widens: 20 times 2^62 is 0 in 64 bits",
        open_queue(),
        put_unit(1 << 62, 100),
        bounds(),
    )
    yield clause(
        "smallest",
        "an error for the smallest logical offset, whose place is 0 in 64 bits",
        open_queue(),
        put_unit(I64_MIN, 100),
        bounds(),
    )
