"""What a vector is put together from: operations, keys of a wanted hash, files made by hand."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "FILE",
    "I32_MAX",
    "I32_MIN",
    "I64_MAX",
    "I64_MIN",
    "NOW",
    "SLOTS",
    "Clause",
    "Entry",
    "Header",
    "Op",
    "Vector",
    "close",
    "flush",
    "full",
    "hash_of",
    "header",
    "image",
    "in_slot",
    "key_hash",
    "key_of",
    "open_file",
    "put",
    "select",
    "time_matched",
]

Op: TypeAlias = dict[str, Any]
"""One operation of adapter protocol 1."""

I32_MIN: Final = -(1 << 31)
I32_MAX: Final = (1 << 31) - 1
I64_MIN: Final = -(1 << 63)
I64_MAX: Final = (1 << 63) - 1

FILE: Final = "20260101000000000"
"""Name of the index file where a vector is not about the name."""

SLOTS: Final = 7
"""Number of slots where a vector is not about the geometry."""

ENTRIES: Final = 12
"""Number of entries where a vector is not about the geometry."""

NOW: Final = 1_700_000_000_000
"""A store timestamp, ms: on a whole second."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A case without the results that the real jar then gives.

    Attributes:
        id: `CLAUSE/slug`.
        clauses: ids, the one that the vector is named after first.
        description: which bug it catches, and what that bug costs.
        ops: the operations.
        files: bytes of the files that the directory has at the start, by name.
        seed: of the generator, for a seeded one.
    """

    id: str
    clauses: tuple[str, ...]
    description: str
    ops: Sequence[Op]
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """Makes the directed vectors of one clause.

    Attributes:
        id: of the clause.
        cost: what breaking it costs whoever runs the implementation; ends a vector's description.
    """

    id: str
    cost: str

    def __call__(
        self,
        slug: str,
        bug: str,
        *ops: Op,
        files: Mapping[str, bytes] | None = None,
        also: Sequence[str] = (),
    ) -> Vector:
        """A vector of this clause.

        Args:
            slug: the second half of its id.
            bug: what an implementation that fails does; "Catches ..." in the description.
            ops: its operations.
            files: bytes of the files that exist at the start; a bare image goes under `FILE`.
            also: further clauses that it is evidence of.
        """
        return Vector(
            id=f"{self.id}/{slug}",
            clauses=(self.id, *also),
            description=f"Catches {bug}. Cost: {self.cost}.",
            ops=ops,
            files=files or {},
        )


# --- operations ---------------------------------------------------------------------------------------


def _key(key: str) -> Op:
    """The field of a key; hexadecimal UTF-16 where UTF-8 cannot carry it."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return {"key_utf16": key.encode("utf-16-be", "surrogatepass").hex()}
    return {"key": key}


def key_hash(key: str) -> Op:
    """`key.hash`."""
    return {"op": "key.hash", **_key(key)}


def open_file(
    slots: int = SLOTS,
    entries: int = ENTRIES,
    *,
    file: str = FILE,
    phy_offset: int = 0,
    timestamp: int = 0,
    load: bool = False,
) -> Op:
    """`index.open`, with the seeds `phy_offset` and `timestamp`."""
    return {
        "op": "index.open",
        "file": file,
        "hash_slot_num": slots,
        "index_num": entries,
        "end_phy_offset": str(phy_offset),
        "end_timestamp": str(timestamp),
        "load": load,
    }


def put(key: str, phy_offset: int, store_timestamp: int = NOW) -> Op:
    """`index.put`."""
    return {
        "op": "index.put",
        **_key(key),
        "phy_offset": str(phy_offset),
        "store_timestamp": str(store_timestamp),
    }


def select(
    key: str,
    begin: int = 0,
    end: int = I64_MAX,
    *,
    max_num: int = 32,
    initial: Sequence[int] | None = None,
) -> Op:
    """`index.select`; the window holds every time that is not negative where none is given."""
    listed = {} if initial is None else {"initial": [str(offset) for offset in initial]}
    return {
        "op": "index.select",
        **_key(key),
        "max_num": max_num,
        "begin": str(begin),
        "end": str(end),
        **listed,
    }


def time_matched(begin: int, end: int) -> Op:
    """`index.time_matched`."""
    return {"op": "index.time_matched", "begin": str(begin), "end": str(end)}


def header() -> Op:
    """`index.header`."""
    return {"op": "index.header"}


def full() -> Op:
    """`index.full`."""
    return {"op": "index.full"}


def flush() -> Op:
    """`index.flush`."""
    return {"op": "index.flush"}


def close() -> Op:
    """`index.close`."""
    return {"op": "index.close"}


# --- keys ---------------------------------------------------------------------------------------------


def key_of(hash_code: int) -> str:
    """A key of nine characters, `T#` first, whose `String.hashCode` is `hash_code`.

    Seven digits to the base 31 reach every 32-bit number; the digit d is the character 65 + d.
    """
    base = 0
    for unit in (*map(ord, "T#"), *(65,) * 7):
        base = 31 * base + unit
    rest = (hash_code - base) % (1 << 32)
    digits = ""
    for _ in range(7):
        rest, digit = divmod(rest, 31)
        digits = chr(65 + digit) + digits
    return "T#" + digits


def hash_of(key: str) -> int:
    """The key hash of an ASCII key, reckoned as `String.hashCode` is defined."""
    code = 0
    for unit in key.encode("ascii"):
        code = (31 * code + unit) % (1 << 32)
    return abs(code - (code >> 31 << 32))


def in_slot(slot: int, number: int = 0, slots: int = SLOTS) -> str:
    """A key in this slot; another `number` gives one with another hash."""
    return key_of(slot + slots * (number + 1000))


# --- files --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Header:
    """The header's six fields, in the order of the file."""

    begin_timestamp: int = 0
    end_timestamp: int = 0
    begin_phy_offset: int = 0
    end_phy_offset: int = 0
    hash_slot_count: int = 0
    index_count: int = 0


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry's four fields, in the order of the file."""

    key_hash: int
    phy_offset: int
    time_diff: int = 0
    prev_entry: int = 0


def image(
    head: Header | None = None,
    slots: Mapping[int, int] | None = None,
    entries: Mapping[int, Entry] | None = None,
    *,
    geometry: tuple[int, int] = (SLOTS, ENTRIES),
) -> dict[str, bytes]:
    """A file made by hand, under the name `FILE`: what a damaged or an older file looks like.

    Args:
        head: its header; zeros without one.
        slots: values by slot.
        entries: entries by number.
        geometry: its numbers of slots and entries.
    """
    slot_num, entry_num = geometry
    data = bytearray(40 + 4 * slot_num + 20 * entry_num)
    head = head or Header()
    struct.pack_into(
        ">qqqqii",
        data,
        0,
        head.begin_timestamp,
        head.end_timestamp,
        head.begin_phy_offset,
        head.end_phy_offset,
        head.hash_slot_count,
        head.index_count,
    )
    for slot, value in (slots or {}).items():
        struct.pack_into(">i", data, 40 + 4 * slot, value)
    for number, entry in (entries or {}).items():
        place = 40 + 4 * slot_num + 20 * number
        struct.pack_into(
            ">iqii", data, place, entry.key_hash, entry.phy_offset, entry.time_diff, entry.prev_entry
        )
    return {FILE: bytes(data)}
