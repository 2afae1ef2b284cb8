"""Damage to plant in copies of golden stores: each kind at a seeded place, with what an audit must say of it.

Written from the formats alone; nothing here asks the audit. What follows from a damage besides - a record that nothing
points to any more, an entry that leads nowhere - is stated with its kind.
"""

from __future__ import annotations

import itertools
import random
import shutil
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocket_columnar.audit import Finding, Level
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import manifest
from rocket_spec.layout import Geometry

KEY_HASH, PHY_OFFSET, TIME_DIFF, PREV = 0, 4, 12, 16
Key = tuple[str, str, int | None]


@dataclass
class Planted:
    """What must be found, and codes that follow from it wherever they are placed.

    With a `file`, damage at random: anything about that file, notes aside, tells of it.
    """

    exact: Sequence[Key]
    consequences: set[str] = field(default_factory=set)
    level: Level = "default"
    file: str | None = None


@dataclass
class Store:
    """A copy of a golden store that may be damaged."""

    root: Path
    geometry: Geometry
    rng: random.Random

    def files(self, kind: str) -> list[StoreFile]:
        return [file for file in find_files(self.root) if file.kind == kind]

    def read(self, file: StoreFile, at: int, form: str) -> int:
        with file.path.open("rb") as opened:
            opened.seek(at)
            (value,) = struct.unpack(">" + form, opened.read(struct.calcsize(form)))
        return int(value)

    def write(self, file: StoreFile, at: int, form: str, value: int) -> None:
        with file.path.open("r+b") as opened:
            opened.seek(at)
            opened.write(struct.pack(">" + form, value))

    def index(self) -> tuple[StoreFile, int]:
        """An index file and its count."""
        file = self.rng.choice(self.files("index"))
        return file, self.read(file, 36, "i")

    def entry(self, number: int) -> int:
        return self.geometry.entries_offset + 20 * number

    def chains(self, file: StoreFile) -> dict[int, list[int]]:
        """Slot to its entries, newest first, walked one by one."""
        chains = {}
        for slot in range(self.geometry.hash_slot_num):
            number = self.read(file, 40 + 4 * slot, "i")
            chain = []
            while number:
                chain.append(number)
                number = self.read(file, self.entry(number) + PREV, "i")
            if chain:
                chains[slot] = chain
        return chains

    def chain(self) -> tuple[StoreFile, list[int]]:
        """An index file and a chain of it that has several entries."""
        chains = [(file, chain) for file in self.files("index") for chain in self.chains(file).values()]
        return self.rng.choice([chain for chain in chains if len(chain[1]) > 1])

    def records(self) -> list[tuple[StoreFile, int, int]]:
        """File, place in it and size of each record."""
        found = []
        for file in self.files("log"):
            data, at = file.path.read_bytes(), 0
            while at + 8 <= len(data):
                size, magic = struct.unpack_from(">iI", data, at)
                if magic != 0xDAA320A7:
                    break
                found.append((file, at, size))
                at += size
        return found

    def body(self, file: StoreFile, at: int) -> tuple[int, int]:
        """Place and length of a record's body: each IPv6 host takes 12 bytes more (sys_flag 16 and 32)."""
        flags = self.read(file, at + 36, "i")
        place = at + 88 + 12 * (bool(flags & 16) + bool(flags & 32))
        return place, max(self.read(file, place - 4, "i"), 0)

    def unit(self) -> tuple[StoreFile, int]:
        """A queue's file and the place of a unit in it, no queue's last one."""
        choices = []
        for file in self.files("queue"):
            data = file.path.read_bytes()
            used = [at for at in range(0, len(data), 20) if data[at + 8 : at + 12] != bytes(4)]
            choices += [(file, at) for at in used[:-1]]
        return self.rng.choice(choices)


def index_truncated(store: Store) -> Planted:
    files = store.files("index")
    file = store.rng.choice(files)
    size = file.path.stat().st_size - store.rng.randrange(1, 200)
    with file.path.open("r+b") as opened:
        opened.truncate(size)
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def index_too_long(store: Store) -> Planted:
    files = store.files("index")
    file = store.rng.choice(files)
    size = file.path.stat().st_size
    with file.path.open("ab") as opened:
        opened.write(bytes(store.rng.randrange(1, 200)))
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def index_count_low(store: Store) -> Planted:
    file, count = store.index()
    store.write(file, 36, "i", store.rng.randrange(2, count))
    return Planted([("index.header_count", file.name, 36)], {"index.slot_range"})


