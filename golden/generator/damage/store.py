"""A copy of a golden store to damage, and what must be found in it then.

Nothing here asks an audit: places are drawn from the formats alone.
"""

import os
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rocket_golden import manifest

HASH: Final = 0
OFFSET: Final = 4
TIME: Final = 12
PREVIOUS: Final = 16
"""Places of the fields in an index entry."""


class File(NamedTuple):
    """A file of a store.

    Attributes:
        name: relative to the store.
        path: where it is.
        base_offset: the offset that it is named by; 0 for index files and the checkpoint.
        topic: of a queue.
        queue_id: of a queue.
    """

    name: str
    path: Path
    base_offset: int = 0
    topic: str | None = None
    queue_id: int | None = None


@dataclass
class Planted:
    """What must be found, and codes that follow from it wherever they are placed.

    Attributes:
        exact: code, file and offset of each finding that must be there.
        consequences: codes of findings that may be there besides.
        level: of the audit that finds it.
        file: of damage at random; any finding about that file, notes aside, shows it.
    """

    exact: Sequence[tuple[str, str, int | None]]
    consequences: set[str] = field(default_factory=set[str])
    level: Literal["default", "deep"] = "default"
    file: str | None = None


@dataclass
class DamagedCopy:
    """A copy of a golden store that may be damaged.

    Attributes:
        root: its directory.
        slots: number of slots of its index files.
        rng: draws the places.
    """

    root: Path
    slots: int
    rng: random.Random

    def files(self, kind: str) -> list[File]:
        """The files of a kind: "index", "queue", "log" or "checkpoint", in the order of names and numbers."""
        if kind == "checkpoint":
            return [File("checkpoint", self.root / "checkpoint")]
        folder = {"index": "index", "queue": "consumequeue", "log": "commitlog"}[kind]
        found: list[File] = []
        for path in sorted((self.root / folder).rglob("*")):
            if path.is_file():
                name = path.relative_to(self.root).as_posix()
                base = 0 if kind == "index" else int(path.name)
                queue = (path.parts[-3], int(path.parts[-2])) if kind == "queue" else (None, None)
                found.append(File(name, path, base, *queue))
        return sorted(found, key=lambda file: (file.topic or "", file.queue_id or 0, file.base_offset))

    def read(self, file: File, at: int, form: str) -> int:
        """A number of a file, in the form of `struct`."""
        with file.path.open("rb") as opened:
            opened.seek(at)
            (value,) = struct.unpack(">" + form, opened.read(struct.calcsize(form)))
        return int(value)

    def write(self, file: File, at: int, form: str, value: int) -> None:
        """Writes a number."""
        self.put(file, at, struct.pack(">" + form, value))

    def put(self, file: File, at: int, data: bytes) -> None:
        """Writes bytes."""
        with file.path.open("r+b") as opened:
            opened.seek(at)
            opened.write(data)

    def resize(self, file: File, *sizes: int) -> None:
        """Cuts a file off, or adds zeros; to one length after the other."""
        for size in sizes:
            os.truncate(file.path, size)

    def in_log(self, offset: int) -> tuple[str, int]:
        """The name of the log file that has a physical offset, and the place in it."""
        log = next(log for log in reversed(self.files("log")) if log.base_offset <= offset)
        return log.name, offset - log.base_offset

    def index(self) -> tuple[File, int]:
        """An index file and its count."""
        file = self.rng.choice(self.files("index"))
        return file, self.read(file, 36, "i")

    def entry(self, number: int) -> int:
        """Place of an entry in an index file."""
        return 40 + 4 * self.slots + 20 * number

    def chains(self, file: File) -> dict[int, list[int]]:
        """Slot to its entries, newest first, walked one by one."""
        chains: dict[int, list[int]] = {}
        for slot in range(self.slots):
            number = self.read(file, 40 + 4 * slot, "i")
            chain: list[int] = []
            while number:
                chain.append(number)
                number = self.read(file, self.entry(number) + PREVIOUS, "i")
            if chain:
                chains[slot] = chain
        return chains

    def chain(self) -> tuple[File, list[int]]:
        """An index file and a chain of it that has several entries."""
        chains = [(file, chain) for file in self.files("index") for chain in self.chains(file).values()]
        return self.rng.choice([chain for chain in chains if len(chain[1]) > 1])

    def records(self) -> list[tuple[File, int, int]]:
        """File, place in it and size of each record."""
        found: list[tuple[File, int, int]] = []
        for file in self.files("log"):
            data, at = file.path.read_bytes(), 0
            while at + 8 <= len(data):
                size, magic = struct.unpack_from(">iI", data, at)
                if magic != 0xDAA320A7:
                    break
                found.append((file, at, size))
                at += size
        return found

    def body(self, file: File, at: int) -> tuple[int, int]:
        """Place and length of a record's body: each IPv6 host takes 12 bytes more (sys_flag 16 and 32)."""
        flags = self.read(file, at + 36, "i")
        place = at + 88 + 12 * (bool(flags & 16) + bool(flags & 32))
        return place, max(self.read(file, place - 4, "i"), 0)

    def unit(self) -> tuple[File, int]:
        """A queue's file and the place of a unit in it, no queue's last one."""
        choices: list[tuple[File, int]] = []
        for file in self.files("queue"):
            data = file.path.read_bytes()
            used = [at for at in range(0, len(data), 20) if data[at + 8 : at + 12] != bytes(4)]
            choices += [(file, at) for at in used[:-1]]
        return self.rng.choice(choices)


Kind = Callable[[DamagedCopy], Planted]

_NEEDS: Final[dict[str, dict[str, int]]] = {
    "index_truncated": {"index": 3},
    "index_too_long": {"index": 3},
    "index_of_another_geometry": {"index": 3},
    "index_names_swapped": {"index": 2},
    "queue_middle_file_removed": {"queue": 3},
    "log_segment_removed": {"log": 3},
    "log_zeros": {"log": 3},
    "log_truncated": {"log": 3},
    "log_end_removed": {"log": 2},
}
"""Kinds that need several index files, segments, or files of one queue."""


def applies(kind: Kind, name: str) -> bool:
    """Whether a golden store has what a kind of damage needs."""
    files = list(manifest().stores[name].files)
    counts = Counter(file.kind for file in files)
    queues = Counter(file.file.rpartition("/")[0] for file in files if file.kind == "queue")
    counts["queue"] = max(queues.values())
    return all(counts[what] >= least for what, least in _NEEDS.get(kind.__name__, {}).items())


def copy_of(pristine: Path, root: Path, name: str, seed: object) -> DamagedCopy:
    """A copy of an unpacked golden store, to be damaged."""
    shutil.copytree(pristine, root)
    return DamagedCopy(root, manifest().stores[name].geometry[0], random.Random(f"{name} {seed}"))
