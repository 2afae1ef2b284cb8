"""Wording and places of findings on units, entries and keys."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

from rocket_spec.deviations import Deviation
from rocket_spec.layout import QUEUE_UNIT
from rocket_spec.printable import counted

from rocket_columnar.audit.file_survey import IndexSurvey
from rocket_columnar.audit.ranges import CUT_OFF, ENTRIES_CUT_OFF, KeyRun, Mark, Marks, UnitRun
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, Severity, finding
from rocket_columnar.formats import DELAYS, SCHEDULE_TOPIC, tags_code
from rocket_columnar.index import entry_position
from rocket_columnar.log import ROLLBACK, StoredRecords, VerifiedRecord
from rocket_columnar.store import StoreFile, is_safe, read_at, size_of

_LIGHT: Final = "%LMQ%"
_SCHEDULE: Final = SCHEDULE_TOPIC.decode()
_INT_MAX: Final = 0x7FFFFFFF
_INT: Final = 1 << 32
_OFFSET: Final = 8  # bytes of a unit's physical offset


class _Kind(NamedTuple):
    """A kind of mark: a finding's code, the field, a text with the marked values by number, and what is usual else."""

    code: str
    field: str
    text: str
    expected: str = "a record of this queue"
    clause: str | None = None
    severity: Severity | None = None


_KINDS: Final = {
    "unit.invalid": _Kind("queue.dangling", "phy_offset", "4.9.3 does not accept this unit: a restart ends the queue here"),
    "unit.zeros": _Kind(
        "queue.gap", "phy_offset", "zeros in the middle of the queue: a restart ends the queue here and deletes the rest",
        clause="CQ-UNIT-3",
    ),
    "unit.blank": _Kind(
        "queue.gap", "phy_offset", "a pre-blank unit that is not at the beginning of the queue: consumers get no message here",
        clause="CQ-UNIT-2",
    ),
    "unit.lost": _Kind("queue.dangling", "phy_offset", "no record begins at that offset"),
    "unit.strange": _Kind("queue.wrong_target", "phy_offset", "the record belongs to another queue"),
    "unit.hidden": _Kind(
        "queue.wrong_target", "phy_offset",
        "the message is prepared or rolled back, and belongs in no queue: consumers get it, and the units after it have moved",
        "no unit", "LOG-DSP-7",
    ),
    "unit.size": _Kind("queue.wrong_target", "size", "the record has a different size"),
    "unit.moved": _Kind(
        "queue.order", "phy_offset", "the record has a different logical offset: consumers read messages twice or skip them"
    ),
    "unit.tags": _Kind(
        "queue.tags_code", "tags_code",
        "the record has a different tags code: consumers that filter by tag get the wrong messages or miss this one",
    ),
    "unit.address": _Kind(
        "queue.tags_code", "tags_code", "there is no ext unit at that address", "an address in the ext queue", "CQ-EXT-2"
    ),
    "unit.astray": _Kind(
        "queue.tags_code", "tags_code",
        "the ext unit at that address is another message's: consumers that filter get the wrong messages or miss this one",
        "the address of this message's ext unit", "CQ-EXT-2",
    ),
    "unit.time": _Kind(
        "queue.tags_code", "tags_code",
        "the ext unit at that address has a different store time than the record: consumers that filter by SQL may miss it",
        clause="CQ-EXT-1",
    ),
    "unit.delayed": _Kind(
        "queue.tags_code", "tags_code",
        "all units of this level wait as long, which is not what messageDelayLevel states: another configuration wrote them",
        clause="CQ-TAGS-2", severity="note",
    ),
    "unit.recovered": _Kind(
        "queue.tags_code", "tags_code",
        "found the tag's hash instead of the delivery time, as a recovery writes it: the message is delivered at once",
        clause="CQ-TAGS-2", severity="note",
    ),
    "entry.lost": _Kind(
        "index.entry_dangling", "phy_offset", "{entry}: no record begins at physical offset {0:,}", "the offset of a record"
    ),
    "entry.wrong": _Kind(
        "index.entry_wrong_key", "key_hash",
        "{entry}: found key hash {0:,}, which no further key of the record at physical offset {1:,} has",
        "the hash of one of its record's keys",
    ),
    "entry.double": _Kind(
        "index.double_entry", "key_hash",
        "{count:,} entries from entry {first:,} on repeat entries that exist already, from physical offset {0:,}: a recovery "
        "dispatched these messages again, or dispatch is stuck at one (LOG-DSP-18)",
        "no entry: the message is indexed already",
    ),
    "entry.order": _Kind(
        "index.entry_wrong_key", "phy_offset",
        "{entry}: found physical offset {0:,} after {1:,}: puts are in the order of the log", "", "IDX-SVC-8", "note",
    ),
    "entry.keys": _Kind(
        "index.entry_wrong_key", "key_hash", "{entry}: the keys of the record at physical offset {1:,} are in another order",
        "the key that follows that of the entry before", "IDX-SVC-2", "note",
    ),
    "entry.time": _Kind(
        "index.header_bounds", "time_diff",
        "{entry}: found a time diff of {0:,} s, expected {2:,}, from the header's begin to its record: queries see the wrong time for it",
        clause="IDX-PUT-2",
    ),
    "entry.negative": _Kind(
        "index.header_bounds", "time_diff",
        "{entry}: found a time diff of {0:,} s, expected 0 or more, from the header's begin to its record: queries see the wrong "
        "time for it",
        "0 or more", "IDX-PUT-2",
    ),
}  # fmt: skip


