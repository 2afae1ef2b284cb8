"""One consume queue in an audit: its files, and every unit against the log's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from rocket_spec.layout import PRE_BLANK_SIZE, QUEUE_UNIT

from rocket_columnar._audit_finding import Finding, finding, runs
from rocket_columnar._read import open_reader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocket_columnar._audit_ext import ExtUnits
    from rocket_columnar._audit_lmq import Copies
    from rocket_columnar._audit_log import Frames
    from rocket_columnar.store import StoreFile

__all__ = ["Queue", "check_missing", "check_units"]

_UNIT: Final = np.dtype([("phy_offset", ">i8"), ("size", ">i4"), ("tags_code", ">i8")])
_LAST_ADDRESS: Final = -2147483649
_SCHEDULE: Final = "SCHEDULE_TOPIC_XXXX"
_INT: Final = 1 << 31


class Queue(NamedTuple):
    """The files of one queue, and after `check_units` which logical offsets hold a unit, sound or not."""

    topic: str
    queue_id: int
    files: Sequence[StoreFile]
    taken: list[NDArray[np.int64]]


class _Units(NamedTuple):
    """The units of one file, up to its last byte that is not zero."""

    file: StoreFile
    first: int
    phy_offset: NDArray[np.int64]
    size: NDArray[np.int32]
    tags_code: NDArray[np.int64]

    def report(
        self, report: Callable[[Finding], None], code: str, chosen: NDArray[np.bool_], field: str, text: str
    ) -> None:
        """One finding for each run of `chosen` units, placed at a field of the first."""
        for first, length in runs(np.flatnonzero(chosen)):
            found = (int(self.phy_offset[first]), int(self.size[first]), int(self.tags_code[first]))
            more = f" and the {length - 1:,} behind it" if length > 1 else ""
            report(
                finding(
                    code,
                    self.file.name,
                    first * QUEUE_UNIT.size + QUEUE_UNIT.offset_of(field),
                    f"unit {self.first + first:,}{more} (physical offset {found[0]:,}, size {found[1]:,}, "
                    f"tags code {found[2]}): {text}",
                )
            )


def _read(file: StoreFile) -> _Units:
    with open_reader(file.path) as reader:
        last = reader.last_nonzero(0, reader.size)
        count = 0 if last is None else min(last, reader.size - QUEUE_UNIT.size) // QUEUE_UNIT.size + 1
        raw = reader.read(0, max(count, 0) * QUEUE_UNIT.size).view(_UNIT)
    return _Units(
        file,
        file.base_offset // QUEUE_UNIT.size,
        raw["phy_offset"].astype(np.int64),
        raw["size"].astype(np.int32),
        raw["tags_code"].astype(np.int64),
    )


def check_units(
    queue: Queue, frames: Frames, extra: tuple[Copies, ExtUnits], report: Callable[[Finding], None]
) -> NDArray[np.int64]:
    """Every unit of a queue against the record that it points to.

    Returns:
        Places of the records that sound units point to.
    """
    places: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for file in queue.files:
        try:
            units = _read(file)
        except FileNotFoundError:  # expired meanwhile
            continue
        places.append(_check_file(queue, units, frames, extra, report))
    return np.concatenate(places)


def _check_file(
    queue: Queue,
    units: _Units,
    frames: Frames,
    extra: tuple[Copies, ExtUnits],
    report: Callable[[Finding], None],
) -> NDArray[np.int64]:
    copies, ext = extra
    offsets, sizes = units.phy_offset, units.size
    logical = units.first + np.arange(offsets.size, dtype=np.int64)
    valid = (offsets >= 0) & (sizes > 0)
    zeros = (offsets == 0) & (sizes == 0) & (units.tags_code == 0)
    if zeros.any():
        zeros_alone = zeros & ~np.isin(logical, _expected(queue, frames))  # the others are missing units
        text = "zeros in the middle of the queue: a restart ends the queue here and deletes what follows"
        units.report(report, "queue.gap", zeros_alone, "phy_offset", text)
    units.report(
        report,
        "queue.dangling",
        ~valid & ~zeros,
        "phy_offset" if bool((offsets < 0).any()) else "size",
        "no unit that 4.9.3 takes: a restart ends the queue here",
    )
    blank = (offsets == 0) & (sizes == PRE_BLANK_SIZE) & (units.tags_code == 0)
    place = frames.find(offsets)
    judged = valid & ~blank
    lost = judged & (place < 0) & (offsets >= frames.begin)
    beyond = np.flatnonzero(lost & (offsets >= frames.end))
    if beyond.size and frames.appended_meanwhile(int(offsets[beyond[0]])):
        lost[beyond] = False
    units.report(report, "queue.dangling", lost, "phy_offset", "no record begins there")
    found = judged & (place >= 0)
    own = np.zeros(found.shape, np.bool_)
    number = frames.topics.numbers.get(queue.topic, -1)
    own[found] = (frames.all.topic[place[found]] == number) & (
        frames.all.queue_id[place[found]] == queue.queue_id
    )
    copied = np.zeros(found.shape, np.bool_)
    for at in np.flatnonzero(found & ~own).tolist():
        copied[at] = copies.has(int(offsets[at]), queue.topic, int(logical[at]))
    strange = found & ~own & ~copied
    units.report(report, "queue.wrong_target", strange, "phy_offset", "the record there is of another queue")
    queue.taken.append(logical[judged & ~lost & ~strange & own | (~valid & ~zeros) | lost | strange])
    sized = found & ~strange
    wrong_size = np.zeros(found.shape, np.bool_)
    wrong_size[sized] = frames.all.size[place[sized]] != sizes[sized]
    units.report(report, "queue.wrong_target", wrong_size, "size", "the record there has another size")
    mine = found & own
    moved = np.zeros(found.shape, np.bool_)
    moved[mine] = frames.all.queue_offset[place[mine]] != logical[mine]
    units.report(
        report,
        "queue.order",
        moved,
        "phy_offset",
        "the record there has another logical offset: consumers read messages twice or pass them over",
    )
    _check_tags(queue, units, frames, ext, found & ~strange, place, report)
    sound: NDArray[np.int64] = place[mine]
    return sound


def _expected(queue: Queue, frames: Frames) -> NDArray[np.int64]:
    """Logical offsets that the log's records give the queue."""
    mine = frames.queued() & (frames.all.queue_id == queue.queue_id)
    mine &= frames.all.topic == frames.topics.numbers.get(queue.topic, -1)
    expected: NDArray[np.int64] = frames.all.queue_offset[mine]
    return expected


