"""Files to read: damaged ones, nearly full ones, ones of another length."""

from random import Random
from struct import pack
from typing import Final

from rocket_reference import key_hash

from rocket_conformance.files import SparseFile
from rocket_conformance.properties._drawn import Drawn
from rocket_conformance.properties._keys import I32_MAX, I64_MAX, NOON, draw_keys
from rocket_conformance.properties._lists import FILE, Profile, draw_list

_I32_MIN: Final = -(1 << 31)
_KEYS: Final = ("plain", "colliding", "cjk", "emoji")

_MOST_LAID: Final = 64
"""The most entries that a file has before the first operation."""


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
    """An index file with healthy chains in its last entries, into which damage is laid."""

    def __init__(self, rng: Random, geometry: tuple[int, int], keys: list[str], count: int) -> None:
        self.rng = rng
        self.slots, self.entries = geometry
        self.count = count
        self.file = SparseFile(40 + 4 * self.slots + 20 * self.entries)
        self.file.write(0, _header(rng, count))
        stale = rng.choice((0, 0, 1, 1, 3))  # entries after the count, left by a header that was not flushed
        end = max(1, min(count + stale, self.entries))
        self.filled = range(max(1, end - _MOST_LAID), end)
        heads: dict[int, int] = {}
        for entry in self.filled:
            hash_ = key_hash(rng.choice(keys))
            slot = hash_ % self.slots
            seconds = entry // 2 if entry < _MOST_LAID else entry % _MOST_LAID
            self.file.write(
                self.entry_at(entry), pack(">iqii", hash_, entry * 100, seconds, heads.get(slot, 0))
            )
            heads[slot] = entry
        for slot, entry in heads.items():
            self.file.write(40 + 4 * slot, pack(">i", entry))
        self.used = sorted(heads)

    def entry_at(self, entry: int) -> int:
        return 40 + 4 * self.slots + 20 * entry

    def damage(self) -> None:
        """Spoils one field."""
        rng = self.rng
        entry = rng.choice(self.filled) if self.filled else 0
        where = rng.choice(("time_diff", "previous", "previous", "slot", "hash"))
        if where == "slot":
            slot = (
                rng.randrange(self.slots)
                if self.slots < _MOST_LAID or not self.used
                else rng.choice(self.used)
            )
            self._put(40 + 4 * slot, _any_entry(rng, self.count - 1, self.count))
        elif entry >= self.entries:
            return
        elif where == "time_diff":
            self._put(self.entry_at(entry) + 12, rng.choice((-1, -1, _I32_MIN, I32_MAX)))
        elif where == "previous":
            self._put(self.entry_at(entry) + 16, _any_entry(rng, entry, self.count))
        else:
            self._put(self.entry_at(entry), rng.randrange(-5, I32_MAX))

    def _put(self, offset: int, value: int) -> None:
        self.file.write(offset, pack(">i", value))


def _spoilt(rng: Random, geometry: tuple[int, int], keys: list[str], count: int) -> _File:
    """A file with healthy chains and one to five spoilt fields."""
    file = _File(rng, geometry, keys, count)
    for _ in range(rng.randrange(1, 6)):
        file.damage()
    return file


def damaged_chains(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file whose chains are damaged and whose header is in order."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((2, 6, 12, 40)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((1, 2, geometry[1] // 2 + 1, geometry[1] - 1, geometry[1]))
    image = _spoilt(rng, geometry, keys, max(1, count)).file.image()
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image})


def damaged_header(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file with any header: a count of zero, below zero, beyond the file."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((1, 2, 4, 12)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((0, -1, _I32_MIN, 1, 2, geometry[1], geometry[1] + 1, geometry[1] * 2 + 5, I32_MAX))
    image = _spoilt(rng, geometry, keys, count).file.image()
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image})


def other_length(rng: Random, profile: Profile, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file that is shorter or longer than the geometry asks for."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((1, 2, 4, 12)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((0, 1, 2, 5))
    laid = _spoilt(rng, geometry, keys, count)
    whole = laid.file.size
    size = rng.choice((0, 1, 36, 39, 40, 41, whole - 1, whole - 20, whole + 1, whole + 60))
    longer = SparseFile(max(whole, size), laid.file.image())
    for place in range(whole, size):
        longer.write(place, bytes([rng.randrange(256)]))
    image = longer.image().resized(size)
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image})


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