_KEPT: Final = (
    "none: the topic of this record cannot have a directory, and a rebuild makes nothing that leads to it"
)


def _more(length: int) -> str:
    return f" and the {length - 1:,} after it" if length > 1 else ""


def _record_at(store: Store, phy_offset: int) -> VerifiedRecord | None:
    """The record at a physical offset; None if none verifies there, or its file has expired meanwhile."""
    with suppress(FileNotFoundError), StoredRecords(store.logs) as records:
        return records.at(phy_offset)
    return None


def say_unit(store: Store, file: str, what: str, mark: Mark, *, after: int = -1) -> Finding:
    """The finding of a run of units; `after` is the last logical offset of the queue that a record states."""
    queue = next(queue for queue in store.queues if queue.name == file)
    logical = queue.base_offset // QUEUE_UNIT.size + mark.first
    offset, size, tags = mark.values
    record, cure = _record_at(store, offset), None
    if what == "unit.tags" and record is not None and _waits_as_others(store, queue, record, tags):
        what = "unit.delayed"
    kind = _KINDS[what]
    field = "size" if what == "unit.invalid" and offset >= 0 else kind.field
    values = f"physical offset {offset:,}, size {size:,}, tags code {tags}"
    text = f"unit {logical:,}{_more(mark.length)} ({values}): {kind.text}"
    if what == "unit.strange" and record is not None:
        text += f": {record.fixed.queue_id} of {record.topic}"
        cure = None if is_safe(record.topic) else _KEPT
    deviation = _unit_deviation(store, what, f"unit {logical} {field}", logical, mark, record)
    if what == "unit.lost" and offset >= store.end and logical > after:
        deviation = replace(deviation, allowed=_UNITS_CUT_OFF)
    elif what == "unit.recovered":
        deviation = replace(deviation, allowed=_RECOVERED)
    clause = kind.clause or _clause_of_unit(store, queue, what, mark, deviation.expected)
    if what == "unit.moved" and clause is None and record is not None:
        clause = "CQ-PUT-5" if logical < record.fixed.queue_offset else None  # one before is missing
    at = mark.first * QUEUE_UNIT.size + QUEUE_UNIT.offset_of(field)
    return finding(
        kind.code, file, at, text, severity=kind.severity, clause=clause, cure=cure, deviation=deviation
    )


