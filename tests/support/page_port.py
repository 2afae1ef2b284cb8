"""The code blocks of SPEC.md as a port of index file and consume queue.

What is here beside the blocks is only what they call: an open index file, and a queue's files.
"""

import contextlib
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import Any, Final

from rocket_reference import JavaError, java, key_hash
from spec_blocks import code

Op = dict[str, Any]

HEADER: Final = (
    "begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset", "hash_slot_count", "index_count",
)  # fmt: skip
CODES: Final[dict[str, str]] = dict(zip(HEADER, "qqqqii", strict=True))
PLACES: Final[dict[str, int]] = dict(zip(HEADER, (0, 8, 16, 24, 32, 36), strict=True))


def key_of(op: Op) -> str:
    if "key_utf16" in op:
        return bytes.fromhex(op["key_utf16"]).decode("utf-16-be", "surrogatepass")
    return str(op["key"])


class OpenFile:
    """An index file as the blocks see it: IDX-FILE-1 to IDX-FILE-5, IDX-LOAD and IDX-FLUSH.

    Raises:
        JavaError, IndexError: rejected: a name or a size that no file has, a header outside the mapping.
    """

    def __init__(self, path: Path, op: Op) -> None:
        java.parse_long(path.name)
        self.S, self.N = op["hash_slot_num"], op["index_num"]
        self.limit = java.to_i32(40 + 4 * self.S + 20 * self.N)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if self.limit < 0:
            raise IndexError(self.limit)
        if path.stat().st_size < self.limit:
            os.truncate(path, self.limit)
        with path.open("r+b") as stream:
            self.data = mmap(stream.fileno(), self.limit) if self.limit else bytearray()
        for name in HEADER:
            object.__setattr__(self, name, int(name == "index_count"))
        for end in ("phy_offset", "timestamp"):
            seed = int(op[f"end_{end}"])
            if seed > 0:
                setattr(self, f"begin_{end}", seed)
                setattr(self, f"end_{end}", seed)
        if op["load"]:
            self.load()

    def load(self) -> None:
        for name in HEADER:
            value = (self.read_i64 if CODES[name] == "q" else self.read_i32)(PLACES[name])
            object.__setattr__(self, name, max(value, 1) if name == "index_count" else value)

    def flush(self) -> None:
        for name in HEADER:
            setattr(self, name, getattr(self, name))

    def header(self) -> Op:
        values = {name: getattr(self, name) for name in HEADER}
        return {name: str(value) if CODES[name] == "q" else value for name, value in values.items()}

    def matches(self, begin: int, end: int) -> bool:
        """IDX-TIME-1 to IDX-TIME-3."""
        first: int = getattr(self, "begin_timestamp")  # noqa: B009 - set by name
        last: int = getattr(self, "end_timestamp")  # noqa: B009 - set by name
        return (begin < first and end > last) or first <= begin <= last or first <= end <= last

    def __setattr__(self, name: str, value: Any) -> None:
        if CODES.get(name) == "i":
            value = java.to_i32(value)
        object.__setattr__(self, name, value)
        if name in CODES:
            (self.write_i64 if CODES[name] == "q" else self.write_i32)(PLACES[name], value)

    def _place(self, at: int, size: int) -> int:
        at = java.to_i32(at)  # IDX-FILE-3
        if not 0 <= at <= self.limit - size:
            raise IndexError(at)
        return at

    def read_i32(self, at: int) -> int:
        value: int = struct.unpack_from(">i", self.data, self._place(at, 4))[0]
        return value

    def read_i64(self, at: int) -> int:
        value: int = struct.unpack_from(">q", self.data, self._place(at, 8))[0]
        return value

    def write_i32(self, at: int, value: int) -> None:
        struct.pack_into(">i", self.data, self._place(at, 4), value)

    def write_i64(self, at: int, value: int) -> None:
        struct.pack_into(">q", self.data, self._place(at, 8), value)


# --- consume queue ------------------------------------------------------------------------------------


@dataclass
class QueueFile:
    """A queue file; `position` is its write position."""

    start: int
    data: bytearray
    position: int = 0
    first: bool = False

    def unit(self, at: int) -> tuple[int, int, int]:
        offset, size, tags_code = struct.unpack_from(">qiq", self.data, at)
        return offset, size, tags_code

    def append(self, offset: int, size: int, tags_code: int) -> bool:
        if self.position + 20 > len(self.data):
            return False
        struct.pack_into(">qiq", self.data, self.position, offset, size, tags_code)
        self.position += 20
        return True


