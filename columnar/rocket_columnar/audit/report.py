"""Makes findings from the results of the log's ranges and the surveys of files."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Final

from rocket_spec.deviations import Deviation
from rocket_spec.layout import INDEX_HEADER, PRE_BLANK_SIZE, QUEUE_UNIT
from rocket_spec.printable import counted

from rocket_columnar.audit.file_check import (
    check_ext_files,
    check_index_files,
    check_queue_files,
    empty_file,
    planned,
)
from rocket_columnar.audit.file_survey import FirstEntries, IndexSurvey, QueueSurvey, Surveys, check_bounds
from rocket_columnar.audit.log_check import QueueCounts, check_begin, check_log, check_room
from rocket_columnar.audit.matching import UNJUDGED
from rocket_columnar.audit.missing import take_own_puts, what_is_missing
from rocket_columnar.audit.range_check import check_range
from rocket_columnar.audit.ranges import (
    MOST,
    LogTimes,
    Mark,
    Marks,
    Plan,
    RangeResult,
    UnitRun,
    check_checkpoint,
)
from rocket_columnar.audit.wording import (
    say_entry,
    say_missing_keys,
    say_missing_units,
    say_own_delays,
    say_unit,
    say_unreached,
)
from rocket_columnar.facts import Store, read_checkpoint
from rocket_columnar.findings import Finding, Severity, check_log_files, finding, hidden_codes, strange
from rocket_columnar.index import IndexHeader
from rocket_columnar.log import queue_starts
from rocket_columnar.store import Sign, StoreFile, WorkDone, lock_text, read_at, size_of

_LIGHT: Final = "%LMQ%"
_TWICE: Final = "the last message before a restart is indexed twice (IDX-SVC-8, LOG-DSP-13)"

_OF_HEADERS: Final = {
    "IDX-HDR-1": 1,
    "IDX-HDR-2": 2,
    "IDX-HDR-3": 2,
    "IDX-HDR-4": 1,
    "IDX-HDR-5": 1,
    "IDX-PUT-1": 1,
}
"""Number of values in the header of an index file that each clause is about."""


class _Report:
    """Gathers findings; for one code in one file the first thousand, then their number.

    Of those of planning, the ones that may follow from files that cannot be read are left out; with signs of 5.x, those that its rules explain.
    """

    def __init__(self, planned: Sequence[Finding], signs: Iterable[Sign]) -> None:
        kinds = {sign.kind for sign in signs}
        self._unjudged = {code for code, of in UNJUDGED.items() if kinds and (not of or kinds & set(of))}
        self._unjudged |= hidden_codes(planned)
        self._unread = {found.file for found in planned if found.code == "store.unreadable"}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._ready: list[Finding] = []
        self._first: dict[tuple[str, str], Finding] = {}
        self.held: Counter[str] = Counter()

    def __call__(self, found: Finding) -> None:
        missing = found.code == "log.gap" and found.offset is None
        exact = found.deviation is not None and not found.deviation.allowed
        exact = exact and found.code.startswith("checkpoint.")  # by the rules of the release
        if (found.code in self._unjudged and not exact) or (missing and found.file in self._unread):
            return
        key = found.code, found.file
        self._counts[key] += 1
        if self._counts[key] <= MOST:
            self._ready.append(found)
            self._first.setdefault(key, found)

    def more(self, example: Finding, count: int) -> None:
        """Counts findings that are not listed, like an example."""
        if example.code in self._unjudged:
            return
        key = example.code, example.file
        self._counts[key] += count
        self._first.setdefault(key, example)

    def hold(self, places: Mapping[str, int]) -> None:
        """Counts the places where clauses could have been broken, less those of the findings since the last call of `take`."""
        self.held += Counter(places) - Counter(found.clause or "" for found in self._ready)

    def take(self) -> list[Finding]:
        """The findings since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def rest(self) -> Iterator[Finding]:
        """One finding for each code and file of which there were more."""
        for (code, file), count in self._counts.items():
            if count > MOST:
                text, first = (
                    f"{counted(count - MOST, 'more finding', 'more findings')} of this kind in this file",
                    self._first[code, file],
                )
                values = first.deviation and replace(first.deviation, count=count - MOST)
                yield replace(
                    finding(code, file, None, text),
                    severity=first.severity,
                    clause=first.clause,
                    deviation=values,
                )


