"""The code blocks of SPEC.md, taken out of the page and run on the vectors, whose answers are the real jar's.

What is here beside them is only what they call: an open index file, and a queue's files, over plain bytes.
"""

from __future__ import annotations

import base64
import contextlib
import struct
from dataclasses import dataclass, field
from typing import Any

import rocket_golden
from rocket_golden import zstd
from rocket_reference import JavaError, java, key_hash
from spec_blocks import code, headings

Vector = dict[str, Any]
HEADER = (
    "begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset", "hash_slot_count", "index_count",
)  # fmt: skip
CODES: dict[str, str] = dict(zip(HEADER, "qqqqii", strict=True))
PLACES: dict[str, int] = dict(zip(HEADER, (0, 8, 16, 24, 32, 36), strict=True))


PUT = code("Put, step by step")["put"]
SELECT = code("Select, step by step")["select"]
QUEUE_PUT = code("Queue put, step by step")["queue_put"]
QUEUE_RECOVER = code("Queue recovery, step by step")["queue_recover"]


def unpacked(files: dict[str, Any]) -> dict[str, bytes]:
    return {name: zstd.decompress(base64.b64decode(file["zstd_base64"])) for name, file in files.items()}


# --- index file ---------------------------------------------------------------------------------------


class OpenFile:
    """An index file as the blocks see it: IDX-FILE-1 to IDX-FILE-5, IDX-LOAD and IDX-FLUSH.

    Raises:
        JavaError, IndexError: rejected: a name or a size that no file has, a header outside the mapping.
    """

    def __init__(self, files: dict[str, bytearray], op: Vector) -> None:
        java.parse_long(op["file"].rpartition("/")[2])
        self.S, self.N = op["hash_slot_num"], op["index_num"]
        self.limit = java.to_i32(40 + 4 * self.S + 20 * self.N)
        self.data = files.setdefault(op["file"], bytearray())
        if self.limit < 0:
            raise IndexError(self.limit)
        self.data.extend(bytes(max(0, self.limit - len(self.data))))
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


class IndexRun:
    """A vector of the index file on the blocks."""

    def __init__(self, vector: Vector) -> None:
        self.files = {name: bytearray(data) for name, data in unpacked(vector["files"]).items()}
        self.opened: OpenFile | None = None
        self.results = [self.result(op) for op in vector["ops"]]

    def result(self, op: Vector) -> Vector:
        try:
            answer: Vector = getattr(self, op["op"].replace(".", "_"))(op)
        except (JavaError, IndexError, ZeroDivisionError):
            return {"rejected": True}
        return answer

    def file(self) -> OpenFile:
        if self.opened is None:
            raise IndexError
        return self.opened

    def key_hash(self, op: Vector) -> Vector:
        return {"hash": key_hash(key_of(op))}

    def index_open(self, op: Vector) -> Vector:
        self.opened = None
        self.opened = OpenFile(self.files, op)
        return {}

    def index_put(self, op: Vector) -> Vector:
        try:
            put = PUT(self.file(), key_of(op), int(op["phy_offset"]), int(op["store_timestamp"]))
        except IndexError:
            if self.opened is None:
                raise
            put = False  # IDX-PUT-9
        return {"put": put}

    def index_select(self, op: Vector) -> Vector:
        found = [int(offset) for offset in op.get("initial", ())]
        file = self.file()
        with contextlib.suppress(IndexError):  # IDX-SEL-8
            SELECT(file, key_of(op), op["max_num"], int(op["begin"]), int(op["end"]), found)
        return {"offsets": [str(offset) for offset in found]}

    def index_time_matched(self, op: Vector) -> Vector:
        return {"matched": self.file().matches(int(op["begin"]), int(op["end"]))}

    def index_header(self, _op: Vector) -> Vector:
        values = {name: getattr(self.file(), name) for name in HEADER}
        return {name: str(value) if CODES[name] == "q" else value for name, value in values.items()}

    def index_full(self, _op: Vector) -> Vector:
        return {"full": getattr(self.file(), "index_count") >= self.file().N}  # noqa: B009 - by name

    def index_flush(self, _op: Vector) -> Vector:
        self.file().flush()
        return {}

    def index_close(self, _op: Vector) -> Vector:
        self.file()
        self.opened = None
        return {}


def key_of(op: Vector) -> str:
    return (
        bytes.fromhex(op["key_utf16"]).decode("utf-16-be", "surrogatepass")
        if "key_utf16" in op
        else op["key"]
    )


