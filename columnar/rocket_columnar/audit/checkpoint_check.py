"""Checks the checkpoint: its three times against the records of the log and the index files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from rocket_spec.deviations import Deviation
from rocket_spec.layout import CHECKPOINT, CHECKPOINT_SIZE
from rocket_spec.printable import counted
from rocket_spec.profiles import profile

from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, Severity, finding, strange
from rocket_columnar.formats import LONG_MAX
from rocket_columnar.log import Requests
from rocket_columnar.store import StoreFile, size_of

_PATIENCE: Final = 600_000
"""ms that a checkpoint may be older than the newest record: a broker flushes all three times at least each minute."""

_LONGEST_FLUSH: Final = 10_000
"""ms that a flush of all queues takes at most."""

_LONGEST_LAG: Final = 30_000
"""ms that the log's time may be behind the last record: three thorough flushes by default (CKP-6)."""

_LONGEST_PAUSE: Final = 1_000
"""ms without a record in which no broker stops and starts again."""

_PHYSIC, _LOGICS, _INDEX = (field.name for field in CHECKPOINT.fields)

_CLAUSES: Final = {_PHYSIC: "CKP-4", _LOGICS: "CQ-PUT-9", _INDEX: "IDX-SVC-18"}
"""The clause of each time."""

CUT_OFF: Final = "the log's end, which a recovery cut off"
ENTRIES_CUT_OFF: Final = f"entries of records after {CUT_OFF}"
_OLD: Final = "a time of the checkpoint that has not been flushed for long"

_Wrong = tuple[str, str, Deviation]
"""The name of a time, the clause that it breaks, and its values."""


@dataclass(frozen=True, slots=True)
class LogTimes:
    """Store timestamps of the records of a range, or of the whole log, in ms.

    Attributes:
        first: of the first record.
        last: of the last record.
        steady: that of the record after the last pause.
        queued: physical offset and time of the last record that goes into a queue; None without one.
        among: those times of the checkpoint that are store timestamps of records.
        queued_among: the same of records that go into a queue.
        after: least time of a record in a queue that is greater than the checkpoint's time of the queues.
    """

    first: int
    last: int
    steady: int
    queued: tuple[int, int] | None
    among: frozenset[int]
    queued_among: frozenset[int]
    after: int

    @classmethod
    def of(cls, every: Requests, flushed: Sequence[int]) -> LogTimes:
        """The times of a range's records, of which there is one at least; `flushed` are those of the checkpoint, if they matter."""
        times = every.store_timestamp
        steps = np.diff(times)
        begin = int(np.max(np.flatnonzero((steps < 0) | (steps > _LONGEST_PAUSE)), initial=-1)) + 1
        places = np.flatnonzero(every.queued)
        queued = times[places]
        later = queued[queued > flushed[1]] if flushed else queued
        return cls(
            first=int(times[0]),
            last=int(times[-1]),
            steady=int(times[begin]),
            queued=(int(every.phy_offset[places[-1]]), int(queued[-1])) if places.size else None,
            among=frozenset(time for time in flushed if (times == time).any()),
            queued_among=frozenset(time for time in flushed if (queued == time).any()),
            after=int(later.min()) if later.size else LONG_MAX,
        )

    @classmethod
    def joined(cls, parts: Sequence[LogTimes]) -> LogTimes:
        """The times of the log, from those of its ranges in order."""
        steady = parts[0].steady
        for before, part in pairwise(parts):
            follows = 0 <= part.first - before.last <= _LONGEST_PAUSE and part.steady == part.first
            steady = steady if follows else part.steady
        return cls(
            first=parts[0].first,
            last=parts[-1].last,
            steady=steady,
            queued=next((part.queued for part in reversed(parts) if part.queued is not None), None),
            among=frozenset[int]().union(*(part.among for part in parts)),
            queued_among=frozenset[int]().union(*(part.queued_among for part in parts)),
            after=min(part.after for part in parts),
        )


def check_checkpoint(
    store: Store,
    read: tuple[StoreFile, tuple[int, int, int]],
    newest: int | None,
    log: LogTimes | None,
    report: Callable[[Finding], None],
) -> Counter[str]:
    """Compares the checkpoint with the data, and returns the number of places where each clause held.

    `read` is the checkpoint and its three times, which were read before `newest`, the store timestamp of the log's last record in ms
    (None if it is not known). `log` has the times of a log that has no gap and to which no broker writes; else it is None.
    """
    file, held = read[0], Counter[str]()
    size = size_of(file)
    if size == CHECKPOINT_SIZE:
        held["CKP-2"] += 1
    elif size is not None:
        text = (
            f"found {size:,} bytes, expected {CHECKPOINT_SIZE:,}: a start extends a shorter file with zeros"
        )
        values = Deviation("length", size, CHECKPOINT_SIZE)
        report(strange("checkpoint.behind", file.name, min(size, CHECKPOINT_SIZE), text, "CKP-2", values))
    if newest is None:
        return held
    times = dict(zip(_CLAUSES, read[1], strict=True))
    wrong: list[_Wrong] = []
    if log is not None:
        wrong = [*_log_time(store, times, log, held), *_queue_time(store, times, log, held)]
        wrong += _index_time(store, times[_INDEX], held)
    for name, time in times.items():
        severity, text = _plain_fault(store, times, name, newest)
        of_name = [one for one in wrong if one[0] == name]
        if severity is not None and not of_name:
            allowed = f"a checkpoint later than {CUT_OFF}" if time > newest else _OLD
            clause = "CKP-6" if name == _PHYSIC and time <= newest else _CLAUSES[name]
            of_name = [(name, clause, Deviation(name, time, f"about {newest}", allowed=allowed))]
        for _, clause, values in of_name:
            text = (
                text or f"found {name} {time:,}, expected {values.expected}: no broker of 4.9.3 leaves it so"
            )
            code, at = (
                "checkpoint.ahead" if time > newest else "checkpoint.behind",
                CHECKPOINT.offset_of(name),
            )
            kind = severity or "note"
            report(finding(code, file.name, at, text, severity=kind, clause=clause, deviation=values))
            severity, text = None, ""
    return held


