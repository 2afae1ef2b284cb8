"""Checks names, sizes and headers of index files and consume queues, without their content."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from rocket_spec.deviations import Deviation
from rocket_spec.errors import MalformedError
from rocket_spec.layout import EXT_END_MARK, INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT, QUEUE_UNIT

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding, unread_findings
from rocket_columnar.index import IndexHeader
from rocket_columnar.store import (
    NO_ENTRY,
    NO_NUMBER,
    StoreFile,
    Unreadable,
    read_at,
    size_of,
    sized,
    usual_size,
)

_NAMED: Final = re.compile(r"\.?([0-9]{20})\..+")
_EXT_FREE: Final = 4  # bytes at the end of an ext file that its units leave free


def planned(store: Store) -> tuple[Finding, ...]:
    """The findings that listing a store's files and inferring a geometry gives."""
    found = [*filter(None, (_stray(store, *skip) for skip in store.skipped)), *unread_findings(store.skipped)]
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


def _own_name(store: Store, name: str) -> str:
    """The name of a log file that a copy or a packer named `.NAME.XXXXXX` or `NAME.gz`; empty for a part of one."""
    folder, _, leaf = name.rpartition("/")
    named = _NAMED.fullmatch(leaf)
    if named is None or store.path is None:
        return ""
    whole = leaf.endswith(".gz") or (store.path / name).stat().st_size == max(store.log_sizes, default=0)
    return f"{folder}/{named[1]}" if whole else ""


def _stray(store: Store, name: str, reason: str) -> Finding | None:
    """A finding on something in a store's folder that is not a file of a store; None if a broker ignores it.

    Args:
        store: the store.
        name: relative to the store.
        reason: why the listing skipped it.

    Source: `MappedFileQueue.doLoad` 161-184, whatever a folder holds; `IndexService.load` 62-90.
    """
    folder, below, _ = name.partition("/")
    if not below or isinstance(reason, Unreadable):
        return None
    if folder == "index":
        if reason == NO_NUMBER:
            return None
        text = f"found {reason}, expected an index file: a broker loads neither this file nor any whose name sorts after it"
        return finding(
            "index.size", name, None, text, cure="move it away while the broker is down", remedy="aside"
        )
    if folder == "batchconsumequeue" and store.path is not None and (store.path / name).is_dir():
        return None  # 5.x passes over folders
    if reason == NO_ENTRY:
        text = f"found a folder of DLedger mode with {reason}: a broker in plain mode does not read it"
        return finding(
            "log.gap", name, None, text, severity="note", cure="none needed: remove it if it is a leftover"
        )
    is_log = folder == "commitlog" or folder.startswith("dledger-")
    code, place = ("log.gap", "the commit log") if is_log else ("queue.size", "a queue")
    what, cure = "a file whose name is not a number", "move it away while the broker is down"
    if reason != NO_NUMBER:
        what, cure = reason, f"{cure}, and restore the file that had this name"
    text = f"found {what} among the files of {place}: a broker refuses to start"
    own_name = _own_name(store, name) if is_log and reason == NO_NUMBER else ""
    return finding(code, name, None, text, cure=cure, remedy="aside", own_name=own_name)


def check_queue_files(files: Sequence[StoreFile], report: Callable[[Finding], None]) -> None:
    """Checks that all consume-queue files have one length (CQ-FILE-1), and each begins where the one before it ends (CQ-FILE-2)."""
    sizes = sized(files)
    usual = usual_size([size for _, size in sizes], unit=QUEUE_UNIT.size)
    ends: dict[tuple[str | None, int | None], int] = {}
    for file, size in sizes:
        if size != usual or size % QUEUE_UNIT.size:
            report(
                finding(
                    "queue.size",
                    file.name,
                    min(size, usual),
                    f"found {size:,} bytes, expected {usual:,} as in the other queues' files: a broker refuses to start",
                )
            )
        elif usual and file.base_offset % usual:
            text = f"found a name that is not a multiple of {usual:,}, the length of the files: a broker reads it at wrong offsets"
            report(finding("queue.order", file.name, 0, text, clause="CQ-FILE-2"))
        end = ends.get((file.topic, file.queue_id))
        ends[file.topic, file.queue_id] = file.base_offset + usual
        if end is not None and file.base_offset != end:
            first, stop = end // QUEUE_UNIT.size, file.base_offset // QUEUE_UNIT.size
            report(
                finding(
                    "queue.gap",
                    f"{file.name.rpartition('/')[0]}/{end:020}",
                    None,
                    f"the file is missing; the next one begins at logical offset {stop:,} instead of {first:,}, where the "
                    "previous one ends: consumers cannot read across",
                )
            )