def test_index_vectors() -> None:
    """Put and select: every vector of the index file there is."""
    wrong: list[str] = []
    count = 0
    for vector in rocket_golden.vectors():
        run = IndexRun(vector)
        wanted = [
            {"rejected": True} if "rejected" in result else result for result in vector["expected"]["results"]
        ]
        left = {name: bytes(data) for name, data in run.files.items()}
        if (run.results, left) != (wanted, unpacked(vector["expected"]["files"])):
            wrong.append(vector["id"])
        count += 1
    assert wrong == []
    assert count > 400


# --- consume queue ------------------------------------------------------------------------------------


@dataclass
class QueueFile:
    start: int
    data: bytearray
    position: int = 0
    first: bool = False

    def unit(self, at: int) -> tuple[int, int, int]:
        offset, size, code = struct.unpack_from(">qiq", self.data, at)
        return offset, size, code

    def append(self, offset: int, size: int, code: int) -> bool:
        if self.position + 20 > len(self.data):
            return False
        struct.pack_into(">qiq", self.data, self.position, offset, size, code)
        self.position += 20
        return True


@dataclass
class Queue:
    file_size: int
    files: list[QueueFile] = field(default_factory=list[QueueFile])
    minimum: int = 0
    end: int = -1

    def last_file(self) -> QueueFile | None:
        return self.files[-1] if self.files else None

    def create(self, start: int) -> QueueFile:
        self.files.append(QueueFile(start, bytearray(self.file_size), first=not self.files))
        return self.files[-1]

    def delete(self, file: QueueFile) -> None:
        self.files.remove(file)

    def bounds(self) -> Vector:
        last = self.last_file()
        return {
            "min": str(java.div(self.minimum, 20)),
            "max": str(java.div(last.start + last.position, 20) if last else 0),
            "max_physic_offset": str(self.end),
        }


def run_queue(vector: Vector) -> tuple[list[Vector], dict[str, bytes]]:
    folder = ""
    laid = unpacked(vector["files"])
    queue = Queue(0)
    results: list[Vector] = []
    for op in vector["ops"]:
        if op["op"] == "queue.open":
            assert not folder
            folder = f"consumequeue/{op['topic']}/{op['queue_id']}/"
            queue = Queue(-(-op["file_size"] // 20) * 20)
            if op["load"]:
                names = sorted(name for name in laid if name.startswith(folder))
                queue.files = [
                    QueueFile(int(n.rpartition("/")[2]), bytearray(laid[n]), queue.file_size) for n in names
                ]
            results.append({})
        elif op["op"] == "queue.put":
            place = int(op["offset"]), op["size"], int(op["tags_code"]), int(op["cq_offset"])
            results.append({"put": QUEUE_PUT(queue, *place)})
        elif op["op"] == "queue.recover":
            QUEUE_RECOVER(queue)
            results.append(queue.bounds())
        else:
            results.append(queue.bounds())
    return results, {f"{folder}{java_name(file.start)}": bytes(file.data) for file in queue.files}


def java_name(start: int) -> str:
    return f"{start:020}" if start >= 0 else f"-{-start:020}"


def plain(vector: Vector) -> bool:
    """Whether a vector asks only what the harness has: one queue, loaded or new, without rejection."""
    names = [op["op"] for op in vector["ops"]]
    return (
        names[0] == "queue.open"
        and names.count("queue.open") == 1
        and set(names) <= {"queue.open", "queue.put", "queue.recover", "queue.bounds"}
        and (vector["ops"][0]["load"] or not vector["files"])
        and not any("rejected" in result for result in vector["expected"]["results"])
    )


QUEUES = [vector for vector in rocket_golden.vectors(store=True) if plain(vector)]


def test_queue_vectors() -> None:
    """Queue put and queue recovery: every vector that only puts, loads and recovers."""
    assert len(QUEUES) > 40
    assert sum(any(op["op"] == "queue.recover" for op in vector["ops"]) for vector in QUEUES) > 8
    wrong = [
        vector["id"]
        for vector in QUEUES
        if run_queue(vector) != (vector["expected"]["results"], unpacked(vector["expected"]["files"]))
    ]
    assert wrong == []


def test_every_block_is_run() -> None:
    """The blocks of dispatch and recovery are run by tests/reference/test_restart_scripts.py."""
    assert headings() == [
        "Put, step by step",
        "Select, step by step",
        "Queue put, step by step",
        "Queue recovery, step by step",
        "Dispatch, step by step",
        "Recovery, step by step",
    ]
