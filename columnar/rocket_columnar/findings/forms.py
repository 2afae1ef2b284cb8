"""Findings: their form and codes, and those on files: of a commit log by their lengths, names and gaps, and of what cannot be read."""

import os
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypedDict, Unpack, get_args

from rocket_spec import layout
from rocket_spec.deviations import Deviation, StorePart

from rocket_columnar.formats import Record, body_matches, is_blank, parse_record
from rocket_columnar.log import Gap, misplaced, zeros_after
from rocket_columnar.store import StoreFile, Unreadable, log_length, read_at

Severity = Literal["error", "warning", "note"]

Remedy = Literal[
    "none",
    "index",
    "queues",
    "replica",
    "aside",
    "trim",
    "settings",
    "checkpoint",
    "topics",
    "offsets",
    "mount",
    "link",
    "twice",
    "config",
    "position",
]
"""Kinds of cures: index files or queues are rebuilt, files are copied from a replica, files that do not belong there are
moved away, or given the usual length, the broker's settings are corrected, the checkpoint is removed, the list of topics is completed from the queues,
offsets of groups beyond their queues are set to their ends, a disk is mounted, what a link leads to is restored, one of two files of one name is moved away, files of `config/` are copied from a replica, and the
physical offset in a record is set to its position."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an audit found.

    Attributes:
        code: a stable name, one of `CODES`.
        severity: "error" for bytes that break a clause, "warning" for something that loses or hides a message, or "note".
        clause: the clause that it is about, or None.
        file: name of the file relative to the store, or of the directory in which a file is missing.
        offset: byte in that file, or None if the whole file is meant.
        message: what was found, what was expected, and what it means.
        cure: what to do about it, for people; no code reads it, nor the message.
        remedy: the kind of that cure.
        length: bytes that the file should have, if it has another length than the others of its kind; else None.
        settings: those of the broker with which the files were written, or with which it starts.
        foreign: whether the file is another store's, or another one under this name.
        own_name: the name of a log file that has another name now; else empty.
        units: folder of a queue that lacks units, which may have no file to name, and first and last logical offset of these.
        deviation: the values that differ, for a judge of clauses; None where there are none.
    """

    code: str
    severity: Severity
    clause: str | None
    file: str
    offset: int | None
    message: str
    cure: str
    remedy: Remedy = "none"
    length: int | None = None
    settings: tuple[tuple[str, int | str], ...] = ()
    foreign: bool = False
    own_name: str = ""
    units: tuple[str, int, int] | None = None
    deviation: Deviation | None = None

    @property
    def part(self) -> StorePart:
        """The part of the store that it judges; empty for none."""
        return CODES[self.code].part

    def row(self) -> dict[str, str | int | None]:
        """Its printed values, by name."""
        return {name: getattr(self, name) for name in _ROW}


_ROW: Final = ("code", "severity", "clause", "file", "offset", "message", "cure")


class _Decided(TypedDict, total=False):
    """The fields of a finding that code decides by."""

    remedy: Remedy
    length: int | None
    settings: tuple[tuple[str, int | str], ...]
    foreign: bool
    own_name: str
    units: tuple[str, int, int] | None
    deviation: Deviation | None


class _Code(NamedTuple):
    """The defaults of a finding."""

    # the part of a store that it judges; empty for one that follows from the store's state or configuration
    part: StorePart
    severity: Severity
    clause: str | None  # the clause that it breaks, or None
    meaning: str  # what it means for those who send, consume and query
    cure: str
    remedy: Remedy = "none"


def _read_codes() -> Iterator[tuple[str, _Code]]:
    """The codes of `codes.txt`."""
    text = Path(__file__).with_name("codes.txt").read_text("utf-8")
    blocks = re.findall(r"^([^# \n].*)\n(?:  (.+)\n)?", text, re.MULTILINE)
    cures = {head: cure for head, cure in blocks if " " not in head}
    for head, own in blocks[len(cures) :]:
        code, severity, clause, meaning = head.split(" ", 3)
        part = code.partition(".")[0]
        remedy, cure = (own or cures[part]).split(": ", 1)
        judged = part if part in get_args(StorePart) else ""
        yield code, _Code(judged, severity, None if clause == "-" else clause, meaning, cure, remedy)  # type: ignore[arg-type]


CODES: Final = dict(_read_codes())  # every code, with what is usual of it


