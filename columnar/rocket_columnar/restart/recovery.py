"""The recovery of a start, of 4.9.3 alone and in DLedger mode: its effect on the log and the index files."""

import os
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
from rocket_spec import layout
from rocket_spec.errors import MalformedError

from rocket_columnar.facts import Store
from rocket_columnar.formats import LONG_MAX, iso, parse_long
from rocket_columnar.index import IndexHeader
from rocket_columnar.log import Requests, RequestScan, TopicNames, misplaced
from rocket_columnar.store import (
    Reader,
    StoreFile,
    WorkDone,
    log_length,
    open_reader,
    read_at,
    shown_name,
    size_of,
    unopened,
    usual_size,
)

# Predicts what a start of 4.9.3 in DLedger mode does to the log.
#
# Read beside `DLedgerCommitLog.recover` 262-313 and `DLedgerMmapFileStore.recover` 119-304, which look at the headers of entries
# and never at their records. DLedger's own index of entries decides in which file the walk begins, and is rewritten where it
# differs. What the leader of a group does to a member later does not follow from a member's files.


# DLedger's own index of entries and its checkpoint, as far as they decide how a start goes (DLG-6, DLG-11).
#
# Read beside `MmapFileList.load` 283-312 and `checkSelf` 54-72, and `DLedgerMmapFileStore.recover` 155-171 and 291-301.


_UNIT: Final = struct.Struct(layout.ENTRY_INDEX_UNIT.struct_format)
_COMMITTED: Final = "committedIndex"

_LONGEST: Final = 1 << 20  # bytes of a checkpoint of DLedger, which writes two lines


class EntryIndex:
    """The files of a member's index of entries; `unfit` is why DLedger would not start on them, or None."""

    def __init__(self, member: Path) -> None:
        self._member = member
        self._files: dict[int, Path] = {}
        folder = member / "index"
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name) if folder.is_dir() else []
        self.unfit = self._listed(entries, f"{member.name}/index")

    def _listed(self, entries: Sequence[os.DirEntry[str]], folder: str) -> str | None:
        places: list[tuple[int, str]] = []
        for entry in entries:
            size, start = entry.stat().st_size, parse_long(entry.name)
            name = f"{folder}/{shown_name(entry.name)}"
            if size != layout.ENTRY_INDEX_FILE_SIZE:
                found = "a directory" if entry.is_dir() else f"{size:,} bytes"
                return f"{name}: found {found}, expected {layout.ENTRY_INDEX_FILE_SIZE:,} bytes: DLedger ends its process"
            if start is None:
                return f"{name}: a file whose name is not a number: the store does not load"
            self._files[start] = Path(entry.path)
            places.append((start, name))
        for (before, earlier), (start, name) in pairwise(places):
            if start - before != layout.ENTRY_INDEX_FILE_SIZE:
                return f"{name}: does not follow on {earlier}: DLedger accepts no gap between its files"
        return None

    def fits(self, number: int, *, term: int, pos: int, size: int) -> bool:
        """Whether the unit of an entry holds what its header does."""
        path = self._files.get(_file_of(number))
        if path is None:
            return False
        with open_reader(path) as reader:
            unit = _UNIT.unpack(
                reader.read(number * _UNIT.size % layout.ENTRY_INDEX_FILE_SIZE, _UNIT.size).tobytes()
            )
        return unit == (layout.ENTRY_MAGIC, pos, size, number, term)

    def committed_unfit(self, first: int, begin: int, end: int) -> str | None:
        """Why the store would not load with the committed index of DLedger's checkpoint, or None (DLG-19).

        `first` and `end` are numbers of the first entry of the walk and of the last one, `begin` the number that the first entry of the log claims.
        MalformedError if the checkpoint is longer than 1 MiB.
        """
        text = _committed_text(self._member)
        committed = parse_long(text)
        found = f"{self._member.name}/checkpoint: found {_COMMITTED}={text[:80]!r}"
        if committed is None:
            return f"{found}, expected a number: the store does not load" if text else None
        if end == -1 or committed < max(begin, 1):  # entry 0 is found in any file
            return None
        unit_file, walked = (_file_of(number) for number in (min(committed, end), first))
        kept = walked in self._files or (
            first * _UNIT.size == walked and walked - layout.ENTRY_INDEX_FILE_SIZE in self._files
        )
        found_again = unit_file >= walked or (kept and unit_file in self._files)
        if found_again and end >= begin:
            return None
        return f"{found}, whose unit a start does not find in the index of entries: the store does not load"


