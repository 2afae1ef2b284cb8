"""Vectors of IDX-FILE-3, IDX-PUT-9 and IDX-PUT-11: 32-bit positions, mappings too short, the order of writes.

A geometry whose size wraps around 2^32 gives a small file in which slots and entries are outside the
mapping, over each other, or over the header: the only way to see from outside in which order a put writes.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from generator.vectors.building import (
    FILE,
    NOW,
    Clause,
    Header,
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

SIZE_OF_ENTRIES: Final = {
    0: 0,
    4: 214_748_365,
    24: 214_748_366,
    28: 429_496_731,
    32: 644_245_096,
    36: 858_993_461,
    40: 1_073_741_826,
}
"""A number of entries by what 20 times it is, modulo 2^32."""

ALL_OVER: Final = 1 << 30
"""A number of slots that take no room: four times it is 2^32. Slots overlap entries and, from the end, the header."""


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    yield from _size()
    yield from _position()
    yield from _outside()
    yield from _order()


def _size() -> Iterator[Vector]:
    clause = Clause(
        "IDX-FILE-3", "a misconfigured broker and its copy disagree on whether, and how large, the file is"
    )
    yield clause(
        "negative-by-slots",
        "sizes computed in 64 bits: a file of gigabytes where 4.9.3 refuses",
        open_file(1 << 29, 12),
        header(),
    )
    yield clause(
        "negative-by-entries",
        "sizes computed in 64 bits: a file of gigabytes where 4.9.3 refuses",
        open_file(7, 107_374_183),
        put("k", 1),
    )
    yield clause(
        "negative-keeps-existing",
        "an existing file cut off by a refused open",
        open_file(1 << 29, 12, load=True),
        files=image(Header(NOW, NOW, 1, 1, 1, 2)),
    )
    yield clause(
        "wraps-to-small",
        "sizes computed in 64 bits: 4 GB where 4.9.3 makes 72 bytes",
        open_file(7, SIZE_OF_ENTRIES[4]),
        full(),
        put("k", 100),
        select("k"),
        header(),
        flush(),
    )
    yield clause(
        "slots-take-no-room",
        "slots bounds-checked against their number instead of the mapping",
        open_file(ALL_OVER, 3),
        put(key_of(14), 100),
        select(key_of(14)),
        put(key_of(17), 200),
        put(key_of(1_000_000), 300),
        header(),
    )
    yield clause(
        "empty-mapping",
        "a size of 0 refused at open: only a write to it is",
        open_file(ALL_OVER - 10, 0),
        header(),
        full(),
        time_matched(0, 0),
        put("k", 1),
        flush(),
    )
    yield clause(
        "load-of-short-mapping",
        "a header read from beyond a mapping of 20 bytes",
        open_file(ALL_OVER - 5, 0, load=True),
        header(),
    )
    yield clause(
        "flush-of-short-mapping",
        "a flush that writes all of the header or nothing: the two times fit, and stay",
        open_file(ALL_OVER - 5, 0),
        flush(),
        header(),
        files=image(Header(1, 2, 3, 4, 5, 6)),
    )
    yield clause(
        "offset-seed-outside",
        "the seeds applied in another order: the offset's comes first, and fails",
        open_file(ALL_OVER - 5, 0, phy_offset=5, timestamp=NOW),
        header(),
        also=("IDX-FILE-2",),
    )
    yield clause(
        "timestamp-seed-inside",
        "an open refused because the header does not fit",
        open_file(ALL_OVER - 5, 0, timestamp=NOW),
        header(),
        also=("IDX-FILE-2",),
    )
    yield clause(
        "timestamp-seed-half",
        "the end timestamp written before the begin timestamp",
        open_file(ALL_OVER - 7, 0, timestamp=NOW),
        header(),
        also=("IDX-FILE-2",),
    )


def _position() -> Iterator[Vector]:
    clause = Clause("IDX-FILE-3", "a torn file is read at other places than 4.9.3 reads")
    wrapped = bytearray(image(Header(NOW, NOW, 1, 1, 1, 214_748_366), {1: 214_748_365})[FILE])
    struct.pack_into(">iqii", wrapped, 40 + 28 + 4, 7001, 4242, 3, 0)
    yield clause(
        "entry-number-wraps-into-file",
        "positions computed in 64 bits: entry 214748365 is 4 bytes after entry 0",
        open_file(load=True),
        header(),
        select(key_of(7001)),
        full(),
        files={FILE: bytes(wrapped)},
        also=("IDX-SEL-8",),
    )
    yield clause(
        "slot-wraps-into-header",
        "slot positions computed in 64 bits",
        open_file(ALL_OVER, 4, timestamp=(1 << 32) + 1),
        put(key_of(ALL_OVER - 10), 100, (2 << 32) + 5000),
        select(key_of(ALL_OVER - 10)),
        header(),
        also=("IDX-PUT-11",),
    )


def _outside() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-9",
        "the store's dispatch thread dies of the exception, or the file counts an entry that is not there",
    )
    for size, rest in (
        (4, "nothing of the entry fits"),
        (24, "the key hash fits, the physical offset does not"),
        (28, "the physical offset is cut in half"),
        (32, "the time diff does not fit"),
        (36, "the previous entry does not fit"),
    ):
        yield clause(
            f"entry-cut-at-{size}",
            f"an entry written at once or rolled back: {rest}, and what was written stays",
            open_file(3, SIZE_OF_ENTRIES[size], timestamp=NOW),
            put(in_slot(1, slots=3), 0x0102030405060708, NOW + 5000),
            header(),
            select(in_slot(1, slots=3)),
            also=("IDX-PUT-11",),
        )
    yield clause(
        "first-fits-second-does-not",
        "a failed put that leaves its mark on the counts",
        open_file(3, SIZE_OF_ENTRIES[40]),
        put(in_slot(1, slots=3), 100),
        put(in_slot(1, slots=3), 200, NOW + 1000),
        put(in_slot(2, slots=3), 300, NOW + 2000),
        header(),
        full(),
        select(in_slot(1, slots=3)),
    )
    yield clause(
        "slot-outside",
        "a put that writes its entry before it has read the slot",
        open_file(ALL_OVER, 4),
        put(key_of(500_000_000), 100),
        header(),
        put(key_of(25), 200),
        header(),
    )
    yield clause(
        "slot-before-file",
        "a negative position counted from the end, as Python does",
        open_file(ALL_OVER, 4),
        put(key_of(ALL_OVER - 11), 100),
        put(key_of(ALL_OVER - 50), 100),
        header(),
    )
    yield clause(
        "slot-at-the-end",
        "a bounds check that is off by one slot",
        open_file(ALL_OVER - 1, 2),
        put(key_of(9), 100),
        header(),
        put(key_of(8), 200),
        header(),
        select(key_of(8)),
    )


def _order() -> Iterator[Vector]:
    clause = Clause(
        "IDX-PUT-11", "a reader of a live or torn file meets a slot that leads to an entry not yet written"
    )
    yield clause(
        "slot-after-key-hash",
        "the slot written before the entry: here it is the entry's key hash",
        open_file(ALL_OVER, 12),
        put(key_of(5), 100),
        header(),
        select(key_of(5)),
        select(key_of(1)),
    )
    yield clause(
        "slot-after-offset",
        "the slot written before the physical offset",
        open_file(ALL_OVER, 12),
        put(key_of(7), 0x0102030405060708),
        select(key_of(7)),
    )
    yield clause(
        "slot-after-previous-entry",
        "the slot written before the previous entry: here the entry comes to precede itself",
        open_file(ALL_OVER, 12),
        put(key_of(9), 100),
        select(key_of(9)),
        put(key_of(9), 200),
        select(key_of(9)),
    )
    yield clause(
        "count-after-slot",
        "index_count written before the slot: here they share their bytes",
        open_file(ALL_OVER, 12),
        put(key_of(ALL_OVER - 1), 100),
        put(key_of(ALL_OVER - 1), 200),
        header(),
        select(key_of(ALL_OVER - 1)),
    )
    yield clause(
        "hash-slot-count-after-slot",
        "hash_slot_count written before the slot, or with every put",
        open_file(ALL_OVER, 12),
        put(key_of(ALL_OVER - 2), 100),
        put(key_of(ALL_OVER - 2), 200),
        header(),
        also=("IDX-HDR-4",),
    )
    yield clause(
        "begin-after-slot",
        "begin_timestamp written before the slot",
        open_file(ALL_OVER, 12),
        put(key_of(ALL_OVER - 9), 100, 3),
        put(key_of(ALL_OVER - 9), 200, 4),
        header(),
    )
    yield clause(
        "end-offset-after-slot",
        "end_phy_offset written before the slot, or only by a flush",
        open_file(ALL_OVER, 12),
        put(key_of(ALL_OVER - 3), 2),
        put(key_of(ALL_OVER - 3), 1),
        header(),
    )
    # Slots wrap twice and slot 2^30 - 10 is at byte 0, entry 1 at byte 16; index_count, at 36, no longer fits.
    yield clause(
        "end-fields-last",
        "the end fields written before the counts, or a count in memory that waits for the file",
        open_file(2_147_483_637, 2),
        put(key_of(ALL_OVER - 10), 7, NOW),
        header(),
        full(),
        put(key_of(ALL_OVER - 10), 8, NOW),
    )
    yield clause(
        "entry-over-header",
        "the header written before the entry: here entry 1 overlaps its first 20 bytes",
        open_file(ALL_OVER - 15, 4),
        put(key_of(2), 0x0102030405060708, NOW),
        header(),
        put(key_of(3), 0x1112131415161718, NOW + 3000),
        header(),
        select(key_of(2)),
        select(key_of(3)),
    )