def index_count_high(store: Store) -> Planted:
    file, count = store.index()
    store.write(file, 36, "i", count + store.rng.randrange(1, 4))
    return Planted([("index.header_count", file.name, 36)])


def index_slot_count(store: Store) -> Planted:
    file, count = store.index()
    old = store.read(file, 32, "i")
    store.write(file, 32, "i", next(n for n in (old + 1, old - 1, old + 2) if n != count - 1))
    return Planted([("index.header_count", file.name, 32)])


def index_begin(store: Store) -> Planted:
    file, _ = store.index()
    at = store.rng.choice((0, 16))
    store.write(file, at, "q", store.read(file, at, "q") + store.rng.choice((-1, 1, 1000, 50_000)))
    return Planted([("index.header_bounds", file.name, at)])


def index_end(store: Store) -> Planted:
    file = store.rng.choice(store.files("index")[:-1] or store.files("index"))
    at = store.rng.choice((8, 24))
    store.write(file, at, "q", store.read(file, at, "q") - store.rng.randrange(1, 50))
    return Planted([("index.header_bounds", file.name, at)])


def index_ahead(store: Store) -> Planted:
    file, _ = store.index()
    store.write(file, 24, "q", 1 << 40)
    return Planted([("index.ahead_of_log", file.name, 24)])


def index_slot_beyond(store: Store) -> Planted:
    file, count = store.index()
    slot = store.rng.choice(list(store.chains(file)))
    store.write(file, 40 + 4 * slot, "i", store.rng.choice((count + 1, count + 1000, -1, 1 << 30)))
    return Planted([("index.slot_range", file.name, 40 + 4 * slot)])


def index_slot_emptied(store: Store) -> Planted:
    file, _ = store.index()
    slot = store.rng.choice(list(store.chains(file)))
    store.write(file, 40 + 4 * slot, "i", 0)
    return Planted([("index.missing_key", file.name, 40 + 4 * slot)])


def index_slot_of_another(store: Store) -> Planted:
    file, _ = store.index()
    one, other = store.rng.sample(sorted(store.chains(file)), 2)
    store.write(file, 40 + 4 * one, "i", store.read(file, 40 + 4 * other, "i"))
    return Planted([("index.slot_hash", file.name, 40 + 4 * one)])


def index_prev_beyond(store: Store) -> Planted:
    file, count = store.index()
    number = store.rng.randrange(1, count)
    at = store.entry(number) + PREV
    store.write(file, at, "i", store.rng.choice((count + 1, count + 99, -7)))
    return Planted([("index.prev_range", file.name, at)])


def index_prev_cut(store: Store) -> Planted:
    file, chain = store.chain()
    at = store.entry(store.rng.choice(chain[:-1])) + PREV
    store.write(file, at, "i", 0)
    return Planted([("index.missing_key", file.name, at)], {"index.header_count"})


def index_cycle(store: Store) -> Planted:
    file, chain = store.chain()
    newer, older = sorted(store.rng.sample(range(len(chain)), 2))
    at = store.entry(chain[older]) + PREV
    store.write(file, at, "i", chain[newer])
    return Planted([("index.chain_cycle", file.name, at)])


def index_hash(store: Store) -> Planted:
    file, count = store.index()
    at = store.entry(store.rng.randrange(1, count)) + KEY_HASH
    slots = store.geometry.hash_slot_num
    old = store.read(file, at, "i")
    store.write(file, at, "i", (old + slots * store.rng.randrange(1, 5)) & 0x7FFFFFFF)
    new = store.read(file, at, "i")
    exact = [("index.entry_wrong_key", file.name, at)]
    if new % slots != old % slots:
        exact.append(("index.slot_hash", file.name, at))
    return Planted(exact, {"index.missing_key"})


