"""Incidents: golden stores that are broken in the ways that operators meet, and in those of the catalogue of damage."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zlib import crc32

from generator.damage.store import Kind
from rocket_golden import manifest, open_store
from store_bytes import overwrite

sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))

from generator.damage.catalogue import DLEDGER, KINDS
from generator.damage.store import Store

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
    settings: dict[str, int] = field(default_factory=dict)
    deep: bool = False


def files(store: Path, folder: str) -> list[Path]:
    """The files of a folder of the store, in the order of their names."""
    return sorted(path for path in (store / folder).rglob("*") if path.is_file())


def cut(path: Path) -> None:
    """Leaves the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def emptied(*paths: Path) -> None:
    for path in paths:
        os.truncate(path, 0)


def removed(*paths: Path) -> None:
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def torn(store: Path) -> None:
    """The last record lacks its last bytes, and the broker did not stop cleanly."""
    last = files(store, "commitlog")[-1]
    overwrite(last, len(last.read_bytes().rstrip(b"\0")) - 100, bytes(100))
    (store / "abort").touch()


def of_catalogue(kind: Kind, base: str) -> Incident:
    """A kind of damage at a place that its name draws."""

    def damage(store: Path) -> None:
        slots = manifest().stores[base].geometry[0]
        kind(Store(store, slots, random.Random(f"{base} {kind.__name__}")))  # noqa: S311 - reproducible places

    text = (kind.__doc__ or "").split("\n")[0].rstrip(".").split(". ")[0]
    return Incident(text if base == "mixed" else f"{text} (DLedger)", damage, base)


def log_gone(number: int) -> Callable[[Path], object]:
    return lambda store: files(store, "commitlog")[number].unlink()


def log_cut(number: int, size: int) -> Callable[[Path], object]:
    return lambda store: os.truncate(files(store, "commitlog")[number], size)


def log_changed(number: int, at: int, data: bytes = b"\0") -> Callable[[Path], object]:
    return lambda store: overwrite(files(store, "commitlog")[number], at, data)


def next_log(store: Path, size: int) -> None:
    """A file of zeros after the last one."""
    last = files(store, "commitlog")[-1]
    path = last.with_name(f"{int(last.name) + last.stat().st_size:020}")
    path.touch()
    os.truncate(path, size)


def end_gone_but_next(store: Path) -> None:
    """The last file with records is gone; the one that was made ahead is there."""
    next_log(store, 32768)
    files(store, "commitlog")[-2].unlink()


def renamed(store: Path, suffix: str, data: Callable[[bytes], bytes] = bytes) -> None:
    """A log file under another name, with these bytes made of its own."""
    path = files(store, "commitlog")[1]
    path.with_name(f"{path.name}{suffix}").write_bytes(data(path.read_bytes()))
    path.unlink()


def foreign_log(store: Path, number: int, other_number: int) -> None:
    """A file of another store with files of the same length under the name of one of this store's."""
    path = files(store, "commitlog")[number]
    with TemporaryDirectory() as scratch:
        shutil.copyfile(files(open_store("replica", scratch), "commitlog")[other_number], path)


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


def body_bit(number: int) -> Callable[[Path], object]:
    """Another byte in the first body of a log file."""

    def work(store: Path) -> None:
        log = files(store, "commitlog")[number]
        data = log.read_bytes()
        at = next(at for at, _ in records(log) if int.from_bytes(data[at + 84 : at + 88]))
        overwrite(log, at + 88, bytes([data[at + 88] ^ 1]))

    return work


def later_magic(store: Path) -> None:
    """The last file's records as 5.1.0 and later write them: another magic, and two bytes for the topic's length, one less of the body."""
    log = files(store, "commitlog")[-1]
    data = log.read_bytes()
    for at, size in records(log):
        length = int.from_bytes(data[at + 84 : at + 88])
        if length:
            body, rest = data[at + 88 : at + 87 + length], data[at + 88 + length : at + size]
            overwrite(log, at + 84, (length - 1).to_bytes(4) + body + b"\0" + rest)
            overwrite(log, at + 4, b"\xda\xa3\x20\xab" + (crc32(body) & 0x7FFFFFFF).to_bytes(4))


