"""The geometry of index files, which the files do not record: given, inferred, or assumed.

Inference starts with a guess (the default if the size is that of the default; otherwise the geometry that puts the last
entry into the last cell that is not zero) and compares the file's chains with it. If a file has too few
entries to decide that way, all geometries of the size are searched, and the other files of the size are
used too.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry
from rocket_spec.printable import counted

from rocket_columnar.formats import ENTRY_DTYPE
from rocket_columnar.store import Reader, StoreFile

# The header of an index file as a value.


HEADER: Final = struct.Struct(INDEX_HEADER.struct_format)


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """The six fields (IDX-HDR-1): times in ms since the epoch, offsets in bytes, `index_count` = entries + 1."""

    begin_timestamp: int = 0
    end_timestamp: int = 0
    begin_phy_offset: int = 0
    end_phy_offset: int = 0
    hash_slot_count: int = 0
    index_count: int = 1


def read_header(reader: Reader) -> IndexHeader:
    """The header as it is in the file; MalformedError if the file is shorter than 40 bytes."""
    return IndexHeader(*HEADER.unpack(reader.read(0, HEADER.size).tobytes()))


def read_headers(files: Iterable[StoreFile]) -> list[tuple[StoreFile, IndexHeader]]:
    """The headers of files, padded with zeros if a file is too short; a file that no longer exists is skipped."""
    headers = []
    for file in files:
        try:
            with file.open() as reader:
                header = padded_header(reader)
        except FileNotFoundError:
            continue
        headers.append((file, header))
    return headers


def read_padded(reader: Reader, offset: int, length: int) -> NDArray[np.uint8]:
    """Bytes of the file, and zeros after its end."""
    there = max(0, min(length, reader.size - offset))
    raw = reader.read(offset, there) if there else np.empty(0, np.uint8)
    return raw if there == length else np.concatenate([raw, np.zeros(length - there, np.uint8)])


def padded_header(reader: Reader) -> IndexHeader:
    """The header, padded with zeros if the file is too short."""
    return IndexHeader(*HEADER.unpack(read_padded(reader, 0, HEADER.size).tobytes()))


# Measures how well an index file's slots, chains and entries agree with a geometry.
#
# The file does not record its geometry, but every put ties three places together: the entry's key hash modulo
# the number of slots names the slot, the slot leads to the newest entry of the chain, and each entry leads to
# the one before it in the same slot (IDX-HASH-3, IDX-PUT-6, IDX-PUT-7). With another number of slots the
# same bytes are other entries, and the ties break.


SAMPLE: Final = 4096  # entries checked in one file
_RUN: Final = 256  # of these, neighbours
_WHOLE: Final = 1 << 20  # a region up to this many bytes is read at once
_BESIDE: Final = 1 << 14  # up to this many bytes between two items are read rather than skipped


@dataclass(frozen=True, slots=True)
class Agreement:
    """Number of entries that were checked, of those in the chain of the slot that follows from their hash, and of these chains.

    Such an entry's slot leads to an entry of the same slot at or after it, and its previous entry, if any, is of the same slot and before it.
    """

    checked: int
    agreed: int
    chains: int

    @property
    def holds(self) -> bool:
        """Whether more than half agreed: all do in a whole file, hardly any with another geometry."""
        return self.agreed * 2 > self.checked

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(self.checked + other.checked, self.agreed + other.agreed, self.chains + other.chains)


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each of some numbers >= 0 once, in order; the first call of NumPy's own `unique` imports masked arrays, for 8 ms."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _gather(
    reader: Reader, base: int, numbers: NDArray[np.int64], count: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Items `numbers` (each 0 <= n < `count`) of the array of `dtype` at byte `base`."""
    if count * dtype.itemsize <= _WHOLE:
        return reader.read(base, count * dtype.itemsize).view(dtype)[numbers]
    if not numbers.size:
        return np.empty(0, dtype)
    unique = _distinct(numbers)
    items = np.empty(unique.size, dtype)
    # Neighbours are read together: one read for each run without a larger gap.
    starts = np.flatnonzero(np.diff(unique, prepend=np.int64(-_WHOLE)) > _BESIDE // dtype.itemsize)
    for begin, end in zip(starts, [*starts[1:], unique.size], strict=True):
        first, last = int(unique[begin]), int(unique[end - 1])
        read = reader.read(base + first * dtype.itemsize, (last - first + 1) * dtype.itemsize).view(dtype)
        items[begin:end] = read[unique[begin:end] - first]
    return items[np.searchsorted(unique, numbers)]


def _sample(last: int, limit: int) -> NDArray[np.int64]:
    """Numbers out of 1 .. `last`: all, or runs spread evenly, the first and the last among them."""
    if last <= limit:
        return np.arange(1, last + 1, dtype=np.int64)
    runs = max(limit // _RUN, 1)
    width = min(_RUN, limit)
    starts = np.linspace(1, last - width + 1, runs).astype(np.int64)
    return _distinct(starts[:, None] + np.arange(width))


def agreement(
    reader: Reader, header: IndexHeader, geometry: Geometry, *, sample: int = SAMPLE, at_end: bool = False
) -> Agreement:
    """Compares up to `sample` entries of one file with their slots and chains, in bounded memory.

    With `at_end` they are the last entries of the file instead of evenly spread ones.
    """
    slots, capacity = geometry
    last = min(header.index_count, capacity) - 1
    if last < 1:
        return Agreement(0, 0, 0)
    numbers = np.arange(max(1, last - sample + 1), last + 1) if at_end else _sample(last, sample)
    entries = _gather(reader, geometry.entries_offset, numbers, capacity, ENTRY_DTYPE)
    hashes = entries["key_hash"].astype(np.int64)
    previous = entries["prev_entry"].astype(np.int64)
    slot = hashes % slots
    newest = _gather(reader, INDEX_HEADER.size, slot, slots, np.dtype(">i4")).astype(np.int64)
    # While a broker appends, a slot may lead beyond the index count that was read before it.
    good = (hashes >= 0) & (newest >= numbers) & (newest < capacity) & (previous >= 0) & (previous <= numbers)
    good &= entries["time_diff"] >= 0
    for other in (newest, previous):
        inside = good & (other > 0)
        heads = _gather(reader, geometry.entries_offset, other[inside], capacity, ENTRY_DTYPE)["key_hash"]
        good[inside] &= (heads >= 0) & (heads.astype(np.int64) % slots == slot[inside])
    # Of two neighbours in one slot, with nothing skipped between them, the later must lead to the earlier.
    run = np.cumsum(np.diff(numbers, prepend=numbers[0]) != 1)
    order = np.lexsort((numbers, slot, run))
    earlier, later = order[:-1], order[1:]
    linked = (slot[earlier] == slot[later]) & (run[earlier] == run[later])
    good[later[linked]] &= previous[later[linked]] == numbers[earlier[linked]]
    return Agreement(int(numbers.size), int(good.sum()), int(_distinct(slot[good]).size))


def ends_agree(reader: Reader, header: IndexHeader, geometry: Geometry) -> int:
    """The number of entries among 1 and indexCount - 1 that have the physical offset of the header: 0 to 2."""
    last = header.index_count - 1
    if not 1 <= last < geometry.index_num:
        return 0
    entries = _gather(reader, geometry.entries_offset, np.array([1, last]), geometry.index_num, ENTRY_DTYPE)
    return int(np.sum(entries["phy_offset"] == (header.begin_phy_offset, header.end_phy_offset)))


# Every geometry that one index file's content allows, out of all that its size allows.
#
# With D = (size - 40) / 4 words after the header, S + 5 N = D: one number N of entries fixes the number S of
# slots. Entries are counted from the end of the file, where their positions do not depend on N: entry k of a
# file of N entries begins 20 (N - k) bytes before the end. Slots are counted from byte 40. So one slot that is
# in use, number s with value v, asks each N one question: is the key hash of the cell N - v before the end,
# modulo D - 5 N, equal to s? NumPy asks a quarter of a million N at a time; holes of sparse files are not read.


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


# The geometry of files, and its certainty.


_SETTLED: Final = 64  # this many entries that agree leave no room for another geometry
_WITNESSES: Final = 16  # files of one size that are asked
_CHECKED: Final = 512  # entries of each that a given geometry is compared with; an inferred one needs more
_SHOWN: Final = 8  # candidates named in a message
_NOTHING: Final = Agreement(0, 0, 0)
_MOST: Final = (1 << 31) - 1  # bytes of a mapped file


@dataclass(frozen=True, slots=True)
class GeometryGuess:
    """A geometry, and its certainty.

    Attributes:
        how: "given" by the user, "inferred" from size and content, or "assumed" to be 4.9.3's default.
        candidates: number of geometries that size and content allow, including this one.
        reason: in a few words for people.
        checked: entries that were compared with their slots and chains, over all files asked.
        agreed: of these, how many are in the chain of the slot that their key hash names.
        chains: number of chains of those that agreed.
    """

    geometry: Geometry
    how: Literal["given", "inferred", "assumed"]
    candidates: int
    reason: str
    checked: int = 0
    agreed: int = 0
    chains: int = 0


@dataclass(frozen=True, slots=True)
class SeenIndex:
    """One index file: its size in bytes and its header."""

    file: StoreFile
    size: int
    header: IndexHeader


def _look(file: StoreFile) -> SeenIndex:
    """Size and header; MalformedError if no geometry fits the file."""
    with file.open() as reader:
        for wrong, expected, clause in (
            (reader.size < INDEX_HEADER.size, "an index file, which begins with a header of 40 bytes", "IDX-FILE-1"),
            (not count_of_size(reader.size), "40 + 4 * slots + 20 * entries bytes", "IDX-FILE-1"),
            (reader.size > _MOST, f"at most {_MOST:,}, the longest index file", "IDX-FILE-3"),
        ):  # fmt: skip
            if wrong:
                found = f"{reader.size:,} bytes" if reader.size else "an empty file"
                raise MalformedError(file=reader.name, found=found, expected=expected, clause=clause)
        room = (reader.size - INDEX_HEADER.size - INDEX_SLOT.size) // INDEX_ENTRY.size
        header = read_header(reader)
        if header.index_count > room:
            raise MalformedError(
                file=reader.name,
                offset=INDEX_HEADER.offset_of("index_count"),
                found=f"an index count of {header.index_count:,}",
                expected=f"at most {room:,}, for which the file's {reader.size:,} bytes have room",
                clause="IDX-HDR-5",
            )
        return SeenIndex(file, reader.size, header)


def agreement_of_all(seen: Sequence[SeenIndex], geometry: Geometry, sample: int = SAMPLE) -> Agreement:
    """The agreement of several files together."""
    total = _NOTHING
    for index in seen:
        with index.file.open() as reader:
            total += agreement(reader, index.header, geometry, sample=sample)
    return total


def guessed(
    geometry: Geometry, found: Agreement, how: Literal["given", "inferred", "assumed"], candidates: int
) -> GeometryGuess:
    """A guess whose reason are the entries that agree."""
    reason = f"{found.agreed:,} of {counted(found.checked, 'entry', 'entries')} agree, in {counted(found.chains, 'chain')}"
    return GeometryGuess(geometry, how, candidates, reason, found.checked, found.agreed, found.chains)


def _first_guess(index: SeenIndex) -> tuple[Geometry, Agreement] | None:
    """The default geometry or that of the last entry, if the file's chains agree with it."""
    with index.file.open() as reader:
        guesses = [DEFAULT_GEOMETRY] if index.size == DEFAULT_GEOMETRY.file_size else []
        last = last_entry_guess(reader, index.header)
        for guess in [*guesses, *([last] if last else [])]:
            found = agreement(reader, index.header, guess)
            if found.holds:
                return guess, found
    return None


def _ranked(witnesses: Sequence[SeenIndex], candidates: Sequence[Geometry]) -> list[Geometry]:
    """The candidates with which most entries, and then most of the headers' ends, agree."""
    best: list[Geometry] = []
    score = (0, 0)
    for geometry in candidates:
        total = agreement_of_all(witnesses, geometry)
        ends = 0
        for index in witnesses:
            with index.file.open() as reader:
                ends += ends_agree(reader, index.header, geometry)
        if (total.agreed, ends) > score:
            best, score = [geometry], (total.agreed, ends)
        elif (total.agreed, ends) == score:
            best.append(geometry)
    return best


def _infer(group: Sequence[SeenIndex]) -> GeometryGuess | None:
    """The geometry of files of one size by their content, or None if that is not conclusive."""
    filled = [index for index in group if index.header.index_count > 1]
    witnesses = sorted(filled, key=lambda index: -index.header.index_count)[:_WITNESSES]
    for index in witnesses:
        first = _first_guess(index)
        if first is not None and first[1].agreed >= _SETTLED:
            others = [other for other in witnesses if other is not index]
            return guessed(first[0], first[1] + agreement_of_all(others, first[0]), "inferred", 1)
        with index.file.open() as reader:
            candidates = search(reader, index.header)
        if not candidates:
            continue
        best = _ranked(witnesses, candidates)
        if first is not None and len(best) > 1 and first[0] in best:
            # Any other would leave entries beyond the index count, or count cells that are not written.
            best = [first[0]]
        if len(best) == 1:
            return guessed(best[0], agreement_of_all(witnesses, best[0]), "inferred", len(candidates))
    return None


def _candidates(size: int, least: int) -> str:
    count = count_of_size(size, least)
    shown = " ".join(
        f"{slots},{entries}" for slots, entries in islice(geometries_of_size(size, least), _SHOWN)
    )
    return f"{count:,} make {size:,} bytes: {shown}" + (" ..." if count > _SHOWN else "")


def _without_given(group: Sequence[SeenIndex]) -> GeometryGuess:
    """Inferred, assumed, or UsageError with the candidates."""
    guess = _infer(group)
    if guess is not None:
        return guess
    size = group[0].size
    least = max([1, *(index.header.index_count for index in group)])
    entries = any(index.header.index_count > 1 for index in group)
    if size == DEFAULT_GEOMETRY.file_size:
        why = "no geometry agrees with its chains" if entries else "no entries to infer it from"
        return GeometryGuess(
            DEFAULT_GEOMETRY, "assumed", count_of_size(size, least), f"4.9.3's default makes this size; {why}"
        )
    if not entries and count_of_size(size, least) == 1:
        (only,) = geometries_of_size(size, least)
        return GeometryGuess(only, "inferred", 1, "the only one that makes this size")
    why = (
        "no geometry agrees with its slots and chains"
        if entries
        else "it has no entries to infer the geometry from"
    )
    raise UsageError(
        f"{group[0].file.path}: {why}; give --geometry SLOTS,ENTRIES ({_candidates(size, least)})"
    )


def _with_given(group: Sequence[SeenIndex], given: Geometry) -> GeometryGuess:
    """`given`, or UsageError if size or content contradict it."""
    first = group[0]
    if given.hash_slot_num < 1 or given.index_num < 1:
        raise UsageError(f"geometry {given.hash_slot_num},{given.index_num}: both numbers must be at least 1")
    if first.size != given.file_size:
        raise UsageError(
            f"{first.file.path}: found {first.size:,} bytes, but geometry "
            f"{given.hash_slot_num},{given.index_num} makes {given.file_size:,}"
        )
    witnesses = [index for index in group if index.header.index_count > 1][:_WITNESSES]
    found = agreement_of_all(witnesses, given, _CHECKED)
    if found.checked and not found.holds:
        other = _infer(group)
        if other is not None and other.geometry != given:
            raise UsageError(
                f"{witnesses[0].file.path}: geometry {given.hash_slot_num},{given.index_num} does not fit: "
                f"{found.agreed:,} of {found.checked:,} entries are in their slot's chain; with "
                f"{other.geometry.hash_slot_num},{other.geometry.index_num}, {other.agreed:,} do"
            )
    return guessed(given, found, "given", 1)


def by_size(
    files: Sequence[StoreFile], on_error: Callable[[StoreFile, FormatError | OSError], None] | None
) -> dict[int, list[SeenIndex]]:
    """The index files by their length in bytes."""
    groups: dict[int, list[SeenIndex]] = {}
    for file in files:
        if file.kind != "index":
            continue
        try:
            index = _look(file)
        except (FormatError, OSError) as error:
            if on_error is None:
                raise
            on_error(file, error)
            continue
        groups.setdefault(index.size, []).append(index)
    return groups


def resolve_each(
    files: Sequence[StoreFile],
    given: Geometry | None = None,
    *,
    on_error: Callable[[StoreFile, FormatError | OSError], None] | None = None,
) -> dict[StoreFile, GeometryGuess]:
    """The geometry of each index file among `files`; files of one size have one geometry.

    `on_error` is called with each file that is not an index file or cannot be read, which is then skipped; by default the error is raised.

    Raises UsageError: `given` does not fit, or nothing is given and size and content leave it open.
    Raises MalformedError: no geometry fits a file, or its size and content do not fit that of its siblings.
    """
    groups = by_size(files, on_error)
    guesses: dict[int, GeometryGuess] = {}
    failed: list[tuple[SeenIndex, UsageError]] = []
    for size, group in groups.items():
        try:
            guesses[size] = _without_given(group) if given is None else _with_given(group, given)
        except UsageError as error:
            failed.append((group[0], error))
    for first, problem in failed:
        if not guesses or (given is not None and on_error is None):
            raise problem
        sibling = next(iter(guesses))
        for index in groups[first.size]:
            misfit = MalformedError(
                file=str(index.file.path),
                found=f"{index.size:,} bytes that fit no geometry",
                expected=f"{sibling:,} bytes, as in its sibling {groups[sibling][0].file.name}",
                clause="IDX-FILE-1",
            )
            if on_error is None:
                raise misfit from problem
            on_error(index.file, misfit)
    return {index.file: guesses[size] for size, group in groups.items() if size in guesses for index in group}


def resolve(files: Sequence[StoreFile], given: Geometry | None = None) -> GeometryGuess:
    """The one geometry of the index files among `files`; `given` is checked against them.

    Raises UsageError: no index files, `given` does not fit, or size and content leave it open (the message names the
    candidates).
    Raises MalformedError: a file that no geometry fits, or files of several geometries.
    """
    each = resolve_each(files, given)
    if not each:
        raise UsageError("no index files to infer a geometry from")
    first_file, first = next(iter(each.items()))
    for file, guess in each.items():
        if guess.geometry != first.geometry:
            raise MalformedError(
                file=str(file.path),
                found=f"geometry {guess.geometry.hash_slot_num},{guess.geometry.index_num}",
                expected=f"{first.geometry.hash_slot_num},{first.geometry.index_num}, as in {first_file.name}",
            )
    return first


def resolve_some(files: Sequence[StoreFile], given: Geometry | None = None) -> GeometryGuess:
    """The common geometry; if the files disagree, that of the first file that has one. Errors as of `resolve`, always if `given` does not fit."""
    try:
        return resolve(files, given)
    except (MalformedError, UsageError) as error:
        if given is not None and isinstance(error, UsageError):
            raise
        for file in files:
            with suppress(MalformedError, UsageError):
                return resolve([file], given)
        raise