def index_hash_of_another_slot(store: Store) -> Planted:
    file, count = store.index()
    at = store.entry(store.rng.randrange(1, count)) + KEY_HASH
    old = store.read(file, at, "i")
    store.write(file, at, "i", old - 1 if old % store.geometry.hash_slot_num else old + 1)
    return Planted(
        [("index.entry_wrong_key", file.name, at), ("index.slot_hash", file.name, at)], {"index.missing_key"}
    )


def index_dangling(store: Store) -> Planted:
    file, count = store.index()
    at = store.entry(store.rng.randrange(1, count)) + PHY_OFFSET
    store.write(file, at, "q", store.read(file, at, "q") + store.rng.choice((1, 7, 1 << 40)))
    return Planted([("index.entry_dangling", file.name, at)], {"index.missing_key"})


def index_time_diff(store: Store) -> Planted:
    file, count = store.index()
    at = store.entry(store.rng.randrange(2, count)) + TIME_DIFF
    store.write(file, at, "i", store.rng.choice((-1, 3600, 0x7FFFFFFF)))
    return Planted([("index.header_bounds", file.name, at)])


def index_file_removed(store: Store) -> Planted:
    file, _ = store.index()
    first = store.read(file, store.entry(1) + PHY_OFFSET, "q")
    file.path.unlink()
    log = next(log for log in reversed(store.files("log")) if log.base_offset <= first)
    exact = [("index.missing_key", log.name, first - log.base_offset)]
    return Planted(exact, {"index.missing_key"})  # a key twice in one message may lie in two files


def index_directory_removed(store: Store) -> Planted:
    first = store.read(store.files("index")[0], store.entry(1) + PHY_OFFSET, "q")
    shutil.rmtree(store.root / "index")
    log = next(log for log in reversed(store.files("log")) if log.base_offset <= first)
    return Planted([("index.missing_key", log.name, first - log.base_offset)])


def index_names_swapped(store: Store) -> Planted:
    files = store.files("index")
    first = store.rng.randrange(len(files) - 1)
    one, other = files[first].path, files[first + 1].path
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    return Planted([("index.name_order", files[first + 1].name, None)], {"checkpoint.behind"})


def index_empty(store: Store) -> Planted:
    files = store.files("index")
    name = f"{int(files[0].path.name) - 1:017}"
    (files[0].path.parent / name).write_bytes(bytes(files[0].path.stat().st_size))
    return Planted([("index.empty", f"index/{name}", None)])


def index_double(store: Store) -> Planted:
    """The last file once more, chained by itself: every entry of it is there twice."""
    last = store.files("index")[-1]
    name = f"{int(last.path.name) + 1:017}"
    shutil.copyfile(last.path, last.path.parent / name)
    at = store.entry(1)
    return Planted([("index.double_entry", f"index/{name}", at)], {"index.double_entry", "checkpoint.behind"})


def queue_truncated(store: Store) -> Planted:
    file = store.rng.choice(store.files("queue"))
    size = file.path.stat().st_size - store.rng.randrange(1, 60)
    with file.path.open("r+b") as opened:
        opened.truncate(size)
    return Planted([("queue.size", file.name, size)], {"queue.missing_unit"})


def queue_unit_zeroed(store: Store) -> Planted:
    file, at = store.unit()
    for place, form in ((0, "q"), (8, "i"), (12, "q")):
        store.write(file, at + place, form, 0)
    return Planted([("queue.missing_unit", file.name, at)])


def queue_dangling(store: Store) -> Planted:
    file, at = store.unit()
    store.write(file, at, "q", store.read(file, at, "q") + store.rng.choice((1, 1 << 40)))
    return Planted([("queue.dangling", file.name, at)])


def queue_size_field(store: Store) -> Planted:
    file, at = store.unit()
    store.write(file, at + 8, "i", store.read(file, at + 8, "i") + 1)
    return Planted([("queue.wrong_target", file.name, at + 8)])


