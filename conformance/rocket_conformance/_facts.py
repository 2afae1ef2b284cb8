"""What the reference knew before each operation: the ground on which a difference gets its clause."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from struct import unpack
from typing import TYPE_CHECKING, Final, Literal

from rocket_reference import JavaError, key_hash
from rocket_reference.java import div, rem, to_i32, to_i64

from rocket_conformance.expect import fill_directory
from rocket_conformance.protocol import key_of
from rocket_conformance.protocol import to_i64 as from_text
from rocket_conformance.reference_adapter import run_operations

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_reference import IndexFile, IndexHeader

    from rocket_conformance.cases import Case
    from rocket_conformance.protocol import Op

__all__ = ["Facts", "OpFacts", "Step", "gather"]

Stop = Literal["slot", "max_num", "time_diff", "previous", "before", "outside", "bound"]
"""Why a walk ended: the slot was not taken, the list was full, a negative time diff, the end of the chain,
an entry before the window, a position outside the file, or our own patience."""

_PATIENCE: Final = 20_000


@dataclass(frozen=True, slots=True)
class Step:
    """An entry that a walk read."""

    entry: int
    key_hash: int
    phy_offset: int
    time_read: int


@dataclass(frozen=True, slots=True)
class OpFacts:
    """The state before one operation.

    Attributes:
        file: the file that is open, or None.
        header: its header in memory, or None.
        puts: accepted puts to that file before, in this case.
        opened: the operation that opened it, or None.
        slot_value: the raw value of the key's slot; None without a key or slot.
        seconds: of a put, whole seconds since begin before any limit; None otherwise.
        wrapped: of a put, whether the subtraction that gives them wraps.
        steps: of a select, the entries that 4.9.3 reads.
        stop: of a select, why it ends.
    """

    file: str | None
    header: IndexHeader | None
    puts: int
    opened: Op | None
    slot_value: int | None = None
    seconds: int | None = None
    wrapped: bool = False
    steps: tuple[Step, ...] = ()
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about all operations of a case, and which put wrote each entry of each file."""

    ops: list[OpFacts] = field(default_factory=list[OpFacts])
    writer: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    flushed: set[str] = field(default_factory=set[str])


class _Watch:
    def __init__(self, case: Case, directory: Path) -> None:
        self.case = case
        self.directory = directory
        self.facts = Facts()
        self.opened: Op | None = None
        self.puts: dict[str, int] = {}

    def before(self, _place: int, op: Op, index: IndexFile | None) -> None:
        if op["op"] == "index.open":
            self.opened = op
        file = self.opened["file"] if self.opened is not None and index is not None else None
        if index is None or file is None:
            self.facts.ops.append(OpFacts(None, None, 0, self.opened))
            return
        self.facts.ops.append(self._of(op, index, file))
        if op["op"] == "index.flush":
            self.facts.flushed.add(file)

    def _of(self, op: Op, index: IndexFile, file: str) -> OpFacts:
        header = index.header()
        puts = self.puts.get(file, 0)
        base = OpFacts(file, header, puts, self.opened)
        if op["op"] not in {"index.put", "index.select"}:
            return base
        slot_value = self._slot_value(op, index, file)
        if op["op"] == "index.put":
            if not index.full():
                self.facts.writer[file, header.index_count] = len(self.facts.ops)
                self.puts[file] = puts + 1
            gap = from_text(op["store_timestamp"]) - header.begin_timestamp
            seconds = div(to_i64(gap), 1000)
            return replace(base, slot_value=slot_value, seconds=seconds, wrapped=gap != to_i64(gap))
        steps, stop = self._walk(op, index, file, slot_value)
        return replace(base, slot_value=slot_value, steps=tuple(steps), stop=stop)

    def _read(self, file: str, position: int, length: int) -> bytes | None:
        if position < 0:
            return None
        with (self.directory / file).open("rb") as stream:
            stream.seek(position)
            data = stream.read(length)
        return data if len(data) == length else None

    def _slot_value(self, op: Op, index: IndexFile, file: str) -> int | None:
        try:
            slot = rem(key_hash(key_of(op)), index.hash_slot_num)
        except JavaError:
            return None
        data = self._read(file, to_i32(40 + 4 * slot), 4)
        return None if data is None else int.from_bytes(data, "big", signed=True)

    def _walk(self, op: Op, index: IndexFile, file: str, slot_value: int | None) -> tuple[list[Step], Stop]:
        header = index.header()
        steps: list[Step] = []
        if slot_value is None:
            return steps, "outside"
        if slot_value <= 0 or slot_value > header.index_count or header.index_count <= 1:
            return steps, "slot"
        hash_, begin, end = key_hash(key_of(op)), from_text(op["begin"]), from_text(op["end"])
        hits = len(op.get("initial", ()))
        entry = slot_value
        while len(steps) < _PATIENCE:
            if hits >= op["max_num"]:
                return steps, "max_num"
            data = self._read(file, to_i32(to_i32(40 + 4 * index.hash_slot_num) + 20 * entry), 20)
            if data is None:
                return steps, "outside"
            hash_read, phy_offset, time_diff, previous = unpack(">iqii", data)
            if time_diff < 0:
                return steps, "time_diff"
            time_read = to_i64(header.begin_timestamp + time_diff * 1000)
            steps.append(Step(entry, hash_read, phy_offset, time_read))
            hits += hash_read == hash_ and begin <= time_read <= end
            if previous <= 0 or previous > header.index_count or previous == entry:
                return steps, "previous"
            if time_read < begin:
                return steps, "before"
            entry = previous
        return steps, "bound"


def gather(case: Case, directory: Path) -> Facts:
    """Runs the case on the reference once more, in `directory`, and notes what it knew before each operation.

    Raises:
        UnspecifiedOperationError: when an operation is one that is never sent.
    """
    fill_directory(directory, case.files)
    watch = _Watch(case, directory)
    try:
        run_operations(case.ops, directory, watch=watch.before)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return watch.facts
