"""Every geometry that one index file's content allows, out of all that its size allows.

With D = (size - 40) / 4 words after the header, S + 5 N = D: one number N of entries fixes the number S of
slots. Entries are counted from the end of the file, where their positions do not depend on N: entry k of a
file of N entries begins 20 (N - k) bytes before the end. Slots are counted from byte 40. So one slot that is
in use, number s with value v, asks each N one question: is the key hash of the cell N - v before the end,
modulo D - 5 N, equal to s? NumPy asks a quarter of a million N at a time; holes of sparse files are not read.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from rocket_spec.layout import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry

from rocket_columnar.formats import ENTRY_DTYPE
from rocket_columnar.index.geometry_agreement import agreement
from rocket_columnar.index.header import IndexHeader
from rocket_columnar.store import Reader

_CELLS: Final = 1 << 18
_KEEP: Final = 1000  # survivors kept of one search


def count_of_size(size: int, least_entries: int = 1) -> int:
    """Number of geometries with at least `least_entries` entries that make a file of `size` bytes."""
    words, rest = divmod(size - INDEX_HEADER.size, INDEX_SLOT.size)
    return 0 if rest else max(0, (words - 1) // 5 - least_entries + 1)


def geometries_of_size(size: int, least_entries: int = 1) -> Iterator[Geometry]:
    """The geometries with at least `least_entries` entries that make a file of `size` bytes, by N."""
    words = (size - INDEX_HEADER.size) // INDEX_SLOT.size
    for number in range(least_entries, least_entries + count_of_size(size, least_entries)):
        yield Geometry(words - 5 * number, number)


def last_entry_guess(reader: Reader, header: IndexHeader) -> Geometry | None:
    """The geometry that puts entry indexCount - 1 into the last cell of the file that is not zero."""
    if header.index_count < 2:
        return None
    last = reader.last_nonzero(INDEX_HEADER.size, reader.size)
    if last is None:
        return None
    cell = (reader.size - 1 - last) // INDEX_ENTRY.size + 1
    number = cell + header.index_count - 1
    slots = (reader.size - INDEX_HEADER.size) // INDEX_SLOT.size - 5 * number
    return Geometry(slots, number) if slots >= 1 else None


def _used_slots(reader: Reader, header: IndexHeader, greatest: int) -> Iterator[tuple[int, int]]:
    """The first words after the header that could be slots in use: (number, value), values to `greatest`."""
    limit = reader.size - INDEX_ENTRY.size * (header.index_count - 1)
    step = _CELLS * INDEX_SLOT.size
    for first, end in reader.extents(INDEX_HEADER.size):
        # Extents begin at file-system blocks; words begin at multiples of 4, as the header's 40 bytes do.
        for low in range(first - first % 4, min(end, limit), step):
            high = min(low + step, end, limit)
            words = reader.read(low, (high - low) // 4 * 4).view(">i4")
            for index in np.flatnonzero((words > 0) & (words <= greatest)):
                yield (low - INDEX_HEADER.size) // 4 + int(index), int(words[index])


def _questions(reader: Reader, header: IndexHeader, greatest: int) -> list[tuple[int, int]]:
    """One slot in use, or two if the first is slot 0, which is a weak question: every hash modulo 1 is 0."""
    used = _used_slots(reader, header, greatest)
    first = next(used, None)
    if first is None:
        return []
    second = next(used, None) if first[0] == 0 else None
    return [first] if second is None else [second, first]


def _ask(reader: Reader, slot: int, value: int, least: int, most: int) -> Iterator[int]:
    """The numbers N in [`least`, `most`] for which entry `value` belongs into slot `slot`."""
    size, width = reader.size, INDEX_ENTRY.size
    words = (size - INDEX_HEADER.size) // INDEX_SLOT.size
    begin, end = size - width * (most - value), size - width * (least - value) + width
    for first, limit in reader.extents(begin):
        low = max(begin, first - (first - begin) % width)
        high = min(end, limit + (begin - limit) % width)
        for start in range(low, high, _CELLS * width):
            cells = reader.read(start, min(_CELLS * width, high - start)).view(ENTRY_DTYPE)
            numbers = (size - start) // width - np.arange(cells.size, dtype=np.int64) + value
            hashes = cells["key_hash"].astype(np.int64)
            good = (hashes >= 0) & (hashes % (words - 5 * numbers) == slot)
            good &= (cells["time_diff"] >= 0) & (cells["prev_entry"] >= 0) & (cells["prev_entry"] <= value)
            # An entry of zeros alone is one that was never written.
            good &= (hashes != 0) | (cells["phy_offset"] != 0)
            yield from (int(number) for number in numbers[good])
        if limit >= end:
            return


def search(reader: Reader, header: IndexHeader) -> list[Geometry]:
    """The geometries under which most of the file's entries agree with their slots and chains, by N.

    At most a thousand are returned; more are useless. Slots that lead beyond the index count are asked
    only if the others give no answer: a header can be late.
    """
    if header.index_count < 2:
        return []
    room = (reader.size - INDEX_HEADER.size - INDEX_SLOT.size) // INDEX_ENTRY.size
    return _answers(reader, header, header.index_count - 1) or _answers(reader, header, room - 1)


def _answers(reader: Reader, header: IndexHeader, greatest: int) -> list[Geometry]:
    words = (reader.size - INDEX_HEADER.size) // INDEX_SLOT.size
    most = (words - 1) // 5
    least = header.index_count
    found: list[Geometry] = []
    # Geometries that have the first slot asked about are asked about it; the rest, with fewer slots, about slot 0.
    for slot, value in _questions(reader, header, greatest):
        top = min(most, (words - slot - 1) // 5)
        for number in _ask(reader, slot, value, max(least, value + 1), top):
            geometry = Geometry(words - 5 * number, number)
            if agreement(reader, header, geometry, sample=16, at_end=True).holds and (
                agreement(reader, header, geometry).holds
            ):
                found.append(geometry)
                if len(found) >= _KEEP:
                    break
        least = max(least, top + 1)
    return sorted(found, key=lambda geometry: geometry.index_num)
