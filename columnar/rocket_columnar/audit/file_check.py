"""Checks names, sizes and headers of index files and consume queues, without their content."""

import filecmp
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

from rocket_spec.deviations import Deviation
from rocket_spec.errors import FormatError, MalformedError
from rocket_spec.later_layouts import BATCH_UNIT
from rocket_spec.layout import EXT_END_MARK, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, QUEUE_UNIT
from rocket_spec.printable import counted

from rocket_columnar.audit.ranges import ENTRIES_CUT_OFF
from rocket_columnar.decode import Where, decode
from rocket_columnar.facts import BLOCKED, Store
from rocket_columnar.findings import Finding, Remedy, check_names, finding, strange, unread_findings
from rocket_columnar.formats import clean_utf8, parse_int, parse_long, tags_code
from rocket_columnar.index import IndexHeader
from rocket_columnar.log import StoredRecords
from rocket_columnar.store import (
    MODE_OFF,
    NO_ENTRY,
    NO_NUMBER,
    NO_TARGET,
    OTHER_QUEUE,
    TWICE,
    StoreFile,
    Unreadable,
    by_queue,
    read_at,
    size_of,
    sized,
    unopened,
    usual_size,
)

_ASIDE: Final[Remedy] = "aside"
_LINK: Final[Remedy] = "link"
_RESTORE: Final = "mount or restore what it leads to before the start"
_NAMED: Final = re.compile(r"\.?([0-9]{20})\..+")
_NO_LOGS: Final = ("consumequeue", "consumequeue_ext", "batchconsumequeue", "timerlog")
_QUEUE_FILE: Final = 3  # folders in which a queue's file is: `consumequeue/TOPIC/QUEUE/FILE`
_DIGITS: Final = 17  # of an index file's name

_FOLDERS: Final = {
    "commitlog": "log.gap",
    "consumequeue": "queue.missing_unit",
    "index": "index.missing_key",
}
"""Folders, and the code of the finding on something else in the place of each."""

_EXT_FREE: Final = 4  # bytes at the end of an ext file that its units leave free


def planned(store: Store) -> tuple[Finding, ...]:
    """The findings that listing a store's files and inferring a geometry gives."""
    skipped = list(store.skipped)
    reason = None if store.path is None else unopened(store.path / "lock")
    if reason is not None:
        skipped.append(("lock", reason))
    found = [
        *map(partial(_blocked, store), store.blocked),
        *filter(None, (_stray(store, *skip) for skip in skipped)),
        *unread_findings(skipped),
    ]
    error = store.geometry_fault
    first = store.indexes[0][0] if store.indexes else None
    if isinstance(error, MalformedError) and first is not None:
        code = "index.size" if error.offset is None else "index.header_count"
        text = f"found {error.found}, expected {error.expected}; the content of the index files cannot be checked"
        found.append(finding(code, first.name, error.offset, text))
    elif (
        error is not None and first is not None and any(header.index_count > 1 for _, header in store.indexes)
    ):
        found.append(finding("index.geometry", first.name, None, str(error).removeprefix(f"{first.path}: ")))
    return tuple(found)


def _blocked(store: Store, name: str) -> Finding:
    """The finding on something else in the place of a folder."""
    known: dict[str, Any] = {}
    found = "a file, expected a folder"
    if store.blocked[name]:
        found, known = _no_target(store, name), {"cure": _RESTORE, "remedy": _LINK}
    return finding(_FOLDERS[name], name, None, f"found {found}: {BLOCKED[name]}", severity="error", **known)


def _no_target(store: Store, name: str) -> str:
    """A symbolic link to nothing, in words."""
    return NO_TARGET if store.path is None else f"{NO_TARGET} ({(store.path / name).readlink()})"


