"""Vectors of CQ-UNIT, CQ-FILE, CQ-LOAD, CQ-GET and CQ-BND: what a queue contains, and how it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import I64_MAX, I64_MIN, Clause
from generator.vectors.building_store import (
    PRE_BLANK,
    QUEUE,
    bounds,
    correct_min,
    get,
    open_queue,
    put_unit,
    queue_files,
    recover,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]

FIVE = [unit(100 * number) for number in range(5)]


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _units()
    yield from _files()
    yield from _load()
    yield from _get()
    yield from _bounds()


def _units() -> Iterator[Vector]:
    clause = Clause("CQ-UNIT-1", "consumers are sent other bytes than their messages")
    yield clause(
        "one-unit",
        "fields in another order or another byte order",
        open_queue(),
        put_unit(0, 0x0102030405060708, 0x11121314, 0x2122232425262728),
        get(0),
    )
    yield clause(
        "tags-code-64-bits",
        "a tags code cut to 32 bits, or made non-negative",
        open_queue(),
        put_unit(0, 0, 100, I64_MIN),
        put_unit(1, 100, 100, I64_MAX),
        put_unit(2, 200, 100, -1),
        *(get(number) for number in range(3)),
    )
    clause = Clause("CQ-UNIT-2", "consumers read places that no message was ever stored for")
    yield clause(
        "begins-at-2",
        "the places before the first unit left as zeros, which recovery takes for the queue's end",
        open_queue(),
        put_unit(2, 1000),
        bounds(),
    )
    yield clause(
        "begins-at-file-start",
        "a pre-blank unit if the first unit is the first of its file",
        open_queue(),
        put_unit(5, 1000),
        bounds(),
    )
    yield clause(
        "begins-at-8",
        "pre-blank units in files that a queue never had",
        open_queue(),
        put_unit(8, 1000),
        bounds(),
        *(get(number) for number in (4, 5, 7, 8, 9)),
    )
    clause = Clause("CQ-UNIT-3", "a restart cuts off messages, or reads bytes that are none")
    for slug, last, bug in (
        ("offset-0", unit(0, 1), "a physical offset of 0 taken for none"),
        ("offset-negative", unit(-1, 100), "a negative physical offset taken for a message"),
        ("size-1", unit(200, 1), "a size of 1 taken for none"),
        ("size-0", unit(200, 0), "a size of 0 taken for a message"),
        ("size-negative", unit(200, -1), "a size read as unsigned"),
        ("pre-blank", PRE_BLANK, "a pre-blank unit taken for the end"),
        ("tags-only", unit(0, 0, 5), "the end taken for 20 zeros"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(load=True),
            recover(),
            get(1),
            files=queue_files([unit(100), last, unit(300)]),
            also=("CQ-REC-2",),
        )


def _files() -> Iterator[Vector]:
    clause = Clause("CQ-FILE-1", "units span files, and no other broker can load the queue")
    for size, bug in (
        (100, "a file of whole units made longer"),
        (81, "a size rounded down"),
        (99, "a size rounded to the nearest"),
        (101, "a size kept though units span files"),
        (1, "an empty file: the size rounds up to one unit"),
    ):
        yield clause(
            f"size-{size}",
            bug,
            open_queue(size),
            *(put_unit(number, 100 * number) for number in range(6)),
            bounds(),
        )
    clause = Clause("CQ-FILE-2", "the files are found in the wrong order, or not at all")
    yield clause(
        "three-files",
        "files named by number or by logical offset",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(7)),
    )
    yield clause(
        "large-offset",
        "names of 32 bits",
        open_queue(60),
        put_unit(1 << 40, 100),
        bounds(),
    )
    yield clause(
        "largest-name",
        "positions cut to 63 bits less the unit's size",
        open_queue(60),
        put_unit((1 << 63) // 20 - 3, 100),
        bounds(),
    )
    clause = Clause("CQ-FILE-3", "the broker that starts on these files finds no queue")
    yield clause(
        "topic-and-number",
        "a topic that is escaped, or a number with leading zeros",
        open_queue(topic="%RETRY%group-1_a|b", queue_id=12),
        put_unit(0, 0),
    )
    yield clause(
        "queue-by-queue",
        "units of one queue in another's files",
        open_queue(topic="A"),
        put_unit(0, 0),
        open_queue(topic="A", queue_id=1),
        put_unit(0, 100),
        open_queue(topic="B"),
        put_unit(0, 200),
        bounds(),
    )
    clause = Clause("CQ-FILE-4", "consumers are sent their neighbours' messages")
    yield clause(
        "across-files",
        "a logical offset counted from the file's start",
        open_queue(60, load=True),
        *(get(number) for number in (0, 2, 3, 5, 6, 8, 9)),
        bounds(),
        files=queue_files(FIVE[:3], FIVE[:3], FIVE[:3], file_size=60),
    )
    yield clause(
        "begins-late",
        "a logical offset counted from the queue's first file",
        open_queue(60, load=True),
        *(get(number) for number in (0, 5, 6, 7, 8, 9)),
        files=queue_files([unit(500), unit(600), unit(700)], file_size=60, start=120),
    )


def _load() -> Iterator[Vector]:
    clause = Clause("CQ-LOAD-1", "a broker starts on damaged queues, or serves zeros as messages")
    yield clause(
        "positions-at-the-end",
        "a load that looks for the last unit: that is recovery's part",
        open_queue(load=True),
        bounds(),
        get(1),
        get(4),
        get(5),
        files=queue_files([unit(100), unit(200)]),
    )
    yield clause(
        "without-load",
        "files read that were not asked for",
        open_queue(),
        bounds(),
        get(0),
        files=queue_files([unit(100), unit(200)]),
    )
    yield clause("nothing-there", "a directory made by a load", open_queue(load=True), bounds())
    for slug, data, bug in (
        ("short", bytes(80), "a short file extended: it is refused"),
        ("long", bytes(120), "a longer file accepted"),
        ("empty", b"", "an empty file skipped"),
    ):
        yield clause(
            slug,
            bug,
            open_queue(load=True),
            bounds(),
            files=queue_files(FIVE) | {f"{QUEUE}/{100:020}": data},
        )
    yield clause(
        "first-file-later",
        "a queue refused whose first files have been deleted",
        open_queue(load=True),
        bounds(),
        get(0),
        get(5),
        files=queue_files(FIVE, start=100),
    )
    clause = Clause("CQ-LOAD-2", "an implementation starts where 4.9.3 does not, or the other way round")
    yield clause(
        "another-name",
        "a file skipped whose name is no number",
        open_queue(load=True),
        bounds(),
        files=queue_files(FIVE) | {f"{QUEUE}/0000000000000000x100": bytes(100)},
    )
    yield clause(
        "gap-between-files",
        "files refused that do not adjoin",
        open_queue(load=True),
        bounds(),
        *(get(number) for number in (4, 5, 9, 10)),
        files=queue_files(FIVE) | queue_files(FIVE, start=200),
    )


def _get() -> Iterator[Vector]:
    clause = Clause("CQ-GET-1", "consumers miss messages, or are sent bytes that were never written")
    yield clause(
        "edges",
        "one unit too many or too few at either end",
        open_queue(),
        *(put_unit(number, 100 * number) for number in range(3)),
        *(get(number) for number in (-1, 0, 2, 3, 5)),
    )
    yield clause(
        "below-minimum",
        "units below the minimum read: their messages are gone",
        open_queue(),
        *(put_unit(number, 100 * number) for number in range(4)),
        correct_min(150),
        *(get(number) for number in (1, 2)),
    )
    yield clause(
        "pre-blank-below-minimum",
        "a pre-blank unit read as a message by the process that wrote it",
        open_queue(),
        put_unit(2, 1000),
        get(1),
        get(2),
    )
    yield clause(
        "pre-blank-after-load",
        "a pre-blank unit held back after a restart, where the minimum begins at 0 again",
        open_queue(load=True),
        get(0),
        get(2),
        files=queue_files([PRE_BLANK, PRE_BLANK, unit(1000)]),
    )
    yield clause(
        "name-no-multiple-of-the-length",
        "a place counted from the file's name: it is the remainder by the length",
        open_queue(60, load=True),
        *(get(number) for number in (4, 5, 6, 7, 8)),
        files=queue_files([unit(500), unit(600), unit(700)], file_size=60, start=100),
    )
    yield clause("no-file", "an error where there is no file", open_queue(), get(0), get(7))


def _bounds() -> Iterator[Vector]:
    clause = Clause("CQ-BND-1", "consumers are given offsets that hold no message")
    yield clause("fresh", "the least and the greatest offset of an empty queue", open_queue(), bounds())
    yield clause(
        "after-puts",
        "a maximum that counts the last unit's number instead of its end",
        open_queue(),
        put_unit(0, 0, 100),
        bounds(),
        put_unit(1, 100, 50),
        bounds(),
    )
    yield clause(
        "second-file",
        "a maximum that forgets the file's name",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(4)),
        bounds(),
    )
    yield clause(
        "full-file",
        "a maximum of 0 in a new file before there is one",
        open_queue(60),
        *(put_unit(number, 100 * number) for number in range(3)),
        bounds(),
    )
    yield clause(
        "first-file-later",
        "a minimum taken from the first file's name: it is 0 until something moves it",
        open_queue(load=True),
        bounds(),
        files=queue_files([unit(500), unit(600)], start=300),
    )