def finding(
    code: str,
    file: str,
    offset: int | None,
    message: str,
    *,
    severity: Severity | None = None,
    clause: str | None = None,
    cure: str | None = None,
    **decided: Unpack[_Decided],
) -> Finding:
    """A finding with a known code; severity, clause and cure default to those of the code.

    A cure of its own has no remedy but the one that is given.
    """
    usual = CODES[code]
    decided.setdefault("remedy", usual.remedy if cure is None else "none")
    severity, clause = severity or usual.severity, clause or usual.clause
    return Finding(code, severity, clause, file, offset, message, cure or usual.cure, **decided)


def strange(code: str, file: str, offset: int | None, text: str, clause: str, values: Deviation) -> Finding:
    """A note on what breaks a clause and harms nobody."""
    cure = "none needed: it harms nothing"
    return finding(code, file, offset, text, severity="note", clause=clause, cure=cure, deviation=values)


_HEAD: Final = struct.Struct(">ii20xq")
_ENTRY: Final = struct.Struct(layout.ENTRY.struct_format)
_LONGEST_ARRAY: Final = (1 << 31) - 3  # bytes, of a JVM's arrays


def check_log_files(
    files: Sequence[StoreFile], sizes: Sequence[int], report: Callable[[Finding], None], *, end: int
) -> None:
    """Checks that all files have one length, and each begins where the one before it ends; `end` is the log's."""
    if not files:
        return
    usual = log_length(files, sizes)
    begins = {file.base_offset for file in files}
    for file, size in zip(files, sizes, strict=True):
        if size != usual:
            stop = file.base_offset + usual
            unread = usual < size and (stop in begins or end <= stop)
            text = f"found a file of {size:,} bytes, expected {usual:,} as in the other log files: a broker refuses to start"
            unused = not size and file.base_offset >= end and not file.framed
            zeros = lacks_zeros(file, size, usual, end)
            values, place = Deviation("length", size, usual), (file.name, min(size, usual))
            cure: Remedy = "aside" if unused else "trim" if unread or zeros else "replica"
            clause = "LOG-FILE-1"
            report(
                finding(
                    "log.length", *place, text, clause=clause, length=usual, remedy=cure, deviation=values
                )
            )
    check_names(files, report, "log.position", "LOG-FILE-1")
    for before, file in pairwise(files):
        stop = before.base_offset + usual
        if file.base_offset > stop:
            report(_gap_between(files, before.named(stop), stop, file, end))


def _gap_between(files: Sequence[StoreFile], name: str, stop: int, file: StoreFile, end: int) -> Finding:
    """The finding on log files that are missing before a file, the first of them one of a name."""
    if end < stop and zeros_after(files, end):
        text = f"found a file of zeros, which begins {file.base_offset - end:,} bytes after the log's end: no message is lost, and a start deletes it"
        return finding(
            "log.gap", file.name, None, text, severity="note", cure="none needed: a start deletes it"
        )
    text = f"no file holds physical offsets {stop:,} to {file.base_offset:,}: their messages are lost"
    return finding("log.gap", name, None, text, deviation=Deviation("base offset", file.base_offset, stop))


def lacks_zeros(file: StoreFile, size: int, usual: int, end: int) -> bool:
    """Whether a log file of less than the usual length lacks nothing but zeros: of the last one those after the log's end, else those after its blank."""
    if not 0 < size < usual or file.framed:
        return False
    if file.base_offset < end <= file.base_offset + size:
        return not _any_byte(file, end - file.base_offset, size)
    with file.open() as reader:
        last = reader.last_nonzero(0, size) or 0
    begin = last + 1 - layout.BLANK.size
    return begin >= 0 and is_blank(read_at(file, begin, layout.BLANK.size), 0, usual - begin)


def check_names(
    files: Sequence[StoreFile], report: Callable[[Finding], None], code: str, clause: str
) -> None:
    """Checks that files have the name of their offset: a load sorts those of a folder by name (`MappedFileQueue.doLoad`)."""
    for file in files:
        own = file.named(file.base_offset)
        if file.name != own:
            (_, leaf), (_, own_leaf) = os.path.split(file.name), os.path.split(own)
            text = f"found a name that is not {own_leaf}: a broker reads the files of a folder in the order of their names"
            values = Deviation("name", leaf, own_leaf)
            cure = "give the file this name while the broker is down"
            own_name = own if file.kind == "log" else ""
            report(
                finding(
                    code, file.name, None, text, clause=clause, cure=cure, own_name=own_name, deviation=values
                )
            )


def _any_byte(file: StoreFile, begin: int, end: int) -> bool:
    with file.open() as reader:
        return reader.first_nonzero(begin, min(end, reader.size)) is not None