def _waits_as_others(store: Store, queue: StoreFile, record: VerifiedRecord, due: int) -> bool:
    """Whether a delayed message waits as most of its level do, although the configuration states another delay."""
    level = queue.queue_id or 0
    shown = store.shown_delays[level : level + 1] if queue.topic == _SCHEDULE else ()
    return store.conf is not None and (due - record.fixed.store_timestamp,) == shown


def _unit_deviation(
    store: Store, what: str, field: str, logical: int, mark: Mark, record: VerifiedRecord | None
) -> Deviation:
    """A unit beside what 4.9.3 writes there."""
    offset, size, tags = mark.values
    if record is None:
        return Deviation(field, offset, "the offset of a record", count=mark.length)
    fixed = record.fixed
    found: object = {"size": size, "tags_code": tags}.get(field.rpartition(" ")[2], offset)
    expected: object = _KINDS[what].expected
    if what == "unit.size":
        expected = fixed.total_size
    elif what in ("unit.tags", "unit.delayed", "unit.recovered"):
        expected = tags_code(record.topic.encode(), record.pairs, fixed.store_timestamp, store.keys.delays)
    elif what == "unit.time":
        expected = f"the address of an ext unit with the store timestamp {fixed.store_timestamp}"
    elif what == "unit.moved":
        field, found, expected = f"unit {logical} logical offset", logical, fixed.queue_offset
    return Deviation(field, found, expected, offset, mark.length)


def _clause_of_unit(store: Store, queue: StoreFile, what: str, mark: Mark, expected: object) -> str | None:
    """The clause of a fault, where it depends on the queue or on the unit before; None for the usual one."""
    light = (queue.topic or "").startswith(_LIGHT)
    if what == "unit.strange":
        return "CQ-LMQ-2" if light and store.light and queue.queue_id else "CQ-FILE-3"
    if what == "unit.tags":
        if isinstance(expected, int) and mark.values[2] == expected % _INT:
            return None  # 32 bits of the code, in whatever queue
        return "CQ-LMQ-3" if light else "CQ-TAGS-2" if queue.topic == _SCHEDULE else None
    if what == "unit.moved" and mark.first:
        before = read_at(queue, (mark.first - 1) * QUEUE_UNIT.size, _OFFSET)
        if int.from_bytes(before, signed=True) >= mark.values[0]:
            return "CQ-PUT-1"
    return "CQ-LMQ-1" if what == "unit.moved" and light else None


def say_entry(
    store: Store, file: str, what: str, mark: Mark, hashes: frozenset[int], *, allowed: str = ""
) -> Finding:
    """The finding of a run of entries; `hashes` are those of missing keys, `allowed` as in a `Deviation`."""
    kind = _KINDS[what]
    field, clause = kind.field, kind.clause
    expected: object = kind.expected
    value, record = mark.values[0], mark.values[1] if mark.values[1:] else None
    if what == "entry.lost":
        allowed = ENTRIES_CUT_OFF if value >= store.end else ""
    elif what == "entry.wrong":
        # Where a key with the entry's hash is missing it is the offset that leads astray, else the hash is damaged.
        field = "phy_offset" if value in hashes else field
        is_rolled_back = store.transaction_at(mark.values[1]) == ROLLBACK
        clause = "IDX-SVC-9" if is_rolled_back else "IDX-HASH-2" if value < 0 else None
    elif what == "entry.double":
        clause, record = "IDX-SVC-3" if mark.first == 1 else None, value
    elif what == "entry.order":
        expected, record = f"{record:,} or more", value
    elif what == "entry.time":
        _, record, expected, begin, passed = mark.values
        is_far = passed < 0 or expected == _INT_MAX
        clause = "IDX-PUT-3" if begin <= 0 else "IDX-PUT-4" if is_far else clause
    entry = f"entry {mark.first:,}{_more(mark.length)}"
    text = kind.text.format(*mark.values, entry=entry, first=mark.first, count=mark.length)
    assert store.geometry is not None
    at = entry_position(store.geometry, mark.first, field)
    field = "phy_offset" if what == "entry.double" else field
    values = Deviation(f"entry {mark.first} {field}", value, expected, record, mark.length, allowed)
    cure = "none needed: it harms nothing" if kind.severity == "note" else None
    if what == "entry.wrong":
        cure = _cure_of_keys(store, mark.values[1])
    return finding(
        kind.code, file, at, text, severity=kind.severity, clause=clause, cure=cure, deviation=values
    )