def _begin(store: Store, report: _Report) -> None:
    if not store.clean:
        text = "found an abort file: a broker is running, or was not stopped cleanly"
        if store.holder:
            text = f"a broker is running: {lock_text(store.holder)}"
        elif store.state == "killed":
            text = "found an abort file, and no process holds the lock: the broker was killed"
        report(finding("store.abort", "abort", None, text))


def _is_whole(store: Store, parts: Sequence[RangeResult]) -> bool:
    """Whether the log has no gap."""
    return not store.log_breaks and not any(part.gaps or part.gone for part in parts)


def _check_files(
    store: Store, newest: int | None, log: LogTimes | None, report: _Report, *, quick: bool
) -> None:
    """Checks names, sizes and headers, and the checkpoint."""
    _check_parts(store, report, quick=quick)
    check_queue_files(store.queues, report)
    check_ext_files(store.exts, report, None if quick or store.live else report.held)
    times = [(file, read_checkpoint(file)) for file in store.checkpoints]
    end = store.end
    if store.live and store.path is not None:  # headers and checkpoint may include records that came since
        tail = store.present_tail()
        end, newest = max(end, tail.end), max(newest or 0, tail.newest or 0) or None
    check_index_files(store, end if store.logs else None, report, quick=quick)
    report.hold(dict.fromkeys(("IDX-FILE-1", "IDX-SVC-4"), len(store.indexes)))
    for read in times:
        report.held += check_checkpoint(store, read, newest, log, report)
    for found in store.once(planned):
        report(found)


def _check_parts(store: Store, report: _Report, *, quick: bool) -> None:
    """Parts of a store that are gone as a whole; found from the content of the others, except at level quick."""
    used = store.queues or any(header.index_count > 1 for _, header in store.indexes)
    named = not store.logs and any(one.own_name for one in store.once(planned))
    if not store.logs and (used or named) and "queue.dangling" not in hidden_codes(store.once(planned)):
        shown = "its files have other names" if named else "queues or index files point into one"
        text = (
            f"the commit log is missing, but {shown}: a start deletes all queues, unless the log is in other "
            "directories (--commitlog)"
        )
        cure = "name the directories of the log with --commitlog; a log that is lost can only come from a replica"
        report(finding("log.gap", "commitlog", None, text, cure=cure))
    if not quick or store.live or store.newest is None:
        return
    if not store.queues:
        text = "the consume queues are missing, but the log contains records: consumers get no messages"
        report(finding("queue.missing_unit", "consumequeue", None, text, clause="CQ-FILE-3"))
    if not store.indexes and store.index_enabled:
        text = "the index files are missing, but the log contains records: no key is found"
        report(finding("index.missing_key", "index", None, text, clause="IDX-SVC-7"))


def quick_findings(plan: Plan) -> Iterator[Finding]:
    """Findings from the files' names, sizes and headers."""
    store = plan.store
    report = _Report(store.once(planned), store.signs)
    _begin(store, report)
    check_log_files(store.logs, store.log_sizes, report, end=store.end)
    _check_files(store, store.newest, None, report, quick=True)
    yield from report.take()
    yield from report.rest()


def _ignored(_: object) -> None:
    """The default of `on_signs` and `on_held`."""