def copied_queue(store: Path, to: str) -> None:
    """A queue's files as those of another queue, as after a restore into the wrong folder."""
    shutil.rmtree(store / "consumequeue" / to, ignore_errors=True)
    shutil.copytree(store / "consumequeue/Orders/0", store / "consumequeue" / to)


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
    removed(*files(store, "index"))
    (store / "abort").touch()


def hole_and_cut_queue(store: Path) -> None:
    files(store, "commitlog")[1].unlink()
    cut(files(store, "consumequeue/Orders/0")[0])


def killed_without_times(store: Path) -> None:
    (store / "checkpoint").write_bytes(bytes(4096))
    (store / "abort").touch()


_BY_OPERATORS: Final = (
    Incident("the broker was killed", lambda store: (store / "abort").touch()),
    Incident("the index folder was deleted", lambda store: shutil.rmtree(store / "index")),
    Incident("the queue folder was deleted", lambda store: shutil.rmtree(store / "consumequeue")),
    Incident("index and queues were deleted", lambda store: removed(store / "index", store / "consumequeue")),
    Incident("the commit log was deleted; there is a replica", lambda store: shutil.rmtree(store / "commitlog"), replica="mixed"),
    Incident("the commit log was deleted; there is no replica", lambda store: shutil.rmtree(store / "commitlog")),
    Incident("a log file in the middle was deleted; there is a replica", log_gone(1), replica="mixed"),
    Incident("a log file in the middle was deleted; there is no replica", log_gone(1)),
    Incident("the third log file was deleted", log_gone(2)),
    Incident("the first log file was deleted", log_gone(0)),
    Incident("the last log file was deleted; there is a replica", log_gone(3), replica="mixed"),
    Incident("the last log file was deleted; there is no replica", log_gone(3)),
    Incident("the last log file was deleted; the one made ahead is there; there is a replica", end_gone_but_next, replica="mixed"),
    Incident("the last log file was deleted; the one made ahead is there; there is no replica", end_gone_but_next),
    Incident("the last log file was cut; there is a replica", log_cut(-1, 1000), replica="mixed"),
    Incident("the last log file was cut; there is no replica", log_cut(-1, 1000)),
    Incident("the last log file was emptied", log_cut(-1, 0)),
    Incident("the first log file was cut", log_cut(0, 10_000)),
    Incident("a log file in the middle was cut", log_cut(1, 10_000)),
    Incident("a record that no start reads has another magic", log_changed(0, 4)),
    Incident("a record that a start reads has another magic", log_changed(2, 4)),
    Incident("one bit of a body that no start reads", body_bit(0), deep=True),
    Incident("one bit of a body that a start reads", body_bit(2), deep=True),
    Incident("a record claims 2,147,483,647 bytes", log_changed(2, 0, b"\x7f\xff\xff\xff")),
    Incident("a log file of another store in the middle", lambda store: foreign_log(store, 1, 1)),
    Incident("a log file of another store in the middle, from another place", lambda store: foreign_log(store, 1, 0)),
    Incident("a log file of another store at the end", lambda store: foreign_log(store, 3, 0)),
    Incident("a log file was packed", lambda store: renamed(store, ".gz", lambda data: gzip.compress(data, mtime=0))),
    Incident("a log file was renamed", lambda store: renamed(store, ".bak")),
    Incident("the next log file has 0 bytes", lambda store: next_log(store, 0)),
    Incident("a file of another program among the log files", lambda store: (store / "commitlog/.DS_Store").touch()),
    Incident("records of 5.x at the log's end", later_magic),
    Incident("an index file was cut", lambda store: cut(files(store, "index")[0])),
    Incident("all index files are empty", lambda store: emptied(*files(store, "index"))),
    Incident("two indexes of one geometry were mixed", two_indexes),
    Incident("the clock was a year ahead for a while", clock_jumped),
    Incident("a queue file was cut", lambda store: cut(files(store, "consumequeue")[0])),
    Incident("a queue file of 0 bytes", lambda store: emptied(files(store, "consumequeue/Orders/0")[0])),
    Incident("a topic's queues were deleted", lambda store: shutil.rmtree(store / "consumequeue/Orders")),
    Incident("a queue's files are those of another", lambda store: copied_queue(store, "Orders/1")),
    Incident("a copy of a queue under another topic", lambda store: copied_queue(store, "Copied/0")),
    Incident("a hole in the log, and a cut queue file", hole_and_cut_queue),
    Incident("dispatch stayed at a record of a light queue, and the broker was killed", light_queue_stuck, "lmq"),
    Incident("the checkpoint was deleted", lambda store: (store / "checkpoint").unlink()),
    Incident("the checkpoint was filled with zeros, and the broker was killed",
             killed_without_times),
    Incident("a directory was put among the index files", lambda store: (store / "index" / "1").mkdir()),
    Incident("the broker's configuration was changed", lambda _: None, settings={"maxHashSlotNum": 500, "mappedFileSizeConsumeQueue": 6000}),
    Incident("the disk was full, and the last record is torn", torn),
)  # fmt: skip


