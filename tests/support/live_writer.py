"""A broker at work, simulated: a golden store written again step by step, by the writes of a broker in their order.

A record goes into the log in two writes, its units into the queues, its entries into the index: the entry, its slot, the
header's count and end. Files are made at full length when the first byte goes in.
"""

import os
import random
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from rocket_columnar.store import StoreFile, find_files
from rocket_golden import manifest


class Step(NamedTuple):
    """One write; `record` counts the records that are wholly in the log with it."""

    file: str
    at: int
    data: bytes
    record: int


def steps(golden: Path, name: str) -> list[Step]:
    """All writes that make a golden store, in order; its checkpoint is left out."""
    slots = manifest().stores[name].geometry[0]
    files = find_files(golden)
    held = {file.name: file.path.read_bytes() for file in files}
    follows = _follows(files, held, slots)
    done: list[Step] = []
    count = 0
    used: Counter[str] = Counter()
    for file in (file for file in files if file.kind == "log"):
        data, at = held[file.name], 0
        while at + 8 <= len(data) and any(data[at : at + 8]):
            size, magic = struct.unpack_from(">iI", data, at)
            if magic != 0xDAA320A7:
                done.append(Step(file.name, at, data[at : at + 8], count))
                break
            timestamp = data[at + 68 : at + 76] if data[at + 39] & 16 else data[at + 56 : at + 64]
            done.append(Step(file.name, at, data[at : at + 60], count))
            count += 1
            done.append(Step(file.name, at + 60, data[at + 60 : at + size], count))
            for other, place in follows.get(file.base_offset + at, ()):
                raw = held[other.name][place : place + 20]
                if other.kind == "queue":
                    done.append(Step(other.name, place, raw, count))
                else:
                    used[other.name] += raw[16:] == bytes(4)
                    number = (place - 40 - 4 * slots) // 20
                    entry = _Entry(other.name, number, place, raw, timestamp, held[other.name][:40])
                    done += entry.steps(slots, used[other.name], count)
            at += size
    return done


def _follows(
    files: Sequence[StoreFile], held: dict[str, bytes], slots: int
) -> dict[int, list[tuple[StoreFile, int]]]:
    """Of each record the units and then the entries that point to it, in the order of their puts."""
    follows: dict[int, list[tuple[StoreFile, int]]] = {}
    for file in sorted(files, key=lambda file: (file.kind == "index", file.name)):
        data = held[file.name]
        if file.kind == "queue":
            places = [(at, at) for at in range(0, len(data), 20) if any(data[at + 8 : at + 12])]
        elif file.kind == "index":
            first = 40 + 4 * slots
            places = [(at, at + 4) for at in range(first + 20, first + 20 * int.from_bytes(data[36:40]), 20)]
        else:
            continue
        for at, place in places:
            follows.setdefault(int.from_bytes(data[place : place + 8]), []).append((file, at))
    return follows


class _Entry(NamedTuple):
    """An index entry to be put."""

    file: str
    number: int
    place: int
    raw: bytes
    timestamp: bytes
    header: bytes

    def steps(self, slots: int, used: int, count: int) -> Iterator[Step]:
        """The writes of `IndexFile.putKey` 125-142."""
        slot = int.from_bytes(self.raw[:4]) % slots
        yield Step(self.file, self.place, self.raw, count)
        yield Step(self.file, 40 + 4 * slot, struct.pack(">i", self.number), count)
        if self.number == 1:
            yield Step(self.file, 16, self.header[16:24], count)
            yield Step(self.file, 0, self.header[:8], count)
        yield Step(self.file, 32, struct.pack(">i", used), count)
        yield Step(self.file, 36, struct.pack(">i", self.number + 1), count)
        yield Step(self.file, 24, self.raw[4:12], count)
        yield Step(self.file, 8, self.timestamp, count)


class LiveWriter:
    """Does the steps, from `begin` on, in a thread of its own; leave the block to wait for its end."""

    def __init__(self, golden: Path, root: Path, todo: Sequence[Step], begin: int) -> None:
        self._lengths = {file.name: file.path.stat().st_size for file in find_files(golden)}
        self.root = root
        self._todo = todo
        self._thread = threading.Thread(target=self._run)
        self._open: dict[str, int] = {}
        self.done = 0
        for step in todo[:begin]:
            self._do(step)
        (root / "abort").touch()

    def _do(self, step: Step) -> None:
        handle = self._open.get(step.file)
        if handle is None:
            path = self.root / step.file
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = self._open[step.file] = os.open(path, os.O_RDWR | os.O_CREAT)
            os.truncate(handle, self._lengths[step.file])
        os.pwrite(handle, step.data, step.at)
        self.done += 1

    def _run(self) -> None:
        rng = random.Random(self.done)
        for step in self._todo[self.done :]:
            self._do(step)
            if rng.random() < 0.05:
                time.sleep(rng.random() / 100)

    @property
    def dispatched(self) -> int:
        """The number of records whose units and entries are all written."""
        left = self.done < len(self._todo)
        return self._todo[self.done - 1].record - left if self.done else 0

    @property
    def running(self) -> bool:
        """Whether it is still writing."""
        return self._thread.is_alive()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self.close()

    def close(self) -> None:
        """Closes its files."""
        for handle in self._open.values():
            os.close(handle)
