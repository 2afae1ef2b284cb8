"""A small port of the index file that is not the reference, and the same with planted defects.

    python planted_port.py [DEFECT+DEFECT...]

serves it as an adapter of protocol 1. Without a defect it does what 4.9.3 does in a geometry of at least one slot and one entry.
"""

from __future__ import annotations

import json
import os
import sys
import time
from mmap import mmap
from pathlib import Path
from struct import pack_into, unpack_from
from typing import Any, Final
from zlib import crc32

__all__ = ["DEFECTS", "PlantedPort", "serve"]

DEFECTS: Final = {
    "loop": "IDX-SEL-6",
    "crash": "IDX-PUT-1",
    "slow-retry": "IDX-SEL-1",
    "last-entry-unseen": "IDX-SEL-1",
    "number-into-the-entry": "IDX-PUT-7",
    "seeds-with-a-count": "IDX-FILE-2",
    "crc32": "IDX-HASH-1",
    "factor-37": "IDX-HASH-1",
}
"""Each defect with the clause that it breaks."""

HEADER: Final = (">qqqqii", 40)
I32, I64 = 1 << 32, 1 << 64


def i32(value: int) -> int:
    return (value + (I32 >> 1)) % I32 - (I32 >> 1)


def i64(value: int) -> int:
    return (value + (I64 >> 1)) % I64 - (I64 >> 1)