def _plain_fault(store: Store, times: dict[str, int], name: str, newest: int) -> tuple[Severity | None, str]:
    """The effect of a time on a recovery, with its severity; None if it has none."""
    time = times[name]
    if time > newest:
        text = f"found {name} {time:,}, but the newest record was stored at {newest:,}: "
        return "error", text + "a recovery begins too late and leaves queues and index short"
    begun = not times[_PHYSIC] and not times[_LOGICS]  # a broker that had just begun has flushed none
    is_old = time < 0 or (name != _INDEX and 0 < time < newest - _PATIENCE)
    if name == _PHYSIC if begun else is_old:
        text = f"found {name} {time:,}, while the newest record was stored at {newest:,}: "
        text += "after a crash a recovery goes a long way back, and indexes messages twice"
        return ("note" if begun and not store.clean else "warning"), text
    # The index files that two others follow: full, and flushed for long (the roll itself only starts it).
    flushed = [header for file, header in store.indexes if file.name in store.sound_indexes][:-2]
    ends = [header.end_timestamp for header in flushed]
    if name == _INDEX and time < max(ends, default=0):
        lost = sum(end > time for end in ends)
        text = f"found index_msg_timestamp {time:,}, but a full index file ends at {max(ends):,}: "
        return "warning", text + f"after a crash a start deletes {counted(lost, 'full index file')}"
    return None, ""


def _is_framed(store: Store, phy_offset: int) -> bool:
    file = store.log_at(phy_offset)
    return file is not None and file.framed


def _log_time(store: Store, times: dict[str, int], log: LogTimes, held: Counter[str]) -> list[_Wrong]:
    """The log's time is that of a record that was flushed, of one that is gone, or 0 before any flush (CKP-4, CKP-6)."""
    time, wrong, due = times[_PHYSIC], list[_Wrong](), log.last - _LONGEST_LAG
    if store.clean and log.steady < due and not _is_framed(store, store.end - 1):
        if time < due:
            wrong.append((_PHYSIC, "CKP-6", Deviation(_PHYSIC, time, f"at least {due}")))
        else:
            held["CKP-6"] += 1
    is_gone = store.begin > 0 and time < log.first
    if not time or is_gone or log.last < time <= times[_LOGICS]:
        return wrong
    if time in log.among:
        held["CKP-4"] += 1
    else:
        wrong.append((_PHYSIC, "CKP-4", Deviation(_PHYSIC, time, "the store timestamp of a record")))
    return wrong


def _queue_time(store: Store, times: dict[str, int], log: LogTimes, held: Counter[str]) -> list[_Wrong]:
    """The queues' time is that of the last unit once the broker stopped, or of an earlier one (CQ-PUT-9, DLG-16).

    A flush of all queues sets it back to what it was when the flush began, whatever is dispatched meanwhile
    (DefaultMessageStore.FlushConsumeQueueService.doFlush 1943, 1959).
    """
    if log.queued is None or not store.clean:
        return []
    found, (offset, expected), wrong = times[_LOGICS], log.queued, list[_Wrong]()
    if found > expected:  # a recovery cut the log off
        return []
    known = store.release
    if store.signs if known is None else profile(known).rules.get("flushes_queue_time"):  # or it may be 5.5.0
        if store.begin > 0 or found == 0 or found in log.queued_among:
            held["CQ-PUT-9"] += 1
            return []
        return [(_LOGICS, "CQ-PUT-9", Deviation(_LOGICS, found, "0, or the store timestamp of a record"))]
    if found == expected:
        held.update(("CQ-PUT-9", "STORE-2"))
    elif (
        found != times[_INDEX] and found in log.queued_among and log.after >= expected - _LONGEST_FLUSH
    ):  # set back
        return []
    else:
        wrong.append((_LOGICS, "CQ-PUT-9", Deviation(_LOGICS, found, expected, offset)))
    if _is_framed(store, offset):
        if times[_PHYSIC] == found:
            held["DLG-16"] += 1
        else:
            values = Deviation(_PHYSIC, times[_PHYSIC], f"{found}, that of the queues in DLedger mode")
            wrong.append((_PHYSIC, "DLG-16", values))
    return wrong


def _index_time(store: Store, time: int, held: Counter[str]) -> list[_Wrong]:
    """The index time is the end of the last full file, once the broker stopped (IDX-SVC-18)."""
    ends = [header.end_timestamp for _, header in store.indexes[:-1] if header.index_count > 1]
    last, most = store.indexes[-1:], 0 if store.geometry is None else store.geometry.index_num
    if any(0 < most <= header.index_count and header.end_timestamp == time for _, header in last):
        return []  # a start after a kill deleted the one after it
    if not store.indexes or not ends or time == ends[-1]:
        held["IDX-SVC-18"] += bool(store.indexes and time)
        return []
    is_late = not store.clean and (time in ends or time == 0)  # not flushed yet
    if is_late or 0 < time < store.indexes[0][1].begin_timestamp:  # that of a file that is gone
        return []
    return [(_INDEX, "IDX-SVC-18", Deviation(_INDEX, time, ends[-1]))]