def has_place(number: int) -> bool:
    """Whether a start makes a file of the index for an entry's unit, whose place is a Java long (DLG-17)."""
    place = (number * _UNIT.size + (1 << 63)) % (1 << 64) - (1 << 63)
    if place < 0:
        return place % layout.ENTRY_INDEX_FILE_SIZE == 0  # a file with a negative name is made for it
    return place < (1 << 63) - 1 - layout.ENTRY_INDEX_FILE_SIZE + place % layout.ENTRY_INDEX_FILE_SIZE


def _file_of(number: int) -> int:
    """Start of the file that has the unit of an entry."""
    return number * _UNIT.size // layout.ENTRY_INDEX_FILE_SIZE * layout.ENTRY_INDEX_FILE_SIZE


def _committed_text(member: Path) -> str:
    """The committed index in DLedger's checkpoint; empty if there is none."""
    try:
        with open_reader(member / "checkpoint") as reader:
            if reader.size > _LONGEST:
                raise MalformedError(
                    file=reader.name,
                    found=f"{reader.size:,} bytes",
                    expected=f"at most {_LONGEST:,}",
                    clause="DLG-11",
                )
            text = reader.read(0, reader.size).tobytes().decode("latin-1")
    except FileNotFoundError:
        return ""
    found = re.findall(rf"^[ \t\f]*{_COMMITTED}[ \t\f]*[=:](.*)$", text, re.MULTILINE)
    return found[-1].strip() if found else ""


_HEADER: Final = struct.Struct(layout.ENTRY.struct_format)
_FILES: Final = 3  # the walk begins at the third file from the end
_TOO_SHORT: Final = 44  # a walk accepts a size of more, though a header alone has 48 bytes


class EntryLog(NamedTuple):
    """The positions at which a start's walk over the entries begins and ends, and why DLedger would not start, or None."""

    begin: int
    end: int
    refused: str | None


class _Last(NamedTuple):
    """The entry before: its number, its term and its size; -1 before the first."""

    number: int = -1
    term: int = -1
    size: int = -1


def entry_log(files: Sequence[StoreFile], size: int) -> EntryLog:
    """Where a start's walk over the files of DLedger mode, at least one of `size` bytes each, begins and ends."""
    member = files[0].path.parent.parent
    index = EntryIndex(member)
    if index.unfit is not None:
        return EntryLog(files[0].base_offset, files[0].base_offset, index.unfit)
    for before, file in pairwise(files):
        if file.base_offset - before.base_offset != size:
            unfit = f"{file.name}: does not follow on {before.name}: DLedger accepts no gap between its files"
            return EntryLog(before.base_offset, before.base_offset, unfit)
    first = next(
        (
            number
            for number in range(max(len(files) - _FILES, 0), -1, -1)
            if _begins_well(files[number], index)
        ),
        0,
    )
    end, last = files[first].base_offset, _Last()
    for file in files[first:]:
        end, last, rolls = _walk(file, last)
        if not rolls:
            break
    refused = index.committed_unfit(_number(files[first]), _number(files[0]), last.number)
    if last.number < -1 or (last.number != -1 and files[0].base_offset % size):
        refused = f"the last entry, number {last.number:,} at {end - last.size:,}, is not found again: the log does not load"
    if _TOO_SHORT < last.size < layout.ENTRY.size:
        refused = (
            f"the last entry, at {end - last.size:,}, claims {last.size} bytes, fewer than its header has: "
            "the log does not load"
        )
    if files[-1].base_offset - end > size:
        refused = (
            f"the entries end at {end:,}, more than a file before {files[-1].name}: DLedger ends its process"
        )
    last_file = next(
        (file for file in reversed(files) if file.base_offset <= end < file.base_offset + size), None
    )
    if last_file is not None:
        end = last_file.base_offset + end % size  # MmapFileList.truncateOffset; DLG-18
    return EntryLog(files[first].base_offset, end, refused)


def entry_index_fault(store: Store) -> tuple[str, list[str]] | None:
    """Why DLedger does not start on its own index of entries beside a store's log, and the names of its files; None if it does."""
    member = store.logs[-1].path.parent.parent
    fault = EntryIndex(member).unfit
    if fault is None:
        return None
    return fault, [
        f"{member.name}/index/{name}" for name in sorted(path.name for path in (member / "index").iterdir())
    ]


def _number(file: StoreFile) -> int:
    """The number that the first entry of a file claims."""
    with file.open() as reader:
        return int.from_bytes(reader.read(8, min(8, max(reader.size - 8, 0))).tobytes(), signed=True)


