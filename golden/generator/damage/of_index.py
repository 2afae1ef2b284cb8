"""Damage to index files."""

import shutil
from typing import Final

from generator.damage.store import HASH, OFFSET, PREVIOUS, TIME, DamagedCopy, Planted

ANY_INDEX: Final = {
    "index.header_count", "index.header_bounds", "index.slot_range", "index.slot_hash", "index.prev_range",
    "index.chain_cycle", "index.entry_dangling", "index.entry_wrong_key", "index.missing_key", "index.ahead_of_log",
    "index.double_entry", "index.name_order", "checkpoint.behind", "index.empty",
}  # fmt: skip


def index_truncated(store: DamagedCopy) -> Planted:
    """An index file is cut short by a few bytes."""
    file = store.rng.choice(store.files("index"))
    size = file.path.stat().st_size - store.rng.randrange(1, 200)
    store.resize(file, size)
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def index_too_long(store: DamagedCopy) -> Planted:
    """An index file has bytes beyond its end."""
    file = store.rng.choice(store.files("index"))
    size = file.path.stat().st_size
    store.resize(file, size + store.rng.randrange(1, 200))
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def index_count_low(store: DamagedCopy) -> Planted:
    """IndexCount is less than there are entries."""
    file, count = store.index()
    store.write(file, 36, "i", store.rng.randrange(2, count))
    return Planted([("index.header_count", file.name, 36)], {"index.slot_range"})


def index_count_high(store: DamagedCopy) -> Planted:
    """IndexCount is more than there are entries."""
    file, count = store.index()
    store.write(file, 36, "i", count + store.rng.randrange(1, 4))
    return Planted([("index.header_count", file.name, 36)])


def index_slot_count(store: DamagedCopy) -> Planted:
    """HashSlotCount is another one."""
    file, count = store.index()
    old = store.read(file, 32, "i")
    store.write(file, 32, "i", next(n for n in (old + 1, old - 1, old + 2) if n != count - 1))
    return Planted([("index.header_count", file.name, 32)])


def index_begin(store: DamagedCopy) -> Planted:
    """A begin of the header is not that of the first put."""
    file, _ = store.index()
    at = store.rng.choice((0, 16))
    store.write(file, at, "q", store.read(file, at, "q") + store.rng.choice((-1, 1, 1000, 50_000)))
    return Planted([("index.header_bounds", file.name, at)])


def index_end(store: DamagedCopy) -> Planted:
    """An end of the header is before that of the last put."""
    file = store.rng.choice(store.files("index")[:-1] or store.files("index"))
    at = store.rng.choice((8, 24))
    store.write(file, at, "q", store.read(file, at, "q") - store.rng.randrange(1, 50))
    return Planted([("index.header_bounds", file.name, at)])


def index_ahead(store: DamagedCopy) -> Planted:
    """EndPhyOffset is beyond the log."""
    file, _ = store.index()
    store.write(file, 24, "q", 1 << 40)
    return Planted([("index.ahead_of_log", file.name, 24)])


def index_slot_beyond(store: DamagedCopy) -> Planted:
    """A slot points beyond indexCount."""
    file, count = store.index()
    slot = store.rng.choice(list(store.chains(file)))
    store.write(file, 40 + 4 * slot, "i", store.rng.choice((count + 1, count + 1000, -1, 1 << 30)))
    return Planted([("index.slot_range", file.name, 40 + 4 * slot)])


def index_slot_emptied(store: DamagedCopy) -> Planted:
    """A slot is empty, its chain lost."""
    file, _ = store.index()
    slot = store.rng.choice(list(store.chains(file)))
    store.write(file, 40 + 4 * slot, "i", 0)
    return Planted([("index.missing_key", file.name, 40 + 4 * slot)])


def index_slot_of_another(store: DamagedCopy) -> Planted:
    """A slot points to the chain of another one."""
    file, _ = store.index()
    one, other = store.rng.sample(sorted(store.chains(file)), 2)
    store.write(file, 40 + 4 * one, "i", store.read(file, 40 + 4 * other, "i"))
    return Planted([("index.slot_hash", file.name, 40 + 4 * one)])


def index_prev_beyond(store: DamagedCopy) -> Planted:
    """A previous entry is beyond indexCount."""
    file, count = store.index()
    number = store.rng.randrange(1, count)
    at = store.entry(number) + PREVIOUS
    store.write(file, at, "i", store.rng.choice((count + 1, count + 99, -7)))
    return Planted([("index.prev_range", file.name, at)])


def index_prev_cut(store: DamagedCopy) -> Planted:
    """A previous entry is 0, the rest of the chain lost."""
    file, chain = store.chain()
    at = store.entry(store.rng.choice(chain[:-1])) + PREVIOUS
    store.write(file, at, "i", 0)
    return Planted([("index.missing_key", file.name, at)], {"index.header_count"})


def index_cycle(store: DamagedCopy) -> Planted:
    """A previous entry leads back to a newer one."""
    file, chain = store.chain()
    newer, older = sorted(store.rng.sample(range(len(chain)), 2))
    at = store.entry(chain[older]) + PREVIOUS
    store.write(file, at, "i", chain[newer])
    return Planted([("index.chain_cycle", file.name, at)])


def index_hash(store: DamagedCopy) -> Planted:
    """The key hash of an entry is another one."""
    file, count = store.index()
    at = store.entry(store.rng.randrange(1, count)) + HASH
    slots = store.slots
    old = store.read(file, at, "i")
    store.write(file, at, "i", (old + slots * store.rng.randrange(1, 5)) & 0x7FFFFFFF)
    new = store.read(file, at, "i")
    exact = [("index.entry_wrong_key", file.name, at)]
    if new % slots != old % slots:
        exact.append(("index.slot_hash", file.name, at))
    return Planted(exact, {"index.missing_key"})


