"""Checks the files of the commit log by themselves."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Final

import numpy as np
from rocket_spec.deviations import Deviation
from rocket_spec.layout import BLANK, BLANK_MAGIC, RECORD, RECORD_FIXED_V4, RECORD_MAGICS
from rocket_spec.printable import counted

from rocket_columnar.audit.file_check import planned
from rocket_columnar.audit.file_survey import QueueSurvey
from rocket_columnar.audit.ranges import MOST, Frames, Queue, RangeResult, Steps
from rocket_columnar.facts import Store
from rocket_columnar.findings import (
    Finding,
    check_log_files,
    finding,
    gap_findings,
    is_usual_end,
    lacks_zeros,
    strange,
)
from rocket_columnar.formats import (
    Record,
    body_begin,
    body_matches,
    is_blank,
    parse_record,
    topic_length_size,
)
from rocket_columnar.log import (
    COMMIT,
    NOT,
    Gap,
    StoredRecords,
    VerifiedRecord,
    dispatch_stop,
    property_crc_matches,
)
from rocket_columnar.store import StoreFile, by_queue, log_length, read_at

_STEP: Final = 60_000  # ms; less is a clock that is kept right
_FOREIGN: Final = 0.9
_FLAG: Final = RECORD.offset_of("sys_flag") + 3  # the byte of the flags that states how long the hosts are


def check_log(  # noqa: C901 - one kind of finding after the other
    store: Store, parts: Sequence[RangeResult], report: Callable[[Finding], None]
) -> None:
    """Reports faults of the log's files, from the results of their ranges."""
    check_log_files(store.logs, store.log_sizes, report, end=store.end)
    ends: dict[int, int] = {}
    gaps: list[tuple[int, Gap]] = []
    gone = set()
    newest: RangeResult | None = None
    for part in parts:
        number = part.range.log
        if number is None:
            continue
        file = store.logs[number]
        gaps += ((number, gap) for gap in part.gaps)
        if part.gone:
            gone.add(number)
        if part.end is not None:
            ends[number], newest = part.end, part
        for phy_offset in part.bodies:
            report(_bad_body(file, phy_offset - file.base_offset))
    last = max(ends, default=-1)
    _check_clock(store, parts, report)
    owners = [
        _check_owner(store, number, list(of_file))
        for number, of_file in groupby(parts, lambda part: part.range.log)
    ]
    for found in dict.fromkeys(filter(None, owners)):
        report(found)
    usual = log_length(store.logs, store.log_sizes)
    _check_gaps(store, gaps, last, usual, report)
    for number in range(last):
        if number not in gone:
            held = [gap for where, gap in gaps if where == number]
            size = store.log_sizes[number]  # another length is named for itself
            size = usual if size > usual or lacks_zeros(store.logs[number], size, usual, store.end) else size
            _check_end(store.logs[number], size, ends.get(number, 0), held, report)
    if newest is not None and newest.last is not None:
        found_torn = torn_end(store.logs[last], *newest.last, live=store.live)
        if found_torn is not None:
            report(found_torn)


def _check_gaps(
    store: Store,
    gaps: Sequence[tuple[int, Gap]],
    last: int,
    usual: int,
    report: Callable[[Finding], None],
) -> None:
    """Reports the gaps of files, by their numbers, but for the end of longer ones; `last` is the last file with records."""
    for number, gap in gaps:
        file, size = store.logs[number], store.log_sizes[number]
        if not is_usual_end(file, size, gap.begin - file.base_offset, usual):
            tail = number >= last and gap.end >= file.base_offset + size
            for found in gap_findings(file, size, gap, tail=tail, live=store.live):
                report(found)