def _check_tags(
    queue: Queue,
    units: _Units,
    frames: Frames,
    ext: ExtUnits,
    judged: NDArray[np.bool_],
    place: NDArray[np.int64],
    report: Callable[[Finding], None],
) -> None:
    tags: NDArray[Any] = units.tags_code.copy()
    known = np.ones(tags.shape, np.bool_)
    addresses = judged & (tags <= _LAST_ADDRESS)
    if addresses.any():
        known[addresses], tags[addresses] = ext.tags_codes(queue.topic, queue.queue_id, tags[addresses])
    wrong = np.zeros(tags.shape, np.bool_)
    wrong[judged] = frames.all.tags_code[place[judged]] != tags[judged]
    recovered = np.zeros(tags.shape, np.bool_)
    if queue.topic == _SCHEDULE:
        recovered = wrong & known & (tags >= -_INT) & (tags < _INT)
    units.report(
        report,
        "queue.tags_code",
        wrong & ~recovered & known,
        "tags_code",
        "the record there has another one: consumers that filter by tag get it wrongly, or not at all",
    )
    units.report(report, "queue.tags_code", judged & ~known, "tags_code", "no ext unit lies at that address")
    for first, length in runs(np.flatnonzero(recovered)):
        report(
            finding(
                "queue.tags_code",
                units.file.name,
                first * QUEUE_UNIT.size + QUEUE_UNIT.offset_of("tags_code"),
                f"{length:,} units from {units.first + first:,} on hold the tag's hash instead of the delivery time, "
                "as a recovery writes it: they are delivered at once",
                severity="note",
                clause="CQ-TAGS-2",
            )
        )


def check_missing(
    queues: Sequence[Queue], frames: Frames, missing: NDArray[np.bool_], report: Callable[[Finding], None]
) -> None:
    """Reports records without a unit; runs of logical offsets of one queue as one finding.

    Placed in the queue's file where the unit should lie, else in the log, at the record.
    """
    places = np.flatnonzero(missing)
    if not places.size:
        return
    known = {(queue.topic, queue.queue_id): queue for queue in queues}
    every = frames.all
    topic, queue_id, offset = every.topic[places], every.queue_id[places], every.queue_offset[places]
    order = np.lexsort((offset, queue_id, topic))
    places, topic, queue_id, offset = places[order], topic[order], queue_id[order], offset[order]
    changes = (np.diff(topic) != 0) | (np.diff(queue_id) != 0)
    for part in np.split(np.arange(places.size), np.flatnonzero(changes) + 1):
        name, number = frames.topics.names[topic[part[0]]], int(queue_id[part[0]])
        queue = known.get((name, number))
        chosen = part
        if queue is not None and queue.taken:
            chosen = part[~np.isin(offset[part], np.concatenate(queue.taken))]
        for first, length in _stretches(offset[chosen]):
            frame = int(places[chosen[first]])
            logical = int(offset[chosen[first]])
            file, at = _unit_place(queue, logical) or frames.at(frame)
            report(
                finding(
                    "queue.missing_unit",
                    file,
                    at,
                    f"{length:,} units of {name} queue {number} from logical offset {logical:,} on are missing; the first "
                    f"record lies at physical offset {int(every.phy_offset[frame]):,}: consumers do not get these messages",
                )
            )


def _stretches(numbers: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs of neighbouring numbers as (place of the first, length); numbers may repeat."""
    if not numbers.size:
        return []
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) > 1)
    return list(zip(starts.tolist(), np.diff(np.append(starts, numbers.size)).tolist(), strict=True))


def _unit_place(queue: Queue | None, logical: int) -> tuple[str, int] | None:
    position = logical * QUEUE_UNIT.size
    for file in queue.files if queue else ():
        try:
            size = file.path.stat().st_size
        except FileNotFoundError:
            continue
        if file.base_offset <= position < file.base_offset + size:
            return file.name, position - file.base_offset
    return None
