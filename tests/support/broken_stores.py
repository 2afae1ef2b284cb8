"""Incidents: golden stores that are broken in the ways that operators meet, and in those of the catalogue of damage."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zlib import crc32

from generator.damage.catalogue import DLEDGER, KINDS
from generator.damage.store import DamagedCopy, Kind
from rocket_golden import manifest, open_store
from store_bytes import overwrite

_SAME: Final = (
    "index_directory_removed",
    "log_segment_removed",
    "abort_left",
    "log_end_removed",
    "index_cycle",
)
"""Kinds that operators' incidents are, and one with which queries never end."""


@dataclass(frozen=True)
class Incident:
    """One way to break a store.

    Attributes:
        name: what happened.
        damage: does it to a store.
        base: the golden store that is broken.
        replica: the golden store that the operator has as a replica; empty if there is none.
        settings: of the broker's configuration that differ from those with which the files were written.
        deep: whether only `audit --deep` finds it.
    """

    name: str
    damage: Callable[[Path], object]
    base: str = "mixed"
    replica: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    deep: bool = False


def files(store: Path, folder: str) -> list[Path]:
    """The files of a folder of the store, in the order of their names."""
    return sorted(path for path in (store / folder).rglob("*") if path.is_file())


def halve(path: Path) -> None:
    """Leaves the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def unmount(path: Path) -> None:
    """A link in the place of a file or folder, to a disk that is not mounted."""
    remove(path)
    path.symlink_to(f"/mnt/gone/{path.name}")


def rename(path: Path, suffix: str) -> None:
    path.rename(path.with_name(f"{path.name}{suffix}"))


def pack(path: Path) -> None:
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


def tear(log: Path) -> None:
    """The last record lacks its last bytes."""
    overwrite(log, len(log.read_bytes().rstrip(b"\0")) - 100, bytes(100))


def body_bit(log: Path) -> None:
    """Another byte in the first body of a log file."""
    data = log.read_bytes()
    at = next(at for at, _ in records(log) if int.from_bytes(data[at + 84 : at + 88]))
    overwrite(log, at + 88, bytes([data[at + 88] ^ 1]))


def foreign_log(path: Path, number: str) -> None:
    """A file of another store with files of the same length under the name of one of this store's."""
    with TemporaryDirectory() as scratch:
        shutil.copyfile(files(open_store("replica", scratch), "commitlog")[int(number)], path)


def later_magic(log: Path) -> None:
    """A file's records as 5.1.0 and later write them: another magic, and two bytes for the topic's length, one less of the body."""
    data = log.read_bytes()
    for at, size in records(log):
        length = int.from_bytes(data[at + 84 : at + 88])
        if length:
            body, rest = data[at + 88 : at + 87 + length], data[at + 88 + length : at + size]
            overwrite(log, at + 84, (length - 1).to_bytes(4) + body + b"\0" + rest)
            overwrite(log, at + 4, b"\xda\xa3\x20\xab" + (crc32(body) & 0x7FFFFFFF).to_bytes(4))


def of_catalogue(kind: Kind, base: str) -> Incident:
    """A kind of damage at a place that its name draws."""

    def damage(store: Path) -> None:
        slots = manifest().stores[base].geometry[0]
        kind(DamagedCopy(store, slots, random.Random(f"{base} {kind.__name__}")))

    text = (kind.__doc__ or "").split("\n")[0].rstrip(".").split(". ")[0]
    return Incident(text if base == "mixed" else f"{text} (DLedger)", damage, base)


def next_log(store: Path, size: str) -> None:
    """A file of zeros after the last one."""
    last = files(store, "commitlog")[-1]
    path = last.with_name(f"{int(last.name) + last.stat().st_size:020}")
    path.touch()
    os.truncate(path, int(size))


def copied_queue(store: Path, to: str) -> None:
    """A queue's files as those of another queue, as after a restore into the wrong folder."""
    shutil.copytree(store / "consumequeue/Orders/0", store / "consumequeue" / to)