def _check_clock(store: Store, parts: Sequence[RangeResult], report: Callable[[Finding], None]) -> None:
    """Reports the greatest step back of the times at which neighbouring records were stored."""
    steps = [part.clock for part in parts if part.clock is not None]
    held = [(part.first, part.times_seen) for part in parts if part.times_seen is not None]
    steps += [(first, before.last, times.first) for (_, before), (first, times) in pairwise(held)]
    phy_offset, before, after = max(steps, key=lambda step: step[1] - step[2], default=(0, 0, 0))
    if before - after > _STEP:
        text = (
            f"the record at physical offset {phy_offset:,} was stored {(before - after) // 1000:,} s before the one that "
            "precedes it: the clock was set back, or was ahead for a while, or one of the two times is damaged"
        )
        report(finding("log.clock", *store.at(phy_offset), text))


def _check_owner(store: Store, number: int | None, parts: Sequence[RangeResult]) -> Finding | None:
    """A file whose records no queue knows, although queues point into it to where no record begins, is another store's, unless the index knows them."""
    if number is None:
        return None
    file = store.logs[number]
    records, lone = (sum(part.records[which] for part in parts) for which in (0, 1))
    whole = any(part.last is not None for part in parts)
    astray = sum(
        mark.length
        for part in parts
        for (what, _), marks in part.marks.runs.items()
        if what == "unit.lost"
        for mark in marks
    )
    foreign = [gap for part in parts for gap in part.gaps if gap.begin == file.base_offset and not whole]
    recorded, own_name = _recorded(file), ""
    if foreign and recorded not in (-1, file.base_offset):
        text = f"found a file whose first record states physical offset {recorded:,}: it is another one under this name"
        own_name = file.named(recorded)
    elif not astray or lone <= _FOREIGN * records:
        return None
    elif _is_indexed(parts):
        text = "the index knows the log's records, and no queue points to them: the queues are another store's, or older"
        return finding("queue.wrong_target", "consumequeue", None, text, foreign=True)
    else:
        text = (
            f"no queue points to {lone:,} of the file's {counted(records, 'record')} that belong in one, and "
            f"{counted(astray, 'unit points', 'units point')} to where none begins: it is another store's, or older"
        )
    at, values = RECORD.offset_of("phy_offset"), Deviation("phy_offset", recorded, file.base_offset)
    return finding("log.position", file.name, at, text, foreign=True, own_name=own_name, deviation=values)


def _is_indexed(parts: Sequence[RangeResult]) -> bool:
    """Whether the index knows most keys of a file's records: then the file is this store's own, and its queues are not."""
    keys = sum(part.keys for part in parts)
    missing = sum(run.count for part in parts for run in part.key_runs)
    return missing + sum(part.dropped for part in parts) < (1 - _FOREIGN) * keys


def _recorded(file: StoreFile) -> int:
    """The physical offset that a log file's first record states; -1 if it begins with none."""
    head = read_at(file, 0, RECORD_FIXED_V4)
    place = RECORD.offset_of("phy_offset")
    sound = int.from_bytes(head[4:8], signed=True) in RECORD_MAGICS
    return int.from_bytes(head[place : place + 8], signed=True) if sound else -1


def _bad_body(file: StoreFile, at: int) -> Finding:
    size = int.from_bytes(read_at(file, at, 4), signed=True)
    raw = read_at(file, at, size)
    record = parse_record(raw, 0) if len(raw) == size >= RECORD_FIXED_V4 else None  # cut meanwhile
    if isinstance(record, Record) and not property_crc_matches(raw) and body_matches(raw, record):
        text = (
            f"the record at physical offset {file.base_offset + at:,} does not match its property __CRC32#, but its body "
            "matches its own checksum: its fields, topic or properties are damaged, and a recovery with forceVerifyPropCRC "
            "truncates the log here"
        )
        values = Deviation("__CRC32#", "another checksum", "that of the record", at + file.base_offset)
        return finding("log.crc", file.name, at, text, clause="LOG-PROP-8", deviation=values)
    text = (
        f"the body of the record at physical offset {file.base_offset + at:,} does not match its checksum: consumers get damaged "
        "bytes, and a recovery truncates the log here"
    )
    values = Deviation("body_crc", "another checksum", "that of the body", file.base_offset + at)
    body_at = at + body_begin(int.from_bytes(read_at(file, at + _FLAG, 1)))
    return finding("log.crc", file.name, body_at, text, deviation=values)