def _second(store: Store, name: str) -> Finding:
    """The finding on a log file of which another folder has one of this name: a broker maps both, one after the other (STORE-17).

    It reads the first of them that its list has, and appends to the last.
    """
    file = next(file for file in store.logs if file.path.name == name.rpartition("/")[2])
    text = f"found a second file of the name of {file.name}"
    known: dict[str, Any] = {
        "clause": "STORE-17",
        "cure": "move it away while the broker is down",
        "remedy": "twice",
    }
    if file.base_offset > store.end:
        text += ", after the log's end: a start deletes both"
        known |= {"severity": "note", "cure": "none needed: a start deletes them", "remedy": "none"}
    elif file.base_offset + (size_of(file) or 0) > store.end:
        text += ": messages that are stored after the start are put into one of them and read from the other: consumers get none"
    elif store.path is not None and filecmp.cmp(store.path / name, file.path, shallow=False):
        text += ", with the same bytes: a broker reads one of them"
        known |= {
            "severity": "note",
            "cure": "none needed: it harms nothing; one of them can be removed",
            "remedy": "none",
        }
    else:
        text += ", with other bytes: a broker may read either, and lose what the other holds"
    return finding("log.position", name, None, text, **known)


def _own_names(store: Store) -> dict[str, str]:
    """Of the files that have other names, or are packed, those that a log lacks: those next to its files, and next to one another."""
    found = {
        name: own for name, reason in store.skipped if reason == NO_NUMBER and (own := _own_name(store, name))
    }
    claims = Counter(found.values())
    begins = {name: parse_long(own.rpartition("/")[2]) for name, own in found.items() if claims[own] == 1}
    if not store.logs:
        return {name: found[name] for name in begins}
    size, held = usual_size(store.log_sizes), {file.base_offset for file in store.logs}
    lacking: dict[str, str] = {}
    while more := {
        name: begin
        for name, begin in begins.items()
        if begin is not None and begin not in held and {begin - size, begin + size} & held
    }:
        lacking |= {name: found[name] for name in more}
        held.update(more.values())
    return lacking


def _own_name(store: Store, name: str) -> str:
    """The name of a log file that a copy or a packer named `.NAME.XXXXXX` or `NAME.gz`; empty for a part of one.

    Of a folder with log files in that of the log, which has none, it is the name of that folder.
    """
    folder, _, leaf = name.rpartition("/")
    named = _NAMED.fullmatch(leaf)
    if store.path is None:
        return ""
    if (store.path / name).is_dir():
        inner = (parse_long(path.name) for path in (store.path / name).iterdir())
        return folder if not store.logs and any(number is not None for number in inner) else ""
    if named is None:
        return ""
    size = (store.path / name).stat().st_size
    whole = leaf.endswith(".gz") or size == max(store.log_sizes, default=size)
    return f"{folder}/{named[1]}" if whole else ""


def _stray(store: Store, name: str, reason: str) -> Finding | None:
    """A finding on something in a store's folder that is not a file of a store; None if a broker ignores it.

    `reason` is why the listing skipped it. Source: `MappedFileQueue.doLoad` 161-184, whatever a folder holds; `IndexService.load` 62-90.
    """
    if reason == TWICE:
        return _second(store, name)
    folder, below, _ = name.partition("/")
    cure, remedy = "move it away while the broker is down", _ASIDE
    if reason == NO_TARGET:
        reason, cure, remedy = _no_target(store, name), _RESTORE, _LINK
    if not below or isinstance(reason, Unreadable) or reason == OTHER_QUEUE:
        return None
    if folder == "index":
        if reason == NO_NUMBER:
            return None
        text = f"found {reason}, expected an index file: a broker loads neither this file nor any whose name sorts after it"
        return finding("index.size", name, None, text, cure=cure, remedy=remedy)
    if folder == "batchconsumequeue" and store.path is not None and (store.path / name).is_dir():
        return None  # 5.x passes over folders
    if reason in (NO_ENTRY, MODE_OFF):
        text = f"found a folder of DLedger mode, but {reason}: a broker in plain mode does not read it"
        return finding(
            "log.gap", name, None, text, severity="note", cure="none needed: remove it if it is a leftover"
        )
    if remedy == _LINK and "consumequeue" in folder and name.count("/") < _QUEUE_FILE:
        text = f"found {reason}, expected a folder: a broker starts without these queues, and cannot put messages into them"
        return finding("queue.missing_unit", name, None, text, severity="error", cure=cure, remedy=remedy)
    is_log = folder not in _NO_LOGS  # a folder of the log can have any name, or be elsewhere
    code, place = ("log.gap", "the commit log") if is_log else ("queue.size", "a queue")
    what = "a file whose name is not a number" if reason == NO_NUMBER else reason
    if reason != NO_NUMBER and remedy == _ASIDE:
        cure += ", and restore the file that had this name"
    text = f"found {what} among the files of {place}: a broker refuses to start"
    own_name = store.once(_own_names).get(name, "") if is_log else ""
    return finding(code, name, None, text, cure=cure, remedy=remedy, own_name=own_name)


