"""Damage to consume queues."""

import shutil
from pathlib import Path

from generator.damage.store import DamagedCopy, File, Planted


def queue_truncated(store: DamagedCopy) -> Planted:
    """A queue file is cut short by a few bytes."""
    file = store.rng.choice(store.files("queue"))
    size = file.path.stat().st_size - store.rng.randrange(1, 60)
    store.resize(file, size)
    return Planted([("queue.size", file.name, size)], {"queue.missing_unit"})


def queue_unit_zeroed(store: DamagedCopy) -> Planted:
    """A unit is zeros."""
    file, at = store.unit()
    store.put(file, at, bytes(20))
    return Planted([("queue.missing_unit", file.name, at)])


def queue_dangling(store: DamagedCopy) -> Planted:
    """A unit points where no record begins."""
    file, at = store.unit()
    store.write(file, at, "q", store.read(file, at, "q") + store.rng.choice((1, 1 << 40)))
    return Planted([("queue.dangling", file.name, at)])


def queue_size_field(store: DamagedCopy) -> Planted:
    """The size of a unit is one more than the record's."""
    file, at = store.unit()
    store.write(file, at + 8, "i", store.read(file, at + 8, "i") + 1)
    return Planted([("queue.wrong_target", file.name, at + 8)])


def queue_of_another(store: DamagedCopy) -> Planted:
    """A unit whose record does not go into this queue; multi-dispatch puts one record into several."""
    file, at = store.unit()
    units: dict[bool, set[bytes]] = {True: set(), False: set()}
    for other in store.files("queue"):
        data = other.path.read_bytes()
        units[other.path.parent == file.path.parent].update(
            data[place : place + 20] for place in range(0, len(data), 20)
        )
    name = (file.topic or "").encode()
    taken = {raw[:8] for raw in units[True]}
    for log, place, size in store.records():
        copies = log.path.read_bytes()[place : place + size].partition(b"INNER_MULTI_DISPATCH")[2]
        if name in copies:
            taken.add((log.base_offset + place).to_bytes(8))
    others = sorted(raw for raw in units[False] if raw[:8] not in taken and any(raw[8:12]))
    store.put(file, at, store.rng.choice(others))
    return Planted([("queue.wrong_target", file.name, at)])


def queue_units_swapped(store: DamagedCopy) -> Planted:
    """Two neighbouring units are exchanged."""
    file, at = store.unit()
    pair = file.path.read_bytes()[at : at + 40]
    store.put(file, at, pair[20:] + pair[:20])
    return Planted([("queue.order", file.name, at)])


def queue_tags(store: DamagedCopy) -> Planted:
    """The tags code of a unit is one more."""
    file, at = store.unit()
    store.write(file, at + 12, "q", store.read(file, at + 12, "q") + 1)
    return Planted([("queue.tags_code", file.name, at + 12)])


def queue_middle_file_removed(store: DamagedCopy) -> Planted:
    """A queue file in the middle is missing."""
    groups: dict[Path, list[File]] = {}
    for file in store.files("queue"):
        groups.setdefault(file.path.parent, []).append(file)
    group = store.rng.choice([group for group in groups.values() if len(group) > 2])
    number = store.rng.randrange(1, len(group) - 1)
    group[number].path.unlink()
    return Planted([("queue.gap", group[number].name, None)], {"queue.missing_unit"})


def queue_removed(store: DamagedCopy) -> Planted:
    """The files of a queue are missing."""
    file = store.rng.choice(store.files("queue"))
    own = [other for other in store.files("queue") if other.path.parent == file.path.parent]
    first = min(store.read(other, 0, "q") for other in own)
    shutil.rmtree(file.path.parent)
    return Planted([("queue.missing_unit", *store.in_log(first))])


def queue_shifted(store: DamagedCopy) -> Planted:
    """A unit put in twice: all behind it have moved by one."""
    file, at = store.unit()
    store.put(file, at + 20, file.path.read_bytes()[at:-20])
    return Planted([("queue.order", file.name, at + 20)], {"queue.order", "queue.missing_unit"})


def queue_zeros_run(store: DamagedCopy) -> Planted:
    """Several units that never reached the disk, with others behind them."""
    choices: list[tuple[File, int, int]] = []
    for file in store.files("queue"):
        data = file.path.read_bytes()
        used = [
            at for at in range(0, len(data), 20) if 0 < int.from_bytes(data[at + 8 : at + 12]) < 0x7FFFFFFF
        ]
        choices += [(file, at, used[-1]) for at in used[:-2]]
    file, at, last = store.rng.choice(choices)
    length = store.rng.randrange(2, min((last - at) // 20, 5) + 1)
    store.put(file, at, bytes(20 * length))
    return Planted([("queue.missing_unit", file.name, at)])


def queue_past_the_log(store: DamagedCopy) -> Planted:
    """A unit behind the last one that leads past the log's end."""
    file, at = store.unit()
    store.write(file, at, "q", (1 << 40) + store.rng.randrange(1 << 20))
    return Planted([("queue.dangling", file.name, at)])


def queue_invalid_size(store: DamagedCopy) -> Planted:
    """The size of a unit is 0 or negative."""
    file, at = store.unit()
    store.write(file, at + 8, "i", store.rng.choice((0, -1, -(1 << 31))))
    return Planted([("queue.dangling", file.name, at + 8)])


def queue_bit(store: DamagedCopy) -> Planted:
    """One bit of a unit."""
    file, at = store.unit()
    at += store.rng.randrange(20)
    store.write(file, at, "B", store.read(file, at, "B") ^ 1 << store.rng.randrange(8))
    return Planted(
        [],
        {"queue.dangling", "queue.wrong_target", "queue.order", "queue.tags_code", "queue.missing_unit"},
        file=file.name,
    )
