"""One index file in an audit: header against content, slots, chains, and entries against the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import INDEX_HEADER

from rocket_columnar._audit_chains import chain_problems
from rocket_columnar._audit_files import empty_file
from rocket_columnar._audit_finding import Finding, finding, runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocket_columnar._audit_index_read import IndexContent
    from rocket_columnar._audit_log import Frames

__all__ = ["check_content", "check_targets", "used_count"]

_INT_MAX: Final = 0x7FFFFFFF
_CHAIN_CLAUSES: Final = {"slot": "slot", "prev": "prev_entry of entry", "hash": "key_hash of entry"}


def used_count(content: IndexContent) -> int:
    """The count that the entries tell: one more than the newest that is written."""
    if content.first_count != content.header.index_count:  # a broker is writing
        return max(1, min(content.header.index_count, content.written))
    return content.written


def check_content(
    content: IndexContent, report: Callable[[Finding], None], *, live: bool, last: bool
) -> bool:
    """Header, slots and chains of a file, by themselves.

    Args:
        content: the file.
        report: takes findings.
        live: whether this is the file that a broker writes, or wrote when it died: one entry may then be
            there before the count tells of it (IDX-PUT-11).
        last: whether no other file follows: an empty one is then where the next put goes.

    Returns:
        Whether slots and chains are sound, so that walks over them end.
    """
    if content.written <= 1 and content.header.index_count <= 1:
        report(empty_file(content.file, last=last))
        return True
    moving = content.first_count != content.header.index_count
    if not moving:
        _check_count(content, report, live=live)
    count = used_count(content)
    limit = min(count + (moving or live), content.key_hash.size)
    written = np.zeros(limit, np.bool_)
    written[1 : max(min(content.first_count if moving else count, limit), 1)] = True
    empty = (content.key_hash == 0) & (content.phy_offset == 0) & (content.prev_entry == 0)
    written &= ~(empty & (content.time_diff == 0))[:limit]
    problems = chain_problems(content.key_hash[:limit], content.prev_entry[:limit], content.slots, written)
    for problem in problems:
        if problem.place == "slot":
            offset = content.slot_position(problem.number)
        else:
            offset = content.field(problem.number, "prev_entry" if problem.place == "prev" else "key_hash")
        where = f"{_CHAIN_CLAUSES[problem.place]} {problem.number:,}"
        report(finding(problem.code, content.file.name, offset, f"{where}: {problem.message}"))
    if not moving and not problems:
        _check_slot_count(content, count, report)
    return not problems


def _check_count(content: IndexContent, report: Callable[[Finding], None], *, live: bool) -> None:
    found, count = content.header.index_count, content.written
    if found == count or (count == 1 and found == 0) or (live and count == found + 1):
        return
    what = (
        "queries and further puts go by it: entries beyond it are not found, and are overwritten"
        if found < count
        else "a chain that leads to an entry of zeros ends there"
    )
    report(
        finding(
            "index.header_count",
            content.file.name,
            INDEX_HEADER.offset_of("index_count"),
            f"found an index count of {found:,}, expected {count:,}, one more than the newest entry; {what}",
        )
    )


def _check_slot_count(content: IndexContent, count: int, report: Callable[[Finding], None]) -> None:
    """Slots in use; releases before 4.7.1 counted every put (IDX-HDR-4)."""
    used = int(np.count_nonzero(content.prev_entry[1:count] == 0))
    found = content.header.hash_slot_count
    if found == used or (content.file.kind == "index" and abs(found - used) == 1 and count < content.written):
        return
    old = found == count - 1
    report(
        finding(
            "index.header_count",
            content.file.name,
            INDEX_HEADER.offset_of("hash_slot_count"),
            f"found a slot count of {found:,}, expected {used:,}, the slots in use; nothing reads it"
            + (" (releases before 4.7.1 counted every put)" if old else ""),
            severity="note" if old else None,
            clause="IDX-HDR-4",
        )
    )


def check_targets(
    content: IndexContent, frames: Frames, report: Callable[[Finding], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Entries against the log's records.

    Returns:
        Numbers of the entries that point to a record, and the places of these records.
    """
    count = min(used_count(content), content.key_hash.size)
    numbers = np.arange(1, count, dtype=np.int64)
    offsets = content.phy_offset[1:count]
    place = frames.find(offsets)
    lost = (place < 0) & ((offsets >= frames.begin) | (offsets < 0))
    lost &= ~_zero_entries(content, count)
    beyond = np.flatnonzero(lost & (offsets >= frames.end))
    if beyond.size and frames.appended_meanwhile(int(offsets[beyond[0]])):
        lost[beyond] = False
        beyond = beyond[:0]
    end = content.header.end_phy_offset
    ahead = end >= frames.end  # said already, of the header
    for first, length in runs(numbers[lost]):
        offset = int(content.phy_offset[first])
        report(
            finding(
                "index.entry_dangling",
                content.file.name,
                content.field(first, "phy_offset"),
                f"entry {first:,}{_more(length)}: no record begins at physical offset {offset:,}",
            )
        )
    _check_bounds(content, frames, count, report, ahead=ahead)
    return numbers[place >= 0], place[place >= 0]


