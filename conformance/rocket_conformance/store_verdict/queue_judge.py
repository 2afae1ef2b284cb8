"""Consume queues: what the audit found in them, clause by clause."""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rocket_reference import QueueUnit, queue_units
from rocket_spec.deviations import Audited, AuditFinding, Deviation
from rocket_spec.layout import QUEUE_UNIT

from rocket_conformance.store_verdict.observations import Observations, Place
from rocket_conformance.store_verdict.stored_log import StoredLog, numbered_files

_UNIT: Final = QUEUE_UNIT.size
_BYTES_AT_ONCE: Final = 50_000 * _UNIT

_FAMILY: Final = ("CQ-", "LOG-DSP-")
_INT: Final = 1 << 32


def judge_queues(
    audited: Audited, log: StoredLog, seen: Observations, *, undisturbed_from: int | None = None
) -> None:
    """Judges the files of `consumequeue/` by what the audit found in them.

    Args:
        audited: the audit of the store.
        log: what was stored.
        seen: takes what is observed.
        undisturbed_from: offset of the first record since which the broker has not been restarted; None where that is
            unknown.
    """
    for clause, count in audited.held.items():
        if clause.startswith(_FAMILY):
            seen.hold(clause, count=count)
    for found in audited.findings:
        if found.code.startswith("queue.") and (found.clause or "").startswith(_FAMILY):
            _take(found, log, seen, undisturbed_from)
        elif found.code == "store.lag":
            seen.note("messages at the log's end that have no unit yet")
    if log.batched:
        seen.note(f"not judged: the batch queues of {', '.join(sorted(log.batched))}, which audit checks")


def _take(found: AuditFinding, log: StoredLog, seen: Observations, undisturbed_from: int | None) -> None:
    """Takes down one finding on queues."""
    deviation, clause = found.deviation, found.clause or ""
    if deviation is None:
        if found.severity == "note" or found.code == "queue.empty":
            seen.note(found.message)
        elif log.whole:
            place = Place(found.file, found.offset, _words(found.code), found.message, "as 4.9.3 writes it")
            seen.breaks(clause, place)
        return
    if not log.whole and found.code in {"queue.missing_unit", "queue.dangling"}:
        return  # what follows the damage is unknown
    if found.code == "queue.dangling" and isinstance(deviation.found, int):
        if deviation.found >= log.end and not _is_taken(found.file, deviation.field, log):
            seen.note("units of records after the log's end, which a recovery cut off")
            return
        if log.at(deviation.found) is not None:
            return  # a record whose own offset is wrong, which is another clause
    record = None if deviation.record is None else log.at(deviation.record)
    recovered = undisturbed_from is None or (deviation.record or 0) < undisturbed_from
    if (
        found.severity == "note" and clause == "CQ-TAGS-2" and recovered
    ):  # the tag's hash in place of the delivery time
        seen.hold("STORE-15", count=deviation.count)
        seen.note("a delayed message that a recovery dispatched has its tag's hash (STORE-15)")
        return
    rule = "32 bits of the code" if _is_cut(deviation) else ""
    place = Place(
        found.file, found.offset, deviation.field, deviation.found, deviation.expected, record or "", rule
    )
    seen.breaks("CQ-TAGS-1" if rule else clause, place, count=deviation.count)


def _is_taken(file: str, field: str, log: StoredLog) -> bool:
    """Whether a unit, of which a field is named, is in the place of a record of its queue."""
    _, topic, number, _ = file.split("/")
    logical = int(field.split()[1])
    return any(asked == logical for _, asked in log.records.of_queue((topic, int(number))))


def _is_cut(deviation: Deviation) -> bool:
    """Whether a tags code is the lower 32 bits of the expected one."""
    found, expected = deviation.found, deviation.expected
    is_code = deviation.field.endswith("tags_code") and isinstance(found, int) and isinstance(expected, int)
    return is_code and found == expected % _INT != expected  # type: ignore[operator]  # both are numbers


def _words(code: str) -> str:
    return code.replace(".", " ").replace("_", " ")


def folders(path: Path) -> list[Path]:
    """The folders in one, by name; links are left out."""
    if not path.is_dir():
        return []
    return sorted(child for child in path.iterdir() if child.is_dir() and not child.is_symlink())


def units_of(folder: Path) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a queue's files with their logical offsets, those of each file up to the first unused one."""
    for base, path in numbered_files(folder):
        yield from _used_units(path, base)


def _used_units(path: Path, base: int) -> Iterator[tuple[int, QueueUnit]]:
    """The units of a file, read as far as they are used."""
    with path.open("rb") as file:
        for number in itertools.count():
            data = os.pread(file.fileno(), _BYTES_AT_ONCE, number * _BYTES_AT_ONCE)
            count = 0
            for logical, unit in queue_units(
                data[: len(data) // _UNIT * _UNIT], base + number * _BYTES_AT_ONCE
            ):
                count += 1
                yield logical, unit
            if count * _UNIT < _BYTES_AT_ONCE:
                return