def queue_of_another(store: Store) -> Planted:
    """A unit whose record does not go into this queue; multi-dispatch puts one record into several."""
    file, at = store.unit()
    units: dict[bool, set[bytes]] = {True: set(), False: set()}
    for other in store.files("queue"):
        data = other.path.read_bytes()
        own = (other.topic, other.queue_id) == (file.topic, file.queue_id)
        units[own].update(data[place : place + 20] for place in range(0, len(data), 20))
    name = (file.topic or "").encode()
    taken = {raw[:8] for raw in units[True]}
    for log, place, size in store.records():
        copies = log.path.read_bytes()[place : place + size].partition(b"INNER_MULTI_DISPATCH")[2]
        if name in copies:
            taken.add((log.base_offset + place).to_bytes(8))
    others = sorted(raw for raw in units[False] if raw[:8] not in taken and any(raw[8:12]))
    with file.path.open("r+b") as opened:
        opened.seek(at)
        opened.write(store.rng.choice(others))
    return Planted([("queue.wrong_target", file.name, at)])


def queue_units_swapped(store: Store) -> Planted:
    file, at = store.unit()
    with file.path.open("r+b") as opened:
        opened.seek(at)
        pair = opened.read(40)
        opened.seek(at)
        opened.write(pair[20:] + pair[:20])
    return Planted([("queue.order", file.name, at)])


def queue_tags(store: Store) -> Planted:
    file, at = store.unit()
    store.write(file, at + 12, "q", store.read(file, at + 12, "q") + 1)
    return Planted([("queue.tags_code", file.name, at + 12)])


def queue_middle_file_removed(store: Store) -> Planted:
    groups: dict[tuple[str | None, int | None], list[StoreFile]] = {}
    for file in store.files("queue"):
        groups.setdefault((file.topic, file.queue_id), []).append(file)
    long = [group for group in groups.values() if len(group) > 2]
    group = store.rng.choice(long)
    number = store.rng.randrange(1, len(group) - 1)
    group[number].path.unlink()
    return Planted([("queue.gap", group[number].name, None)], {"queue.missing_unit"})


def queue_removed(store: Store) -> Planted:
    file = store.rng.choice(store.files("queue"))
    records = {
        struct.unpack_from(">q", other.path.read_bytes())[0]
        for other in store.files("queue")
        if (other.topic, other.queue_id) == (file.topic, file.queue_id)
    }
    first = min(records)
    shutil.rmtree(file.path.parent)
    log = next(log for log in reversed(store.files("log")) if log.base_offset <= first)
    return Planted([("queue.missing_unit", log.name, first - log.base_offset)])


def _record(store: Store) -> tuple[StoreFile, int, int]:
    """A record with another one behind it in its file."""
    records = store.records()
    return store.rng.choice(
        [record for record, after in itertools.pairwise(records) if record[0] == after[0]]
    )


LOST = {"index.entry_dangling", "queue.dangling"}


def log_magic(store: Store) -> Planted:
    file, at, _ = _record(store)
    store.write(file, at + 4, "i", store.rng.choice((0x12345678, -1, -626843477)))
    return Planted([("log.magic", file.name, at + 4)], LOST)


def log_length(store: Store) -> Planted:
    file, at, size = _record(store)
    store.write(file, at, "i", store.rng.choice((0, -5, 17, size + 1, size - 1, 1 << 30)))
    return Planted([("log.length", file.name, at)], LOST)


def log_position(store: Store) -> Planted:
    file, at, _ = _record(store)
    store.write(file, at + 28, "q", store.rng.choice((at + file.base_offset + 1, 1 << 40)))
    return Planted([("log.position", file.name, at + 28)], LOST)


def log_body(store: Store) -> Planted:
    bodies = [(file, *store.body(file, at)) for file, at, _ in store.records()]
    file, body, length = store.rng.choice([body for body in bodies if body[2]])
    place = body + store.rng.randrange(length)
    store.write(file, place, "B", store.read(file, place, "B") ^ 0x40)
    return Planted([("log.crc", file.name, body)], level="deep")


def log_segment_removed(store: Store) -> Planted:
    files = store.files("log")
    number = store.rng.randrange(1, len(files) - 1)
    files[number].path.unlink()
    return Planted([("log.gap", files[number].name, None)], LOST | {"index.header_bounds"})


def log_zeros(store: Store) -> Planted:
    """The end of a segment that others follow was never written."""
    files = store.files("log")
    records = [record for record in store.records() if record[0] != files[-1]]
    file, at, _ = store.rng.choice(records)
    with file.path.open("r+b") as opened:
        size = file.path.stat().st_size
        opened.truncate(at)
        opened.truncate(size)
    return Planted([("log.gap", file.name, at)], LOST)


