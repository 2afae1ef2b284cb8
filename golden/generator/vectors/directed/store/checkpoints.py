"""Vectors of CKP: the file `checkpoint`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from generator.vectors.building import I64_MAX, I64_MIN, NOW, Clause
from generator.vectors.building_store import checkpoint_read, checkpoint_write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from generator.vectors.building import Vector

__all__ = ["vectors"]


def vectors() -> Iterator[Vector]:
    """The vectors, clause by clause."""
    clause = Clause("CKP-1", "recovery begins too early, or too late and loses messages from the index")
    yield clause(
        "written",
        "times in another order or byte order",
        checkpoint_write(0x0102030405060708, 0x1112131415161718, 0x2122232425262728),
        checkpoint_read(),
    )
    yield clause(
        "extreme-times",
        "times cut, or made non-negative",
        checkpoint_write(-1, I64_MIN, I64_MAX),
        checkpoint_read(),
    )
    yield clause(
        "read",
        "times that only the process that wrote them knows",
        checkpoint_read(),
        files={"checkpoint": struct.pack(">qqq", NOW, NOW - 1, NOW - 2).ljust(4096, b"\0")},
    )
    clause = Clause("CKP-2", "a broker that does not start, or one that starts from a wrong time")
    yield clause("missing", "no file made by opening it", checkpoint_read())
    yield clause(
        "missing-then-written",
        "a file of 24 bytes",
        checkpoint_write(NOW, NOW, 0),
    )
    for length, bug in (
        (0, "an empty file refused"),
        (23, "a file that ends inside its times refused"),
        (24, "a file of its three times left as short as it is"),
        (4095, "a file not extended"),
        (4097, "a longer file cut"),
        (8192, "a longer file cut, or its times read from the second page"),
    ):
        yield clause(
            f"length-{length}",
            bug,
            checkpoint_read(),
            files={"checkpoint": struct.pack(">qqq", 1, 2, 3).ljust(length, b"\x55")[:length]},
        )
    clause = Clause("CKP-4", "a time that was on disk is lost, or what a later version keeps there")
    yield clause(
        "bytes-behind-stay",
        "bytes after the three times cleared: later versions keep a fourth and a fifth there",
        checkpoint_write(1, 2, 3),
        checkpoint_read(),
        files={"checkpoint": struct.pack(">qqqqq", 9, 9, 9, 8, 7).ljust(4096, b"\xee")},
    )
    yield clause(
        "all-three",
        "only the times written that are not 0, or that are later than before",
        checkpoint_write(0, 5, NOW),
        checkpoint_read(),
        checkpoint_write(7, 0, 0),
        checkpoint_read(),
        files={"checkpoint": struct.pack(">qqq", NOW, NOW, NOW).ljust(4096, b"\0")},
    )