def check_queue_files(files: Sequence[StoreFile], report: Callable[[Finding], None]) -> None:
    """Checks that all consume-queue files have one length (CQ-FILE-1), and each begins where the one before it ends (CQ-FILE-2)."""
    sizes = sized(files)
    usual = usual_size([size for _, size in sizes], unit=QUEUE_UNIT.size)
    check_names(files, report, "queue.order", "CQ-FILE-2")
    ends: dict[tuple[str | None, int | None], int] = {}
    for file, size in sizes:
        if size != usual or size % QUEUE_UNIT.size:
            text = f"found {size:,} bytes, expected {usual:,} as in the other queues' files: a broker refuses to start"
            report(finding("queue.size", file.name, min(size, usual), text))
        elif usual and file.base_offset % usual:
            text = f"found a name that is not a multiple of {usual:,}, the length of the files: a broker reads it at wrong offsets"
            report(finding("queue.order", file.name, 0, text, clause="CQ-FILE-2"))
        end = ends.get((file.topic, file.queue_id))
        ends[file.topic, file.queue_id] = file.base_offset + usual
        if end is not None and file.base_offset != end:
            first, stop = end // QUEUE_UNIT.size, file.base_offset // QUEUE_UNIT.size
            text = (
                f"the file is missing; the next one begins at logical offset {stop:,} instead of {first:,}, where the previous one "
                "ends: consumers cannot read across"
            )
            report(finding("queue.gap", file.named(end), None, text))


def check_ext_files(
    files: Sequence[StoreFile], report: Callable[[Finding], None], held: Counter[str] | None = None
) -> None:
    """Checks that all ext files have one length: they are loaded like a queue's (`ConsumeQueueExt.load` 252-256).

    With `held`, which counts the clauses, also the end of every file but the last (CQ-EXT-3).
    """
    sizes = sized(files)
    usual = usual_size([size for _, size in sizes])
    check_names(files, report, "queue.order", "CQ-EXT-4")
    for file, size in sizes:
        if size != usual:
            text = f"found {size:,} bytes, expected {usual:,} as in the other ext files: a broker that uses them refuses to start"
            report(finding("queue.size", file.name, min(size, usual), text, length=usual, remedy="trim"))
    for file, following in pairwise(files):
        if file.sequence != following.sequence:
            continue
        end = file.base_offset + usual
        if following.base_offset != end:
            text = f"the next file begins at {following.base_offset:,} instead of {end:,}: units point to ext units that are not there"
            cure = "copy the file from a replica: its content cannot be rebuilt"
            report(
                finding(
                    "queue.gap", file.named(end), None, text, clause="CQ-EXT-4", cure=cure, remedy="replica"
                )
            )
            continue
        if held is None or size_of(file) is None or size_of(following) is None:
            continue
        found = _end_of_ext(file, following)
        if found is None:
            held["CQ-EXT-3"] += 1
        else:
            report(found)