_KILLED_AT_A_BLANK: Final = "a blank whose record is not stored: the broker was killed between the two"


def check_room(store: Store, parts: Sequence[RangeResult], report: Callable[[Finding], None]) -> None:
    """Checks that the last record of each file leaves room for a blank, and none for what the next file begins with (LOG-BLANK-1, DLG-5)."""
    lasts = {part.range.log: part.last for part in parts if part.range.log is not None and part.last}
    early: list[tuple[str, int, str, Deviation]] = []
    for number, (offset, size) in lasts.items():
        file = store.logs[number]
        room = file.base_offset + store.log_sizes[number] - offset - size - BLANK.size
        following = _first_piece(store, number + 1) if number + 1 in lasts and not file.framed else 0
        if 0 < following <= room:
            text = (
                f"found a blank, although the record that begins the next file, or its batch of {following:,} bytes, would have "
                f"fitted: {room:,} were free"
            )
            at, record = offset + size - file.base_offset, store.logs[number + 1].base_offset
            values = Deviation("end of the file", "a blank", f"a record of {following} bytes", record)
            early.append((file.name, at, text, values))
        if room < 0:
            text = f"the record at physical offset {offset:,} leaves no {BLANK.size} bytes free at the file's end"
            clause = "DLG-5" if file.framed else "LOG-BLANK-1"
            values = Deviation("record", f"{size} bytes", "8 bytes left free at the file's end")
            report(strange("log.length", file.name, offset - file.base_offset, text, clause, values))
    allowed = _KILLED_AT_A_BLANK if len(early) == 1 else ""
    for name, at, text, values in early:
        report(strange("log.length", name, at, text, "LOG-BLANK-1", replace(values, allowed=allowed)))


def _first_piece(store: Store, number: int) -> int:
    """Bytes of the first records of a log file that one append may have written: a batch has one queue and one store time."""
    with StoredRecords(store.logs) as records:
        first = record = records.at(store.logs[number].base_offset)
        size = 0
        while record is not None and first is not None and _of_batch(record) == _of_batch(first):
            size += record.fixed.total_size
            record = records.at(store.logs[number].base_offset + size)
    return size


def _of_batch(record: VerifiedRecord) -> tuple[str, int, int]:
    return record.topic, record.fixed.queue_id, record.fixed.store_timestamp


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
    length, magic = (int.from_bytes(head[at : at + 4], signed=True) for at in (0, 4))
    if magic == BLANK_MAGIC and not file.framed:
        room = size - position
        text = f"found a blank of {length:,} bytes, expected one of the {room:,} to the file's end, where readers go on"
        values = Deviation("size of the blank", length, room)
        report(strange("log.length", file.name, position, text, "LOG-BLANK-1", values))
        return
    text = (
        f"zeros from physical offset {file.base_offset + position:,} to the file's end, although later files hold records: dispatch "
        "and recovery stop here"
    )
    values = Deviation("end of the file", "no blank", "a blank before the next file")
    report(finding("log.gap", file.name, position, text, clause="LOG-BLANK-1", deviation=values))


def torn_end(file: StoreFile, phy_offset: int, size: int, *, live: bool) -> Finding | None:
    """A record whose lengths add up but whose properties end in zeros, which no checksum shows: its last bytes never reached the disk."""
    at = phy_offset - file.base_offset
    record = read_at(file, at, size)
    body = body_begin(int.from_bytes(record[_FLAG : _FLAG + 1]))
    width = topic_length_size(int.from_bytes(record[4:8], signed=True))
    topic = body + max(int.from_bytes(record[body - 4 : body], signed=True), 0) + width
    if len(record) < size or topic > size:  # the file was changed after the scan
        return None
    properties = topic + int.from_bytes(record[topic - width : topic]) + 2
    if properties >= size or record[-1]:
        return None
    whole = max(len(record.rstrip(b"\0")), properties)
    return finding(
        "log.torn",
        file.name,
        at + whole,
        f"the properties of the last record, at physical offset {phy_offset:,}, end in {counted(size - whole, 'zero')}: the last "
        "write was incomplete, and the message has lost keys or tags",
        severity="note" if live else None,
        cure="send the message again: a start keeps the damaged record",
        deviation=Deviation("properties", "zeros at their end", "as they were sent", phy_offset),
    )


