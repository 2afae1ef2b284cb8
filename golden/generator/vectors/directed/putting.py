"""Vectors of IDX-PUT-1 to IDX-PUT-8 and IDX-PUT-10: what a put writes."""

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
    full,
    header,
    image,
    in_slot,
    open_file,
    put,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _capacity()
    yield from _seconds()
    yield from _without_begin()
    yield from _limits()
    yield from _slot_value()
    yield from _entry()
    yield from _slot()
    yield from _rolled()
    yield from _zero_slots()


def _capacity() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-1",
        "an entry beyond the file's end, or a file rolled one entry early for the rest of its life",
    )
    yield clause(
        "fills-up",
        "a capacity of N instead of N - 1",
        open_file(3, 4),
        *(put(f"k{number}", 100 * number, NOW + 1000 * number) for number in range(5)),
        header(),
        full(),
    )
    yield clause(
        "full-writes-nothing",
        "a refused put that has written its slot or the end fields",
        open_file(3, 3),
        put(in_slot(1, slots=3), 100),
        put(in_slot(1, slots=3), 200, NOW + 1000),
        put(in_slot(2, slots=3), 300, NOW + 2000),
        put(in_slot(1, slots=3), 400, NOW + 3000),
        select(in_slot(1, slots=3)),
        select(in_slot(2, slots=3)),
    )
    yield clause(
        "one-entry", "one entry put into a file whose capacity is 0", open_file(3, 1), put("a", 1), header()
    )
    yield clause("no-entries", "a limit tested for equality", open_file(3, 0), put("a", 1), header())
    yield clause("two-entries", "a capacity of N - 2", open_file(3, 2), put("a", 1), put("b", 2), header())
    for count, slug, bug in (
        (11, "loaded-one-short", "a file one short of full refused"),
        (12, "loaded-full", "one put too many after a restart"),
        (13, "loaded-beyond-full", "a limit tested for equality: this put writes over what follows"),
    ):
        yield clause(
            slug,
            bug,
            open_file(load=True),
            put("a", 100, NOW + 1000),
            put("b", 200, NOW + 2000),
            header(),
            files=image(Header(NOW, NOW, 1, 1, 1, count)),
        )
    yield clause(
        "full-long-file",
        "an entry written beyond the mapped length of a longer file",
        open_file(load=True),
        put("a", 100, NOW + 1000),
        files={FILE: image(Header(NOW, NOW, 1, 1, 1, 12))[FILE] + b"\x55" * 60},
        also=("IDX-FILE-1",),
    )
    yield clause(
        "full-zero-slots",
        "a full file found out by the failing write instead of the count: without slots that is an error",
        open_file(0, 1),
        put("a", 1),
        close(),
        open_file(0, 4, file="20260101000000001", load=True),
        put("a", 1),
        files={"20260101000000001": image(Header(NOW, NOW, 1, 1, 0, 4), geometry=(0, 4))[FILE]},
        also=("IDX-PUT-10",),
    )
    yield clause(
        "full-count-wraps-into-file",
        "a limit tested for equality: the position of entry 214748366 wraps into the file",
        open_file(load=True),
        put("a", 100, NOW + 1000),
        header(),
        files=image(Header(NOW, NOW, 1, 1, 1, 214_748_366)),
        also=("IDX-FILE-3",),
    )


def _seconds() -> Iterator[Vector]:
    clause = Clause("IDX-PUT-2", "queries by time place the message seconds or decades off")
    yield clause(
        "truncated",
        "seconds rounded to the nearest, or milliseconds stored",
        open_file(),
        *(
            put("k", number, NOW + after)
            for number, after in enumerate((0, 1, 499, 500, 999, 1000, 1001, 1999, 2000))
        ),
    )
    yield clause(
        "begin-not-on-a-second",
        "the difference of the seconds instead of the seconds of the difference",
        open_file(),
        put("k", 1, NOW + 900),
        put("k", 2, NOW + 1100),
        put("k", 3, NOW + 1899),
        put("k", 4, NOW + 1900),
    )
    yield clause(
        "from-begin-not-last",
        "the time since the put before, instead of the first",
        open_file(),
        put("k", 1, NOW),
        put("k", 2, NOW + 5000),
        put("k", 3, NOW + 7000),
        put("k", 4, NOW + 6000),
    )
    yield clause(
        "wraps-up",
        "a subtraction that widens: from the smallest time the difference wraps to a large one",
        open_file(),
        put("k", 1, 1000),
        put("k", 2, I64_MIN),
        put("k", 3, I64_MIN + 999),
        put("k", 4, I64_MIN + 1000),
        put("k", 5, I64_MIN + 1001),
    )
    yield clause(
        "largest-begin",
        "a subtraction that widens",
        open_file(),
        put("k", 1, I64_MAX),
        put("k", 2, I64_MIN),
        put("k", 3, -1),
        put("k", 4, -2),
        put("k", 5, 0),
    )
    yield clause(
        "after-load",
        "the time since the file was opened",
        open_file(load=True),
        put("k", 900, NOW + 12_345),
        files=image(Header(NOW, NOW + 1, 1, 1, 1, 4)),
    )