def hash_of(key: str, defect: str = "") -> int:
    if "crc32" in defect:
        return crc32(key.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF
    factor = 37 if "factor-37" in defect else 31
    units = key.encode("utf-16-be", "surrogatepass")
    code = 0
    for at in range(0, len(units), 2):
        code = i32(factor * code + int.from_bytes(units[at : at + 2], "big"))
    return 0 if code == -(1 << 31) else abs(code)


def key_of(op: dict[str, Any]) -> str:
    if "key_utf16" in op:
        return bytes.fromhex(op["key_utf16"]).decode("utf-16-be", "surrogatepass")
    return str(op["key"])


class RefusedError(Exception):
    """What the port refuses."""


class File:
    """An index file: its bytes, and the header in memory."""

    def __init__(self, path: Path, op: dict[str, Any], defect: str) -> None:
        self.path, self.defect = path, defect
        self.slots, self.entries = op["hash_slot_num"], op["index_num"]
        size = 40 + 4 * self.slots + 20 * self.entries
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        if path.stat().st_size < size:
            os.truncate(path, size)
        with path.open("r+b") as stream:
            self.data = mmap(stream.fileno(), size)
        self.size = size
        self.fields = [0, 0, 0, 0, 0, 1]  # times, offsets, hash_slot_count, index_count
        offset, stamp = int(op["end_phy_offset"]), int(op["end_timestamp"])
        if offset > 0:
            self.set_field(2, offset)
            self.set_field(3, offset)
            if "seeds-with-a-count" in defect:
                self.set_field(5, 1)
        if stamp > 0:
            self.set_field(0, stamp)
            self.set_field(1, stamp)
        if op["load"]:
            self.fields = list(unpack_from(HEADER[0], self.data))
            if self.fields[5] <= 0:
                self.fields[5] = 1

    def set_field(self, number: int, value: int) -> None:
        self.fields[number] = value
        pack_into(
            ">q" if number < 4 else ">i",
            self.data,
            8 * number if number < 4 else 32 + 4 * (number - 4),
            value,
        )

    def flush(self) -> None:
        for number, value in enumerate(self.fields):
            self.set_field(number, value)

    def entry_at(self, number: int) -> int:
        place = i32(40 + 4 * self.slots + 20 * number)
        if not 0 <= place <= self.size - 20:
            raise IndexError(place)
        return place

    def full(self) -> bool:
        return bool(self.fields[5] >= self.entries)

    def put(self, key: str, offset: int, stamp: int) -> bool:
        if self.full():
            if "crash" in self.defect:
                os._exit(9)
            return False
        code, count = hash_of(key, self.defect), self.fields[5]
        slot = 40 + 4 * (code % self.slots)
        (previous,) = unpack_from(">i", self.data, slot)
        if previous <= 0 or previous > count:
            previous = 0
        gap = i64(stamp - self.fields[0])
        seconds = abs(gap) // 1000 * (1 if gap > 0 else -1)
        diff = 0 if self.fields[0] <= 0 else max(0, min(seconds, (1 << 31) - 1))
        try:
            place = self.entry_at(count)
        except IndexError:
            return False
        pack_into(">iqii", self.data, place, code, offset, diff, previous)
        pack_into(">i", self.data, place if "number-into-the-entry" in self.defect else slot, count)
        if count <= 1:
            self.set_field(2, offset)
            self.set_field(0, stamp)
        if previous == 0:
            self.set_field(4, i32(self.fields[4] + 1))
        self.set_field(5, count + 1)
        self.set_field(3, offset)
        self.set_field(1, stamp)
        return True

    def select(self, key: str, most: int, begin: int, end: int, found: list[int]) -> list[int]:
        code = hash_of(key, self.defect)
        (number,) = unpack_from(">i", self.data, 40 + 4 * (code % self.slots))
        count = self.fields[5]
        last = "last-entry-unseen" in self.defect and number >= self.entries - 1
        if number <= 0 or number > count or count <= 1 or last:
            if "slow-retry" in self.defect and number > count:
                time.sleep(60)
            return found
        while len(found) < most:
            try:
                read, offset, diff, previous = unpack_from(">iqii", self.data, self.entry_at(number))
            except IndexError:
                break
            if diff < 0:
                break
            stamp = i64(self.fields[0] + diff * 1000)
            if read == code and begin <= stamp <= end:
                found.append(offset)
            loops = previous == number and "loop" not in self.defect
            if previous <= 0 or previous > count or loops or stamp < begin:
                break
            number = previous
        return found


class PlantedPort:
    """The port as an adapter; `handle` answers one message."""

    def __init__(self, defect: str = "") -> None:
        self.defect = defect
        self.file: File | None = None

    def handle(self, message: dict[str, Any]) -> dict[str, Any] | None:
        if message["cmd"] == "bye":
            return None
        if message["cmd"] == "hello":
            ops = ["key.hash", *(f"index.{name}" for name in OPERATIONS)]
            return {
                "protocol": 1,
                "name": f"planted {self.defect}".strip(),
                "ops": ops,
                "features": ["lone_surrogates", "positive_geometry"],
            }
        self.file = None
        results: list[dict[str, Any]] = []
        for op in message["ops"]:
            try:
                results.append(self.run(op, Path(message["dir"])))
            except (RefusedError, OSError) as error:
                results.append({"rejected": str(error)})
        return {"id": message["id"], "results": results, "files": []}

    def run(self, op: dict[str, Any], folder: Path) -> dict[str, Any]:
        name = op["op"].partition(".")[2]
        if name == "hash":
            return {"hash": hash_of(key_of(op), self.defect)}
        if name == "open":
            self.file = None
            if min(op["hash_slot_num"], op["index_num"]) < 1 or not op["file"].rpartition("/")[2].isdigit():
                raise RefusedError("not a file of a broker")
            self.file = File(folder / op["file"], op, self.defect)
            return {}
        if self.file is None:
            raise RefusedError("no file is open")
        result: dict[str, Any] = OPERATIONS[name](self, op, self.file)
        return result

    def close(self, _op: dict[str, Any], _file: File) -> dict[str, Any]:
        self.file = None
        return {}


def _put(_port: PlantedPort, op: dict[str, Any], file: File) -> dict[str, Any]:
    return {"put": file.put(key_of(op), int(op["phy_offset"]), int(op["store_timestamp"]))}


def _select(_port: PlantedPort, op: dict[str, Any], file: File) -> dict[str, Any]:
    found = [int(offset) for offset in op.get("initial", ())]
    offsets = file.select(key_of(op), op["max_num"], int(op["begin"]), int(op["end"]), found)
    return {"offsets": [str(offset) for offset in offsets]}


def _time_matched(_port: PlantedPort, op: dict[str, Any], file: File) -> dict[str, Any]:
    begin, end, (first, last) = int(op["begin"]), int(op["end"]), file.fields[:2]
    inside = first <= begin <= last or first <= end <= last
    return {"matched": (begin < first and end > last) or inside}


def _header(_port: PlantedPort, _op: dict[str, Any], file: File) -> dict[str, Any]:
    names = ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")
    counts = {"hash_slot_count": file.fields[4], "index_count": file.fields[5]}
    return {name: str(value) for name, value in zip(names, file.fields, strict=False)} | counts


def _full(_port: PlantedPort, _op: dict[str, Any], file: File) -> dict[str, Any]:
    return {"full": file.full()}


def _flush(_port: PlantedPort, _op: dict[str, Any], file: File) -> dict[str, Any]:
    file.flush()
    return {}


OPERATIONS: Final[dict[str, Any]] = {
    "open": None, "put": _put, "select": _select, "time_matched": _time_matched, "header": _header, "full": _full,
    "flush": _flush, "close": PlantedPort.close,
}  # fmt: skip


def serve(defect: str) -> None:
    """Answers on stdout what comes on stdin."""
    port = PlantedPort(defect)
    for line in sys.stdin:
        answer = port.handle(json.loads(line))
        if answer is None:
            return
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "")