def findings(
    plan: Plan,
    surveys: Surveys,
    results: Iterable[RangeResult],
    on_signs: Callable[[tuple[Sign, ...]], None] = _ignored,
    on_held: Callable[[Counter[str]], None] = _ignored,
) -> Iterator[Finding]:
    """All findings of an audit, from the results of all ranges, in the order of the ranges; OSError if a file cannot be read.

    `on_signs` is called with the signs that 5.x wrote to the store, none for a store of 4.9.3; `on_held` at last with the number of places
    where each clause held that could have been broken there.
    """
    store = plan.store
    queues: Sequence[QueueSurvey] = surveys.queues.files
    indexes: Sequence[IndexSurvey] = surveys.indexes.files
    counts = QueueCounts()
    parts = _joined_on(results, partial(check_range, plan, surveys), counts)
    signs = (*store.signs, *(sign for part in parts for sign in part.signs))
    on_signs(signs)
    report = _Report(store.once(planned), signs)
    _begin(store, report)
    check_log(store, parts, report)
    check_begin(store, queues, report)
    _hold_log(store, parts, report)
    ready = report.take()
    yield from ready
    is_damaged = any(found.code.startswith("log.") and found.severity != "note" for found in ready)
    log = None if is_damaged or not plan.exact else _check_exactly(store, parts, counts, report)
    newest = max((part.newest for part in parts if part.newest is not None), default=None)
    _check_files(store, newest, log, report, quick=False)
    _unsafe(store, parts, report)
    yield from report.take()
    by_themselves = [*(survey.marks for survey in queues), *(survey.marks for survey in indexes)]
    marks = Marks.joined([*(part.marks for part in parts), *by_themselves])
    report.held.update(sum((part.held for part in parts), Counter[str]()))
    repeating = {queue for part in parts for queue in part.repeating}
    take_own_puts(store, marks, repeating, report, report.held)
    _check_light_steps(store, parts, report)
    _whole_folders(store, parts, marks, report)
    hashes = frozenset[int]().union(*(part.hashes for part in parts))
    known = {offset: time for part in parts for offset, time in part.times.items()}
    units, keys = what_is_missing(store, parts, report)
    _check_blanks(store, queues, marks, units, report)
    last = dict(counts.last)
    for queue, _, asked in (one for part in parts for one in part.asked):
        last[queue] = max(last.get(queue, -1), asked)
    _check_queues(store, queues, marks, units, last, report)
    yield from report.take()
    for found in _check_indexes(plan, indexes, marks, known, hashes, report):
        yield from found
    say_missing_units(store, units, report)
    say_missing_keys(store, keys, indexes, marks, report)
    dropped = sum(part.dropped for part in parts)
    if dropped:
        report.more(finding("index.missing_key", "commitlog", None, ""), MOST + dropped)
    for (what, file), count in marks.more.items():
        mark = marks.runs[what, file][0]
        is_unit = what.startswith("unit.")
        report.more(
            say_unit(store, file, what, mark) if is_unit else say_entry(store, file, what, mark, hashes),
            count,
        )
    on_held(report.held)
    yield from report.take()
    yield from report.rest()


def _check_light_steps(store: Store, parts: Sequence[RangeResult], report: _Report) -> None:
    """Reports of each further queue the first record that does not ask for the next logical offset, in a log without a gap."""
    if not _is_whole(store, parts):
        return
    for queue, (phy_offset, found, expected) in _light_steps(store, parts).items():
        text = (
            f"the record asks for logical offset {found:,} of {queue[0]}, expected {expected:,}: a broker counts the messages of "
            "a light queue one by one, from 0 after a start"
        )
        values = Deviation(f"INNER_MULTI_QUEUE_OFFSET of {queue[0]}", found, expected, phy_offset)
        report(strange("queue.order", *store.at(phy_offset), text, "CQ-LMQ-4", values))


def _light_steps(store: Store, parts: Sequence[RangeResult]) -> dict[tuple[str, int], tuple[int, int, int]]:
    """The first record of each further queue that does not ask for the next logical offset (CQ-LMQ-4).

    A light queue begins at 0, and may count from 0 again, any other one from what recovery found.
    """
    following: dict[tuple[str, int], int] = {}
    found: dict[tuple[str, int], tuple[int, int, int]] = {}
    for part in parts:
        for queue, phy_offset, asked in part.asked:
            light = queue[0].startswith(_LIGHT)
            wanted = following.get(queue, asked if store.begin or not light else 0)
            following[queue] = asked + 1
            if asked > wanted or (0 != asked < wanted and light):
                found.setdefault(queue, (phy_offset, asked, wanted))
    return found


def _check_exactly(
    store: Store, parts: Sequence[RangeResult], counts: QueueCounts, report: _Report
) -> LogTimes | None:
    """Checks ends of files and the logical offsets that records state, unless the log has a gap; the times of its records then."""
    stored = [part.times_seen for part in parts if part.times_seen is not None]
    if not stored or store.live or not _is_whole(store, parts):
        return None
    check_room(store, parts, report)
    say_own_delays(store, report)
    if not any(part.unsafe for part in parts):
        records = sum(part.held["LOG-REC-1"] for part in parts)
        report.held["LOG-REC-6"] += records - counts.check(store, report)
    return LogTimes.joined(stored)