def _end_of_ext(file: StoreFile, following: StoreFile) -> Finding | None:
    """The fault of an ext file's end, which is a mark after its units, where the next file's first unit did not fit."""
    data, at = read_at(file, 0, file.size()), 0
    while (size := int.from_bytes(data[at : at + 2], signed=True)) > 0 and at + size <= len(data):
        at += size
    needed = int.from_bytes(read_at(following, 0, 2), signed=True)
    found: object = size
    expected: object = EXT_END_MARK
    if size == EXT_END_MARK and 0 < needed <= len(data) - at - _EXT_FREE:
        found, expected = f"{len(data) - at} bytes left", f"a unit of {needed}"
    if size == EXT_END_MARK == expected == found:
        return None
    text = f"found {found} after the last ext unit, expected {expected}: units of this file and the next ones may not be read"
    cure = "none: ext units cannot be rebuilt; consumers that filter by SQL may get messages that they do not want"
    values = Deviation("end mark", found, expected)
    place = file.name, at
    return finding(
        "queue.tags_code", *place, text, severity="note", clause="CQ-EXT-3", cure=cure, deviation=values
    )


def check_index_files(
    store: Store, log_end: int | None, report: Callable[[Finding], None], *, quick: bool
) -> None:
    """Checks sizes, order and headers of the index files, which are in name order.

    `log_end` is the physical offset after the log's last record, None without a log; `quick` whether nothing else checks the counts.
    """
    headers = store.indexes
    sizes = dict(sized(file for file, _ in headers))
    if not sizes:
        return
    usual = usual_size(list(sizes.values()))
    for file, size in sizes.items():
        if size != usual:
            missing, more = "a broker silently reads zeros for the missing bytes", "the rest is never read"
            what = missing if size < usual else more
            text = f"found {size:,} bytes, expected {usual:,} as in the other index files; {what}"
            values = Deviation("length", size, usual)
            report(finding("index.size", file.name, min(size, usual), text, deviation=values))
    _check_order(headers, report)
    told = {one.file for one in store.once(planned) if one.code == "index.header_count"}
    room = (usual - INDEX_HEADER.size - INDEX_SLOT.size) // INDEX_ENTRY.size
    room = room if store.geometry is None else store.geometry.index_num
    for number, (file, header) in enumerate(headers):
        if len(name := file.name.rpartition("/")[2]) != _DIGITS:
            text = f"found a name of {len(name)} digits, expected {_DIGITS}, a time: a broker of 4.9.3 names no file so"
            values = Deviation("digits of the name", len(name), _DIGITS)
            report(strange("index.name_order", file.name, None, text, "IDX-SVC-4", values))
        if log_end is not None and header.index_count > 1 and header.end_phy_offset >= log_end:
            end, at = header.end_phy_offset, INDEX_HEADER.offset_of("end_phy_offset")
            text = (
                f"found an end physical offset of {end:,}, but the log ends at {log_end:,}: new messages before that offset are "
                "silently not indexed"
            )
            values = Deviation("header end_phy_offset", end, f"below {log_end}", allowed=ENTRIES_CUT_OFF)
            report(finding("index.ahead_of_log", file.name, at, text, deviation=values))
        if not quick or file.name in told:
            continue
        if not 0 <= header.index_count <= max(room, 1):
            text = f"found an index count of {header.index_count:,}, expected at most {room:,}, the capacity of the file"
            report(finding("index.header_count", file.name, INDEX_HEADER.offset_of("index_count"), text))
        elif header.index_count <= 1:
            report(empty_file(file, header, last=number == len(headers) - 1))