def _begins_well(file: StoreFile, index: EntryIndex) -> bool:
    """Whether a walk can begin in a file: its first entry is sound, and is the one in the index of entries."""
    with file.open() as reader:
        found = _entry(reader, 0, file.base_offset, _Last())
    if found is None:
        return False
    size, last = found
    return index.fits(last.number, term=last.term, pos=file.base_offset, size=size)


def _walk(file: StoreFile, last: _Last) -> tuple[int, _Last, bool]:
    """Where the entries of a file end, the last of them, and whether a blank leads on to the next file."""
    position = 0
    with file.open() as reader:
        while position + 4 <= reader.size:
            if int.from_bytes(reader.read(position, 4).tobytes(), signed=True) == layout.ENTRY_BLANK_MAGIC:
                return file.base_offset + reader.size, last, True
            found = _entry(reader, position, file.base_offset, last)
            if found is None:
                break
            length, last = found
            position += length
    return file.base_offset + position, last, False


def _entry(reader: Reader, at: int, base: int, last: _Last) -> tuple[int, _Last] | None:
    """Length of the entry here, and the entry itself as the last one; None for one that a recovery does not accept."""
    if at + layout.ENTRY.size > reader.size:
        return None
    magic, size, index, term, pos, _, _, _, body_size = _HEADER.unpack(
        reader.read(at, layout.ENTRY.size).tobytes()
    )
    sound = magic == layout.ENTRY_MAGIC and pos == base + at and size == layout.ENTRY.size + body_size
    follows = (has_place(index) if last.number == -1 else last.number == index - 1) and term >= last.term
    return (
        (size, _Last(index, term, size))
        if sound and follows and _TOO_SHORT < size <= reader.size - at
        else None
    )


# What a start of 4.9.3 does to a store's files, read off its files beforehand.
#
# Read beside `DefaultMessageStore.load` 192-228, `IndexService.load` 57-90, `CommitLog.recoverNormally` 206-272 and
# `recoverAbnormally` 465-549.


_LONGEST_ARRAY: Final = (1 << 31) - 3  # bytes, of a JVM's arrays


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file that a start deletes or changes.

    Attributes:
        file: its name relative to the store.
        offset: byte from which its content is dropped; None for a whole file.
    """

    action: Literal["delete", "truncate"]
    file: str
    offset: int | None
    reason: str


def deleted_indexes(
    headers: Sequence[tuple[StoreFile, IndexHeader]], index_time: int, *, clean: bool
) -> list[Deletion]:
    """Index files that are destroyed at a load after a crash (`IndexService.load` 68-74)."""
    if clean:
        return []
    return [
        Deletion(
            "delete",
            file.name,
            None,
            f"its end timestamp {iso(header.end_timestamp)} is later than the checkpoint's index time {iso(index_time)}",
        )
        for file, header in headers
        if header.end_timestamp > index_time
    ]


def refusal(store: Store) -> str | None:
    """The first file that ends the load: a broker refuses to start (`MappedFileQueue.load` 163-166)."""
    conf = store.conf
    for name in ("checkpoint", "lock"):
        reason = None if store.path is None else unopened(store.path / name)
        if reason is not None:
            return f"{name}: {reason}, which a broker cannot open as a file"
    for kind, files, configured in (
        ("commit-log", store.logs, None if conf is None or store.framed else conf.log_file_size),
        ("consume-queue", store.queues, None if conf is None else conf.queue_file_size),
    ):
        sizes = [size_of(file) or 0 for file in files]
        usual = log_length(files, sizes) if kind == "commit-log" else usual_size(sizes)
        wanted, who = (usual, "the others have") if configured is None else (configured, "the broker expects")
        for file, size in zip(files, sizes, strict=True):
            if size != wanted:
                return f"{file.name}: a {kind} file of {size:,} bytes where {who} {wanted:,}"
    return None


class StartWalk:
    """The records that a start takes for sound, batch by batch, up to the first bytes that are no sound record or blank.

    4.9.3 follows the list of its files, a missing one or not, and does not ask for a record's own offset: one that states
    another offset than its place is a batch of its own, and is dispatched with the offset that it states.

    A record begins at the physical offset `begin`, and the walk ends at `stop` at the latest; `end` is where it has come to. Topics are added to
    `names`. `check_crc` is whether bodies are compared with their checksums, as a recovery does.
    """

    def __init__(
        self, store: Store, begin: int, stop: int, names: TopicNames, *, check_crc: bool = False
    ) -> None:
        self._store, self._stop, self._names, self._check_crc = store, stop, names, check_crc
        self.end = begin

    def __iter__(self) -> Iterator[tuple[Reader, int, Requests]]:
        """The reader of a file, the physical offset at which the batch would have the file begin, and the batch."""
        begin = self.end
        for file, size in zip(self._store.logs, self._store.log_sizes, strict=True):
            base = file.base_offset
            if base + size <= begin or base >= self._stop:
                continue
            self.end = max(begin, base)
            with file.open() as reader:
                yield from self._of_file(reader, base, min(self._stop - base, size))
            if self.end < self._stop and not _rolls(file, self.end - base):
                break

    def _of_file(self, reader: Reader, base: int, stop: int) -> Iterator[tuple[Reader, int, Requests]]:
        place = self.end - base
        while place < stop:
            size, shift = misplaced(reader, base, place)
            scan = RequestScan(
                reader, base + shift, self._names, check_crc=self._check_crc, keys=self._store.keys
            )
            begin = place
            for batch in scan.run(place, place + size if size else stop, exact=True, on_gap=lambda _: None):
                sound = _sound(batch, base + shift + place)
                if sound is not None:
                    place = int(sound.phy_offset[-1]) + int(sound.size[-1]) - base - shift
                    self.end = base + place
                    yield reader, base + shift, sound
                if sound is not batch:
                    break
            if place == begin:
                return


def walked_end(store: Store, begin: int, work: WorkDone) -> int:
    """Where a recovery's walk from `begin`, where a file begins, ends; `work` counts the bytes of the log that are read."""
    left = sum(
        size for file, size in zip(store.logs, store.log_sizes, strict=True) if file.base_offset >= begin
    )
    work.expect(left)
    walk = StartWalk(store, begin, LONG_MAX, TopicNames(), check_crc=True)
    for _, _, batch in walk:
        done = int(batch.size.sum(dtype=np.int64))
        work.add(done)
        left -= done
    work.add(left)
    return walk.end