def _more(length: int) -> str:
    return f" and the {length - 1:,} behind it" if length > 1 else ""


def _zero_entries(content: IndexContent, count: int) -> NDArray[np.bool_]:
    cells = (content.key_hash, content.phy_offset, content.time_diff, content.prev_entry)
    zeros: NDArray[np.bool_] = np.logical_and.reduce([cell[1:count] == 0 for cell in cells])
    return zeros


def _check_bounds(
    content: IndexContent, frames: Frames, count: int, report: Callable[[Finding], None], *, ahead: bool
) -> None:
    """Begin and end of the header against the first and the last entry, time diffs against the records' times."""
    header = content.header
    if count < 2 or content.first_count != header.index_count or not frames.all.phy_offset.size:
        return
    last = count - 1
    bad = set()
    for entry, names in (
        (1, ("begin_phy_offset", "begin_timestamp")),
        (last, ("end_phy_offset", "end_timestamp")),
    ):
        offset = int(content.phy_offset[entry])
        if getattr(header, names[0]) == offset or offset < 0:
            known = offset
        elif frames.find(np.array([offset]))[0] >= 0:
            bad.add(names[0])
            known = offset
            if not (ahead and names[0] == "end_phy_offset"):
                report(_bounds(content, names[0], offset))
        else:  # the entry is damaged, not the header
            known = int(getattr(header, names[0]))
        (place,) = frames.find(np.array([known]))
        if place < 0:
            continue
        time = int(frames.all.store_timestamp[place])
        if getattr(header, names[1]) != time:
            bad.add(names[1])
            report(_bounds(content, names[1], time))
    if "begin_timestamp" not in bad:
        _check_times(content, frames, count, report)


def _bounds(content: IndexContent, name: str, expected: int) -> Finding:
    which = "first" if name.startswith("begin") else "last"
    means = {
        "begin_phy_offset": "nothing reads it",
        "end_phy_offset": "messages before it are not indexed any more",
        "begin_timestamp": "queries place every entry by it",
        "end_timestamp": "queries with a time window pass the file over by it",
    }
    return finding(
        "index.header_bounds",
        content.file.name,
        INDEX_HEADER.offset_of(name),
        f"found a {name} of {getattr(content.header, name):,}, expected {expected:,}, the {which} entry's; {means[name]}",
        clause="IDX-HDR-2" if which == "first" else "IDX-HDR-3",
    )


def _check_times(
    content: IndexContent, frames: Frames, count: int, report: Callable[[Finding], None]
) -> None:
    """Entries from the second on: the first of a rolled file counts from another begin (IDX-PUT-8)."""
    diffs = content.time_diff[1:count].astype(np.int64)
    place = frames.find(content.phy_offset[1:count])
    begin = content.header.begin_timestamp
    seconds = np.clip((frames.all.store_timestamp[place] - begin) // 1000, 0, _INT_MAX) if begin > 0 else 0
    wrong = (place >= 0) & (diffs != seconds)
    wrong |= diffs < 0
    wrong[0] = diffs[0] < 0
    wrong &= ~_zero_entries(content, count)
    for first, length in runs(np.flatnonzero(wrong) + 1):
        expected = int(np.broadcast_to(seconds, diffs.shape)[first - 1])
        report(
            finding(
                "index.header_bounds",
                content.file.name,
                content.field(first, "time_diff"),
                f"entry {first:,}{_more(length)}: found a time diff of {int(diffs[first - 1]):,} s, expected "
                f"{expected:,}, from the header's begin to its record: queries place it at another time",
                clause="IDX-PUT-2",
            )
        )
