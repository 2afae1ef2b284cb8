"""Checks the files of the commit log by themselves."""

from collections.abc import Callable, Sequence
from typing import Final

from rocket_spec.layout import BLANK, RECORD

from rocket_columnar.audit.later_release import later_record
from rocket_columnar.audit.plan import Plan
from rocket_columnar.audit.range_result import RangeResult
from rocket_columnar.findings import Finding, check_log_files, finding, gap_finding
from rocket_columnar.formats import body_begin, is_blank
from rocket_columnar.log import Gap
from rocket_columnar.store import StoreFile, read_at

_FLAG: Final = RECORD.offset_of("sys_flag") + 3  # the byte of the flags that states how long the hosts are


def check_log(  # noqa: C901 - one kind of finding after the other
    plan: Plan, parts: Sequence[RangeResult], report: Callable[[Finding], None]
) -> None:
    """Reports faults of the log's files, from the results of their ranges."""
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
        if later_record(plan, gap.begin):
            continue
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
        at + body_begin(read_at(file, at + _FLAG, 1)[0]),
        f"the body of the record at physical offset {file.base_offset + at:,} does not match its "
        "checksum: consumers get damaged bytes, and a recovery truncates the log here",
    )


def _check_end(
    file: StoreFile, size: int, end: int, gaps: Sequence[Gap], report: Callable[[Finding], None]
) -> None:
    """A file that is followed by others ends in a blank or is full; zeros to its end are a gap."""
    position = end - file.base_offset if end else 0
    if position >= size or any(gap.end >= file.base_offset + size for gap in gaps):
        return
    if any(gap.begin >= file.base_offset + position for gap in gaps):
        return
    head = read_at(file, position, BLANK.size)
    if len(head) == BLANK.size and is_blank(head, 0, size - position):
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


def torn_end(file: StoreFile, phy_offset: int, size: int, *, live: bool) -> Finding | None:
    """A record whose lengths add up but whose properties end in zeros: its last bytes never reached the disk.

    Nothing else shows it, since no checksum covers the properties.
    """
    at = phy_offset - file.base_offset
    record = read_at(file, at, size)
    body = body_begin(record[_FLAG])
    topic = body + max(int.from_bytes(record[body - 4 : body], signed=True), 0)
    properties = topic + 1 + record[topic] + 2
    if properties >= size or record[-1]:
        return None
    whole = max(len(record.rstrip(b"\0")), properties)
    return finding(
        "log.torn",
        file.name,
        at + whole,
        f"the properties of the last record, at physical offset {phy_offset:,}, end in {size - whole:,} zeros: the last "
        "write was incomplete, and the message has lost keys or tags",
        severity="note" if live else None,
        cure="send the message again: a start keeps the damaged record",
    )