def two_indexes(store: Path) -> None:
    """The index files of another store with the same geometry beside the own ones: its log was longer."""
    for path in files(store, "index")[-2:]:
        count = int.from_bytes(path.read_bytes()[36:40])
        other = path.with_name(f"20261122{path.name[8:]}")
        shutil.copyfile(path, other)
        later(other, 5_000_000, 16, 24, *(40 + 4 * 61 + 20 * entry + 4 for entry in range(1, count)))


def later(path: Path, by: int, *places: int) -> None:
    """Adds to numbers of 8 bytes."""
    data = path.read_bytes()
    for at in places:
        overwrite(path, at, (int.from_bytes(data[at : at + 8]) + by).to_bytes(8))


YEAR: Final = 365 * 86_400_000


def clock_jumped(store: Path) -> None:
    """For a while the clock was a year ahead: the records of one index file, its times, and its name."""
    path = files(store, "index")[3]
    later(path, YEAR, 0, 8)
    path = path.rename(path.with_name(f"2027{path.name[4:]}"))
    begin, end = struct.unpack_from(">qq", path.read_bytes(), 16)
    for log in files(store, "commitlog"):
        later(log, YEAR, *(at + 56 for at, _ in records(log) if begin <= int(log.name) + at <= end))


def records(log: Path) -> list[tuple[int, int]]:
    """Place and size of each record of a log file; all have hosts of 8 bytes."""
    data, at, found = log.read_bytes(), 0, []
    while data[at + 4 : at + 8] == b"\xda\xa3\x20\xa7":
        found.append((at, int.from_bytes(data[at : at + 4])))
        at += found[-1][1]
    return found


def light_queue_stuck(store: Path) -> None:
    """Dispatch stays at a record whose offset in a light queue is no number: no later one is in a queue, none in the index."""
    log = files(store, "commitlog")[-1]
    data, name = log.read_bytes(), b"INNER_MULTI_QUEUE_OFFSET\1"
    at = next(at for at, size in records(log) if name in data[at : at + size])
    overwrite(log, data.index(name, at) + len(name), b"x")
    for path in files(store, "consumequeue"):
        last = int(log.name) + at - ("%LMQ%" in path.as_posix())
        for number, (offset, _, _) in enumerate(struct.iter_unpack(">qiq", path.read_bytes())):
            if offset > last:
                overwrite(path, 20 * number, bytes(20))


def older_queues(store: Path, end: str) -> None:
    """Queues as they were when the log ended at a physical offset."""
    for path in files(store, "consumequeue"):
        for number, (offset, _, _) in enumerate(struct.iter_unpack(">qiq", path.read_bytes())):
            if offset >= int(end):
                overwrite(path, 20 * number, bytes(20))
        if not any(path.read_bytes()):
            path.unlink()


def copy(store: Path, name: str, to: str) -> None:
    """A copy of a file or folder of the store."""
    take(store / name, store / to)


def take_of(store: Path, base: str, name: str, to: str) -> None:
    """A file or folder of another golden store."""
    with TemporaryDirectory() as scratch:
        take(open_store(base, scratch) / name, store / to)


def take(path: Path, to: Path) -> None:
    shutil.copytree(path, to) if path.is_dir() else shutil.copyfile(path, to)


def swap(store: Path, *names: str) -> None:
    """Exchanges the names of two files."""
    (first,), (second,) = (paths(store, name) for name in names)
    other = first.rename(first.with_name("other"))
    second.rename(first)
    other.rename(second)


def unlist(store: Path, topic: str) -> None:
    """Removes a topic from the list of topics."""
    path = store / "config" / "topics.json"
    table = json.loads(path.read_text("utf-8"))
    del table["topicConfigTable"][topic]
    path.write_text(json.dumps(table), "utf-8")