def _without_begin() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-3", "the first entries of a file carry the seconds since 1970, and no window holds them"
    )
    yield clause("first-put", "the first entry's time since 1970", open_file(), put("k", 1, NOW))
    yield clause(
        "begin-0",
        "the time since a begin of 0",
        open_file(),
        put("k", 1, 0),
        put("k", 2, 5000),
        put("k", 3, NOW),
    )
    yield clause(
        "begin-negative",
        "the time since a negative begin",
        open_file(),
        put("k", 1, -1),
        put("k", 2, 5000),
        put("k", 3, -1_000_000),
    )
    yield clause(
        "begin-1",
        "a begin of 1 taken for none",
        open_file(),
        put("k", 1, 1),
        put("k", 2, 1000),
        put("k", 3, 1001),
        put("k", 4, 5001),
    )
    yield clause(
        "loaded-begin-negative",
        "a begin of the smallest value subtracted",
        open_file(load=True),
        put("k", 1, NOW),
        put("k", 2, -5),
        files=image(Header(I64_MIN, 0, 1, 1, 1, 3)),
    )


def _limits() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-4", "a time diff that wraps is negative, and ends the search through its whole chain"
    )
    edge = 1000 * I32_MAX
    yield clause(
        "upper-edge",
        "a time diff cut to 32 bits",
        open_file(),
        put("k", 1, 1),
        put("k", 2, 1 + edge - 1),
        put("k", 3, 1 + edge),
        put("k", 4, 1 + edge + 999),
        put("k", 5, 1 + edge + 1000),
        put("k", 6, I64_MAX),
    )
    yield clause(
        "negative",
        "a negative time diff stored: the search ends at it",
        open_file(),
        put("k", 1, NOW),
        put("k", 2, NOW - 1),
        put("k", 3, NOW - 1000),
        put("k", 4, NOW - 1_000_000),
        put("k", 5, 0),
        select("k"),
    )
    yield clause(
        "wraps-to-negative",
        "the low 32 bits of the seconds stored, which look small again",
        open_file(),
        put("k", 1, 1),
        put("k", 2, 1 + 1000 * (1 << 32)),
        put("k", 3, 1 + 1000 * (1 << 31)),
    )
    yield clause(
        "decades",
        "a limit lower than 68 years",
        open_file(),
        put("k", 1, NOW - 50 * 365 * 86_400_000),
        put("k", 2, NOW),
        select("k"),
    )


def _slot_value() -> Iterator[Vector]:
    clause = Clause("IDX-PUT-5", "the new entry leads into a foreign chain, or cuts off its own")
    head = Header(NOW, NOW, 1, 1, 1, 4)
    entries = {number: Entry(7000 + number, 100 * number) for number in (1, 2, 3)}
    for slug, value, bug in (
        ("slot-0", 0, "an empty slot followed to entry 0"),
        ("slot-1", 1, "the first entry taken for none"),
        ("slot-below-count", 3, "a good slot dropped"),
        (
            "slot-equals-count",
            4,
            "a test for >= instead of >: the value is kept, and the entry precedes itself",
        ),
        ("slot-above-count", 5, "a slot beyond the count followed"),
        ("slot-negative", -1, "a negative slot followed"),
        ("slot-smallest", I32_MIN, "a negative slot's absolute value taken"),
        ("slot-largest", I32_MAX, "a slot beyond the file followed"),
    ):
        yield clause(
            slug,
            bug,
            open_file(load=True),
            put(in_slot(2), 400, NOW + 1000),
            header(),
            select(in_slot(2)),
            files=image(head, {2: value}, entries),
        )
    yield clause(
        "fresh-slot-1",
        "a slot of a file without entries dropped: 1 is its count",
        open_file(),
        put(in_slot(2), 400),
        header(),
        select(in_slot(2)),
        files=image(None, {2: 1}),
    )
    yield clause(
        "fresh-slot-2",
        "a slot of a file without entries kept",
        open_file(),
        put(in_slot(2), 400),
        header(),
        files=image(None, {2: 2}),
    )


