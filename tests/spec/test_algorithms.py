"""The code blocks of SPEC.md, taken out of the page and run on the vectors, whose answers are the real jar's.

What is here beside them is only what they call: an open index file, and a queue's files, over plain bytes.
"""

from __future__ import annotations

import base64
import contextlib
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import rocket_golden
from rocket_golden import zstd
from rocket_reference import java, key_hash
from rocket_spec.data import find_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Vector = dict[str, Any]
SPEC = find_data("spec/SPEC.md").read_text("utf-8")
HEADER = (
    "begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset", "hash_slot_count", "index_count",
)  # fmt: skip
CODES = dict(zip(HEADER, "qqqqii", strict=True))


def code(heading: str) -> dict[str, Callable[..., Any]]:
    """The functions of the code block under a heading."""
    block = re.search(rf"^### {heading}\n.*?^```python\n(.*?)^```", SPEC, re.MULTILINE | re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {
        "i64": java.to_i64,
        "rem": java.rem,
        "div": java.div,
        "key_hash": key_hash,
    }
    exec(compile(block[1], f"SPEC.md, {heading}", "exec"), names)  # noqa: S102 - the page's own code
    return names


PUT = code("Put, step by step")["put"]
SELECT = code("Select, step by step")["select"]
QUEUE_PUT = code("Queue put, step by step")["queue_put"]
QUEUE_RECOVER = code("Queue recovery, step by step")["queue_recover"]


def unpacked(files: dict[str, Any]) -> dict[str, bytes]:
    return {name: zstd.decompress(base64.b64decode(file["zstd_base64"])) for name, file in files.items()}


# --- index file ---------------------------------------------------------------------------------------


class OpenFile:
    """An index file as the blocks see it: IDX-FILE-1, IDX-FILE-2, IDX-LOAD and IDX-FLUSH."""

    def __init__(self, data: bytes, op: Vector) -> None:
        self.S, self.N = op["hash_slot_num"], op["index_num"]
        size = 40 + 4 * self.S + 20 * self.N
        self.data = bytearray(data.ljust(size, b"\0"))
        self.limit = size
        for name in HEADER:
            object.__setattr__(self, name, int(name == "index_count"))
        for end, seed in (("phy_offset", int(op["end_phy_offset"])), ("timestamp", int(op["end_timestamp"]))):
            if seed > 0:
                for side in ("begin", "end"):
                    setattr(self, f"{side}_{end}", seed)
        if op["load"]:
            for name, value in zip(HEADER, struct.unpack_from(">qqqqii", self.data), strict=True):
                object.__setattr__(self, name, value)
            if getattr(self, "index_count") <= 0:  # noqa: B009 - set by name above
                object.__setattr__(self, "index_count", 1)

    def __setattr__(self, name: str, value: Any) -> None:
        if CODES.get(name) == "i":
            value = java.to_i32(value)
        object.__setattr__(self, name, value)
        if name in CODES:
            struct.pack_into(f">{CODES[name]}", self.data, struct.calcsize(f">{self._before(name)}"), value)

    @staticmethod
    def _before(name: str) -> str:
        return "".join(CODES[other] for other in HEADER[: HEADER.index(name)])

    def _checked(self, at: int, size: int) -> int:
        if not 0 <= at <= self.limit - size:
            raise IndexError(at)
        return at

    def read_i32(self, at: int) -> int:
        value: int = struct.unpack_from(">i", self.data, self._checked(at, 4))[0]
        return value

    def read_i64(self, at: int) -> int:
        value: int = struct.unpack_from(">q", self.data, self._checked(at, 8))[0]
        return value

    def write_i32(self, at: int, value: int) -> None:
        struct.pack_into(">i", self.data, self._checked(at, 4), value)

    def write_i64(self, at: int, value: int) -> None:
        struct.pack_into(">q", self.data, self._checked(at, 8), value)


def run_index(vector: Vector) -> tuple[list[Vector], dict[str, bytes]]:
    files = {name: bytearray(data) for name, data in unpacked(vector["files"]).items()}
    results: list[Vector] = []
    opened: OpenFile | None = None
    for op in vector["ops"]:
        name = op["op"]
        if name == "index.open":
            opened = OpenFile(bytes(files.get(op["file"], b"")), op)
            files[op["file"]] = opened.data
            results.append({})
            continue
        assert opened is not None
        if name == "index.put":
            try:
                put = PUT(opened, op["key"], int(op["phy_offset"]), int(op["store_timestamp"]))
            except IndexError:
                put = False
            results.append({"put": put})
        elif name == "index.select":
            found = [int(offset) for offset in op.get("initial", ())]
            with contextlib.suppress(IndexError):
                SELECT(opened, op["key"], op["max_num"], int(op["begin"]), int(op["end"]), found)
            results.append({"offsets": [str(offset) for offset in found]})
        elif name == "index.header":
            values = {field: getattr(opened, field) for field in HEADER}
            results.append({field: str(v) if CODES[field] == "q" else v for field, v in values.items()})
        else:
            assert name == "index.flush"
            for field in HEADER:
                setattr(opened, field, getattr(opened, field))
            results.append({})
    return results, {name: bytes(data) for name, data in files.items()}


def plain(vector: Vector, ops: set[str]) -> bool:
    """Whether a vector asks only what the harness has: keys as text, no rejection, a geometry that does not wrap."""
    small = vector["geometry"] is None or all(0 < number < 1000 for number in vector["geometry"])
    return (
        small
        and vector["ops"][0]["op"].endswith(".open")
        and all(op["op"] in ops and "key_utf16" not in op for op in vector["ops"])
        and not any("rejected" in result for result in vector["expected"]["results"])
    )


def chosen(vectors: Iterable[Vector], *ops: str) -> list[Vector]:
    return [vector for vector in vectors if plain(vector, set(ops))]


INDEX = chosen(
    rocket_golden.vectors(), "index.open", "index.put", "index.select", "index.header", "index.flush"
)


def test_index_vectors() -> None:
    """Put and select: every vector of the index file that only puts, selects, loads and flushes."""
    assert len(INDEX) > 200
    wrong = [
        vector["id"]
        for vector in INDEX
        if run_index(vector) != (vector["expected"]["results"], unpacked(vector["expected"]["files"]))
    ]
    assert wrong == []


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


QUEUES = [
    vector
    for vector in chosen(
        rocket_golden.vectors(store=True), "queue.open", "queue.put", "queue.recover", "queue.bounds"
    )
    if [op["op"] for op in vector["ops"]].count("queue.open") == 1
    and (vector["ops"][0]["load"] or not vector["files"])
]


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


@pytest.mark.parametrize("heading", ["Dispatch, step by step", "Recovery, step by step"])
def test_the_other_blocks_are_code_too(heading: str) -> None:
    assert any(name in code(heading) for name in ("dispatch", "recover_log"))
