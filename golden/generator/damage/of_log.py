"""Damage to the commit log, to the checkpoint and to the store as a whole."""

import itertools
from typing import Final

from generator.damage.store import DamagedCopy, File, Planted

LOST: Final = {"index.entry_dangling", "queue.dangling"}


def _record(store: DamagedCopy) -> tuple[File, int, int]:
    """A record with another one behind it in its file."""
    records = store.records()
    return store.rng.choice(
        [record for record, after in itertools.pairwise(records) if record[0] == after[0]]
    )


def log_magic(store: DamagedCopy) -> Planted:
    """The magic of a record is another one."""
    file, at, _ = _record(store)
    store.write(file, at + 4, "i", store.rng.choice((0x12345678, -1, -626843482)))
    return Planted([("log.magic", file.name, at + 4)], LOST)


def log_length(store: DamagedCopy) -> Planted:
    """The total size of a record is another one."""
    file, at, size = _record(store)
    store.write(file, at, "i", store.rng.choice((0, -5, 17, size + 1, size - 1, 1 << 30)))
    return Planted([("log.length", file.name, at)], LOST)


def log_position(store: DamagedCopy) -> Planted:
    """The physical offset in a record is not its place."""
    file, at, _ = _record(store)
    store.write(file, at + 28, "q", store.rng.choice((at + file.base_offset + 1, 1 << 40)))
    return Planted([("log.position", file.name, at + 28)], LOST)


def log_body(store: DamagedCopy) -> Planted:
    """A bit of a record's body has changed."""
    bodies = [(file, *store.body(file, at)) for file, at, _ in store.records()]
    file, body, length = store.rng.choice([body for body in bodies if body[2]])
    place = body + store.rng.randrange(length)
    store.write(file, place, "B", store.read(file, place, "B") ^ 0x40)
    return Planted([("log.crc", file.name, body)], level="deep")


def log_segment_removed(store: DamagedCopy) -> Planted:
    """A log file in the middle is missing."""
    files = store.files("log")
    number = store.rng.randrange(1, len(files) - 1)
    files[number].path.unlink()
    return Planted([("log.gap", files[number].name, None)], LOST | {"index.header_bounds"})


def log_zeros(store: DamagedCopy) -> Planted:
    """The end of a segment that others follow was never written."""
    files = store.files("log")
    records = [record for record in store.records() if record[0] != files[-1]]
    file, at, _ = store.rng.choice(records)
    store.resize(file, at, file.path.stat().st_size)
    return Planted([("log.gap", file.name, at)], LOST)


def log_torn(store: DamagedCopy) -> Planted:
    """The last record cut off before its topic; zeros follow. (Lost properties alone leave lengths that add up.)."""
    file, at, _ = store.records()[-1]
    body, body_length = store.body(file, at)
    cut = at + store.rng.randrange(40, body - at + body_length)
    store.resize(file, cut, file.path.stat().st_size)
    later = {"checkpoint.ahead", "index.ahead_of_log"}
    return Planted([("log.torn", file.name, at)], LOST | later)


def log_truncated(store: DamagedCopy) -> Planted:
    """A log file that others follow is cut short."""
    files = store.files("log")
    file = store.rng.choice(files[:-1])
    size = file.path.stat().st_size - store.rng.randrange(1, 9)
    store.resize(file, size)
    return Planted([("log.length", file.name, size)], LOST | {"log.length"})


def checkpoint_ahead(store: DamagedCopy) -> Planted:
    """A time of the checkpoint is years after the last message."""
    (file,) = store.files("checkpoint")
    at = store.rng.choice((0, 8, 16))
    store.write(file, at, "q", 4_000_000_000_000)
    return Planted([("checkpoint.ahead", file.name, at)])