def empty_file(file: StoreFile, header: IndexHeader, *, last: bool) -> Finding:
    """The finding on an index file without entries; the last one is only a note, since the next put goes there.

    A count of slots other than that of an unfinished first put (IDX-PUT-11) shows that there are entries.
    """
    if header.index_count < 0 or header.hash_slot_count > 1:
        text = (
            f"found an index count of {header.index_count:,}, and a slot count of {header.hash_slot_count:,}: "
            "the file's entries are not found, and are overwritten"
        )
        at = INDEX_HEADER.offset_of("index_count")
        values = Deviation("header index_count", header.index_count, "the number of its entries")
        return finding("index.header_count", file.name, at, text, deviation=values)
    if last:
        text, cure = "found no entries: the next put goes into it", "none needed: the broker fills it"
        return finding("index.empty", file.name, None, text, severity="note", cure=cure)
    text = "found no entries: it only takes space and time"
    values = Deviation("entries", 0, "a full file, since another one follows")
    return finding("index.empty", file.name, None, text, deviation=values)


def _check_order(headers: Sequence[tuple[StoreFile, IndexHeader]], report: Callable[[Finding], None]) -> None:
    """Compares the order of names with that of contents: both ends must be out of order, since one may be damaged."""
    filled = [(file, header) for file, header in headers if header.index_count > 1]
    for (before, first), (file, second) in pairwise(filled):
        if second.begin_phy_offset < first.begin_phy_offset and second.end_phy_offset <= first.end_phy_offset:
            begin, later = second.begin_phy_offset, second.end_timestamp > first.end_timestamp
            clock = ", though its times are later: the clock was ahead while it was written" if later else ""
            text = (
                f"found physical offsets {begin:,} to {second.end_phy_offset:,}, older than those of {before.name}, whose name sorts "
                f"before{clock}: queries stop too early, and puts go into the wrong file"
            )
            expected = f"{first.begin_phy_offset:,} or more, that of the file before"
            values = Deviation("header begin_phy_offset", begin, expected)
            report(finding("index.name_order", file.name, None, text, deviation=values))


# Checks the batch queues of 5.x: each unit against the one before it and against its record, and each record for a unit (BCQ-1, BCQ-3).


_NO_CURE: Final = (
    "none: rocketspec does not rebuild batch queues; copy the queue from a replica while the broker is down"
)
_COLUMNS: Final = [
    "position",
    "phy_offset",
    "size",
    "tags_code",
    "store_timestamp",
    "base_offset",
    "batch_size",
]
_RECORD: Final = ["phy_offset", "topic", "queue_id", "sys_flag"]

_TRANSACTION: Final = 0xC
"""Bits of sys_flag that hold the transaction type."""

_HIDDEN: Final = (0x4, 0xC)
"""Transaction types of half messages and rollbacks, which get no unit."""

_Unit = dict[str, Any]


def check_batches(store: Store) -> Iterator[Finding]:
    """The findings on batch queues, queue by queue; records that came after the plan was made are not judged."""
    if not store.batches:
        return
    known: set[int] = set()  # physical offsets of the units
    with StoredRecords(store.logs) as records:
        for files in by_queue(store.batches).values():
            yield from _of_queue(store, records, files, known)
    yield from _missing(store, known)


def _missing(store: Store, known: Collection[int]) -> Iterator[Finding]:
    """Queues with records that have no unit; unless the broker was stopped, the newest may be on their way."""
    last = store.end if store.clean or not (known or store.live) else max(known, default=-1)
    topics = frozenset(file.topic for file in store.batches if file.topic is not None)
    lacking: dict[tuple[str, int], list[int]] = {}
    for _, batch in decode(store.logs, tables=["commit_log"], columns=_RECORD, where=Where(topics=topics)):
        for row in batch.to_pylist():
            at = int(row["phy_offset"])
            if (
                at < min(last, store.end)
                and at not in known
                and row["sys_flag"] & _TRANSACTION not in _HIDDEN
            ):
                lacking.setdefault((row["topic"], row["queue_id"]), []).append(at)
    for (topic, queue_id), places in sorted(lacking.items()):
        text = f"{counted(len(places), 'record has', 'records have')} no unit, the first one at physical offset {places[0]:,}"
        name = f"batchconsumequeue/{topic}/{queue_id}"
        yield finding("queue.missing_unit", name, None, text, clause="BCQ-3", cure=_NO_CURE)