def index_hash_of_another_slot(store: DamagedCopy) -> Planted:
    """The key hash of an entry belongs to another slot."""
    file, count = store.index()
    at = store.entry(store.rng.randrange(1, count)) + HASH
    old = store.read(file, at, "i")
    store.write(file, at, "i", old - 1 if old % store.slots else old + 1)
    return Planted(
        [("index.entry_wrong_key", file.name, at), ("index.slot_hash", file.name, at)], {"index.missing_key"}
    )


def index_dangling(store: DamagedCopy) -> Planted:
    """An entry points where no record begins."""
    file, count = store.index()
    at = store.entry(store.rng.randrange(1, count)) + OFFSET
    store.write(file, at, "q", store.read(file, at, "q") + store.rng.choice((1, 7, 1 << 40)))
    return Planted([("index.entry_dangling", file.name, at)], {"index.missing_key"})


def index_time_diff(store: DamagedCopy) -> Planted:
    """The time diff of an entry is an extreme one."""
    file, count = store.index()
    at = store.entry(store.rng.randrange(2, count)) + TIME
    store.write(file, at, "i", store.rng.choice((-1, 3600, 0x7FFFFFFF)))
    return Planted([("index.header_bounds", file.name, at)])


def index_file_removed(store: DamagedCopy) -> Planted:
    """An index file is missing."""
    file, _ = store.index()
    first = store.read(file, store.entry(1) + OFFSET, "q")
    file.path.unlink()
    exact = [("index.missing_key", *store.in_log(first))]
    return Planted(exact, {"index.missing_key"})  # a key twice in one message may be in two files


def index_directory_removed(store: DamagedCopy) -> Planted:
    """The index directory is missing."""
    first = store.read(store.files("index")[0], store.entry(1) + OFFSET, "q")
    shutil.rmtree(store.root / "index")
    return Planted([("index.missing_key", *store.in_log(first))])


def index_names_swapped(store: DamagedCopy) -> Planted:
    """Two neighbouring index files have each other's name."""
    files = store.files("index")
    first = store.rng.randrange(len(files) - 1)
    one, other = files[first].path, files[first + 1].path
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    return Planted([("index.name_order", files[first + 1].name, None)], {"checkpoint.behind"})


def index_empty(store: DamagedCopy) -> Planted:
    """A further index file holds zeros."""
    files = store.files("index")
    name = f"{int(files[0].path.name) - 1:017}"
    (files[0].path.parent / name).write_bytes(bytes(files[0].path.stat().st_size))
    return Planted([("index.empty", f"index/{name}", None)])


def index_double(store: DamagedCopy) -> Planted:
    """A copy of the last file under a later name: every entry of it exists twice."""
    last = store.files("index")[-1]
    name = f"{int(last.path.name) + 1:017}"
    shutil.copyfile(last.path, last.path.parent / name)
    at = store.entry(1)
    return Planted([("index.double_entry", f"index/{name}", at)], {"index.double_entry", "checkpoint.behind"})


def index_entry_of_another_record(store: DamagedCopy) -> Planted:
    """An entry that points to a sound record, but not to one with its key."""
    file, count = store.index()
    number = store.rng.randrange(1, count)
    key_hash = store.read(file, store.entry(number) + HASH, "i")
    owners = {
        store.read(other, store.entry(entry) + OFFSET, "q")
        for other in store.files("index")
        for entry in range(1, store.read(other, 36, "i"))
        if store.read(other, store.entry(entry) + HASH, "i") == key_hash
    }
    strangers = [log.base_offset + at for log, at, _ in store.records() if log.base_offset + at not in owners]
    at = store.entry(number) + OFFSET
    store.write(file, at, "q", store.rng.choice(strangers))
    bounds = {"index.header_bounds"}  # its time diff is the other record's no more
    return Planted([("index.entry_wrong_key", file.name, at)], {"index.missing_key"} | bounds)


def index_slots_zeroed(store: DamagedCopy) -> Planted:
    """A page of slots that never reached the disk."""
    file, _ = store.index()
    chains = store.chains(file)
    first = store.rng.choice(sorted(chains))
    stop = min(first + store.rng.randrange(2, 9), store.slots)
    for slot in range(first, stop):
        store.write(file, 40 + 4 * slot, "i", 0)
    exact = [("index.missing_key", file.name, 40 + 4 * slot) for slot in range(first, stop) if slot in chains]
    return Planted(exact)


def index_entries_zeroed(store: DamagedCopy) -> Planted:
    """Entries in the middle that never reached the disk: their keys are missing, and the pointers to them astray."""
    counts = [(file, store.read(file, 36, "i")) for file in store.files("index")]
    file, count = store.rng.choice([count for count in counts if count[1] > 3])
    first = store.rng.randrange(1, count - 2)
    length = store.rng.randrange(1, min(4, count - 1 - first) + 1)
    offset = store.read(file, store.entry(first) + OFFSET, "q")
    store.put(file, store.entry(first), bytes(20 * length))
    exact = [("index.missing_key", *store.in_log(offset))]
    following = {
        "index.missing_key",
        "index.slot_hash",
        "index.slot_range",
        "index.prev_range",
        "index.chain_cycle",
    }
    return Planted(exact, following | {"index.header_count", "index.header_bounds"})


def index_of_another_geometry(store: DamagedCopy) -> Planted:
    """The slots and entries of a file moved as with four slots less, five of whose bytes make an entry more."""
    file, _ = store.index()
    size = file.path.stat().st_size
    store.resize(file, size + 20)
    return Planted([("index.size", file.name, size)], {"index.missing_key"})


def index_bit(store: DamagedCopy) -> Planted:
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