def entries(store: Path) -> list[Path]:
    """The log files of DLedger mode."""
    return sorted(next(store.glob("dledger-*")).joinpath("data").iterdir())


OF_DLEDGER: Final = (
    Incident("DLedger: a file in the middle was deleted", lambda store: entries(store)[3].unlink(), "dledger"),
    Incident("DLedger: a file in the middle was deleted; there is a replica", lambda store: entries(store)[3].unlink(), "dledger", "dledger"),
    Incident("DLedger: the first four files were deleted", lambda store: removed(*entries(store)[:4]), "dledger"),
    Incident("DLedger: a file in the middle was cut", lambda store: cut(entries(store)[3]), "dledger"),
    Incident("DLedger: the last file was deleted", lambda store: entries(store)[-1].unlink(), "dledger"),
    Incident("DLedger: an entry that no start reads has another magic", lambda store: overwrite(entries(store)[0], 0, b"\t"), "dledger"),
    Incident("DLedger: an entry that a start reads has another magic", lambda store: overwrite(entries(store)[-2], 0, b"\t"), "dledger"),
    Incident("DLedger: a record that no start reads has another magic", lambda store: overwrite(entries(store)[0], 48 + 4, b"\0"), "dledger"),
    Incident("DLedger: a record in the last file has another magic", lambda store: overwrite(entries(store)[-1], 48 + 4, b"\0"), "dledger"),
    Incident("DLedger: the queue folder was deleted", lambda store: shutil.rmtree(store / "consumequeue"), "dledger"),
    Incident("DLedger: a queue file was cut", lambda store: cut(files(store, "consumequeue")[0]), "dledger"),
    Incident("DLedger: the index folder was deleted", lambda store: shutil.rmtree(store / "index"), "dledger"),
)  # fmt: skip

OF_SLAVES: Final = (
    Incident("a slave's last log file was deleted", log_gone(-1), "replica-slave"),
    Incident("a slave's last log file was deleted; the master's is copied", log_gone(-1), "replica-slave", "replica"),
    Incident("a slave's first log file was deleted; the master's is copied", log_gone(0), "replica-slave", "replica"),
    Incident("a slave's queues were deleted", lambda store: shutil.rmtree(store / "consumequeue"), "replica-slave"),
    Incident("a record of a slave has another magic; the master's is copied", log_changed(0, 4), "replica-slave", "replica"),
    Incident("a record of a slave has another magic", log_changed(0, 4), "replica-slave"),
)  # fmt: skip

INCIDENTS: Final = (
    *_BY_OPERATORS,
    *OF_DLEDGER,
    *OF_SLAVES,
    *(of_catalogue(kind, "dledger") for kind in DLEDGER),
    *(of_catalogue(kind, "mixed") for kind in KINDS if kind.__name__ not in _SAME),
)
"""Every incident, by the order of the page."""
FEW: Final = (
    "the broker was killed",
    "a hole in the log, and a cut queue file",
    "a log file of another store in the middle",
    "DLedger: a queue file was cut",
)
"""Those that `make test` measures too."""
