"""The geometry of index files, which the files do not record: given, inferred, or assumed.

Inference starts with a guess (the default if the size is that of the default; otherwise the geometry that puts the last
entry into the last cell that is not zero) and compares the file's chains with it. If a file has too few
entries to decide that way, all geometries of the size are searched, and the other files of the size are
used too.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal

from rocket_spec.errors import FormatError, MalformedError, UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, Geometry
from rocket_spec.printable import counted

from rocket_columnar.index.index_file import IndexHeader, read_header
from rocket_columnar.index.raw_index import (
    SAMPLE,
    Agreement,
    agreement,
    count_of_size,
    ends_agree,
    geometries_of_size,
    last_entry_guess,
    search,
    search_by_records,
)
from rocket_columnar.store import StoreFile

_SETTLED: Final = 64  # this many entries that agree leave no room for another geometry
_WITNESSES: Final = 16  # files of one size that are asked
_CHECKED: Final = 512  # entries of each that a given geometry is compared with; an inferred one needs more
_SHOWN: Final = 8  # candidates named in a message
_BY_RECORDS: Final = 8  # files whose entries are compared with the log
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
class _Seen:
    """One index file: its size in bytes and its header."""

    file: StoreFile
    size: int
    header: IndexHeader


def _look(file: StoreFile) -> _Seen:
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
        return _Seen(file, reader.size, header)


def _agreement(seen: Sequence[_Seen], geometry: Geometry, sample: int = SAMPLE) -> Agreement:
    total = _NOTHING
    for index in seen:
        with index.file.open() as reader:
            total += agreement(reader, index.header, geometry, sample=sample)
    return total


def _guess(
    geometry: Geometry, found: Agreement, how: Literal["given", "inferred", "assumed"], candidates: int
) -> GeometryGuess:
    reason = f"{found.agreed:,} of {counted(found.checked, 'entry', 'entries')} agree, in {counted(found.chains, 'chain')}"
    return GeometryGuess(geometry, how, candidates, reason, found.checked, found.agreed, found.chains)


def _first_guess(index: _Seen) -> tuple[Geometry, Agreement] | None:
    """The default geometry or that of the last entry, if the file's chains agree with it."""
    with index.file.open() as reader:
        guesses = [DEFAULT_GEOMETRY] if index.size == DEFAULT_GEOMETRY.file_size else []
        last = last_entry_guess(reader, index.header)
        for guess in [*guesses, *([last] if last else [])]:
            found = agreement(reader, index.header, guess)
            if found.holds:
                return guess, found
    return None


def _ranked(witnesses: Sequence[_Seen], candidates: Sequence[Geometry]) -> list[Geometry]:
    """The candidates with which most entries, and then most of the headers' ends, agree."""
    best: list[Geometry] = []
    score = (0, 0)
    for geometry in candidates:
        total = _agreement(witnesses, geometry)
        ends = 0
        for index in witnesses:
            with index.file.open() as reader:
                ends += ends_agree(reader, index.header, geometry)
        if (total.agreed, ends) > score:
            best, score = [geometry], (total.agreed, ends)
        elif (total.agreed, ends) == score:
            best.append(geometry)
    return best


def _infer(group: Sequence[_Seen]) -> GeometryGuess | None:
    """The geometry of files of one size by their content, or None if that is not conclusive."""
    filled = [index for index in group if index.header.index_count > 1]
    witnesses = sorted(filled, key=lambda index: -index.header.index_count)[:_WITNESSES]
    for index in witnesses:
        first = _first_guess(index)
        if first is not None and first[1].agreed >= _SETTLED:
            others = [other for other in witnesses if other is not index]
            return _guess(first[0], first[1] + _agreement(others, first[0]), "inferred", 1)
        with index.file.open() as reader:
            candidates = search(reader, index.header)
        if not candidates:
            continue
        best = _ranked(witnesses, candidates)
        if first is not None and len(best) > 1 and first[0] in best:
            # Any other would leave entries beyond the index count, or count cells that are not written.
            best = [first[0]]
        if len(best) == 1:
            return _guess(best[0], _agreement(witnesses, best[0]), "inferred", len(candidates))
    return None


def _candidates(size: int, least: int) -> str:
    count = count_of_size(size, least)
    shown = " ".join(
        f"{slots},{entries}" for slots, entries in islice(geometries_of_size(size, least), _SHOWN)
    )
    return f"{count:,} make {size:,} bytes: {shown}" + (" ..." if count > _SHOWN else "")


def _without_given(group: Sequence[_Seen]) -> GeometryGuess:
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


def _with_given(group: Sequence[_Seen], given: Geometry) -> GeometryGuess:
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
    found = _agreement(witnesses, given, _CHECKED)
    if found.checked and not found.holds:
        other = _infer(group)
        if other is not None and other.geometry != given:
            raise UsageError(
                f"{witnesses[0].file.path}: geometry {given.hash_slot_num},{given.index_num} does not fit: "
                f"{found.agreed:,} of {found.checked:,} entries are in their slot's chain; with "
                f"{other.geometry.hash_slot_num},{other.geometry.index_num}, {other.agreed:,} do"
            )
    return _guess(given, found, "given", 1)


def _by_size(
    files: Sequence[StoreFile], on_error: Callable[[StoreFile, FormatError | OSError], None] | None
) -> dict[int, list[_Seen]]:
    """The index files by their length in bytes."""
    groups: dict[int, list[_Seen]] = {}
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
    groups = _by_size(files, on_error)
    guesses: dict[int, GeometryGuess] = {}
    failed: list[tuple[_Seen, UsageError]] = []
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


def resolve_by_records(files: Sequence[StoreFile], is_record: Callable[[int], bool]) -> GeometryGuess | None:
    """The geometry of index files by the records that their entries point to; None if that is not conclusive.

    It needs a log, and decides where no geometry agrees with slots and chains (`resolve`), or not with all of them.
    """
    groups = _by_size(files, lambda _file, _error: None)
    group = max(groups.values(), key=len, default=[])
    asked = [*group[: _BY_RECORDS // 2], *group[_BY_RECORDS // 2 :][-_BY_RECORDS // 2 :]]
    with ExitStack() as opened:
        readers = [opened.enter_context(index.file.open()) for index in asked]
        found = search_by_records(readers, [index.header for index in asked], is_record)
    if found is None:
        return None
    guess = _guess(found, _agreement(asked, found), "inferred", 1)
    return replace(guess, reason=f"its entries are those of records of the log; {guess.reason}")


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