def is_usual_end(file: StoreFile, size: int, at: int, usual: int) -> bool:
    """Whether a file that is longer than the others ends, at a byte, as one of the usual length does: by zeros or a blank."""
    if size <= usual or at > usual:
        return False
    head = read_at(file, at, layout.BLANK.size).ljust(layout.BLANK.size, b"\0")
    return is_blank(head, 0, usual - at) or not _any_byte(file, at, usual)


def is_cut(file: StoreFile, size: int) -> bool:
    """Whether the end of a file is gone: of a queue a part of a unit is left, and of the log no zeros or blank (LOG-BLANK-1)."""
    if file.kind == "queue":
        return bool(size % layout.QUEUE_UNIT.size)
    end = read_at(file, max(size - layout.BLANK.size, 0), layout.BLANK.size)
    return bool(any(end)) and not is_blank(end, 0, layout.BLANK.size)


def _header_fault(file: StoreFile, at: int, position: int) -> str | None:
    """The field of an entry's header that is wrong (DLG-2), None without one; "zeros" if it was never written completely."""
    raw = read_at(file, at, layout.ENTRY.size).ljust(layout.ENTRY.size, b"\0")
    magic, size, _, _, pos, _, _, _, body_size = _ENTRY.unpack(raw)
    if not raw[-4:].strip(b"\0"):
        return "zeros" if magic in (0, layout.ENTRY_MAGIC) and pos in (0, position) else "body_size"
    if magic != layout.ENTRY_MAGIC:
        return "magic"
    if pos != position:
        return "pos"
    return None if size == layout.ENTRY.size + body_size else "size"


def gap_findings(file: StoreFile, size: int, gap: Gap, *, tail: bool, live: bool) -> list[Finding]:
    """The findings on a gap: one, but for records next to each other that are sound but for the offsets that they state.

    Records of one shift are one finding: they are from another place.
    """
    begins, shifts, at = list[int](), set[int](), gap.begin - file.base_offset
    with file.open() as reader:
        while not file.framed and (found := misplaced(reader, file.base_offset, at))[0]:
            if found[1] in shifts:
                break
            begins.append(file.base_offset + at)
            shifts.add(found[1])
            at += found[0]
        is_whole = reader.first_nonzero(at, gap.end - file.base_offset) is None
    pieces = [gap]
    if is_whole and len(begins) > 1:
        pieces = [replace(gap, begin=begin, end=end) for begin, end in pairwise([*begins, gap.end])]
    return [_of_gap(file, size, piece, tail=tail, live=live) for piece in pieces]


def _of_gap(file: StoreFile, size: int, gap: Gap, *, tail: bool, live: bool) -> Finding:
    """The finding on a gap, whose code follows from the bytes at which the gap begins."""
    found = _gap_finding(file, size, gap, tail=tail, live=live)
    clause = found.clause
    if file.framed and clause != "DLG-2" and found.code != "log.torn":
        clause = "DLG-4"  # an entry whose body is no record
    position = gap.begin + layout.ENTRY.size * (file.framed and gap.begin >= file.base_offset)
    values = Deviation("record", gap.found, gap.expected, position if found.remedy == "position" else None)
    return replace(found, clause=clause, deviation=values)


