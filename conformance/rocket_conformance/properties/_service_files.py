"""Index files as an earlier run of a service may have left them."""

from collections.abc import Mapping, Sequence
from random import Random
from struct import pack

from rocket_reference import file_size, key_hash

from rocket_conformance.files import FileImage, SparseFile
from rocket_conformance.properties._property import Geometry


def lay_file(
    rng: Random,
    geometry: Geometry,
    keys: Sequence[str],
    *,
    begin: int,
    offset: int,
    count: int,
    header: Mapping[str, int] | None,
) -> tuple[FileImage, dict[str, int]]:
    """A healthy file of `count` - 1 entries, at most 64 of them in place, a second and 100 bytes apart; and its header.

    Args:
        rng: the source of all choices.
        geometry: slots and entries.
        keys: what its entries are of, topic and all.
        begin: time of the first entry, ms.
        offset: physical offset of the first entry.
        count: index_count.
        header: fields of the header that have other values.
    """
    slots, entries = geometry
    file = SparseFile(file_size(slots, entries))
    heads: dict[int, int] = {}
    first = max(1, count - 64)
    for entry in range(first, min(count, entries)):
        hash_ = key_hash(rng.choice(keys))
        slot = hash_ % slots if slots else 0
        seconds = entry - first
        place = 40 + 4 * slots + 20 * entry
        file.write(place, pack(">iqii", hash_, offset + 100 * seconds, seconds, heads.get(slot, 0)))
        heads[slot] = entry
    for slot, entry in heads.items():
        if slots:
            file.write(40 + 4 * slot, pack(">i", entry))
    last = max(0, min(count, entries) - 1 - first)
    values = {
        "begin": begin,
        "end": begin + 1000 * last,
        "begin_offset": offset,
        "end_offset": offset + 100 * last,
        "slots": len(heads),
        "count": count,
        **(header or {}),
    }
    file.write(0, pack(">qqqqii", *values.values()))
    return file.image(), values