def log_torn(store: Store) -> Planted:
    """The last record cut off before its topic; zeros follow. (Lost properties alone leave lengths that add up.)."""
    file, at, _ = store.records()[-1]
    body, body_length = store.body(file, at)
    with file.path.open("r+b") as opened:
        length = file.path.stat().st_size
        opened.truncate(at + store.rng.randrange(40, body - at + body_length))
        opened.truncate(length)
    later = {"checkpoint.ahead", "index.ahead_of_log"}
    return Planted([("log.torn", file.name, at)], LOST | later)


def log_truncated(store: Store) -> Planted:
    files = store.files("log")
    file = store.rng.choice(files[:-1])
    size = file.path.stat().st_size - store.rng.randrange(1, 9)
    with file.path.open("r+b") as opened:
        opened.truncate(size)
    return Planted([("log.length", file.name, size)], LOST | {"log.length"})


def checkpoint_ahead(store: Store) -> Planted:
    (file,) = store.files("checkpoint")
    at = store.rng.choice((0, 8, 16))
    store.write(file, at, "q", 4_000_000_000_000)
    return Planted([("checkpoint.ahead", file.name, at)])


def checkpoint_behind(store: Store) -> Planted:
    (file,) = store.files("checkpoint")
    at = store.rng.choice((0, 8))
    store.write(file, at, "q", 1_500_000_000_000)
    return Planted([("checkpoint.behind", file.name, at)])


def checkpoint_zeros(store: Store) -> Planted:
    (file,) = store.files("checkpoint")
    file.path.write_bytes(bytes(4096))
    return Planted([("checkpoint.behind", file.name, 0)], {"checkpoint.behind"})


def abort_left(store: Store) -> Planted:
    (store.root / "abort").touch()
    return Planted([("store.abort", "abort", None)])


def topic_unsafe(store: Store) -> Planted:
    records = [record for record in store.records() if record[2] > 100]
    file, at, _ = store.rng.choice(records)
    store.write(file, sum(store.body(file, at)) + 1, "B", ord("/"))
    following = {"queue.wrong_target", "index.entry_wrong_key", "index.missing_key", "queue.missing_unit"}
    others = {"store.lag", "queue.tags_code"}  # of the last record; of the copies of a delayed one
    return Planted([("store.unsafe_name", file.name, at)], following | others)


def index_entry_of_another_record(store: Store) -> Planted:
    """An entry that points to a sound record, but not to one with its key."""
    file, count = store.index()
    number = store.rng.randrange(1, count)
    key_hash = store.read(file, store.entry(number) + KEY_HASH, "i")
    owners = {
        store.read(other, store.entry(entry) + PHY_OFFSET, "q")
        for other in store.files("index")
        for entry in range(1, store.read(other, 36, "i"))
        if store.read(other, store.entry(entry) + KEY_HASH, "i") == key_hash
    }
    strangers = [log.base_offset + at for log, at, _ in store.records() if log.base_offset + at not in owners]
    at = store.entry(number) + PHY_OFFSET
    store.write(file, at, "q", store.rng.choice(strangers))
    bounds = {"index.header_bounds"}  # its time diff is the other record's no more
    return Planted([("index.entry_wrong_key", file.name, at)], {"index.missing_key"} | bounds)


def index_slots_zeroed(store: Store) -> Planted:
    """A page of slots that never reached the disk."""
    file, _ = store.index()
    chains = store.chains(file)
    first = store.rng.choice(sorted(chains))
    stop = min(first + store.rng.randrange(2, 9), store.geometry.hash_slot_num)
    for slot in range(first, stop):
        store.write(file, 40 + 4 * slot, "i", 0)
    exact = [("index.missing_key", file.name, 40 + 4 * slot) for slot in range(first, stop) if slot in chains]
    return Planted(exact)