def _gap_finding(file: StoreFile, size: int, gap: Gap, *, tail: bool, live: bool) -> Finding:
    at = gap.begin - file.base_offset
    where = f"physical offsets {gap.begin:,} to {gap.end:,}"
    found = f"found {gap.found}, expected {gap.expected}; {where} contain no valid record"
    lost = f"{found}: their messages are lost, and dispatch and recovery stop here"
    if file.framed:
        lost = f"{found}: their messages are lost; a recovery reads the headers of entries alone, and goes on after it"
    begin = gap.begin
    if file.framed and at >= 0:
        fault = _header_fault(file, at, begin)
        if fault is not None and not (tail and fault == "zeros"):
            fault = "body_size" if fault == "zeros" else fault
            code = {"magic": "log.magic", "pos": "log.position"}.get(fault, "log.length")
            text = f"{found}: a recovery cuts the log here"
            return finding(code, file.name, at + layout.ENTRY.offset_of(fault), text, clause="DLG-2")
        at, begin = at + layout.ENTRY.size, begin + layout.ENTRY.size
    head = read_at(file, max(at, 0), _HEAD.size)
    length = int.from_bytes(head[:4], signed=True)
    rest = read_at(file, at + length - 8, 8) if layout.RECORD_FIXED_V4 <= length <= size - at else b""
    _, magic, recorded = _HEAD.unpack(head.ljust(_HEAD.size, b"\0"))
    if magic in layout.RECORD_MAGICS and length > _LONGEST_ARRAY and not file.framed:
        text = (
            f"found a size of {length:,} bytes, more than Java can allocate; {where} contain no valid record: dispatch ends in "
            "OutOfMemoryError, and no start succeeds as long as its recovery reads this record"
        )
        return finding("log.length", file.name, at, text, clause="STORE-16")
    if tail and (not any(rest) and (magic in (0, *layout.RECORD_MAGICS)) and recorded in (0, begin)):
        return finding(
            "log.torn",
            file.name,
            at,
            f"{found}: the last write was incomplete",
            severity="note" if live else None,
        )
    if magic == layout.BLANK_MAGIC:
        text = f"{found}: their messages are lost, and dispatch and recovery leave out the rest of the file"
        return finding("log.length", file.name, at, text, clause="LOG-BLANK-1")
    if magic not in layout.RECORD_MAGICS and len(head) >= layout.RECORD.offset_of("magic") + 4:
        return finding("log.magic", file.name, at + layout.RECORD.offset_of("magic"), lost)
    if layout.RECORD_FIXED_V4 <= length <= size - at and recorded != begin:
        return _misplaced_finding(file, gap, at, recorded) or finding(
            "log.position", file.name, at + layout.RECORD.offset_of("phy_offset"), lost
        )
    return finding("log.length", file.name, at, lost)


def _misplaced_finding(file: StoreFile, gap: Gap, at: int, recorded: int) -> Finding | None:
    """The finding on a gap that begins with a record which is sound but for the offset that it states; None for another one.

    4.9.3 does not compare that offset with the record's place (`CommitLog.checkMessageAndReturnSize` 302-432).
    """
    with file.open() as reader:
        length, _ = misplaced(reader, file.base_offset, at)
        raw = reader.read(at, length).tobytes()
        is_alone = length > 0 and reader.first_nonzero(at + length, gap.end - file.base_offset) is None
    record = parse_record(raw, 0) if length else None
    if not isinstance(record, Record) or not body_matches(raw, record):
        return None
    begin, place = file.base_offset + at, at + layout.RECORD.offset_of("phy_offset")
    text = f"found a record that states physical offset {recorded:,}, expected {begin:,}, its position"
    if not is_alone:
        text += (
            f"; physical offsets {begin:,} to {gap.end:,} contain no record of their place: a start that reads it takes it for sound, "
            "and goes on after it"
        )
        return finding("log.position", file.name, place, text)
    text += (
        "; it is sound otherwise: consumers get its message, and a start goes on after it, but one that dispatches it again puts "
        "the stated offset into queue and index, and a rebuild leaves it out"
    )
    cure = "set the offset back while the broker is down"
    return finding("log.position", file.name, place, text, cure=cure, remedy="position")


# Files that cannot be read, and what cannot be judged without them.


_LOG: Final = (
    "whether units and entries point to its records",
    ("queue.dangling", "index.entry_dangling", "index.ahead_of_log", "checkpoint.ahead", "log.torn"),
)

_FILES: Final = ("checkpoint", "lock")

_HIDDEN: Final = {
    "index": ("whether the index has every key", ("index.missing_key", "index.name_order")),
    "consumequeue": ("whether the queues have every unit", ("queue.missing_unit", "queue.gap")),
    "consumequeue_ext": ("what units of its queue refer to", ("queue.tags_code",)),
    "checkpoint": ("the times that a recovery begins with", ()),
    "lock": ("whether a broker runs", ()),
}
"""By top folder of an unreadable file: the checks that need the file, in words, and the codes of their findings; `_LOG` for all others."""


def unread_findings(skipped: Iterable[tuple[str, str]]) -> list[Finding]:
    """One finding on each file or directory of a store that a listing left out as unreadable, or what has a checkpoint's name."""
    return [
        finding(
            "store.unreadable",
            name,
            None,
            f"cannot be read: {reason}; not checked: this part, and {_HIDDEN.get(name.partition('/')[0], _LOG)[0]}"
            + (": a broker refuses to start" if name in _FILES else ""),
        )
        for name, reason in skipped
        if isinstance(reason, Unreadable) or name == "checkpoint"
    ]


def hidden_codes(findings: Iterable[Finding]) -> frozenset[str]:
    """The codes of findings that may only follow from what could not be read."""
    names = (found.file for found in findings if found.code == "store.unreadable")
    return frozenset(code for name in names for code in _HIDDEN.get(name.partition("/")[0], _LOG)[1])
