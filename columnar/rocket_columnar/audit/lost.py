"""Sorts units and keys that no file has: lost, not dispatched yet, or of an earlier life of their queue."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from rocket_columnar.audit.log_check import lag_finding
from rocket_columnar.audit.range_result import AFTER, NEWEST, KeyRun, RangeResult, UnitRun
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding

_ON_THE_WAY: Final = 60_000
"""ms: how old a record of a live store may be whose keys are not in the index yet, since queues and index files are
read, or were copied, one after the other."""


def what_is_missing(
    store: Store, parts: Sequence[RangeResult], report: Callable[[Finding], None]
) -> tuple[dict[tuple[str, int], list[UnitRun]], list[KeyRun]]:
    """Units and keys that are lost. Those that dispatch has not reached yet are reported as a note.

    After a kill these are the ones from where the next start dispatches again; else those after the last record that is in
    a queue or the index, and while a broker runs the newest keys.
    """
    again = store.dispatched_again_from
    dispatched = _dispatched_part(store, parts)
    behind = [
        number >= dispatched >= 0 if again is None else part.range.begin >= again
        for number, part in enumerate(parts)
    ]
    late = [part.due for part, is_behind in zip(parts, behind, strict=True) if is_behind and part.due[0]]
    if again is None:
        stops = [max(part.dispatched or 0 for part in parts)] if late else []
    else:
        stops = [
            at for part, is_behind in zip(parts, behind, strict=True) if is_behind for at in part.uncopied
        ]
    lag = lag_finding(store, late, stops)
    if lag is not None:
        report(lag)
    units: dict[tuple[str, int], list[UnitRun]] = {}
    for part, is_behind in zip(parts, behind, strict=True):
        for unit in part.units:
            if not is_behind or (again is None and unit.where != AFTER):
                _glue_unit(units.setdefault((unit.topic, unit.queue_id), []), unit)
    keys = _missing_keys(store, parts, behind, report)
    return _of_last_life(store, parts, units, report), keys


def _missing_keys(
    store: Store, parts: Sequence[RangeResult], behind: Sequence[bool], report: Callable[[Finding], None]
) -> list[KeyRun]:
    indexed = max((number for number, part in enumerate(parts) if part.indexed), default=-1)
    since = max((part.newest for part in parts if part.newest is not None), default=0) - _ON_THE_WAY
    again = store.dispatched_again_from
    keys: list[KeyRun] = []
    later: list[KeyRun] = []
    before = 0
    for number, part in enumerate(parts):
        for key in part.key_runs:
            is_new = number >= indexed and key.where == NEWEST and key.time >= since
            if (behind[number] and again is not None) or (store.live and is_new):
                later.append(key)
            elif not behind[number] or key.where != AFTER:
                _glue_key(keys, replace(key, first=key.first + before))
        before += part.keys
    if later:
        text = f"{sum(run.count for run in later):,} keys "
        text += (
            "of the newest records are not in an index file yet, but their units are in the queues"
            if again is None
            else "are in no index file; the next start dispatches the log again from before them"
        )
        report(finding("store.lag", *store.at(later[0].begin), text))
    return keys


def _of_last_life(
    store: Store,
    parts: Sequence[RangeResult],
    units: dict[tuple[str, int], list[UnitRun]],
    report: Callable[[Finding], None],
) -> dict[tuple[str, int], list[UnitRun]]:
    """The units that are missing from the last life of a queue; a note for each topic that had another, or was deleted."""
    begins = {queue: begin for part in parts for queue, begin in part.lives.items()}
    earlier = {topic for part in parts for topic in part.earlier}
    again = {topic: begins[topic, queue_id] for topic, queue_id in begins if topic in earlier}
    left: dict[tuple[str, int], list[UnitRun]] = {}
    for (topic, queue_id), runs in units.items():
        begin = begins.get((topic, queue_id), 0)
        kept = [run for run in runs if run.phy_offset >= begin]
        if len(kept) < len(runs):
            earlier.add(topic)
            again[topic] = max(begin, again.get(topic, 0))
        left[topic, queue_id] = kept
    with_files = {(file.topic, file.queue_id) for file in store.queues}
    for (topic, queue_id), runs in left.items():
        # All queues of a topic go with it; those that got no message since have no files.
        gone = store.is_deleted(topic) or all(run.phy_offset < again.get(topic, 0) for run in runs)
        if gone and (topic, queue_id) not in with_files:
            earlier.add(topic)
            left[topic, queue_id] = []
    for topic in sorted(earlier):
        why = (
            "was deleted"
            if topic not in again
            else f"counts from 0 again at physical offset {again[topic]:,}"
        )
        text = f"topic {topic} {why}: its earlier messages are still in the log, and in no queue"
        note = "none needed: no broker delivers them"
        report(finding("queue.missing_unit", f"consumequeue/{topic}", None, text, severity="note", cure=note))
    return left


def _dispatched_part(store: Store, parts: Sequence[RangeResult]) -> int:
    """The last part with a record that is dispatched.

    If nothing is dispatched at all, nothing is late: the queues and the index are gone (-1). But a store in use whose
    log has one file with records may have just begun, and any start would dispatch them all (0).
    """
    dispatched = max((number for number, part in enumerate(parts) if part.dispatched is not None), default=-1)
    if store.live and dispatched < 0 and len({part.range.log for part in parts if part.due[0]}) == 1:
        return 0
    return dispatched


def _glue_unit(runs: list[UnitRun], run: UnitRun) -> None:
    if runs and 0 <= run.first - runs[-1].last <= 1:
        runs[-1] = replace(runs[-1], last=run.last, count=runs[-1].count + run.count)
    else:
        runs.append(run)


def _glue_key(runs: list[KeyRun], run: KeyRun) -> None:
    if runs and run.first == runs[-1].first + runs[-1].count:
        runs[-1] = replace(runs[-1], end=run.end, count=runs[-1].count + run.count)
    else:
        runs.append(run)
