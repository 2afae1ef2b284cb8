"""Vectors of IDX-HDR, IDX-SLOT, IDX-ENT, IDX-LOAD, IDX-FLUSH and IDX-FULL: header, slots and entries as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import (
    FILE,
    I32_MAX,
    I32_MIN,
    I64_MAX,
    I64_MIN,
    NOW,
    Clause,
    Entry,
    Header,
    close,
    flush,
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
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]

ODD = Header(0x0102030405060708, 0x1112131415161718, 0x2122232425262728, 0x3132333435363738, 0x41424344, 5)
"""Each byte another, so that a swapped or shifted field shows."""

NEGATIVE = Header(-1, I64_MIN, -2, I64_MIN + 1, -3, 5)


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _layout()
    yield from _begin()
    yield from _end()
    yield from _hash_slot_count()
    yield from _index_count()
    yield from _slot()
    yield from _entry()
    yield from _load()
    yield from _count_after_load()
    yield from _flush()
    yield from _full()


def _layout() -> Iterator[Vector]:
    clause = Clause("IDX-HDR-1", "every field of every file is read wrong, by the broker or from it")
    yield clause(
        "each-byte-another",
        "fields in another order, of another width, or little-endian, at a load",
        open_file(load=True),
        header(),
        files=image(ODD),
    )
    yield clause(
        "written-as-read",
        "fields in another order at a flush than at a load",
        open_file(load=True),
        close(),
        open_file(),
        close(),
        open_file(load=True),
        flush(),
        files=image(ODD),
    )
    yield clause(
        "one-put",
        "header fields in another order or width at a put",
        open_file(1, 4),
        put("a", 0x0102030405060708, 0x1112131415161718),
    )
    yield clause(
        "seeds",
        "offset and timestamp exchanged",
        open_file(phy_offset=0x0102030405060708, timestamp=0x1112131415161718),
    )


def _begin() -> Iterator[Vector]:
    clause = Clause(
        "IDX-HDR-2", "all times of the file are reckoned from a wrong begin: queries by time miss messages"
    )
    yield clause(
        "second-put-keeps-begin",
        "begin kept as the minimum",
        open_file(),
        put("a", 500, NOW),
        put("b", 100, NOW - 5000),
        header(),
    )
    yield clause(
        "first-put-over-seed",
        "the seed kept as begin",
        open_file(phy_offset=50, timestamp=NOW),
        put("a", 500, NOW + 2000),
        put("b", 600, NOW + 3000),
        header(),
    )
    yield clause(
        "first-put-before-seed",
        "begin set only where it is 0, or only where it grows",
        open_file(phy_offset=5000, timestamp=NOW),
        put("a", 10, NOW - 7000),
        header(),
    )
    yield clause(
        "zero-and-negative",
        "a begin of 0 taken for unset and set again by the next put",
        open_file(),
        put("a", 0, 0),
        put("b", 77, NOW),
        header(),
        close(),
        open_file(1, 4, file="20260101000000001"),
        put("a", -9, -8),
        put("b", 77, NOW),
        header(),
    )
    yield clause(
        "loaded-count-of-0",
        "begin taken from a file without entries",
        open_file(load=True),
        header(),
        put("a", 900, NOW),
        header(),
        files=image(Header(5000, 6000, 70, 80, 0, 0)),
    )
    yield clause(
        "loaded-count-of-1",
        "begin taken from a file without entries",
        open_file(load=True),
        put("a", 900, NOW),
        put("b", 901, NOW + 1000),
        header(),
        files=image(Header(5000, 6000, 70, 80, 0, 1)),
    )
    yield clause(
        "loaded-count-of-2",
        "begin set by the first put after each load",
        open_file(load=True),
        put("a", 900, NOW),
        header(),
        files=image(Header(5000, 6000, 70, 80, 1, 2)),
    )


def _end() -> Iterator[Vector]:
    clause = Clause("IDX-HDR-3", "the broker skips or repeats messages when it builds on the file's end")
    yield clause(
        "out-of-order",
        "end kept as the maximum",
        open_file(),
        put("a", 500, NOW + 9000),
        put("b", 900, NOW + 1000),
        put("c", 100, NOW + 3000),
        header(),
    )
    yield clause(
        "end-before-begin",
        "an end before the begin refused or repaired",
        open_file(),
        put("a", 500, NOW),
        put("b", 400, NOW - 60_000),
        header(),
    )
    yield clause(
        "extremes",
        "offsets or times held in 32 bits or in doubles",
        open_file(),
        put("a", I64_MAX, I64_MIN),
        put("b", I64_MIN, I64_MAX),
        put("c", (1 << 53) + 1, -((1 << 53) + 1)),
        header(),
    )
    yield clause(
        "refused-put",
        "end moved by a put that was refused",
        open_file(3, 3),
        put("a", 1, NOW),
        put("b", 2, NOW + 1000),
        put("c", 3, NOW + 2000),
        header(),
    )


def _hash_slot_count() -> Iterator[Vector]:
    clause = Clause(
        "IDX-HDR-4",
        "the broker's file and the copy differ in each header, and every comparison of them fails",
    )
    yield clause(
        "chain",
        "every put counted, as before 4.7.1",
        open_file(),
        *(put(in_slot(3, number), number) for number in range(4)),
        header(),
    )
    yield clause(
        "distinct-slots",
        "distinct keys counted instead of slots",
        open_file(),
        *(put(in_slot(slot, number), slot) for slot in (0, 3, 6) for number in (0, 1)),
        header(),
    )
    yield clause(
        "same-key",
        "distinct hashes counted instead of slots",
        open_file(),
        *(put("k", offset) for offset in (1, 2, 3)),
        header(),
    )
    yield clause(
        "slot-beyond-count",
        "only slots of value 0 counted: a slot beyond the count is taken as empty too",
        open_file(load=True),
        put(in_slot(1), 500, NOW + 1000),
        put(in_slot(2), 600, NOW + 1000),
        header(),
        files=image(Header(NOW, NOW, 1, 1, 1, 3), {1: 9, 2: -4}),
        also=("IDX-PUT-5",),
    )
    yield clause(
        "slot-equals-count",
        "a slot that equals the count counted as empty",
        open_file(load=True),
        put(in_slot(1), 500, NOW + 1000),
        header(),
        files=image(Header(NOW, NOW, 1, 1, 1, 3), {1: 3}),
    )
    yield clause(
        "loaded-negative",
        "the count made good at a load, or counted anew from the slots",
        open_file(load=True),
        put(in_slot(1), 500, NOW + 1000),
        header(),
        files=image(Header(NOW, NOW, 1, 1, -7, 3), {2: 1, 3: 2}),
    )
    yield clause(
        "wraps",
        "arithmetic that saturates or raises at 2^31 - 1",
        open_file(load=True),
        put(in_slot(1), 500, NOW + 1000),
        header(),
        files=image(Header(NOW, NOW, 1, 1, I32_MAX, 3)),
    )


def _index_count() -> Iterator[Vector]:
    clause = Clause("IDX-HDR-5", "entries are overwritten or skipped from the first put after a restart on")
    yield clause("fresh", "the count of 1 written when the file is made", open_file(), header())
    yield clause("fresh-flushed", "the count kept as the number of entries", open_file(), header(), flush())
    yield clause(
        "first-put",
        "the count kept as the number of entries",
        open_file(),
        put("a", 1),
        header(),
        put("b", 2),
        header(),
    )
    yield clause(
        "refused-put",
        "a refused put counted",
        open_file(3, 2),
        put("a", 1),
        put("b", 2),
        put("c", 3),
        header(),
    )
    yield clause(
        "beyond-one-byte",
        "a count of one or two bytes, or one written little-endian",
        open_file(3, 300),
        *(put(f"k{number % 5}", number, NOW + 100 * number) for number in range(280)),
        header(),
        select("k3", max_num=4),
    )


def _slot() -> Iterator[Vector]:
    clause = Clause("IDX-SLOT-1", "the chain is lost: none of the slot's keys is found")
    yield clause(
        "first-and-last",
        "slots counted from 1, or put after a gap",
        open_file(),
        put(in_slot(0), 100),
        put(in_slot(6), 200),
        select(in_slot(0)),
        select(in_slot(6)),
    )
    yield clause(
        "read",
        "slots read in another width or byte order",
        open_file(3, 600, load=True),
        select(key_of(301)),
        files=image(
            Header(NOW, NOW, 1, 1, 1, 0x0203),
            {1: 0x0102},
            {0x0102: Entry(301, 4711, 0, 0)},
            geometry=(3, 600),
        ),
    )
    yield clause(
        "written",
        "slots written in another width or byte order",
        open_file(3, 600, load=True),
        put(key_of(301), 4711, NOW),
        files=image(Header(NOW, NOW, 1, 1, 1, 0x0102), geometry=(3, 600)),
    )


def _entry() -> Iterator[Vector]:
    clause = Clause("IDX-ENT-1", "every entry is read at the wrong place, or as other fields")
    yield clause(
        "each-byte-another",
        "fields in another order, of another width, or little-endian",
        open_file(3, 5, timestamp=NOW),
        put(key_of(0x01020304), 0x1112131415161718, NOW + 0x21222324 * 1000),
        put(key_of(0x01020304), 0x3132333435363738, NOW + 0x21222325 * 1000),
    )
    yield clause(
        "small-file",
        "a byte of a rolled file that is not as SPEC.md shows it",
        open_file(3, 5, phy_offset=500, timestamp=NOW),
        put("AaTopic#Aa", 600, NOW + 5999),
        put("AaTopic#BB", 700, NOW + 6999),
        put("T#d", 800, NOW + 9000),
        flush(),
        also=("IDX-PUT-8",),
    )
    yield clause(
        "entry-0-unused",
        "entries counted from 0",
        open_file(1, 3),
        put("a", -1, NOW),
        put("b", -1, NOW),
        put("c", -1, NOW),
    )
    yield clause(
        "read",
        "an entry's fields read in another order or byte order",
        open_file(load=True),
        select(key_of(0x01020304), NOW, NOW + 5_000_000),
        select(key_of(0x01020304), NOW + 5_000_001),
        files=image(
            Header(NOW, NOW, 1, 1, 1, 7),
            {0x01020304 % 7: 6},
            {6: Entry(0x01020304, 0x1112131415161718, 5000, 2), 2: Entry(0x01020304, -1, 5000, 0)},
        ),
    )
    yield clause(
        "negative-offset",
        "an offset held without its sign, or one below 0 refused",
        open_file(),
        put("a", -1),
        put("a", I64_MIN, NOW + 1),
        select("a"),
    )


def _load() -> Iterator[Vector]:
    clause = Clause("IDX-LOAD-1", "a restarted broker goes on from another state than it stopped in")
    yield clause(
        "six-fields",
        "a field left out at the load, or checked against the others",
        open_file(load=True),
        header(),
        full(),
        files=image(ODD),
    )
    yield clause(
        "negative-fields",
        "negative fields made good",
        open_file(load=True),
        header(),
        flush(),
        files=image(NEGATIVE),
    )
    yield clause(
        "reopen",
        "the header rebuilt from the entries",
        open_file(),
        put("a", 100, NOW),
        put("b", 50, NOW - 1000),
        close(),
        open_file(load=True),
        header(),
        select("a"),
        put("a", 300, NOW + 5000),
        select("a"),
        header(),
    )
    yield clause(
        "count-beyond-file",
        "a count beyond the file refused or cut: the file is full, and is read",
        open_file(load=True),
        header(),
        full(),
        put("k", 1),
        select(key_of(7002)),
        files=image(Header(NOW, NOW, 1, 1, 1, 500), {2: 3}, {3: Entry(7002, 300)}),
    )
    yield clause(
        "slots-not-read",
        "slots checked or repaired at the load",
        open_file(load=True),
        files=image(Header(NOW, NOW, 1, 1, 1, 3), {0: -1, 1: 99, 2: I32_MIN}, {1: Entry(-5, -5, -5, -5)}),
    )
    yield clause(
        "fresh-file",
        "a missing file refused at the load",
        open_file(load=True),
        header(),
    )


def _count_after_load() -> Iterator[Vector]:
    clause = Clause("IDX-LOAD-2", "the next put writes entry 0, or outside the file")
    yield clause(
        "zero",
        "a count of 0 kept",
        open_file(load=True),
        header(),
        put("a", 100),
        header(),
        files={FILE: b""},
    )
    yield clause(
        "negative",
        "only a count of 0 made 1",
        open_file(load=True),
        header(),
        put("a", 100, NOW + 1000),
        files=image(Header(NOW, NOW, 1, 1, 3, -1)),
    )
    yield clause(
        "smallest",
        "the absolute value of the count taken",
        open_file(load=True),
        header(),
        files=image(Header(NOW, NOW, 1, 1, 3, I32_MIN)),
    )
    yield clause(
        "one-and-two",
        "counts of 1 or 2 changed too",
        open_file(load=True),
        header(),
        close(),
        open_file(load=True, file="20260101000000001"),
        header(),
        files={**image(Header(index_count=1)), "20260101000000001": image(Header(index_count=2))[FILE]},
    )
    yield clause(
        "file-keeps-its-bytes",
        "the corrected count written to the file at the load",
        open_file(load=True),
        select("k"),
        full(),
        files=image(Header(NOW, NOW, 1, 1, 3, -1)),
    )


def _flush() -> Iterator[Vector]:
    clause = Clause(
        "IDX-FLUSH-1",
        "the header on disk is not the one the broker knows: a restart goes on from an older one",
    )
    yield clause("fresh", "a flush that writes only what a put has changed", open_file(), flush())
    yield clause(
        "after-load",
        "a flush that leaves out a count corrected at the load",
        open_file(load=True),
        flush(),
        files=image(Header(1, 2, 3, 4, 5, -6)),
    )
    yield clause(
        "without-load",
        "a flush that merges the header in memory with the file's",
        open_file(timestamp=NOW),
        flush(),
        files=image(ODD),
    )
    yield clause(
        "close-does-not-flush",
        "a close that flushes: 4.9.3 has none, the header in memory is lost",
        open_file(),
        close(),
        open_file(load=True),
        header(),
        close(),
        files=image(Header(index_count=-3)),
    )
    yield clause(
        "put-needs-no-flush",
        "puts held back until a flush",
        open_file(),
        put("a", 100),
        put("b", 200, NOW + 1000),
    )
    yield clause(
        "twice",
        "a flush that counts or moves something",
        open_file(),
        put("a", 100),
        flush(),
        put("a", 200, NOW + 1000),
        flush(),
        flush(),
        header(),
    )


def _full() -> Iterator[Vector]:
    clause = Clause("IDX-FULL-1", "the broker rolls too early, or puts into a full file for ever")
    yield clause(
        "at-the-edge",
        "a limit that is off by one",
        open_file(3, 3),
        full(),
        put("a", 1),
        full(),
        put("b", 2),
        full(),
    )
    yield clause(
        "one-entry",
        "a file of one entry taken to hold one",
        open_file(3, 1),
        full(),
        close(),
        open_file(3, 2, file="20260101000000001"),
        full(),
        put("a", 1),
        full(),
    )
    yield clause("no-entries", "a test for equality", open_file(3, 0), full())
    yield clause(
        "negative-entries",
        "a number of entries taken without its sign",
        open_file(20, -2),
        full(),
        put("a", 1),
    )
    yield clause(
        "loaded-counts",
        "a test for equality: counts beyond the file are full too",
        open_file(load=True),
        full(),
        close(),
        open_file(load=True, file="20260101000000001"),
        full(),
        close(),
        open_file(load=True, file="20260101000000002"),
        full(),
        files={
            **image(Header(index_count=11)),
            "20260101000000001": image(Header(index_count=12))[FILE],
            "20260101000000002": image(Header(index_count=13))[FILE],
        },
    )