def steps_of(store: Store, frames: Frames) -> dict[Queue, Steps]:
    """The logical offsets that the records of a range state, by queue; those of batch queues count otherwise."""
    every, names = frames.all, frames.names.names
    batched = {file.topic for file in store.batches}
    rows = np.flatnonzero((every.transaction == NOT) | (every.transaction == COMMIT))
    rows = rows[np.lexsort((rows, every.queue_id[rows], every.topic[rows]))]
    topic, queue_id, offset = every.topic[rows], every.queue_id[rows], every.queue_offset[rows]
    starts = np.flatnonzero((np.diff(topic, prepend=-1) != 0) | (np.diff(queue_id, prepend=0) != 0))
    wrong = (np.diff(offset, prepend=0) != 1) & (offset != 0)
    wrong[starts] = False
    found: dict[Queue, Steps] = {}
    for start, stop in pairwise([*starts.tolist(), rows.size]):
        name = names[topic[start]]
        if name not in batched:
            some = np.flatnonzero(wrong[start:stop]) + start
            listed = [
                (int(every.phy_offset[rows[at]]), int(offset[at]), int(offset[at - 1]) + 1)
                for at in some[:MOST].tolist()
            ]
            first = int(every.phy_offset[rows[start]]), int(offset[start])
            found[name, int(queue_id[start])] = Steps(first, int(offset[stop - 1]), listed)
    return found


class QueueCounts:
    """Follows the logical offsets that records state through the ranges of the log (LOG-REC-6); `last` is that of each queue."""

    def __init__(self) -> None:
        self.last: dict[Queue, int] = {}
        self._wrong: dict[Queue, list[tuple[int, int, int]]] = {}

    def add(self, part: RangeResult) -> None:
        """Takes the offsets out of the next range."""
        for queue, steps in part.steps.items():
            expected = self.last[queue] + 1 if queue in self.last else steps.first[1]
            wrong = [(*steps.first, expected)] if steps.first[1] not in (0, expected) else []
            wrong += steps.wrong
            if wrong:
                self._wrong.setdefault(queue, []).extend(wrong)
            self.last[queue] = steps.last
        part.steps = {}

    def check(self, store: Store, report: Callable[[Finding], None]) -> int:
        """Reports of each queue the first record that does not state the next offset, 0 after a deletion; the number of all such records."""
        for (topic, queue_id), wrong in self._wrong.items():
            phy_offset, found, expected = wrong[0]
            text = (
                f"the record states logical offset {found:,} of {topic} queue {queue_id}, expected {expected:,}: a broker counts "
                "the messages of a queue one by one"
            )
            values = Deviation("queue_offset", found, expected, phy_offset, len(wrong))
            report(strange("queue.order", *store.at(phy_offset), text, "LOG-REC-6", values))
        return sum(map(len, self._wrong.values()))