def fewer_queues(store: Path, topic: str, number: str) -> None:
    """Gives a topic this number of queues in the list of topics."""
    path = store / "config" / "topics.json"
    table = json.loads(path.read_text("utf-8"))
    table["topicConfigTable"][topic] |= {"readQueueNums": int(number), "writeQueueNums": int(number)}
    path.write_text(json.dumps(table), "utf-8")


def other_offsets(store: Path) -> None:
    """Each queue has the group's offset of another one, some beyond their ends, as in the file of a store with the same topics."""
    path = store / "config" / "consumerOffset.json"
    table = json.loads(path.read_text("ascii"))["offsetTable"]
    places = [(name, queue) for name, offsets in table.items() for queue in offsets]
    known = [table[name][queue] for name, queue in places]
    for (name, queue), offset in zip(places, reversed(known), strict=True):
        table[name][queue] = offset
    path.write_text(json.dumps({"offsetTable": table}), "ascii")


_OF_STORES: Final[dict[str, Callable[..., object]]] = {
    **{
        one.__name__: one
        for one in (next_log, copied_queue, two_indexes, clock_jumped, light_queue_stuck, older_queues)
    },
    **{one.__name__: one for one in (copy, take_of, swap, unlist, fewer_queues, other_offsets)},
    "move": lambda store, name, to: (store / name).rename(store / to),
}
_OF_PATHS: Final[dict[str, Callable[..., object]]] = {
    **{
        one.__name__: one
        for one in (halve, remove, unmount, rename, pack, tear, body_bit, foreign_log, later_magic)
    },
    "touch": Path.touch,
    "mkdir": Path.mkdir,
    "truncate": lambda path, size: os.truncate(path, int(size)),
    "write": lambda path, at, data: overwrite(path, int(at), bytes.fromhex(data)),
    "strip": lambda path: path.write_bytes(path.read_bytes().rstrip(b"\0")),
    "zeros": lambda path, at, size: overwrite(path, int(at), bytes(int(size))),
    "replace": lambda path, old, new: path.write_text(path.read_text("utf-8").replace(old, new), "utf-8"),
    "text": lambda path, text: path.write_text(text, "utf-8"),
}


def paths(store: Path, text: str) -> list[Path]:
    """The paths that a step of `broken_stores.txt` names."""
    name, _, number = text.removesuffix("]").partition("[")
    if not number:
        return [store / name]
    found = files(store, name)
    return found if number == "*" else [found[int(number)]]


def change(store: Path, name: str, *words: str) -> None:
    """Takes a step of `broken_stores.txt`."""
    if name in _OF_STORES:
        _OF_STORES[name](store, *words)
    else:
        for path in paths(store, words[0]):
            _OF_PATHS[name](path, *words[1:])


def _incident(text: str) -> Incident:
    """One of `broken_stores.txt`."""
    name, *lines = (line.strip() for line in text.rstrip("\n").split("\n"))
    steps: list[list[str]] = []
    fields: dict[str, Any] = {"settings": {}}
    for verb, *words in map(str.split, lines):
        if verb in {"base", "replica"}:
            fields[verb] = words[0]
        elif verb == "set":
            fields["settings"][words[0]] = words[1]
        elif verb == "deep":
            fields["deep"] = True
        else:
            steps.append([verb, *words])

    def damage(store: Path) -> None:
        for step in steps:
            change(store, *step)

    return Incident(name, damage, **fields)


INCIDENTS: Final = (
    *map(_incident, Path(__file__).with_suffix(".txt").read_text("utf-8").split("\n\n")[1:]),
    *(of_catalogue(kind, "dledger") for kind in DLEDGER),
    *(of_catalogue(kind, "mixed") for kind in KINDS if kind.__name__ not in _SAME),
)
"""Every incident, by the order of the page."""
MEASURED: Final = "a hole in the log, and a cut queue file"
"""What `make test` measures too: the inputs of every row are compared there, and this one shows that measuring goes on."""