_UNITS_CUT_OFF: Final = f"units of records after {CUT_OFF}"
_RECOVERED: Final = "a delayed message that a recovery dispatched has its tag's hash (STORE-15)"
_LAG: Final = "messages at the log's end that are not indexed yet"
_LOST: Final = "keys lost to an unclean restart, which deleted an index file (IDX-SVC-6, STORE-11)"
_DELETED: Final = "keys lost to an unclean restart in DLedger mode, which deleted an index file (DLG-13)"
_BEGUN_BEFORE: Final = "the first index file begins in the middle of a message; the one before it is gone"


def _why_missing(store: Store, run: KeyRun, files: Sequence[IndexSurvey]) -> str:
    """The reason that a start of 4.9.3 may have left keys without an entry, in words; empty if none does."""
    firsts = {survey.ends[0] for survey in files if survey.ends}
    if run.next not in firsts:
        stopped = store.clean and not store.framed
        return "" if run.next >= 0 or stopped else _DELETED if store.clean else _LAG
    if run.end == run.next:
        return "" if run.next in {survey.ends[1] for survey in files if survey.ends} else _BEGUN_BEFORE
    if store.framed:
        return _DELETED
    file = store.log_at(run.next)  # in a log file from whose beginning on a recovery dispatched again
    is_recovered = file is not None and file.base_offset > run.end
    return _LOST if is_recovered or (run.next == min(firsts) and store.begin > 0) else ""


def _clause_of_missing(store: Store, run: KeyRun, rolls: Sequence[tuple[int, int]]) -> str | None:
    """The clause that missing keys break; None for the usual one. `rolls` are the last offset of a file and the first of the next."""
    if not store.indexes:
        return "IDX-SVC-7"
    if store.transaction_at(run.begin):
        return "IDX-SVC-9"
    record = _record_at(store, run.begin)
    if record is not None and b"\1" in record.pairs.get(b"KEYS", b""):
        return "LOG-PROP-3"
    at_roll = run.count == 1 and any(before <= run.begin and run.end <= after for before, after in rolls)
    return "IDX-SVC-3" if at_roll else None


def _cure_of_keys(store: Store, phy_offset: int) -> str | None:
    """Not the usual cure for a record whose topic is damaged: new entries would not be found under the true one."""
    record = _record_at(store, phy_offset)
    return None if record is None or is_safe(record.topic) else _KEPT


def say_missing_keys(
    store: Store,
    runs: Sequence[KeyRun],
    files: Sequence[IndexSurvey],
    marks: Marks,
    report: Callable[[Finding], None],
) -> None:
    """Reports keys without an entry, at the first one's record; with one clause for all that no restart explains."""
    unknown = store.geometry is None and any(header.index_count > 1 for _, header in store.indexes)
    if unknown or not store.index_enabled:
        return
    astray = any(what == "entry.wrong" for what, _ in marks.runs)  # in their place
    ends = [] if astray else [survey.ends for survey in files if survey.ends]
    rolls = [(before[1], after[0]) for before, after in pairwise(ends)]
    allowed = [_why_missing(store, run, files) for run in runs]
    clauses = [_clause_of_missing(store, run, rolls) for run in runs]
    is_one = len({clause for clause, why in zip(clauses, allowed, strict=True) if not why}) == 1
    for run, why, of_run in zip(runs, allowed, clauses, strict=True):
        are = "is" if run.count == 1 else "are"
        what = (
            f"{counted(run.count, 'key')} of the records at physical offsets {run.begin:,} to {run.end:,} {are}"
            if run.begin != run.end
            else f"{run.count:,} of the keys of the record at physical offset {run.begin:,} {are}"
        )
        text = f"{what} not in the index: queries by key do not find them"
        values = Deviation("keys", "no entry", "an entry", run.begin, run.count, why)
        clause = of_run if why or is_one else None
        cure = _cure_of_keys(store, run.begin)
        report(
            finding(
                "index.missing_key", *store.at(run.begin), text, clause=clause, cure=cure, deviation=values
            )
        )


