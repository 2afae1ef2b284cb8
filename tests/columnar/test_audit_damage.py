"""Damage planted in golden stores: found, named and placed, and nothing else said that does not follow from it.

Each kind is planted at several seeded places in each store. Recall is the share of planted damage that is named
and placed exactly; precision the share of findings that the damage itself or its stated consequences explain.
"""

from __future__ import annotations

import itertools
import random
import shutil
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rocket_columnar.audit import Finding, Level, audit
from rocket_columnar.store import StoreFile, find_files
from rocket_golden import manifest, open_store
from rocket_spec.layout import Geometry

STORES = ("small-roll", "mixed", "ext")
SEEDS = range(3)

KEY_HASH, PHY_OFFSET, TIME_DIFF, PREV = 0, 4, 12, 16
Key = tuple[str, str, int | None]


@dataclass
class Planted:
    """What must be found, and codes that follow from it wherever they are placed."""

    exact: Sequence[Key]
    consequences: set[str] = field(default_factory=set)
    level: Level = "default"


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

    def unit(self) -> tuple[StoreFile, int]:
        """A queue's file and the place of a unit in it, no queue's last one."""
        choices = []
        for file in self.files("queue"):
            data = file.path.read_bytes()
            used = [at for at in range(0, len(data), 20) if data[at + 8 : at + 12] != bytes(4)]
            choices += [(file, at) for at in used[:-1]]
        return self.rng.choice(choices)


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: open_store(name, tmp_path_factory.mktemp(name)) for name in STORES}


@pytest.fixture(params=[(name, seed) for name in STORES for seed in SEEDS], ids=lambda p: f"{p[0]}-{p[1]}")
def store(request: pytest.FixtureRequest, pristine: dict[str, Path], tmp_path: Path) -> Store:
    name, seed = request.param
    root = tmp_path / "store"
    shutil.copytree(pristine[name], root)
    geometry = manifest().stores[name].geometry
    return Store(root, Geometry(*geometry), random.Random(f"{name} {seed}"))  # noqa: S311


def index_truncated(store: Store) -> Planted:
    files = store.files("index")
    if len(files) < 3:
        pytest.skip("needs siblings")
    file = store.rng.choice(files)
    size = file.path.stat().st_size - store.rng.randrange(1, 200)
    with file.path.open("r+b") as opened:
        opened.truncate(size)
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def index_too_long(store: Store) -> Planted:
    files = store.files("index")
    if len(files) < 3:
        pytest.skip("needs siblings")
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
    file, _ = store.index()
    chain = store.rng.choice([chain for chain in store.chains(file).values() if len(chain) > 1])
    at = store.entry(store.rng.choice(chain[:-1])) + PREV
    store.write(file, at, "i", 0)
    return Planted([("index.missing_key", file.name, at)], {"index.header_count"})


def index_cycle(store: Store) -> Planted:
    file, _ = store.index()
    chain = store.rng.choice([chain for chain in store.chains(file).values() if len(chain) > 1])
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
    shutil.rmtree(store.root / "index")
    return Planted([("index.missing_key", store.files("log")[0].name, 0)])


def index_names_swapped(store: Store) -> Planted:
    files = store.files("index")
    if len(files) < 2:
        pytest.skip("needs siblings")
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
    file, at = store.unit()
    others = [
        other
        for other in store.files("queue")
        if (other.topic, other.queue_id) != (file.topic, file.queue_id)
    ]
    other = next(other for other in others if store.read(other, 8, "i"))
    for place, form in ((0, "q"), (8, "i"), (12, "q")):
        store.write(file, at + place, form, store.read(other, place, form))
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
    if not long:
        pytest.skip("needs a queue of three files")
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
    return store.rng.choice([one for one, after in itertools.pairwise(records) if one[0] == after[0]])


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
    bodies = [(file, at) for file, at, _ in store.records() if store.read(file, at + 84, "i") > 0]
    file, at = store.rng.choice(bodies)
    place = at + 88 + store.rng.randrange(store.read(file, at + 84, "i"))
    store.write(file, place, "B", store.read(file, place, "B") ^ 0x40)
    return Planted([("log.crc", file.name, at + 88)], level="deep")


def log_segment_removed(store: Store) -> Planted:
    files = store.files("log")
    if len(files) < 3:
        pytest.skip("needs three segments")
    number = store.rng.randrange(1, len(files) - 1)
    files[number].path.unlink()
    return Planted([("log.gap", files[number].name, None)], LOST | {"index.header_bounds"})


def log_zeros(store: Store) -> Planted:
    """The end of a segment that others follow was never written."""
    files = store.files("log")
    if len(files) < 3:
        pytest.skip("needs segments")
    records = [one for one in store.records() if one[0] != files[-1]]
    file, at, _ = store.rng.choice(records)
    with file.path.open("r+b") as opened:
        size = file.path.stat().st_size
        opened.truncate(at)
        opened.truncate(size)
    return Planted([("log.gap", file.name, at)], LOST)


def log_torn(store: Store) -> Planted:
    """The last record cut off before its topic; zeros follow. (Lost properties alone leave lengths that add up.)."""
    file, at, _ = store.records()[-1]
    with file.path.open("r+b") as opened:
        length = file.path.stat().st_size
        opened.truncate(at + store.rng.randrange(40, 88 + max(store.read(file, at + 84, "i"), 0)))
        opened.truncate(length)
    later = {"checkpoint.ahead", "index.ahead_of_log"}
    return Planted([("log.torn", file.name, at)], LOST | later)


def log_truncated(store: Store) -> Planted:
    files = store.files("log")
    if len(files) < 3:
        pytest.skip("needs segments")
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
    records = [one for one in store.records() if one[2] > 100]
    file, at, _ = store.rng.choice(records)
    topic = at + 88 + max(store.read(file, at + 84, "i"), 0) + 1
    store.write(file, topic, "B", ord("/"))
    following = {"queue.wrong_target", "index.entry_wrong_key", "index.missing_key", "queue.missing_unit"}
    return Planted([("store.unsafe_name", file.name, at)], following)


KINDS: list[Callable[[Store], Planted]] = [
    index_truncated, index_too_long, index_count_low, index_count_high, index_slot_count, index_begin, index_end,
    index_ahead, index_slot_beyond, index_slot_emptied, index_slot_of_another, index_prev_beyond, index_prev_cut,
    index_cycle, index_hash, index_hash_of_another_slot, index_dangling, index_time_diff, index_file_removed,
    index_directory_removed, index_names_swapped, index_empty, index_double,
    queue_truncated, queue_unit_zeroed, queue_dangling, queue_size_field, queue_of_another, queue_units_swapped,
    queue_tags, queue_middle_file_removed, queue_removed,
    log_magic, log_length, log_position, log_body, log_segment_removed, log_zeros, log_torn, log_truncated,
    checkpoint_ahead, checkpoint_behind, checkpoint_zeros, abort_left, topic_unsafe,
]  # fmt: skip


def key(found: Finding) -> Key:
    return found.code, found.file, found.offset


@pytest.mark.parametrize("plant", KINDS, ids=lambda kind: kind.__name__)
def test_damage_is_named_and_placed(plant: Callable[[Store], Planted], store: Store) -> None:
    planted = plant(store)
    found = list(audit(store.root, planted.level))
    assert set(planted.exact) <= {key(one) for one in found}, found
    known = set(planted.exact)
    strange = [one for one in found if key(one) not in known and one.code not in planted.consequences]
    assert not strange