def checkpoint_behind(store: DamagedCopy) -> Planted:
    """A time of the checkpoint is years before the log."""
    (file,) = store.files("checkpoint")
    at = store.rng.choice((0, 8))
    store.write(file, at, "q", 1_500_000_000_000)
    return Planted([("checkpoint.behind", file.name, at)])


def checkpoint_zeros(store: DamagedCopy) -> Planted:
    """The checkpoint is zeros."""
    (file,) = store.files("checkpoint")
    file.path.write_bytes(bytes(4096))
    return Planted([("checkpoint.behind", file.name, 0)], {"checkpoint.behind"})


def abort_left(store: DamagedCopy) -> Planted:
    """The file that an unclean stop leaves."""
    (store.root / "abort").touch()
    return Planted([("store.abort", "abort", None)])


def topic_unsafe(store: DamagedCopy) -> Planted:
    """The topic of a record begins with a slash."""
    records = [record for record in store.records() if record[2] > 100]
    file, at, _ = store.rng.choice(records)
    store.write(file, sum(store.body(file, at)) + 1, "B", ord("/"))
    following = {"queue.wrong_target", "index.entry_wrong_key", "index.missing_key", "queue.missing_unit"}
    others = {"store.lag", "queue.tags_code"}  # of the last record; of the copies of a delayed one
    return Planted([("store.unsafe_name", file.name, at)], following | others)


def log_end_removed(store: DamagedCopy) -> Planted:
    """The last segments are gone, as after a move: the index is ahead of the log, and indexing stops in silence."""
    files = store.files("log")
    kept = store.rng.randrange(1, len(files))
    for file in files[kept:]:
        file.path.unlink()
    end = files[kept].base_offset
    ends = [(file, store.read(file, 24, "q")) for file in store.files("index")]
    exact = [("index.ahead_of_log", file.name, 24) for file, offset in ends if offset >= end]
    return Planted(exact, LOST | {"checkpoint.ahead", "index.missing_key", "index.header_bounds"})


def log_properties_length(store: DamagedCopy) -> Planted:
    """The length of a record's properties is another one."""
    file, at, _size = _record(store)
    topic = sum(store.body(file, at))
    place = topic + 1 + store.read(file, topic, "B")
    store.write(file, place, "h", store.read(file, place, "h") + store.rng.choice((-1, 1, 99)))
    return Planted([("log.length", file.name, at)], LOST)


def log_overwritten(store: DamagedCopy) -> Planted:
    """A stretch of a segment with other bytes in it, from within a record to within a later one."""
    file, at, size = _record(store)
    begin = at + store.rng.randrange(4, 40)
    length = size + store.rng.randrange(1, 60)
    room = file.path.stat().st_size - begin
    store.put(file, begin, store.rng.randbytes(min(length, room)))
    broken = {"log.magic", "log.length", "log.position"}
    ahead = {"index.ahead_of_log", "checkpoint.ahead"}  # in the last file the log ends earlier
    return Planted([], LOST | broken | ahead, file=file.name)


def _entry(store: DamagedCopy) -> tuple[File, int]:
    """The data file of a store in DLedger mode, and the place of an entry in it that is not the first."""
    (path,) = sorted(store.root.glob("dledger-*/data/*"))[:1]
    places: list[int] = []
    file, at = File(path.relative_to(store.root).as_posix(), path), 0
    while store.read(file, at, "i") == 1:
        places.append(at)
        at += store.read(file, at + 4, "i")
    return file, store.rng.choice(places[1:-1])


def entry_magic(store: DamagedCopy) -> Planted:
    """A bit of an entry's magic has changed."""
    file, at = _entry(store)
    store.write(file, at, "i", 0)
    return Planted([("log.magic", file.name, at)], LOST)


def entry_position(store: DamagedCopy) -> Planted:
    """The position in an entry is not its place."""
    file, at = _entry(store)
    store.write(file, at + 24, "q", store.read(file, at + 24, "q") ^ 1)
    return Planted([("log.position", file.name, at + 24)], LOST)
