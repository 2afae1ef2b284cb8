"""A small port of the consume queue that is not the reference, and the same with a planted defect.

Opening, putting, getting and bounds in 64-bit arithmetic; no recovery and no truncation.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from struct import pack, unpack
from typing import Any, Final

__all__ = ["QUEUE_DEFECTS", "PlantedQueuePort"]

QUEUE_DEFECTS: Final = {
    "end-without-size": "CQ-PUT-7",
    "adjoining-by-offset": "CQ-PUT-5",
}
"""Each defect with the clause that it breaks: the queue's end is kept without the last record's size; a unit after a full
file goes where its logical offset says."""

UNIT: Final = ">qiq"
BLANK: Final = pack(UNIT, 0, (1 << 31) - 1, 0)


def i64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def rem(value: int, size: int) -> int:
    """Java's %, whose sign is that of the value."""
    return value % size if value >= 0 else -(-value % size)


@dataclass
class File:
    """A queue file; `written` are the bytes up to its write position."""

    base: int
    data: bytearray
    written: int
    first: bool = False


class Queue:
    """An open queue."""

    def __init__(self, root: Path, op: dict[str, Any], defect: str) -> None:
        self.defect = defect
        self.size = -(-op["file_size"] // 20) * 20
        self.folder = root / "consumequeue" / op["topic"] / str(op["queue_id"])
        self.files: list[File] = []
        self.minimum, self.end = 0, -1
        found = sorted(self.folder.iterdir()) if op["load"] and self.folder.is_dir() else []
        for path in found:
            data = bytearray(path.read_bytes())
            if len(data) != self.size:
                raise ValueError(f"{path.name}: {len(data)} bytes")
            self.files.append(File(int(path.name), data, len(data)))

    def last(self, place: int) -> File:
        """The file that takes the next unit."""
        if not self.files:
            base = place - rem(place, self.size)
            self.files.append(File(base, bytearray(self.size), 0, first=True))
        elif self.files[-1].written == self.size:
            base = self.files[-1].base + self.size
            if self.defect == "adjoining-by-offset":
                base = place - rem(place, self.size)
            self.files.append(File(base, bytearray(self.size), 0))
        return self.files[-1]

    def put(self, offset: int, size: int, code: int, number: int) -> bool:
        end = i64(offset + size)
        if end <= self.end:
            return True
        place = i64(20 * number)
        file = self.last(place)
        if number and file.first and not file.written:
            self.minimum = place
            file.written = max(0, rem(place, self.size))
            file.data[: file.written] = BLANK * (file.written // 20)
        if number and place < file.base + file.written:
            return True
        file.data[file.written : file.written + 20] = pack(UNIT, offset, size, code)
        file.written += 20
        self.end = offset if self.defect == "end-without-size" else end
        return True

    def get(self, number: int) -> dict[str, Any] | None:
        place = i64(20 * number)
        for file in self.files:
            if max(file.base, self.minimum) <= place < file.base + file.written:
                at = place % self.size  # whatever the file's name is
                offset, size, code = unpack(UNIT, file.data[at : at + 20])
                return {"offset": str(offset), "size": size, "tags_code": str(code)}
        return None

    def bounds(self) -> dict[str, str]:
        last = self.files[-1] if self.files else File(0, bytearray(), 0)
        most = (last.base + last.written) // 20
        return {"min": str(self.minimum // 20), "max": str(most), "max_physic_offset": str(self.end)}

    def store(self, root: Path) -> list[dict[str, str]]:
        """Writes the files; their names for the answer."""
        for file in self.files:
            self.folder.mkdir(parents=True, exist_ok=True)
            sign = "-" if file.base < 0 else ""
            (self.folder / f"{sign}{abs(file.base):020}").write_bytes(file.data)
        return [
            {"role": "queue", "path": path.relative_to(root).as_posix()}
            for path in (sorted(self.folder.iterdir()) if self.folder.is_dir() else [])
        ]


class PlantedQueuePort:
    """The port as an adapter; `handle` answers one message."""

    def __init__(self, defect: str = "") -> None:
        self.defect = defect
        self.queue: Queue | None = None

    def handle(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] == "bye":
            return None
        if message["cmd"] == "hello":
            ops = [f"queue.{name}" for name in ("open", "put", "get", "bounds")]
            return {
                "protocol": 1,
                "name": f"planted {self.defect}".strip(),
                "ops": ops,
                "features": ["positive_geometry"],
            }
        self.close()
        root = Path(message["dir"])
        results: list[dict[str, Any]] = []
        files: dict[str, dict[str, str]] = {}
        for op in message["ops"]:
            try:
                results.append(self.run(op, root))
            except ValueError as error:
                results.append({"rejected": str(error)})
            if self.queue is not None:
                files |= {file["path"]: file for file in self.queue.store(root)}
        return {"id": message["id"], "results": results, "files": list(files.values())}

    def close(self) -> None:
        self.queue = None

    def run(self, op: dict[str, Any], root: Path) -> dict[str, Any]:
        if op["op"] == "queue.open":
            self.queue = None
            self.queue = Queue(root, op, self.defect)
            return {}
        if self.queue is None:
            raise ValueError("no queue is open")
        if op["op"] == "queue.get":
            return {"unit": self.queue.get(int(op["cq_offset"]))}
        if op["op"] == "queue.bounds":
            return self.queue.bounds()
        put = self.queue.put(int(op["offset"]), op["size"], int(op["tags_code"]), int(op["cq_offset"]))
        return {"put": put}