def _hold_log(store: Store, parts: Sequence[RangeResult], report: _Report) -> None:
    """Counts the files of the log that hold clauses."""
    used = {part.range.log for part in parts if part.range.log is not None and part.last is not None}
    full = sum(number + 1 in used and not store.logs[number].framed for number in used)
    report.hold(
        {
            "LOG-FILE-1": len(store.logs),
            "LOG-FILE-2": store.end not in store.log_ends,
            "LOG-BLANK-1": full,
            "LOG-BLANK-2": full,
        }
    )


def _joined_on(
    results: Iterable[RangeResult], again: Callable[..., RangeResult], counts: QueueCounts
) -> list[RangeResult]:
    """The results; a range that did not begin where the one before it ended is checked again. Each goes to `counts`."""
    parts: list[RangeResult] = []
    for result in results:
        part = result
        if (
            parts
            and not part.range.exact
            and not part.gone
            and not parts[-1].gone
            and parts[-1].next != part.first
        ):
            part = again(part.range, start=parts[-1].next)
        parts.append(part)
        counts.add(part)
    return parts


def _whole_folders(
    store: Store, parts: Sequence[RangeResult], marks: Marks, report: Callable[[Finding], None]
) -> None:
    """One finding on a folder of which nothing is there, or nothing is the store's own: what else is found follows from it."""
    found = Counter[str]()
    for (what, _), runs in marks.runs.items():
        found[what] += sum(run.length for run in runs)
    addresses = found["unit.address"]
    if addresses and not store.exts:
        text = f"there are no ext files, and {counted(addresses, 'unit points', 'units point')} to ext units: consumers that filter by SQL or tags miss messages"
        report(finding("queue.tags_code", "consumequeue_ext", None, text, clause="CQ-EXT-2"))
    missing = sum(run.count for part in parts for run in part.key_runs)
    keys = sum(part.keys for part in parts)
    if found["entry.lost"] + found["entry.wrong"] and 0 < keys == missing:
        text = "no entry is of a key of the log: the index files are another store's"
        report(finding("index.entry_wrong_key", "index", None, text))


def _unsafe(store: Store, parts: Sequence[RangeResult], report: _Report) -> None:
    said = set()
    for part in parts:
        for name, phy_offset in part.unsafe.items():
            if name not in said:
                said.add(name)
                text = f"the topic {name!r} of this record cannot be a directory name"
                report(finding("store.unsafe_name", *store.at(phy_offset), text))


def _check_blanks(
    store: Store,
    surveys: Sequence[QueueSurvey],
    marks: Marks,
    missing: dict[tuple[str, int], list[UnitRun]],
    report: _Report,
) -> None:
    """Marks pre-blank units after others (CQ-UNIT-2), not before one of an expired record, where no consumer reads.

    A unit in whose place one is, is not reported as missing too.
    """
    files = {file.name: file for file in store.queues}
    last = {(file.topic, file.queue_id): file for file in store.queues}
    first = {(file.topic, file.queue_id): file for file in reversed(store.queues)}
    for survey in surveys:
        file = files[survey.file]
        queue, room = (file.topic, file.queue_id), (size_of(file) or 0) // QUEUE_UNIT.size
        leading, later = survey.blanks
        if leading and file == first[queue]:
            report.held.update({"CQ-UNIT-2": leading, "CQ-PUT-6": leading})
        elif leading:
            later = ((0, leading), *later)
        report.held["CQ-PUT-5"] += file != first[queue]
        report.held["CQ-UNIT-3"] += file == last[queue] and survey.count < room
        report.held.update(("CQ-FILE-1", "CQ-FILE-2"))
        base = file.base_offset // QUEUE_UNIT.size
        for start, length in later:
            after = read_at(file, (start + length) * QUEUE_UNIT.size, QUEUE_UNIT.size)
            if any(after) and int.from_bytes(after[:8], signed=True) < store.begin:
                continue
            marks.runs.setdefault(("unit.blank", survey.file), []).append(
                Mark(start, length, (0, PRE_BLANK_SIZE, 0))
            )
            key = file.topic or "", file.queue_id or 0
            missing[key] = [
                replace(run, first=begin, last=end - 1, count=end - begin)
                for run in missing.get(key, [])
                for begin, end in _outside(run, base + start, base + start + length)
            ]


