"""What a consume queue was about to do: the clause that each operation, unit and file of a list turns on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rocket_reference import PRE_BLANK, QueueUnit
from rocket_reference.java import to_i64 as wrap

from rocket_conformance.protocol import to_i64

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocket_reference import ConsumeQueue, MappedFile

    from rocket_conformance.cases import Case
    from rocket_conformance.compare import Difference
    from rocket_conformance.protocol import Op

__all__ = ["QueueWatch"]

_UNIT: Final = 20
_LAST_FILES: Final = 3
_READS: Final = frozenset({"queue.get", "queue.bounds", "queue.last_offset"})
_MINIMA: Final = frozenset({"queue.correct_min", "queue.delete_expired"})
_REMOVES: Final = {
    "queue.recover": "CQ-REC-3",
    "queue.truncate": "CQ-TRUNC-1",
    "queue.delete_expired": "CQ-DEL-1",
}


@dataclass(slots=True)
class QueueWatch:
    """Notes, before each operation, what the reference will do.

    Attributes:
        clauses: by place of the operation, the clause that it turns on.
        writers: by file and number of the unit, the place of the put that wrote it.
        makers: by file, the place of the put that made it.
        removers: by file, the place of the operation that deleted it.
    """

    root: Path
    clauses: dict[int, str] = field(default_factory=dict[int, str])
    writers: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    makers: dict[str, int] = field(default_factory=dict[str, int])
    removers: dict[str, int] = field(default_factory=dict[str, int])
    _state: tuple[int, dict[str, int]] | None = None

    def before(self, place: int, op: Op, queue: ConsumeQueue | None) -> None:
        """Surveys at the queue before an operation; `queue` is the one opened last."""
        files = (
            {}
            if queue is None
            else {self._name(file): file.wrote_position for file in queue.files.mapped_files}
        )
        if self._state is not None:
            self._compare(*self._state, files)
        self._state = (place, files) if op["op"] != "queue.open" else None
        name = op["op"]
        if name == "queue.open":
            self.clauses[place] = "CQ-LOAD-1"
        elif name == "tags.code":
            self.clauses[place] = "CQ-TAGS-1"
        elif queue is not None and name.startswith("queue."):
            self.clauses[place] = self._of(op, queue)

    def _name(self, file: MappedFile) -> str:
        return file.path.relative_to(self.root).as_posix()

    def _compare(self, place: int, old: dict[str, int], new: dict[str, int]) -> None:
        for name in old.keys() - new.keys():
            self.removers[name] = place
        for name in new.keys() - old.keys():
            self.makers[name] = place
        for name, position in new.items():
            for unit in range(max(0, old.get(name, 0)) // _UNIT, position // _UNIT):
                self.writers[name, unit] = place

    # --- operations -----------------------------------------------------------------------------------------

    def _of(self, op: Op, queue: ConsumeQueue) -> str:
        name = op["op"]
        if name == "queue.put":
            return _of_put(op, queue)
        if name == "queue.recover":
            return _of_recover(queue)
        if name == "queue.truncate":
            return _of_truncate(to_i64(op["phy_offset"]), queue)
        if name == "queue.correct_min":
            return _of_minimum(to_i64(op["phy_min_offset"]), queue)
        if name == "queue.last_offset":
            last = queue.files.last()
            return "CQ-LAST-2" if last is not None and _is_stale(last) else "CQ-LAST-1"
        return {"queue.get": "CQ-GET-1", "queue.delete_expired": "CQ-DEL-1"}.get(name, "CQ-BND-1")

    # --- differences ----------------------------------------------------------------------------------------

    def likely(self, case: Case, difference: Difference, found: Sequence[Difference]) -> str | None:
        """The clause that a difference most likely breaks; None when nothing points to one."""
        if difference.op is None:
            return self._of_file(case, difference, found)
        name = case.ops[difference.op]["op"]
        if name in {"tags.code", "queue.open", "queue.put", "queue.get"} or difference.field == "rejected":
            return self.clauses.get(difference.op)
        for other in found:  # what was written wrongly before is the cause
            if other.op is None and other.file is not None and other.field.startswith("unit["):
                writer = self.writers.get((other.file, _number(other.field)))
                if writer is not None and writer < difference.op:
                    return self._of_file(case, other, ())
        if name == "queue.delete_expired" and difference.field == "min":
            return "CQ-MIN-1"
        if name == "queue.bounds" or (name in _MINIMA and difference.field in {"max", "max_physic_offset"}):
            return self._of_state(case, difference)
        return self.clauses.get(difference.op)

    def _of_state(self, case: Case, difference: Difference) -> str | None:
        """By the last operation before that moved what the answer shows."""
        assert difference.op is not None  # noqa: S101 - the difference of a result
        minima = _MINIMA if difference.field != "min" else frozenset[str]()
        before = [
            place
            for place in range(difference.op)
            if self._moves(case, place) and case.ops[place]["op"] not in minima
        ]
        if not before:
            return "CQ-BND-1"
        clause = self.clauses.get(before[-1])
        appended = case.ops[before[-1]]["op"] == "queue.put" and clause not in {"CQ-PUT-1", "CQ-PUT-2"}
        return "CQ-PUT-7" if appended and difference.field == "max_physic_offset" else clause

    @staticmethod
    def _moves(case: Case, place: int) -> bool:
        name = case.ops[place]["op"]
        return name.startswith("queue.") and name not in _READS

    def _of_file(self, case: Case, difference: Difference, found: Sequence[Difference]) -> str | None:
        file = difference.file
        assert file is not None  # noqa: S101 - the difference of a file
        if difference.field == "size":
            units = [other for other in found if other.op is None and other.field.startswith("unit[")]
            if units and None in {difference.expected, difference.actual}:
                return self._of_file(case, units[0], ())
            return self._of_size(case, difference, file)
        if not difference.field.startswith("unit["):
            return None
        writer = self.writers.get((file, _number(difference.field)))
        if writer is not None and file not in case.files:
            if difference.field.endswith("tags_code"):
                return "CQ-UNIT-1"
            return self.clauses.get(writer)
        left_out = [
            self.clauses[place]
            for place, op in enumerate(case.ops)
            if op["op"] == "queue.put" and op["offset"] == difference.actual and place in self.clauses
        ]
        if left_out:
            return left_out[-1]
        return self.clauses.get(writer) if writer is not None else None

    def _of_size(self, case: Case, difference: Difference, file: str) -> str | None:
        if difference.expected is not None and difference.actual is not None:
            return "CQ-FILE-1"
        if difference.actual is None:
            if file in self.makers:
                maker = self.clauses.get(self.makers[file])
                return maker if maker in {"CQ-PUT-5", "CQ-PUT-6", "CQ-PUT-8"} else "CQ-FILE-2"
            used = [_REMOVES[op["op"]] for op in case.ops if op["op"] in _REMOVES]
            return used[-1] if used else None
        if file in self.removers:
            return _REMOVES.get(case.ops[self.removers[file]]["op"])
        return None


def _number(name: str) -> int:
    return int(name[len("unit[") : name.index("]")])


def _units(file: MappedFile, end: int | None = None) -> list[QueueUnit]:
    """The units of a file up to a byte position."""
    data = bytes(file.view)[: file.file_size if end is None else max(0, end)]
    starts = range(0, len(data) - _UNIT + 1, _UNIT)
    return [
        QueueUnit(
            int.from_bytes(data[at : at + 8], "big", signed=True),
            int.from_bytes(data[at + 8 : at + 12], "big", signed=True),
            int.from_bytes(data[at + 12 : at + 20], "big", signed=True),
        )
        for at in starts
    ]


def _of_put(op: Op, queue: ConsumeQueue) -> str:
    place = to_i64(op["cq_offset"])
    if wrap(to_i64(op["offset"]) + op["size"]) <= queue.max_physic_offset:
        return "CQ-PUT-1"
    if place < 0 or place * _UNIT != wrap(place * _UNIT):
        return "CQ-PUT-8"
    last = queue.files.last()
    if last is None:
        return "CQ-PUT-6" if place else "CQ-PUT-5"
    if last.first_create_in_queue and place and last.wrote_position == 0:
        return "CQ-PUT-6"
    if last.full:
        return "CQ-PUT-5"
    current = last.file_from_offset + last.wrote_position
    if place == 0:
        return "CQ-PUT-4" if current else "CQ-PUT-7"
    if place * _UNIT < current:
        return "CQ-PUT-2"
    return "CQ-PUT-3" if place * _UNIT > current else "CQ-PUT-7"


def _of_recover(queue: ConsumeQueue) -> str:
    files = queue.files.mapped_files
    before_last = files[: 1 - _LAST_FILES] if len(files) >= _LAST_FILES else []
    if any(not unit.valid for file in before_last for unit in _units(file)):
        return "CQ-REC-1"  # it matters where the reading begins
    for file in files[-_LAST_FILES:]:
        if any(not unit.valid for unit in _units(file)):
            return "CQ-REC-2" if file is files[-1] else "CQ-REC-3"
    return "CQ-REC-4" if files else "CQ-REC-2"


def _of_truncate(offset: int, queue: ConsumeQueue) -> str:
    files = queue.files.mapped_files
    if not files:
        return "CQ-TRUNC-4"
    for file in reversed(files):
        units = _units(file)
        if units and units[0].phy_offset >= offset:
            continue
        if file is not files[-1]:
            return "CQ-TRUNC-1"
        if units and not units[0].valid:
            return "CQ-TRUNC-3"
        kept = [unit for unit in units if unit.valid and unit.phy_offset < offset]
        return "CQ-TRUNC-5" if kept and all(unit == PRE_BLANK for unit in kept) else "CQ-TRUNC-2"
    return "CQ-TRUNC-1"


def _of_minimum(offset: int, queue: ConsumeQueue) -> str:
    first = queue.files.first()
    units = _units(first, first.wrote_position) if first is not None else []
    reached = next((unit for unit in units if unit.phy_offset >= offset), None)
    return "CQ-MIN-2" if reached == PRE_BLANK else "CQ-MIN-1"


def _is_stale(last: MappedFile) -> bool:
    """Whether a reading from the last written unit on passes the write position."""
    written = max(0, last.wrote_position) // _UNIT
    units = _units(last)
    if not units or written == 0:
        return True
    return units[written - 1].valid and (written == len(units) or units[written].valid)