def index_entries_zeroed(store: Store) -> Planted:
    """Entries in the middle that never reached the disk: their keys are missing, and the pointers to them astray."""
    counts = [(file, store.read(file, 36, "i")) for file in store.files("index")]
    file, count = store.rng.choice([count for count in counts if count[1] > 3])
    first = store.rng.randrange(1, count - 2)
    length = store.rng.randrange(1, min(4, count - 1 - first) + 1)
    numbers = range(first, first + length)
    offsets = [store.read(file, store.entry(number) + PHY_OFFSET, "q") for number in numbers]
    with file.path.open("r+b") as opened:
        opened.seek(store.entry(first))
        opened.write(bytes(20 * length))
    log = next(log for log in reversed(store.files("log")) if log.base_offset <= offsets[0])
    exact = [("index.missing_key", log.name, offsets[0] - log.base_offset)]
    following = {"index.missing_key", "index.slot_hash", "index.prev_range", "index.chain_cycle"}
    return Planted(exact, following | {"index.header_count", "index.header_bounds"})


def index_of_another_geometry(store: Store) -> Planted:
    """The slots and entries of a file moved as with four slots less, five of whose bytes make an entry more."""
    file, _ = store.index()
    size = file.path.stat().st_size
    with file.path.open("r+b") as opened:
        opened.truncate(size + 20)
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def log_end_removed(store: Store) -> Planted:
    """The last segments are gone, as after a move: the index is ahead of the log, and indexing stops in silence."""
    files = store.files("log")
    kept = store.rng.randrange(1, len(files))
    for file in files[kept:]:
        file.path.unlink()
    end = files[kept].base_offset
    ends = [(file, store.read(file, 24, "q")) for file in store.files("index")]
    exact = [("index.ahead_of_log", file.name, 24) for file, offset in ends if offset >= end]
    return Planted(exact, LOST | {"checkpoint.ahead", "index.missing_key", "index.header_bounds"})


def queue_shifted(store: Store) -> Planted:
    """A unit put in twice: all behind it have moved by one."""
    file, at = store.unit()
    data = bytearray(file.path.read_bytes())
    size = len(data)
    data[at + 20 :] = data[at : size - 20]
    file.path.write_bytes(data)
    return Planted([("queue.order", file.name, at + 20)], {"queue.order", "queue.missing_unit"})


