"""The code blocks of SPEC.md as a port of index file and consume queue.

What is here beside the blocks is only what they call: an open index file, and a queue's files.
"""

import contextlib
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partialmethod
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

from rocket_conformance.reference_adapter import Library
from rocket_reference import MappedFile, QueueBounds, QueueUnit, file_name, java, key_hash, queue_file_size
from rocket_spec.layout import INDEX_HEADER
from spec_blocks import code

HEADER: Final = {
    one.name: ({"i32": ">i", "i64": ">q"}[one.type], one.offset or 0) for one in INDEX_HEADER.fixed
}
"""Form and place of each field."""


@contextlib.contextmanager
def _no_slots() -> Iterator[None]:
    """IDX-PUT-10, IDX-SEL-10."""
    try:
        yield
    except ZeroDivisionError as error:
        raise LookupError(str(error)) from error


class OpenFile:
    """An index file as the blocks see it: IDX-FILE-1 to IDX-FILE-5, IDX-LOAD and IDX-FLUSH.

    Raises JavaError, IndexError: rejected: a name or a size that no file has, a header outside the mapping.
    """

    begin_timestamp: int
    end_timestamp: int
    index_count: int

    def __init__(
        self,
        path: Path,
        hash_slot_num: int,
        index_num: int,
        *,
        blocks: Mapping[str, Any],
        load: bool,
        **seeds: int,
    ) -> None:
        self.blocks = blocks
        self.S, self.N = hash_slot_num, index_num
        self.limit = java.to_i32(40 + 4 * self.S + 20 * self.N)
        self.data = MappedFile(path, self.limit).view
        for name in HEADER:
            object.__setattr__(self, name, int(name == "index_count"))
        for end in ("phy_offset", "timestamp"):
            seed = seeds[f"end_{end}"]
            if seed > 0:
                setattr(self, f"begin_{end}", seed)
                setattr(self, f"end_{end}", seed)
        if load:
            self.load()

    def put(self, *entry: Any) -> bool:
        with _no_slots():
            try:
                return bool(self.blocks["put"](self, *entry))
            except IndexError:
                return False  # IDX-PUT-9

    def select(self, *query: Any, initial: Iterable[int]) -> list[int]:
        found = list(initial)
        with _no_slots(), contextlib.suppress(IndexError):  # IDX-SEL-8
            self.blocks["select"](self, *query, found)
        return found

    def load(self) -> None:
        for name, (form, place) in HEADER.items():
            value = self._read(form, place)
            object.__setattr__(self, name, max(value, 1) if name == "index_count" else value)

    def flush(self) -> None:
        for name in HEADER:
            setattr(self, name, getattr(self, name))

    def header(self) -> "OpenFile":
        return self

    def full(self) -> bool:
        return self.index_count >= self.N

    def time_matched(self, begin: int, end: int) -> bool:
        """IDX-TIME-1 to IDX-TIME-3."""
        first, last = self.begin_timestamp, self.end_timestamp
        return (begin < first and end > last) or first <= begin <= last or first <= end <= last

    def __setattr__(self, name: str, value: Any) -> None:
        form, place = HEADER.get(name, ("", 0))
        if form == ">i":
            value = java.to_i32(value)
        object.__setattr__(self, name, value)
        if form:
            self._write(form, place, value)

    def _place(self, form: str, at: int) -> int:
        at = java.to_i32(at)  # IDX-FILE-3
        if not 0 <= at <= self.limit - struct.calcsize(form):
            raise IndexError(at)
        return at

    def _read(self, form: str, at: int) -> int:
        value: int = struct.unpack_from(form, self.data, self._place(form, at))[0]
        return value

    def _write(self, form: str, at: int, value: int) -> None:
        struct.pack_into(form, self.data, self._place(form, at), value)

    read_i32, read_i64 = partialmethod(_read, ">i"), partialmethod(_read, ">q")
    write_i32, write_i64 = partialmethod(_write, ">i"), partialmethod(_write, ">q")


# --- consume queue ------------------------------------------------------------------------------------


@dataclass
class QueueFile:
    """A queue file; `position` is its write position."""

    file: MappedFile
    position: int = 0
    first: bool = False

    @property
    def start(self) -> int:
        return self.file.file_from_offset

    def unit(self, at: int) -> tuple[int, int, int]:
        offset, size, tags_code = struct.unpack_from(">qiq", self.file.view, at)
        return offset, size, tags_code

    def append(self, offset: int, size: int, tags_code: int) -> bool:
        if self.position + 20 > self.file.file_size:
            return False
        struct.pack_into(">qiq", self.file.view, self.position, offset, size, tags_code)
        self.position += 20
        return True


@dataclass
class Queue:
    """An open queue as the blocks see it."""

    folder: Path
    file_size: int
    blocks: Mapping[str, Any]
    files: list[QueueFile] = field(default_factory=list[QueueFile])
    minimum: int = 0
    end: int = -1

    def load(self) -> bool:
        """False for a file of another length."""
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            if path.stat().st_size != self.file_size:
                return False
            self.files.append(QueueFile(MappedFile(path, self.file_size), self.file_size))
        return True

    def put(self, *unit: int) -> bool:
        return bool(self.blocks["queue_put"](self, *unit))

    def recover(self) -> None:
        self.blocks["queue_recover"](self)

    def last_file(self) -> QueueFile | None:
        return self.files[-1] if self.files else None

    def create(self, start: int) -> QueueFile:
        made = MappedFile(self.folder / file_name(start), self.file_size)
        self.files.append(QueueFile(made, first=not self.files))
        return self.files[-1]

    def delete(self, file: QueueFile) -> None:
        self.files.remove(file)
        file.file.destroy(0)

    def get(self, number: int) -> QueueUnit | None:
        place = java.to_i64(20 * number)
        for file in self.files:
            if max(file.start, self.minimum) <= place < file.start + file.position:
                return QueueUnit(*file.unit(java.rem(place, self.file_size)))
        return None

    def bounds(self) -> QueueBounds:
        last = self.last_file()
        end = java.div(last.start + last.position, 20) if last else 0
        return QueueBounds(java.div(self.minimum, 20), end, self.end)

    def close(self) -> None:
        for file in self.files:
            file.file.close()


# --- the port -----------------------------------------------------------------------------------------


def page_library(changes: Mapping[str, str]) -> Library:
    """The functions that run cases, with the page's blocks for put, select, queue put and recovery; `changes` replace texts in them."""
    blocks = {
        name: function
        for heading in ("Put", "Select", "Queue put", "Queue recovery")
        for name, function in code(f"{heading}, step by step", changes=changes).items()
    }

    @contextlib.contextmanager
    def open_index_file(path: Path, *geometry: int, rules: object, **how: Any) -> Iterator[OpenFile]:
        yield OpenFile(path, *geometry, blocks=blocks, **how)

    def open_queue(folder: Path, topic: str, queue_id: int, file_size: int, *, rules: object) -> Queue:
        return Queue(folder / topic / str(queue_id), file_size, blocks)

    names = {"key_hash": key_hash, "queue_file_size": queue_file_size}
    return cast("Library", SimpleNamespace(open_index_file=open_index_file, ConsumeQueue=open_queue, **names))