def check_begin(store: Store, queues: Sequence[QueueSurvey], report: Callable[[Finding], None]) -> None:
    """Whole files of queues and index below the log's beginning: a broker that deletes a log file deletes these seconds later.

    It spares the last file of each, which may be full; another one follows with the next message, and the full one stays until
    more of the log expires. So a file counts if the one after it was begun with a record that is gone, too.

    Source: `DefaultMessageStore.CleanConsumeQueueService.deleteExpiredFiles` 1903-1934.
    """
    if store.live or not store.logs:
        return
    seen = {survey.file: survey for survey in queues}
    after = {
        file.name: following.name
        for own in by_queue(store.queues).values()
        for file, following in pairwise(own)
    }
    below = sum(
        _is_below(survey, store.begin) and _begins_below(seen.get(after[survey.file]), store.begin)
        for survey in queues
        if survey.file in after
    )
    below += sum(
        header.index_count > 1
        and header.end_phy_offset < store.begin
        and following.index_count > 1
        and following.begin_phy_offset < store.begin
        for (_, header), (_, following) in pairwise(store.indexes)
    )
    if below:
        begin, size = store.begin, max(store.log_sizes)
        text = (
            f"the log begins at physical offset {begin:,}, but {counted(below, 'whole file of queues and index points', 'whole files of queues and index point')} below it, which a "
            "broker deletes with the log's: log files are missing, unless it was stopped while it deleted expired ones"
        )
        name = store.logs[0].named(max(begin - size, 0))
        if name not in {found.file for found in store.once(planned)}:  # something else is in its place
            allowed = (
                "files of queues and index of messages before the log's beginning, which were to be deleted"
            )
            values = Deviation("base offset", begin, begin - size, allowed=allowed)
            report(finding("log.gap", name, None, text, severity="warning", deviation=values))


def _is_below(survey: QueueSurvey, begin: int) -> bool:
    """Whether all units of a file point below the log's beginning."""
    return bool(survey.runs.size) and int(survey.high.max()) < begin


def _begins_below(survey: QueueSurvey | None, begin: int) -> bool:
    """Whether a unit of a file points below the log's beginning."""
    return survey is not None and bool(survey.runs.size) and int(survey.low.min()) < begin


def lag_finding(store: Store, late: Sequence[tuple[int, int]], suspects: Sequence[int]) -> Finding | None:
    """The finding on records that are not dispatched, or at which the next start stays; None if there are none.

    `late` has numbers of records that are not dispatched, and the physical offset of the first of each. `suspects` are physical offsets of
    records that may stop the dispatch: the last one that was dispatched, or those that the next start dispatches again. Its recovery
    notifies nobody (LOG-DSP-18): only enableMultiDispatch stops it.
    """
    light = any(queue.light for queue in store.queues)
    again = store.dispatched_again_from is not None
    stop = next(((at, why) for at in suspects if (why := _stop_at(store, at, light=light))), None)
    text = counted(
        sum(count for count, _ in late), "record at the log's end is", "records at the log's end are"
    )
    text += " not in a queue or the index yet"
    if stop is None:
        return finding("store.lag", *store.at(late[0][1]), text) if late else None
    if again and not late:
        text = "the next start dispatches the log's end again"
    at, why = stop
    if again and not store.multi_dispatch:
        return finding(
            "store.lag",
            *store.at(late[0][1] if late else at),
            f"{text}; with enableMultiDispatch a start would stay at the record at physical offset {at:,}: {why}",
            clause="LOG-DSP-14",
            cure="start the broker once as it is configured, before enableMultiDispatch is set to true again",
            settings=(("enableMultiDispatch", "false"),),
        )
    which = (
        f"the {'record' if again else 'last one that is,'} at physical offset {at:,}{'' if again else ','}"
    )
    text += f"; {which} stops the dispatch: {why}; a start that dispatches it again never returns"
    return finding(
        "store.lag",
        *store.at(late[0][1] if late else at),
        text,
        severity="warning",
        clause="LOG-DSP-14",
        cure="start the broker once with these settings; then stop it, take them back, and have the light queues repaired",
        settings=(("longPollingEnable", "false"), ("enableMultiDispatch", "false")),
    )


def _stop_at(store: Store, at: int, *, light: bool) -> str | None:
    file = store.log_at(at)
    assert file is not None
    at -= file.base_offset
    size = int.from_bytes(read_at(file, at, 4), signed=True)
    data = read_at(file, at, max(size, 0))
    return dispatch_stop(data, light=light) if 0 < size == len(data) else None  # else it was cut meanwhile