def too_long_record(store: Store, end: int) -> str | None:
    """Why the record at the log's end makes a start run out of memory, which no other failure does (STORE-16)."""
    file = store.log_at(end)
    head = b"" if file is None else read_at(file, end - file.base_offset, 8)
    length, magic = (int.from_bytes(part, signed=True) for part in (head[:4], head[4:]))
    if file is None or magic not in layout.RECORD_MAGICS or length <= _LONGEST_ARRAY:
        return None
    return (
        f"{file.name}: the record at physical offset {end:,} claims {length:,} bytes, more than Java can "
        "allocate: a start ends in OutOfMemoryError while it reads the log"
    )


def passed_gap(store: Store, position: int, end: int, *, clean: bool) -> str | None:
    """Why the dispatch from `position`, the greatest end of a queue, never comes to the log's end (STORE-14).

    After a crash the recovery has dispatched what follows a missing file, unless nothing does.
    """
    for gap, after in store.log_breaks:
        if max(gap, position) < after and (end == after or (clean and end > after)):
            name, _ = store.at(gap - 1)
            return f"{name}: the file after it is missing, and dispatch stops there: a start never returns"
    return None


def _sound(batch: Requests, begin: int) -> Requests | None:
    """The first records of a batch that follow one another from `begin` on and have their checksums."""
    ends = batch.phy_offset + batch.size
    sound = batch.crc_ok & (batch.phy_offset == np.append(begin, ends[:-1]))
    if sound.all():
        return batch
    count = int(np.argmin(sound))
    return batch.part(0, count, np.append(0, np.cumsum(batch.key_count))) if count else None


def _rolls(file: StoreFile, at: int) -> bool:
    """Whether a blank leads on to the next file."""
    return read_at(file, at + 4, 4) == bytes.fromhex("cbd43194")


def deleted_logs(store: Store, end: int) -> list[Deletion]:
    """Log files after the end that the walk finds (`MappedFileQueue.truncateDirtyFiles` 127-145)."""
    deletions = []
    for file, size in zip(store.logs, store.log_sizes, strict=True):
        if file.base_offset > end:
            deletions.append(Deletion("delete", file.name, None, f"it begins after the log's end, {end:,}"))
        elif file.base_offset <= end < file.base_offset + size and end < store.end:
            text = f"the log ends at physical offset {end:,}; the records after it are lost"
            deletions.append(Deletion("truncate", file.name, end - file.base_offset, text))
    return deletions