def say_missing_units(
    store: Store, queues: dict[tuple[str, int], list[UnitRun]], report: Callable[[Finding], None]
) -> None:
    """Reports records without a unit, at the place in the queue's file where the unit should be, otherwise in the log."""
    for (topic, queue_id), runs in queues.items():
        numbers = {file.queue_id for file in store.queues if file.topic == topic}
        known = queue_id in numbers
        light = topic.startswith(_LIGHT)
        of_light = "CQ-LMQ-2" if store.light and numbers - {0} else "CQ-LMQ-1"
        for run in runs:
            usual = "LOG-DSP-7" if store.transaction_at(run.phy_offset) else None if known else "CQ-FILE-3"
            file, at = _unit_place(store, topic, queue_id, run.first) or store.at(run.phy_offset)
            text = (
                f"{counted(run.count, 'unit')} of {topic} queue {queue_id} from logical offset {run.first:,} on "
                f"{'is' if run.count == 1 else 'are'} missing; the first record is at physical offset {run.phy_offset:,}: "
                "consumers do not get these messages"
            )
            lacking = "queue", "no files", "a unit"
            lacking = (f"unit {run.first}", "none", f"one for {run.phy_offset:,}") if known else lacking
            values = Deviation(*lacking, run.phy_offset, run.count)
            clause = of_light if light else usual
            units = f"consumequeue/{topic}/{queue_id}", run.first, run.last
            report(
                finding("queue.missing_unit", file, at, text, clause=clause, units=units, deviation=values)
            )


def _unit_place(store: Store, topic: str, queue_id: int, logical: int) -> tuple[str, int] | None:
    position = logical * QUEUE_UNIT.size
    for file in store.queues:
        if (file.topic, file.queue_id) == (topic, queue_id):
            size = size_of(file)
            if size is not None and file.base_offset <= position < file.base_offset + size:
                return file.name, position - file.base_offset
    return None


def say_own_delays(store: Store, report: Callable[[Finding], None]) -> None:
    """Reports the delays of levels that are taken from the units, as no configuration is given."""
    own = [
        f"level {level} waits {shown // 1000:,} s"
        for level, (shown, usual) in enumerate(zip_longest(store.shown_delays, DELAYS), 1)
        if shown != usual
    ]
    if own and store.conf is None:
        text = f"not the default delays, but those of the units are expected, as no broker.conf is given: {', '.join(own)}"
        file, cure = f"consumequeue/{_SCHEDULE}", "name the configuration with --broker-conf"
        report(finding("queue.tags_code", file, None, text, severity="note", clause="CQ-TAGS-2", cure=cure))


def say_unreached(store: Store, survey: IndexSurvey) -> Iterator[Finding]:
    """The findings on entries of a file that no query of their own key reaches."""
    if store.geometry is None:
        return
    for first, length in survey.unreached:
        yield finding(
            "index.missing_key",
            survey.file,
            entry_position(store.geometry, first, "key_hash"),
            f"{counted(length, 'entry', 'entries')} from entry {first:,} on "
            f"{'is not found by a query for its' if length == 1 else 'are not found by a query for their'} own key",
        )