def _outside(run: UnitRun, begin: int, end: int) -> list[tuple[int, int]]:
    """The parts of a run of logical offsets that are not in [begin, end)."""
    parts = ((run.first, min(run.last + 1, begin)), (max(run.first, end), run.last + 1))
    return [(first, stop) for first, stop in parts if first < stop]


def _check_queues(
    store: Store,
    surveys: Sequence[QueueSurvey],
    marks: Marks,
    missing: dict[tuple[str, int], list[UnitRun]],
    last: Mapping[tuple[str, int], int],
    report: _Report,
) -> None:
    """Findings on units, file by file; units of zeros that no record explains are gaps. `last` is each queue's last offset that a record states."""
    files = {file.name: file for file in store.queues}
    taken = _taken_for_units(store, surveys)
    for survey in surveys:
        file = files[survey.file]
        queue, base = (file.topic or "", file.queue_id or 0), file.base_offset // QUEUE_UNIT.size
        runs = missing.get(queue, [])
        if survey.file in taken:
            report(_empty_file(file))
        hidden = min((mark.first for mark in marks.runs.get(("unit.hidden", survey.file), ())), default=None)
        for what in ("unit.invalid", "unit.blank", "unit.lost", "unit.strange", "unit.hidden", "unit.size", "unit.moved",
                     "unit.tags", "unit.address", "unit.astray", "unit.time", "unit.recovered"):  # fmt: skip
            for mark in marks.runs.get((what, survey.file), ()):
                if what == "unit.moved" and hidden is not None and mark.first > hidden:
                    continue  # by the units that belong in no queue
                report(say_unit(store, survey.file, what, mark, after=last.get(queue, -1)))
        for first, length in survey.zeros:
            for start, stop in _left(first + base, first + base + length, runs):
                report(
                    say_unit(store, survey.file, "unit.zeros", Mark(start - base, stop - start, (0, 0, 0)))
                )


def _taken_for_units(store: Store, surveys: Sequence[QueueSurvey]) -> set[str]:
    """Names of the files without units whose first bytes, zeros, the next start takes for one."""
    if store.live or all(survey.count for survey in surveys):
        return set()
    starts = queue_starts(store.queues, store.end, WorkDone(None), has_log=bool(store.logs))
    return {start.zeros for start in starts if start.zeros is not None}


def _empty_file(file: StoreFile) -> Finding:
    """The finding on a queue's last file without units: a truncation takes its first unit unchecked (CQ-TRUNC-3)."""
    first = file.base_offset // QUEUE_UNIT.size
    text = f"found no units: a start takes the zeros at logical offset {first:,} for a unit, and the next message goes in after it"
    severity: Severity | None = "note" if file.light else None  # a skipped put leaves such a file (CQ-PUT-2)
    return finding("queue.empty", file.name, None, text, severity=severity)


def _left(begin: int, end: int, runs: Sequence[UnitRun]) -> Iterator[tuple[int, int]]:
    """The parts of [begin, end) that are in no run."""
    for run in sorted(runs, key=lambda started: started.first):
        if run.last < begin or run.first >= end:
            continue
        if run.first > begin:
            yield begin, run.first
        begin = max(begin, run.last + 1)
    if begin < end:
        yield begin, end


def _check_full(
    store: Store,
    surveys: Sequence[IndexSurvey],
    astray: set[str],
    times: Mapping[int, int],
    report: _Report,
) -> None:
    """Checks each file against the one before: that is full (IDX-SVC-3, IDX-FULL-1), and what this one begins with (IDX-SVC-8, IDX-FILE-2).

    `astray` are the names of those with entries that are of no record, or of another one than their key; `times` are store timestamps of
    records, by their physical offsets.
    """
    most = 0 if store.geometry is None else store.geometry.index_num
    for file, following in pairwise(surveys):
        if following.count <= max(following.header.index_count, 1) == 1 and file.ends and not store.live:
            _check_seeds(file.header, following, report)
        ends = *file.ends, *following.ends
        known = times.keys() >= set(ends) and not astray & {file.file, following.file}
        if len(ends) == 4 and ends[0] <= ends[2] < ends[1] and known:
            begin, end = ends[2], ends[1]
            text = f"found physical offset {begin:,} in the first entry, after {end:,} in the last one of {file.file}"
            at = INDEX_HEADER.offset_of("begin_phy_offset")
            values = Deviation("entry 1 phy_offset", begin, f"{end} or more")
            report(strange("index.double_entry", following.file, at, text, "IDX-SVC-8", values))
        if file.moving or file.count != file.header.index_count or min(file.count, following.count) <= 1:
            continue
        if file.count >= most:
            report.held.update(("IDX-SVC-3", "IDX-FULL-1"))
        if file.count >= most or file.ends[-1:] >= following.ends[:1]:  # or they are out of order
            continue
        text = (
            f"found an index count of {file.count:,}, expected {most:,}: {following.file} follows, which 4.9.3 makes when a "
            "file is full"
        )
        at = INDEX_HEADER.offset_of("index_count")
        values = Deviation("index_count", file.count, most)
        clause = "IDX-FULL-1" if file.count == most - 1 else "IDX-SVC-3"
        report(strange("index.header_count", file.file, at, text, clause, values))