@dataclass
class Queue:
    """An open queue as the blocks see it; its files are written when it is left."""

    folder: Path
    file_size: int
    files: list[QueueFile] = field(default_factory=list[QueueFile])
    minimum: int = 0
    end: int = -1

    def load(self) -> None:
        """Raises ValueError for a file of another length or a name that is no number."""
        for path in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            data = bytearray(path.read_bytes())
            if len(data) != self.file_size:
                raise ValueError(f"{path.name}: {len(data)} bytes")
            self.files.append(QueueFile(int(path.name), data, self.file_size))

    def last_file(self) -> QueueFile | None:
        return self.files[-1] if self.files else None

    def create(self, start: int) -> QueueFile:
        self.files.append(QueueFile(start, bytearray(self.file_size), first=not self.files))
        return self.files[-1]

    def delete(self, file: QueueFile) -> None:
        self.files.remove(file)
        self._path(file).unlink()

    def get(self, number: int) -> Op:
        place = java.to_i64(20 * number)
        for file in self.files:
            if max(file.start, self.minimum) <= place < file.start + file.position:
                offset, size, tags_code = file.unit(java.rem(place, self.file_size))
                return {"unit": {"offset": str(offset), "size": size, "tags_code": str(tags_code)}}
        return {"unit": None}

    def bounds(self) -> Op:
        last = self.last_file()
        return {
            "min": str(java.div(self.minimum, 20)),
            "max": str(java.div(last.start + last.position, 20) if last else 0),
            "max_physic_offset": str(self.end),
        }

    def _path(self, file: QueueFile) -> Path:
        return self.folder / (f"{file.start:020}" if file.start >= 0 else f"-{-file.start:020}")

    def write(self) -> None:
        for file in self.files:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._path(file).write_bytes(file.data)


# --- operations ---------------------------------------------------------------------------------------


class PagePort:
    """The port; `changes` replace texts in the blocks."""

    def __init__(self, changes: Mapping[str, str]) -> None:
        self.blocks = {
            name: function
            for heading in ("Put", "Select", "Queue put", "Queue recovery")
            for name, function in code(f"{heading}, step by step", changes=changes).items()
        }
        self.file: OpenFile | None = None
        self.queue: Queue | None = None

    def run(self, ops: list[Op], root: Path) -> list[Op]:
        """The results of a case's operations, whose files are written when it returns."""
        results: list[Op] = []
        for op in ops:
            try:
                results.append(getattr(self, op["op"].replace(".", "_"))(op, root))
            except (JavaError, IndexError, ZeroDivisionError, ValueError, OSError) as error:
                results.append({"rejected": str(error)})
        self._leave_queue()
        self.file = None
        return results

    def _leave_queue(self) -> None:
        if self.queue is not None:
            self.queue.write()
        self.queue = None

    def _opened(self) -> OpenFile:
        if self.file is None:
            raise ValueError("no file is open")
        return self.file

    def _queue(self) -> Queue:
        if self.queue is None:
            raise ValueError("no queue is open")
        return self.queue

    def key_hash(self, op: Op, _root: Path) -> Op:
        return {"hash": key_hash(key_of(op))}

    def index_open(self, op: Op, root: Path) -> Op:
        self.file = None
        self.file = OpenFile(root / op["file"], op)
        return {}

    def index_put(self, op: Op, _root: Path) -> Op:
        file = self._opened()
        try:
            return {
                "put": self.blocks["put"](file, key_of(op), int(op["phy_offset"]), int(op["store_timestamp"]))
            }
        except IndexError:
            return {"put": False}  # IDX-PUT-9

    def index_select(self, op: Op, _root: Path) -> Op:
        found = [int(offset) for offset in op.get("initial", ())]
        file = self._opened()
        with contextlib.suppress(IndexError):  # IDX-SEL-8
            self.blocks["select"](file, key_of(op), op["max_num"], int(op["begin"]), int(op["end"]), found)
        return {"offsets": [str(offset) for offset in found]}

    def index_time_matched(self, op: Op, _root: Path) -> Op:
        return {"matched": self._opened().matches(int(op["begin"]), int(op["end"]))}

    def index_header(self, _op: Op, _root: Path) -> Op:
        return self._opened().header()

    def index_full(self, _op: Op, _root: Path) -> Op:
        file = self._opened()
        return {"full": getattr(file, "index_count") >= file.N}  # noqa: B009 - by name

    def index_flush(self, _op: Op, _root: Path) -> Op:
        self._opened().flush()
        return {}

    def index_close(self, _op: Op, _root: Path) -> Op:
        self._opened()
        self.file = None
        return {}

    def queue_open(self, op: Op, root: Path) -> Op:
        self._leave_queue()
        folder = root / "consumequeue" / op["topic"] / str(op["queue_id"])
        queue = Queue(folder, -(-op["file_size"] // 20) * 20)
        if op["load"]:
            queue.load()
        self.queue = queue
        return {}

    def queue_put(self, op: Op, _root: Path) -> Op:
        place = int(op["offset"]), op["size"], int(op["tags_code"]), int(op["cq_offset"])
        return {"put": self.blocks["queue_put"](self._queue(), *place)}

    def queue_get(self, op: Op, _root: Path) -> Op:
        return self._queue().get(int(op["cq_offset"]))

    def queue_recover(self, _op: Op, _root: Path) -> Op:
        self.blocks["queue_recover"](self._queue())
        return self._queue().bounds()

    def queue_bounds(self, _op: Op, _root: Path) -> Op:
        return self._queue().bounds()
