"""Files to read: damaged ones, nearly full ones, ones of another length."""

from __future__ import annotations

from struct import pack, pack_into
from typing import TYPE_CHECKING, Final

from rocket_reference import key_hash

from rocket_conformance.images import image_of
from rocket_conformance.properties._drawn import Drawn, SparseFile
from rocket_conformance.properties._keys import I32_MAX, I64_MAX, NOON, draw_keys
from rocket_conformance.properties._lists import FILE, Profile, draw_list

if TYPE_CHECKING:
    from random import Random

__all__ = ["damaged_chains", "damaged_header", "nearly_full", "other_length"]

_I32_MIN: Final = -(1 << 31)
_KEYS: Final = ("plain", "colliding", "cjk", "emoji")


def _header(rng: Random, count: int) -> bytes:
    begin = rng.choice((NOON, NOON, NOON, 1, 0, -1, I64_MAX - 5_000))
    end = rng.choice((begin, begin + 1_000, begin - 1, 0))
    return pack(">qqqqii", begin, min(end, I64_MAX), 0, rng.randrange(5_000), rng.randrange(-1, 9), count)


def _any_entry(rng: Random, entry: int, count: int) -> int:
    """An entry number as damage may leave it: itself, ahead, outside, or nothing."""
    value = rng.choice(
        (entry, rng.randrange(max(1, min(count, 64))), 0, -1, count, count + 1, I32_MAX, entry + 1)
    )
    return max(_I32_MIN, min(value, I32_MAX))


class _File:
    """An index file with healthy chains, into which damage is laid."""

    def __init__(self, rng: Random, geometry: tuple[int, int], keys: list[str], count: int) -> None:
        self.rng = rng
        self.slots, self.entries = geometry
        self.count = count
        self.data = bytearray(40 + 4 * self.slots + 20 * self.entries)
        self.data[:40] = _header(rng, count)
        stale = rng.choice((0, 0, 1, 1, 3))  # entries behind the count, left by a header that was not flushed
        self.filled = range(1, max(1, min(count + stale, self.entries)))
        heads = [0] * self.slots
        for entry in self.filled:
            hash_ = key_hash(rng.choice(keys))
            slot = hash_ % self.slots
            pack_into(">iqii", self.data, self.entry_at(entry), hash_, entry * 100, entry // 2, heads[slot])
            heads[slot] = entry
        pack_into(f">{self.slots}i", self.data, 40, *heads)

    def entry_at(self, entry: int) -> int:
        return 40 + 4 * self.slots + 20 * entry

    def damage(self) -> None:
        """Spoils one field."""
        rng = self.rng
        entry = rng.choice(self.filled) if self.filled else 0
        where = rng.choice(("time_diff", "previous", "previous", "slot", "hash"))
        if where == "slot":
            slot = rng.randrange(self.slots)
            pack_into(">i", self.data, 40 + 4 * slot, _any_entry(rng, self.count - 1, self.count))
        elif entry >= self.entries:
            return
        elif where == "time_diff":
            pack_into(">i", self.data, self.entry_at(entry) + 12, rng.choice((-1, -1, _I32_MIN, I32_MAX)))
        elif where == "previous":
            pack_into(">i", self.data, self.entry_at(entry) + 16, _any_entry(rng, entry, self.count))
        else:
            pack_into(">i", self.data, self.entry_at(entry), rng.randrange(-5, I32_MAX))


def _chains(rng: Random, geometry: tuple[int, int], keys: list[str], count: int) -> bytearray:
    """A file with healthy chains and one to five spoilt fields."""
    file = _File(rng, geometry, keys, count)
    for _ in range(rng.randrange(1, 6)):
        file.damage()
    return file.data


def damaged_chains(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file whose chains are damaged and whose header is in order."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((2, 6, 12, 40)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((1, 2, geometry[1] // 2 + 1, geometry[1] - 1, geometry[1]))
    data = _chains(rng, _small(geometry), keys, max(1, count))
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image_of(bytes(data))})


def damaged_header(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file whose header says anything: a count of zero, below zero, beyond the file."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((1, 2, 4, 12)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((0, -1, _I32_MIN, 1, 2, geometry[1], geometry[1] + 1, geometry[1] * 2 + 5, I32_MAX))
    data = _chains(rng, _small(geometry), keys, count)
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image_of(bytes(data))})


def other_length(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file that is shorter or longer than the geometry asks for."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((1, 2, 4, 12)))
    keys = draw_keys(rng, _KEYS)
    data = _chains(rng, _small(geometry), keys, rng.choice((0, 1, 2, 5)))
    size = rng.choice((0, 1, 36, 39, 40, 41, len(data) - 1, len(data) - 20, len(data) + 1, len(data) + 60))
    longer = bytes(data[:size]) + bytes(rng.randrange(256) for _ in range(size - len(data)))
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image_of(longer)})


def _small(geometry: tuple[int, int]) -> tuple[int, int]:
    """Damage is laid into the first part of a file of a big fixed geometry."""
    return (min(geometry[0], 64), min(geometry[1], 64)) if sum(geometry) > 4096 else geometry


def nearly_full(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a sparse file that lacks a few entries to be full, its last entries in place."""
    slots, entries = geometry or (rng.choice((3, 101)), rng.choice((50, 400)))
    keys = draw_keys(rng, _KEYS)
    count = max(1, entries - rng.randrange(4))
    file = SparseFile(40 + 4 * slots + 20 * entries)
    file.write(0, pack(">qqqqii", NOON, NOON + 5_000, 100, 9_000, 2, count))
    previous: dict[int, int] = {}
    for entry in range(max(1, count - 10), count):
        hash_ = key_hash(rng.choice(keys))
        slot = hash_ % slots
        file.write(
            40 + 4 * slots + 20 * entry, pack(">iqii", hash_, entry * 100, entry % 7, previous.get(slot, 0))
        )
        file.write(40 + 4 * slot, pack(">i", entry))
        previous[slot] = entry
    return draw_list(rng, profile, geometry=(slots, entries), keys=keys, files={FILE: file.image()})