def check_ext_files(
    files: Sequence[StoreFile], report: Callable[[Finding], None], held: Counter[str] | None = None
) -> None:
    """Checks that all ext files have one length: they are loaded like a queue's (`ConsumeQueueExt.load` 252-256).

    With `held`, which counts the clauses, also the end of every file but the last (CQ-EXT-3).
    """
    sizes = sized(files)
    usual = usual_size([size for _, size in sizes])
    for file, size in sizes:
        if size != usual:
            text = f"found {size:,} bytes, expected {usual:,} as in the other ext files: a broker that uses them refuses to start"
            cure = "copy the file from a replica: its content cannot be rebuilt"
            at = min(size, usual)
            report(finding("queue.size", file.name, at, text, cure=cure, remedy="replica"))
    for file, following in pairwise(files):
        if (
            held is None
            or file.sequence != following.sequence
            or size_of(file) is None
            or size_of(following) is None
        ):
            continue
        found = _end_of_ext(file, following)
        if found is None:
            held["CQ-EXT-3"] += 1
        else:
            report(found)


def _end_of_ext(file: StoreFile, following: StoreFile) -> Finding | None:
    """What is wrong with the end of an ext file: a mark after its units, where the next file's first unit did not fit."""
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
    return finding(
        "queue.tags_code",
        file.name,
        at,
        text,
        severity="note",
        clause="CQ-EXT-3",
        cure=cure,
        deviation=values,
    )


def check_index_files(
    headers: Sequence[tuple[StoreFile, IndexHeader]],
    log_end: int | None,
    report: Callable[[Finding], None],
    *,
    quick: bool,
) -> None:
    """Checks sizes, order and headers of the index files.

    Args:
        headers: the files in name order.
        log_end: physical offset after the log's last record; None without a log.
        report: takes findings.
        quick: whether nothing else checks the counts.
    """
    sizes = dict(sized(file for file, _ in headers))
    if not sizes:
        return
    usual = usual_size(list(sizes.values()))
    for file, size in sizes.items():
        if size != usual:
            what = (
                "a broker silently reads zeros for the missing bytes"
                if size < usual
                else "the rest is never read"
            )
            text = f"found {size:,} bytes, expected {usual:,} as in the other index files; {what}"
            report(finding("index.size", file.name, min(size, usual), text))
    _check_order(headers, report)
    for number, (file, header) in enumerate(headers):
        if log_end is not None and header.index_count > 1 and header.end_phy_offset >= log_end:
            report(
                finding(
                    "index.ahead_of_log",
                    file.name,
                    INDEX_HEADER.offset_of("end_phy_offset"),
                    f"found an end physical offset of {header.end_phy_offset:,}, but the log ends at {log_end:,}: "
                    "new messages before that offset are silently not indexed",
                )
            )
        if not quick:
            continue
        room = (usual - INDEX_HEADER.size - INDEX_SLOT.size) // INDEX_ENTRY.size
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
        return finding("index.header_count", file.name, INDEX_HEADER.offset_of("index_count"), text)
    text = "found no entries"
    if last:
        text += ": the next put goes into it"
        return finding(
            "index.empty", file.name, None, text, severity="note", cure="none needed: the broker fills it"
        )
    return finding("index.empty", file.name, None, text + ": it only takes space and time")


def _check_order(headers: Sequence[tuple[StoreFile, IndexHeader]], report: Callable[[Finding], None]) -> None:
    """Compares the order of names with that of contents: both ends must be out of order, since one may be damaged."""
    filled = [(file, header) for file, header in headers if header.index_count > 1]
    for (before, first), (file, second) in pairwise(filled):
        if second.begin_phy_offset < first.begin_phy_offset and second.end_phy_offset <= first.end_phy_offset:
            clock = second.end_timestamp > first.end_timestamp
            report(
                finding(
                    "index.name_order",
                    file.name,
                    None,
                    f"found physical offsets {second.begin_phy_offset:,} to {second.end_phy_offset:,}, older than those of "
                    f"{before.name}, whose name sorts before"
                    + (
                        ", though its times are later: the clock was ahead while it was written"
                        if clock
                        else ""
                    )
                    + ": queries stop too early, and puts go into the wrong file",
                )
            )
