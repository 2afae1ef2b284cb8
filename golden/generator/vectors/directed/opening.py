"""Vectors of IDX-FILE: names, sizes, seeds, opening a file that exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from generator.vectors.building import (
    FILE,
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
    time_matched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]

HEAD = Header(NOW, NOW + 5000, 100, 300, 2, 4)
"""Of `HEALTHY`."""

HEALTHY = image(
    HEAD,
    {1: 3, 2: 2},
    {
        1: Entry(7001, 100),
        2: Entry(7002, 200, 2),
        3: Entry(7008, 300, 5, 1),
    },
)
"""Three entries, two slots; 7001 and 7008 share slot 1."""


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _size()
    yield from _seeds()
    yield from _name()
    yield from _without_load()


def _size() -> Iterator[Vector]:
    clause = Clause(
        "IDX-FILE-1", "a broker that opens the file finds other bytes, or another length, than it left"
    )
    yield clause("fresh", "a size that forgets entry 0, or a file not filled with zeros", open_file())
    yield clause("fresh-odd-geometry", "sizes rounded up, to pages or to powers of two", open_file(13, 3))
    yield clause("one-slot-one-entry", "the smallest geometry refused", open_file(1, 1), header(), full())
    yield clause(
        "no-entries", "a geometry without entries refused", open_file(3, 0), header(), full(), put("k", 1)
    )
    yield clause(
        "empty-file-extended",
        "an existing file of length 0 taken for damage",
        open_file(load=True),
        put("k", 100),
        files={FILE: b""},
    )
    yield clause(
        "short-file-extended",
        "a file cut off within its entries refused, or cleared instead of extended",
        open_file(load=True),
        header(),
        select(key_of(7008)),
        select(key_of(7002)),
        files={FILE: HEALTHY[FILE][:130]},
    )
    yield clause(
        "cut-within-header",
        "a file cut off within its header refused: what is left of it is read, zeros after it",
        open_file(load=True),
        header(),
        put("k", 900, NOW + 9000),
        files={FILE: HEALTHY[FILE][:20]},
    )
    yield clause(
        "long-file-kept",
        "a longer file cut to size: bytes of another geometry are lost",
        open_file(load=True),
        put("k", 900, NOW + 9000),
        files={FILE: HEALTHY[FILE] + bytes(range(50))},
    )
    yield clause(
        "bytes-kept-at-open",
        "an existing file cleared when it is opened",
        open_file(),
        files=HEALTHY,
    )
    yield clause(
        "folder-made",
        "a missing folder not made",
        open_file(file=f"index/{FILE}"),
        put("k", 100),
        flush(),
    )
    yield clause(
        "two-files",
        "state of one file carried into the next one opened",
        open_file(),
        put("k", 100),
        close(),
        open_file(3, 5, file="20260101000000001"),
        header(),
        put("k", 200, NOW + 1000),
        select("k"),
        close(),
        open_file(load=True),
        select("k"),
    )


def _seeds() -> Iterator[Vector]:
    clause = Clause(
        "IDX-FILE-2",
        "the files of one broker no longer meet: queries by time skip the first message after a roll",
    )
    yield clause(
        "both",
        "a seed written to the end fields alone: a rolled file begins where the last one ended",
        open_file(phy_offset=12_345, timestamp=NOW),
        header(),
        full(),
        time_matched(NOW, NOW),
    )
    yield clause("offset-only", "both seeds applied or neither", open_file(phy_offset=12_345), header())
    yield clause("timestamp-only", "both seeds applied or neither", open_file(timestamp=NOW), header())
    yield clause("one", "a limit of > 1, or a test on bytes", open_file(phy_offset=1, timestamp=1), header())
    yield clause(
        "negative",
        "a test for != 0 instead of > 0",
        open_file(phy_offset=-1, timestamp=I64_MIN),
        header(),
    )
    yield clause(
        "largest",
        "seeds held in 32 bits",
        open_file(phy_offset=I64_MAX, timestamp=I64_MAX),
        header(),
    )
    yield clause(
        "before-load",
        "seeds applied after the load, or not written to the file before it",
        open_file(phy_offset=77, timestamp=NOW + 60_000, load=True),
        header(),
        select(key_of(7002)),
        files=HEALTHY,
    )
    yield clause(
        "offset-before-load",
        "the other seed's fields cleared in an existing file",
        open_file(phy_offset=77, load=True),
        header(),
        files=HEALTHY,
    )
    yield clause(
        "zero-leaves-file",
        "a seed of 0 written",
        open_file(phy_offset=0, timestamp=-5, load=True),
        header(),
        files=HEALTHY,
    )
    yield clause(
        "over-existing-file",
        "a seed kept in memory until the next flush",
        open_file(phy_offset=77, timestamp=NOW + 60_000),
        header(),
        files=HEALTHY,
    )


def _name() -> Iterator[Vector]:
    clause = Clause("IDX-FILE-4", "a stray file in the folder is opened as an index, or a good one is not")
    refused = {
        "letters": "abc",
        "letters-behind": "20260101000000000.tmp",
        "hexadecimal": "0x10",
        "type-suffix": "12L",
        "underscore": "2026_0101",
        "fraction": "1.5",
        "exponent": "1e5",
        "two-signs": "--5",
        "sign-alone": "-",
        "too-large": "9223372036854775808",
        "too-small": "-9223372036854775809",
    }
    bugs = {
        "letters": "any name accepted",
        "letters-behind": "leading digits parsed and the rest ignored, as strtol does",
        "hexadecimal": "a parser that takes prefixes of bases",
        "type-suffix": "a parser of literals instead of numbers",
        "underscore": "Python's int(), which takes underscores between digits",
        "fraction": "a parser of decimals",
        "exponent": "a parser of decimals",
        "two-signs": "a sign skipped without looking at the next character",
        "sign-alone": "an empty number read as 0",
        "too-large": "a number of unlimited size, or one that wraps",
        "too-small": "a number of unlimited size, or one that wraps",
    }
    for slug, name in refused.items():
        yield clause(slug, bugs[slug], open_file(file=name), header(), put("k", 1))
    yield clause(
        "folder-not-made",
        "the folder made before the name is looked at",
        open_file(file="index/abc"),
        open_file(file=f"other/{FILE}"),
    )
    accepted = {
        "largest": ("9223372036854775807", "a name held in a double"),
        "smallest": ("-9223372036854775808", "the sign parsed apart from the digits, which overflows"),
        "plus-sign": ("+5", "a test for digits only"),
        "negative": ("-5", "a test for digits only"),
        "leading-zeros": ("00000000000000000000000000017", "a limit on the length of the name"),
        "short": ("7", "a test for 17 digits"),
    }
    for slug, (name, bug) in accepted.items():
        yield clause(slug, bug, open_file(file=name), put("k", 100), header())


def _without_load() -> Iterator[Vector]:
    clause = Clause(
        "IDX-FILE-5",
        "a caller that opens first and loads later, as the broker does, sees a header it has not read",
    )
    yield clause(
        "fresh-header",
        "the header read at open",
        open_file(),
        header(),
        select(key_of(7002)),
        time_matched(NOW, NOW + 1000),
        files=HEALTHY,
    )
    yield clause(
        "put-overwrites-entry-1",
        "the put appended after the old entries",
        open_file(),
        put(in_slot(4), 900, NOW + 9000),
        header(),
        select(in_slot(4)),
        files=HEALTHY,
    )
    yield clause(
        "old-slots-are-taken",
        "slots cleared at open: a slot whose value is at most the new count is still a chain",
        open_file(),
        put(in_slot(1), 900, NOW + 9000),
        put(in_slot(2), 901, NOW + 9001),
        put(in_slot(2), 902, NOW + 9002),
        header(),
        files=HEALTHY,
    )
    yield clause(
        "old-chain-surfaces",
        "entries of the old file hidden when the count reaches them again",
        open_file(),
        put(in_slot(4), 900, NOW + 9000),
        select(key_of(7002)),
        put(in_slot(4), 901, NOW + 9000),
        put(in_slot(4), 902, NOW + 9000),
        select(key_of(7002)),
        select(key_of(7008)),
        files=image(
            HEAD,
            {1: 3, 2: 4},
            {3: Entry(7008, 300, 5, 0), 4: Entry(7002, 400, 2, 0)},
        ),
    )
    yield clause(
        "flush-over-old-header",
        "the old header kept when a fresh one is flushed",
        open_file(),
        flush(),
        files=HEALTHY,
    )
    yield clause(
        "seeded",
        "a seeded open taken for a load",
        open_file(phy_offset=500, timestamp=NOW + 7000),
        header(),
        put(in_slot(4), 900, NOW + 9999),
        header(),
        files=HEALTHY,
    )