def _entry() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-6", "the entry is found under another key, leads to another message, or breaks the chain"
    )
    yield clause(
        "chain",
        "the previous entry's number taken for the one of the put before",
        open_file(),
        put(in_slot(1), 100),
        put(in_slot(2), 200),
        put(in_slot(1), 300),
        put(in_slot(2), 400),
        put(in_slot(1, 1), 500),
    )
    yield clause(
        "previous-of-slot-not-of-key",
        "chains kept by key: the previous entry is the slot's",
        open_file(),
        put(in_slot(1, 0), 100),
        put(in_slot(1, 1), 200),
        put(in_slot(1, 0), 300),
        select(in_slot(1, 0)),
        select(in_slot(1, 1)),
    )
    yield clause(
        "repeated",
        "an entry that already exists put only once",
        open_file(),
        put("k", 100, NOW),
        put("k", 100, NOW),
        put("k", 100, NOW),
        select("k"),
    )
    yield clause(
        "appended-after-load",
        "the entry put at the first free place instead of at the count",
        open_file(load=True),
        put(in_slot(2), 400, NOW + 1000),
        select(in_slot(2)),
        files=image(Header(NOW, NOW, 1, 1, 1, 7), {2: 3}, {3: Entry(7002, 300), 9: Entry(1, 1, 1, 1)}),
    )
    yield clause(
        "old-bytes-overwritten",
        "fields of an older entry left where the new one has zeros",
        open_file(load=True),
        put(in_slot(2), 0, NOW),
        files=image(Header(NOW, NOW, 1, 1, 1, 3), None, {3: Entry(-1, -1, -1, -1), 4: Entry(-1, -1, -1, -1)}),
    )
    yield clause(
        "offset-as-given",
        "offsets sorted, checked against the file's end, or made non-negative",
        open_file(),
        *(put(f"k{number}", offset) for number, offset in enumerate((500, 0, -1, I64_MAX, I64_MIN, 500))),
    )


def _slot() -> Iterator[Vector]:
    clause = Clause("IDX-PUT-7", "the newest message of the key is never found")
    yield clause(
        "newest-heads-the-chain",
        "the entry put at the chain's end",
        open_file(),
        put("k", 100),
        put("k", 200),
        put("k", 300),
        select("k", max_num=1),
    )
    yield clause(
        "shared-slot",
        "a slot that keeps the first key's entry",
        open_file(),
        put(in_slot(5, 0), 100),
        put(in_slot(5, 1), 200),
        put(in_slot(5, 2), 300),
        *(select(in_slot(5, number)) for number in (0, 1, 2)),
    )
    yield clause(
        "other-slots-kept",
        "a write wider than the slot",
        open_file(load=True),
        put(in_slot(3), 500, NOW + 1000),
        files=image(Header(NOW, NOW, 1, 1, 1, 9), {slot: 0x01010101 * (slot + 1) for slot in range(7)}),
    )


def _rolled() -> Iterator[Vector]:
    clause = Clause("IDX-PUT-8", "the first message of every rolled file has another time than in the broker")
    yield clause(
        "against-the-seed",
        "the first put's time diff taken as 0",
        open_file(phy_offset=50, timestamp=NOW),
        put("k", 100, NOW + 5999),
        header(),
        select("k", NOW + 5999, NOW + 5999),
        select("k", NOW + 10_999, NOW + 10_999),
    )
    yield clause(
        "second-put-against-begin",
        "later puts reckoned from the seed",
        open_file(timestamp=NOW),
        put("k", 100, NOW + 60_000),
        put("k", 200, NOW + 61_000),
        select("k", NOW + 60_000, NOW + 61_000),
        select("k"),
    )
    yield clause(
        "before-the-seed",
        "a negative time diff stored in a rolled file",
        open_file(timestamp=NOW),
        put("k", 100, NOW - 5000),
        select("k"),
    )
    yield clause(
        "offset-seed-only",
        "a time diff reckoned without a seed",
        open_file(phy_offset=50),
        put("k", 100, NOW),
    )
    yield clause(
        "far-from-the-seed",
        "the first entry's time diff cut to 32 bits",
        open_file(timestamp=1),
        put("k", 100, I64_MAX),
        header(),
    )
    yield clause(
        "loaded-without-entries",
        "a begin without entries taken for none: it is the seed",
        open_file(load=True),
        put("k", 100, NOW + 7000),
        select("k"),
        files=image(Header(NOW, NOW, 1, 1, 0, 1)),
    )


def _zero_slots() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-10", "a misconfiguration that 4.9.3 reports goes on in silence, and nothing is indexed"
    )
    yield clause(
        "division-by-zero",
        "a put without slots that returns false, or writes",
        open_file(0, 5),
        put("a", 1),
        header(),
        put("", 1),
    )
    yield clause(
        "full-comes-first",
        "the slot computed before the file is known to be full",
        open_file(0, 1),
        put("a", 1),
        close(),
        open_file(0, 0, file="20260101000000001"),
        put("a", 1),
        full(),
    )
    yield clause(
        "loaded",
        "an error that only a file without entries reports",
        open_file(0, 5, load=True),
        put("a", 1),
        header(),
        files=image(Header(NOW, NOW, 1, 1, 0, 4), geometry=(0, 5)),
    )
