"""One index file in an audit by itself: header against content, slots and chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.layout import INDEX_HEADER

from rocket_columnar._audit_chains import chain_problems
from rocket_columnar._audit_files import empty_file
from rocket_columnar._audit_finding import Finding, finding
from rocket_columnar._audit_index_read import entry_position, slot_position

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocket_columnar._audit_index_read import IndexContent, IndexState
    from rocket_columnar.store import StoreFile

__all__ = ["check_content", "check_slot_count", "used_count"]

_CHAIN_CLAUSES: Final = {"slot": "slot", "prev": "prev_entry of entry", "hash": "key_hash of entry"}


def used_count(state: IndexState) -> int:
    """The count that the entries tell: one more than the newest that is written."""
    if state.moving:
        return max(1, min(state.header.index_count, state.written))
    return state.written


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
    state, name = content.state, content.file.name
    if state.written <= 1 and state.header.index_count <= 1:
        report(empty_file(content.file, last=last))
        return True
    if not state.moving:
        _check_count(content, report, live=live)
    count = used_count(state)
    limit = min(count + (state.moving or live), content.key_hash.size)
    written = np.zeros(limit, np.bool_)
    written[1 : max(min(state.first_count if state.moving else count, limit), 1)] = True
    written &= ~content.zeros[:limit]
    problems = chain_problems(content.key_hash[:limit], content.prev_entry[:limit], content.slots, written)
    for problem in problems:
        if problem.place == "slot":
            offset = slot_position(problem.number)
        else:
            field = "prev_entry" if problem.place == "prev" else "key_hash"
            offset = entry_position(content.geometry, problem.number, field)
        where = f"{_CHAIN_CLAUSES[problem.place]} {problem.number:,}"
        report(finding(problem.code, name, offset, f"{where}: {problem.message}"))
    if not state.moving and not problems:
        used = int(np.count_nonzero(content.prev_entry[1:count] == 0))
        torn = live and count == state.header.index_count + 1 and used == state.header.hash_slot_count + 1
        if not torn:
            check_slot_count(content.file, state.header.hash_slot_count, used, count, report)
    return not problems


def _check_count(content: IndexContent, report: Callable[[Finding], None], *, live: bool) -> None:
    found, count = content.state.header.index_count, content.state.written
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


def check_slot_count(
    file: StoreFile, found: int, used: int, count: int, report: Callable[[Finding], None]
) -> None:
    """The header's count of slots in use; releases before 4.7.1 counted every put (IDX-HDR-4)."""
    if found == used:
        return
    old = found == count - 1
    report(
        finding(
            "index.header_count",
            file.name,
            INDEX_HEADER.offset_of("hash_slot_count"),
            f"found a slot count of {found:,}, expected {used:,}, the slots in use; nothing reads it"
            + (" (releases before 4.7.1 counted every put)" if old else ""),
            severity="note" if old else None,
            clause="IDX-HDR-4",
        )
    )