def queue_zeros_run(store: Store) -> Planted:
    """Several units that never reached the disk, with others behind them."""
    choices = []
    for file in store.files("queue"):
        data = file.path.read_bytes()
        used = [
            at for at in range(0, len(data), 20) if 0 < int.from_bytes(data[at + 8 : at + 12]) < 0x7FFFFFFF
        ]
        choices += [(file, at, used[-1]) for at in used[:-2]]
    file, at, last = store.rng.choice(choices)
    length = store.rng.randrange(2, min((last - at) // 20, 5) + 1)
    with file.path.open("r+b") as opened:
        opened.seek(at)
        opened.write(bytes(20 * length))
    return Planted([("queue.missing_unit", file.name, at)])


def queue_past_the_log(store: Store) -> Planted:
    """A unit behind the last one that leads past the log's end."""
    file, at = store.unit()
    store.write(file, at, "q", (1 << 40) + store.rng.randrange(1 << 20))
    return Planted([("queue.dangling", file.name, at)])


def queue_invalid_size(store: Store) -> Planted:
    file, at = store.unit()
    store.write(file, at + 8, "i", store.rng.choice((0, -1, -(1 << 31))))
    return Planted([("queue.dangling", file.name, at + 8)])


def log_properties_length(store: Store) -> Planted:
    file, at, _size = _record(store)
    topic = sum(store.body(file, at))
    place = topic + 1 + store.read(file, topic, "B")
    store.write(file, place, "h", store.read(file, place, "h") + store.rng.choice((-1, 1, 99)))
    return Planted([("log.length", file.name, at)], LOST)


def log_overwritten(store: Store) -> Planted:
    """A stretch of a segment with other bytes in it, from within a record to within a later one."""
    file, at, size = _record(store)
    begin = at + store.rng.randrange(4, 40)
    length = size + store.rng.randrange(1, 60)
    with file.path.open("r+b") as opened:
        room = file.path.stat().st_size - begin
        opened.seek(begin)
        opened.write(store.rng.randbytes(min(length, room)))
    broken = {"log.magic", "log.length", "log.position"}
    return Planted([], LOST | broken, file=file.name)


def index_bit(store: Store) -> Planted:
    """One bit of a header, a slot or an entry."""
    file, count = store.index()
    slots = list(store.chains(file))
    at = store.rng.choice(
        (
            store.rng.choice((0, 8, 16, 24, 32, 36)) + store.rng.randrange(4),
            40 + 4 * store.rng.choice(slots) + store.rng.randrange(4),
            store.entry(store.rng.randrange(2, count)) + store.rng.randrange(20),
        )
    )
    store.write(file, at, "B", store.read(file, at, "B") ^ 1 << store.rng.randrange(8))
    return Planted([], ANY_INDEX, file=file.name)


def queue_bit(store: Store) -> Planted:
    """One bit of a unit."""
    file, at = store.unit()
    at += store.rng.randrange(20)
    store.write(file, at, "B", store.read(file, at, "B") ^ 1 << store.rng.randrange(8))
    return Planted(
        [],
        {"queue.dangling", "queue.wrong_target", "queue.order", "queue.tags_code", "queue.missing_unit"},
        file=file.name,
    )


ANY_INDEX = {
    "index.header_count", "index.header_bounds", "index.slot_range", "index.slot_hash", "index.prev_range",
    "index.chain_cycle", "index.entry_dangling", "index.entry_wrong_key", "index.missing_key", "index.ahead_of_log",
    "index.double_entry", "index.name_order", "checkpoint.behind", "index.empty",
}  # fmt: skip


KINDS: list[Callable[[Store], Planted]] = [
    index_truncated, index_too_long, index_count_low, index_count_high, index_slot_count, index_begin, index_end,
    index_ahead, index_slot_beyond, index_slot_emptied, index_slot_of_another, index_prev_beyond, index_prev_cut,
    index_cycle, index_hash, index_hash_of_another_slot, index_dangling, index_time_diff, index_file_removed,
    index_directory_removed, index_names_swapped, index_empty, index_double,
    queue_truncated, queue_unit_zeroed, queue_dangling, queue_size_field, queue_of_another, queue_units_swapped,
    queue_tags, queue_middle_file_removed, queue_removed,
    log_magic, log_length, log_position, log_body, log_segment_removed, log_zeros, log_torn, log_truncated,
    checkpoint_ahead, checkpoint_behind, checkpoint_zeros, abort_left, topic_unsafe,
    index_entry_of_another_record, index_slots_zeroed, index_entries_zeroed, index_of_another_geometry, index_bit,
    queue_shifted, queue_zeros_run, queue_past_the_log, queue_invalid_size, queue_bit,
    log_end_removed, log_properties_length, log_overwritten,
]  # fmt: skip
"""Every kind of damage."""

NEEDS: dict[str, dict[str, int]] = {
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
"""Kinds that need so many files: index files, segments, or files of one queue."""


def applies(kind: Callable[[Store], Planted], name: str) -> bool:
    """Whether a golden store has what a kind of damage needs."""
    files = list(manifest().stores[name].files)
    counts = Counter(file.kind for file in files)
    queues = Counter(file.file.rpartition("/")[0] for file in files if file.kind == "queue")
    counts["queue"] = max(queues.values())
    return all(counts[what] >= least for what, least in NEEDS.get(kind.__name__, {}).items())


@dataclass(frozen=True)
class Verdict:
    """What an audit made of planted damage.

    Attributes:
        found: whether each thing that must be said is said, placed exactly.
        findings: how many findings there are, notes aside.
        strange: those that neither the damage nor its stated consequences explain.
    """

    found: bool
    findings: int
    strange: tuple[Finding, ...]


def judge(planted: Planted, found: Sequence[Finding]) -> Verdict:
    """Holds findings against what was planted."""
    keys = {(finding.code, finding.file, finding.offset) for finding in found}
    named = set(planted.exact) <= keys
    if planted.file is not None:
        named &= any(finding.file == planted.file and finding.severity != "note" for finding in found)
    strange = [
        finding
        for finding in found
        if (finding.code, finding.file, finding.offset) not in planted.exact
        and finding.code not in planted.consequences
    ]
    return Verdict(named, len(found), tuple(strange))


def copy_of(pristine: Path, root: Path, name: str, seed: object) -> Store:
    """A copy of an unpacked golden store, to be damaged."""
    shutil.copytree(pristine, root)
    return Store(root, Geometry(*manifest().stores[name].geometry), random.Random(f"{name} {seed}"))  # noqa: S311