def _of_queue(
    store: Store, records: StoredRecords, files: Sequence[StoreFile], known: set[int]
) -> Iterator[Finding]:
    last: list[_Unit] = []
    for file in files:
        try:
            units = [
                row
                for _, batch in decode([file], tables=["batch_consume_queue"], columns=_COLUMNS)
                for row in batch.to_pylist()
            ]
        except FileNotFoundError:  # expired meanwhile
            continue
        except FormatError as error:
            text = f"found {error.found}, expected {error.expected}"
            yield _finding("queue.size", file, error.offset, text, "BCQ-2")
            continue
        known.update(unit["phy_offset"] for unit in units)
        for before, unit in pairwise([*last, *units]):
            yield from _against_before(file, before, unit)
        for unit in units:
            yield from _against_record(store, records, file, unit)
        last = units[-1:] or last


def _finding(code: str, file: StoreFile, offset: int | None, text: str, clause: str) -> Finding:
    return finding(code, file.name, offset, text, clause=clause, cure=_NO_CURE)


def _at(file: StoreFile, unit: _Unit, field: str) -> int:
    return int(unit["position"]) - file.base_offset + BATCH_UNIT.offset_of(field)


def _against_before(file: StoreFile, before: _Unit, unit: _Unit) -> Iterator[Finding]:
    due = before["base_offset"] + before["batch_size"]
    if unit["base_offset"] != due:
        text = f"found base_offset {unit['base_offset']:,}, expected {due:,}, where the unit before it ends"
        code = "queue.gap" if unit["base_offset"] > due else "queue.order"
        yield _finding(code, file, _at(file, unit, "base_offset"), text, "BCQ-3")
    if unit["phy_offset"] <= before["phy_offset"]:
        text = f"found phy_offset {unit['phy_offset']:,} after {before['phy_offset']:,}"
        yield _finding("queue.order", file, _at(file, unit, "phy_offset"), text, "BCQ-3")


def _against_record(store: Store, records: StoredRecords, file: StoreFile, unit: _Unit) -> Iterator[Finding]:
    phy_offset, size = unit["phy_offset"], unit["size"]
    if phy_offset < store.begin or phy_offset >= store.end:  # expired, or newer than the plan
        if phy_offset >= store.end and not store.live:
            text = f"found phy_offset {phy_offset:,}, but the log ends at {store.end:,}"
            yield _finding("queue.dangling", file, _at(file, unit, "phy_offset"), text, "BCQ-1")
        return
    record = records.at(phy_offset)
    if record is None or record.fixed.total_size != size:
        text = f"no record of {size:,} bytes begins at physical offset {phy_offset:,}"
        yield _finding("queue.dangling", file, _at(file, unit, "phy_offset"), text, "BCQ-1")
        return
    fixed, topic, pairs = record
    number = pairs.get(b"INNER_NUM", b"") if b"INNER_BASE" in pairs else b""
    messages = parse_int(clean_utf8(number).decode())
    if (topic, fixed.queue_id) != (file.topic, file.queue_id):
        text = f"the record at physical offset {unit['phy_offset']:,} is of {topic} queue {fixed.queue_id}"
        yield _finding("queue.wrong_target", file, _at(file, unit, "phy_offset"), text, "BCQ-1")
        return
    expected = {
        "base_offset": fixed.queue_offset,
        "batch_size": 1 if messages is None else messages,
        "store_timestamp": fixed.store_timestamp,
        "tags_code": tags_code(topic.encode(), pairs, fixed.store_timestamp, store.delays),
    }
    for name, value in expected.items():
        if value is not None and unit[name] != value:
            text = f"found {name} {unit[name]:,}, expected {value:,} as in the record at physical offset {unit['phy_offset']:,}"
            yield _finding("queue.wrong_target", file, _at(file, unit, name), text, "BCQ-3")
