"""The commit log in an audit: what is wrong with its files themselves."""

from __future__ import annotations

import struct
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rocket_spec.layout import BLANK_MAGIC, MESSAGE_MAGIC, RECORD, RECORD_FIXED_V4

from rocket_columnar._audit_finding import Finding, finding
from rocket_columnar._audit_record import body_place, read_at, torn_end

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocket_columnar._audit_plan import Plan
    from rocket_columnar._audit_result import RangeResult
    from rocket_columnar._gap import Gap
    from rocket_columnar.store import StoreFile

__all__ = ["check_log", "check_log_files", "gap_finding"]

_HEAD: Final = struct.Struct(">ii20xq")


def check_log(  # noqa: C901 - one kind of finding after the other
    plan: Plan, parts: Sequence[RangeResult], report: Callable[[Finding], None]
) -> None:
    """What is wrong with the log's files, from what their ranges gave."""
    check_log_files(plan.logs, plan.log_sizes, report)
    ends: dict[int, int] = {}
    gaps: list[tuple[int, Gap]] = []
    gone = set()
    newest: RangeResult | None = None
    for part in parts:
        number = part.range.log
        if number is None:
            continue
        file = plan.logs[number]
        gaps += ((number, gap) for gap in part.gaps)
        if part.gone:
            gone.add(number)
        if part.end is not None:
            ends[number], newest = part.end, part
        for phy_offset in part.bodies:
            report(_bad_body(file, phy_offset - file.base_offset))
    last = max(ends, default=-1)
    for number, gap in gaps:
        file, size = plan.logs[number], plan.log_sizes[number]
        tail = number >= last and gap.end >= file.base_offset + size
        report(gap_finding(file, size, gap, tail=tail, live=plan.live))
    for number in range(last):
        if number not in gone:
            held = [gap for where, gap in gaps if where == number]
            _check_end(plan.logs[number], plan.log_sizes[number], ends.get(number, 0), held, report)
    if newest is not None and newest.last is not None:
        found_torn = torn_end(plan.logs[last], *newest.last, live=plan.live)
        if found_torn is not None:
            report(found_torn)


def _bad_body(file: StoreFile, at: int) -> Finding:
    return finding(
        "log.crc",
        file.name,
        at + body_place(file, at),
        f"the body of the record at physical offset {file.base_offset + at:,} does not have its "
        "checksum: consumers get damaged bytes, and a recovery cuts the log here",
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
    file: StoreFile, size: int, end: int, gaps: Sequence[Gap], report: Callable[[Finding], None]
) -> None:
    """A file that others follow ends in a blank, or full; zeros to its end are a gap."""
    position = end - file.base_offset if end else 0
    if position >= size or any(gap.end >= file.base_offset + size for gap in gaps):
        return
    if any(gap.begin >= file.base_offset + position for gap in gaps):
        return
    head = read_at(file, position, 8)
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
    head = read_at(file, max(at, 0), _HEAD.size)
    length = int.from_bytes(head[:4], signed=True)
    rest = read_at(file, at + length - 8, 8) if RECORD_FIXED_V4 <= length <= size - at else b""
    where = f"physical offsets {gap.begin:,} to {gap.end:,}"
    found = f"found {gap.found}, expected {gap.expected}; {where} hold no record that verifies"
    _, magic, recorded = _HEAD.unpack(head.ljust(_HEAD.size, b"\0"))
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
    if magic != MESSAGE_MAGIC and len(head) >= RECORD.offset_of("magic") + 4:
        return finding("log.magic", file.name, at + RECORD.offset_of("magic"), lost)
    if RECORD_FIXED_V4 <= length <= size - at and recorded != gap.begin:
        return finding("log.position", file.name, at + RECORD.offset_of("phy_offset"), lost)
    return finding("log.length", file.name, at, lost)