def _check_seeds(before: IndexHeader, file: IndexSurvey, report: _Report) -> None:
    """Checks that the header of a file without entries begins with the end of the file before."""
    for end, name in (("end_phy_offset", "begin_phy_offset"), ("end_timestamp", "begin_timestamp")):
        found, expected = getattr(file.header, name), getattr(before, end)
        if found != expected:
            at = INDEX_HEADER.offset_of(name)
            text = f"found a {name} of {found:,} in a file without entries, expected {expected:,}, the {end} of the file before"
            values = Deviation(f"header {name}", found, expected)
            report(strange("index.header_bounds", file.file, at, text, "IDX-FILE-2", values))


def _say_entries(
    store: Store,
    file: str,
    marks: Marks,
    skipped: Collection[str],
    hashes: frozenset[int],
    report: _Report,
) -> None:
    """Reports the marked entries of a file, but for `skipped` faults."""
    for what in ("entry.lost", "entry.negative", "entry.time", "entry.wrong", "entry.order", "entry.keys"):
        for mark in marks.runs.get((what, file), ()) if what not in skipped else ():
            report(say_entry(store, file, what, mark, hashes))
    twice = marks.runs.get(("entry.double", file), [])
    at_restart = next((mark for mark in twice if mark.first > 1), None)
    for mark in twice:
        allowed = _TWICE if mark.first == 1 or mark is at_restart else ""
        report(say_entry(store, file, "entry.double", mark, hashes, allowed=allowed))


def _check_indexes(
    plan: Plan,
    surveys: Sequence[IndexSurvey],
    marks: Marks,
    times: dict[int, int],
    hashes: frozenset[int],
    report: _Report,
) -> Iterator[list[Finding]]:
    """Findings on index files, file by file; without a geometry only whether a file is empty."""
    store = plan.store
    if store.geometry is None:
        for number, (file, header) in enumerate(store.indexes):
            if file.name in store.sound_indexes and header.index_count <= 1:
                report(empty_file(file, header, last=number == len(store.indexes) - 1))
    offsets = [offset for survey in surveys for offset in survey.ends]
    # Else the file before may be gone, unknown, or another one.
    complete = len(surveys) == len(store.indexes) and not hashes and offsets == sorted(offsets)
    astray = {file for what, file in marks.runs if what in ("entry.lost", "entry.wrong")}
    first_entries = FirstEntries(store, times, report)
    _check_full(store, surveys, astray, times, report)
    for survey in surveys:
        for found in survey.findings:
            report(found)
        skipped = set() if check_bounds(store, survey, times, report) else {"entry.time"}
        skipped |= {"entry.order"} if survey.file in astray else set()
        skipped |= {"entry.keys"} if astray or not complete else set()  # missing keys have no order
        if complete and "entry.time" not in skipped:
            first_entries.check(survey)
        first_entries.add(survey)
        _say_entries(store, survey.file, marks, skipped, hashes, report)
        for found in say_unreached(store, survey) if plan.deep else ():
            report(found)
        used, count = survey.used, survey.count - 1
        of_entries = {"IDX-PUT-6": count, "IDX-PUT-7": used, "IDX-HASH-3": used, "IDX-SLOT-1": count - used}
        report.hold(of_entries | (_OF_HEADERS if survey.ends else {}) | {"IDX-ENT-1": 1})
        yield report.take()
    report.held += first_entries.held
    report.held["IDX-FILE-2"] += first_entries.held["IDX-PUT-8"]
