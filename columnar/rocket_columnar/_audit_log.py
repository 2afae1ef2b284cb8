"""The commit log in an audit: its frames as arrays, and what is wrong with the files themselves."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import BLANK_MAGIC, MESSAGE_MAGIC, RECORD, RECORD_FIXED_V4

from rocket_columnar._audit_dispatch import COMMIT, NOT, Requests, TopicNames, requests
from rocket_columnar._audit_finding import Finding, finding
from rocket_columnar._audit_record import body_place, torn_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from rocket_columnar.decode import Gap
    from rocket_columnar.store import StoreFile

__all__ = ["Frames", "check_log_files", "gap_finding", "read_frames"]

_HEAD: Final = struct.Struct(">ii20xq")
_NO_FRAMES: Final = Requests(
    *(np.empty(0, kind) for kind in ("i8", "i4", "i4", "i4", "i8", "i8", "?", "i8", "i1", "?", "i4", "i4"))
)


@dataclass(frozen=True, slots=True)
class Frames:
    """All records that verify, in the order of the log.

    Attributes:
        all: their fields and keys.
        topics: names of the topics' numbers.
        files: the log's files.
        sizes: their lengths in bytes, as read.
        begin: physical offset of the log's first byte; 0 without files.
        end: physical offset behind the last record.
        key_frame: for each key the place of its record.
    """

    all: Requests
    topics: TopicNames
    files: Sequence[StoreFile]
    sizes: tuple[int, ...]
    begin: int
    end: int
    key_frame: NDArray[np.int64]

    def find(self, phy_offset: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of the record at each offset, -1 where none begins there."""
        known = self.all.phy_offset
        if not known.size:
            return np.full(phy_offset.shape, -1, np.int64)
        place = np.searchsorted(known, phy_offset)
        place[place == known.size] = 0
        place[known[place] != phy_offset] = -1
        return place

    def at(self, frame: int) -> tuple[str, int]:
        """Name of the file in which a record lies, and its place there."""
        offset = int(self.all.phy_offset[frame])
        for file, size in zip(self.files, self.sizes, strict=True):
            if file.base_offset <= offset < file.base_offset + size:
                return file.name, offset - file.base_offset
        return "commitlog", offset

    @property
    def newest(self) -> int | None:
        """Store timestamp of the newest record, ms; None without records."""
        times = self.all.store_timestamp
        return int(times.max()) if times.size else None

    def queued(self) -> NDArray[np.bool_]:
        """Which records get a unit in their queue (LOG-DSP-7)."""
        kinds = self.all.transaction
        queued: NDArray[np.bool_] = ((kinds == NOT) | (kinds == COMMIT)) & self.all.dispatched
        return queued

    def appended_meanwhile(self, phy_offset: int) -> bool:
        """Whether a record has come to lie at an offset behind the end that was read."""
        if phy_offset < self.end or not self.files:
            return False
        size = max(self.sizes)
        for base in {file.base_offset for file in self.files} | {phy_offset // size * size if size else 0}:
            if base <= phy_offset < base + size:
                path = self.files[0].path.parent / f"{base:020}"
                try:
                    with path.open("rb") as file:
                        file.seek(phy_offset - base)
                        head = file.read(_HEAD.size)
                except FileNotFoundError:
                    continue
                if len(head) == _HEAD.size:
                    _, magic, recorded = _HEAD.unpack(head)
                    return bool(magic == MESSAGE_MAGIC and recorded == phy_offset)
        return False


def _joined(parts: list[Requests]) -> Requests:
    if not parts:
        return _NO_FRAMES
    names = list(Requests.__slots__)
    return Requests(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def read_frames(
    files: Sequence[StoreFile], report: Callable[[Finding], None], *, live: bool, deep: bool
) -> Frames:
    """Walks the log's files; `report` gets what is wrong with them.

    Args:
        files: the log's, in order.
        report: takes findings.
        live: whether a broker may be writing, or died writing: a torn tail is then no loss.
        deep: whether bodies are held against their checksums.

    Raises:
        OSError: a file cannot be read.
    """
    topics = TopicNames()
    parts: list[Requests] = []
    ends: list[int] = []
    sizes: list[int] = []
    gaps: list[tuple[StoreFile, Gap]] = []
    read: list[StoreFile] = []
    for file in files:
        try:
            size = file.path.stat().st_size
            end = 0
            found: list[Gap] = []
            for part in requests(file, topics, found.append, check_crc=deep):
                parts.append(part)
                end = int(part.phy_offset[-1] + part.size[-1])
                _check_crc(file, part, report)
        except FileNotFoundError:  # expired meanwhile
            continue
        read.append(file)
        sizes.append(size)
        ends.append(end)
        gaps += ((file, gap) for gap in found)
    check_log_files(read, sizes, report)
    last = max((number for number, end in enumerate(ends) if end), default=-1)
    for file, gap in gaps:
        number = read.index(file)
        tail = number >= last and gap.end >= file.base_offset + sizes[number]
        report(gap_finding(file, sizes[number], gap, tail=tail, live=live))
    for number in range(last):
        _check_end(read[number], sizes[number], ends[number], gaps, report)
    joined = _joined(parts)
    if last >= 0:
        found_torn = torn_end(read[last], int(joined.phy_offset[-1]), int(joined.size[-1]), live=live)
        if found_torn is not None:
            report(found_torn)
    key_frame = np.repeat(np.arange(joined.phy_offset.size, dtype=np.int64), joined.key_count)
    begin = read[0].base_offset if read else 0
    return Frames(joined, topics, read, tuple(sizes), begin, max(ends, default=0) or begin, key_frame)


def _check_crc(file: StoreFile, part: Requests, report: Callable[[Finding], None]) -> None:
    for number in np.flatnonzero(~part.crc_ok).tolist():
        at = int(part.phy_offset[number]) - file.base_offset
        report(
            finding(
                "log.crc",
                file.name,
                at + body_place(file.path, at),
                f"the body of the record at physical offset {file.base_offset + at:,} does not have its "
                "checksum: consumers get damaged bytes, and a recovery cuts the log here",
            )
        )


def check_log_files(
    files: Sequence[StoreFile], sizes: Sequence[int], report: Callable[[Finding], None]
) -> None:
    """One length for all files, and each where the one before it ends."""
    if not files:
        return
    usual, _ = Counter(sizes).most_common(1)[0]
    if len(files) > 1 and len(set(sizes)) == len(sizes):
        usual = _step(files) or usual
    for file, size in zip(files, sizes, strict=True):
        if size != usual:
            report(
                finding(
                    "log.length",
                    file.name,
                    min(size, usual),
                    f"found a file of {size:,} bytes, expected {usual:,} as its siblings have: a broker refuses to start",
                    clause="LOG-FILE-1",
                )
            )
    for before, file in pairwise(files):
        end = before.base_offset + usual
        if file.base_offset > end:
            report(
                finding(
                    "log.gap",
                    f"{file.name.rpartition('/')[0]}/{end:020}",
                    None,
                    f"no file holds physical offsets {end:,} to {file.base_offset:,}: "
                    "their messages are lost, and a broker starts without complaint",
                )
            )


def _step(files: Sequence[StoreFile]) -> int:
    return min(after.base_offset - before.base_offset for before, after in pairwise(files))


def _check_end(
    file: StoreFile,
    size: int,
    end: int,
    gaps: Iterable[tuple[StoreFile, Gap]],
    report: Callable[[Finding], None],
) -> None:
    """A file that others follow ends in a blank, or full; zeros to its end are a gap."""
    position = end - file.base_offset if end else 0
    if position >= size or any(where == file and gap.end >= file.base_offset + size for where, gap in gaps):
        return
    if any(where == file and gap.begin >= file.base_offset + position for where, gap in gaps):
        return
    with file.path.open("rb") as opened:
        opened.seek(position)
        head = opened.read(8)
    if len(head) == 8 and struct.unpack(">ii", head)[1] == BLANK_MAGIC:
        return
    report(
        finding(
            "log.gap",
            file.name,
            position,
            f"zeros from physical offset {file.base_offset + position:,} to the file's end, "
            "although later files hold records: dispatch and recovery stop here",
        )
    )


def gap_finding(file: StoreFile, size: int, gap: Gap, *, tail: bool, live: bool) -> Finding:
    """Names the reason by the bytes at which the gap begins."""
    at = gap.begin - file.base_offset
    with file.path.open("rb") as opened:
        opened.seek(max(at, 0))
        head = opened.read(_HEAD.size)
        length = int.from_bytes(head[:4], signed=True)
        rest = b""
        if RECORD_FIXED_V4 <= length <= size - at:
            opened.seek(at + length - 8)
            rest = opened.read(8)
    where = f"physical offsets {gap.begin:,} to {gap.end:,}"
    found = f"found {gap.found}, expected {gap.expected}; {where} hold no record that verifies"
    _, magic, recorded = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, 0, 0)
    if tail and (not any(rest) and (magic in (0, MESSAGE_MAGIC)) and recorded in (0, gap.begin)):
        return finding(
            "log.torn",
            file.name,
            at,
            f"{found}: the last write was cut off",
            severity="note" if live else None,
        )
    lost = f"{found}: their messages are lost, and dispatch and recovery stop here"
    if magic == BLANK_MAGIC:
        return finding("log.length", file.name, at, lost, clause="LOG-BLANK-1")
    if magic != MESSAGE_MAGIC:
        return finding("log.magic", file.name, at + RECORD.offset_of("magic"), lost)
    if RECORD_FIXED_V4 <= length <= size - at and recorded != gap.begin:
        return finding("log.position", file.name, at + RECORD.offset_of("phy_offset"), lost)
    return finding("log.length", file.name, at, lost)
