"""Many puts at once into an ordinary index file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, Geometry

from rocket_columnar.fast import put_entries
from rocket_columnar.formats import to_i32

if TYPE_CHECKING:
    from rocket_columnar.fast import Puts
    from rocket_columnar.index.header import IndexHeader
    from rocket_columnar.index.mapping import Mapping

_AT_ONCE = 1 << 20
_INT_MAX = 0x7FFFFFFF
_HEADER_WORDS, _ENTRY_WORDS = INDEX_HEADER.size // 4, INDEX_ENTRY.size // 4


def plain(geometry: Geometry) -> bool:
    """Whether header, slots and entries follow one another without an int overflow (IDX-FILE-3)."""
    return geometry.hash_slot_num > 0 and geometry.index_num >= 0 and geometry.file_size <= _INT_MAX


def put_batch(
    mapping: Mapping, geometry: Geometry, header: IndexHeader, puts: Puts
) -> tuple[IndexHeader, int]:
    """Puts as many as fit; returns the header after them, and their number.

    The geometry is `plain`, so every position is inside the mapping and nothing overlaps.

    Source: IDX-PUT-1 .. IDX-PUT-8.
    """
    accepted = min(len(puts.hashes), max(0, geometry.index_num - header.index_count))
    words = np.frombuffer(mapping, np.uint32, geometry.file_size // 4)
    slots, entries = np.split(words[_HEADER_WORDS:], [geometry.hash_slot_num])
    for start in range(0, accepted, _AT_ONCE):
        part = puts.part(start, min(start + _AT_ONCE, accepted))
        first = _ENTRY_WORDS * header.index_count
        room = entries[first : first + _ENTRY_WORDS * len(part.hashes)]
        used = put_entries(slots, room, part, header.index_count, header.begin_timestamp)
        changed = after(header, part, used)
        _write_header(mapping, header, changed)
        header = changed
    return header, accepted


def after(header: IndexHeader, puts: Puts, used: int) -> IndexHeader:
    """The header after `puts`, of which `used` found their slot empty."""
    _, phy_offsets, store_timestamps = puts
    changed = replace(
        header,
        hash_slot_count=to_i32(header.hash_slot_count + used),
        index_count=header.index_count + len(phy_offsets),
        end_phy_offset=int(phy_offsets[-1]),
        end_timestamp=int(store_timestamps[-1]),
    )
    if header.index_count <= 1:
        begin = int(phy_offsets[0]), int(store_timestamps[0])
        changed = replace(changed, begin_phy_offset=begin[0], begin_timestamp=begin[1])
    return changed


def _write_header(mapping: Mapping, before: IndexHeader, after: IndexHeader) -> None:
    """Writes only the fields that puts write: the header in the file may differ from the one in memory."""
    values = {"index_count", "end_phy_offset", "end_timestamp"}
    if before.index_count <= 1:
        values |= {"begin_phy_offset", "begin_timestamp"}
    if before.hash_slot_count != after.hash_slot_count:
        values.add("hash_slot_count")
    for field in INDEX_HEADER.fields:
        if field.name in values and field.offset is not None and field.size is not None:
            raw = getattr(after, field.name).to_bytes(field.size, "big", signed=True)
            mapping[field.offset : field.offset + field.size] = raw
