"""Properties of index files: their lists, on fresh files and on damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from struct import pack
from typing import Final

from rocket_reference import java, key_hash

from rocket_conformance.files import FileImage, SparseFile
from rocket_conformance.properties._property import (
    FILE,
    I32_MAX,
    I64_MAX,
    I64_MIN,
    LONE,
    MOST_OPERATIONS,
    NOON,
    PLAIN,
    Drawn,
    Geometry,
    ListBuilder,
    Property,
    Settings,
    any_i64,
    clamped,
    draw_key,
    draw_keys,
    draw_offset,
    index_triples,
    operations,
    profile_of,
    scope_of,
    times,
)
from rocket_conformance.protocol import from_i64, key_fields

_OTHER_FILE: Final = "20260102030405006"


@dataclass(frozen=True, slots=True)
class ListWeights:
    """Weights of the lists of a property."""

    weights: Mapping[str, int]  # how often each move comes; `reopen` may flush, close and load
    slots: Sequence[int] = (1, 2, 3, 7, 16, 101)  # numbers of slots to choose from
    entries: Sequence[int] = (1, 2, 3, 5, 12, 40, 220)  # numbers of entries to choose from
    keys: Sequence[str] = ("plain", "colliding", "extreme", "cjk", "emoji")  # kinds of keys
    # kinds of time sequences
    times: Sequence[str] = ("steady", "close", "shuffled", "decades", "around_zero", "negative", "extreme")
    seeded: float = 0.15  # share of opens with seeds
    unloaded: float = 0.3  # share of reopens without load
    odd_limits: float = 0.3  # share of selects with a max_num at an edge
    edges: float = 0.6  # share of windows laid at the edge of an earlier put
    # the greatest max_num; a damaged chain that cycles through hits fills a list of that length
    most: int = 1_000_000


class _IndexOperations(ListBuilder):
    """Grows one list, and remembers its puts so that windows can begin and end at their times."""

    def __init__(
        self,
        rng: Random,
        profile: ListWeights,
        geometry: tuple[int, int],
        keys: Sequence[str],
        *,
        from_file: bool,
    ) -> None:
        super().__init__(rng, "index")
        self.profile = profile
        self.geometry = geometry
        self.keys = keys
        self.length = self._length()
        self.times = times(rng, rng.choice(profile.times), self.length)
        self.put_count = 0
        self.shown_times: list[int] = [NOON + 1000 * seconds for seconds in range(5)] if from_file else []
        self.begin = 0

    def _length(self) -> int:
        rng = self.rng
        if rng.random() < 0.04:
            return MOST_OPERATIONS
        return min(MOST_OPERATIONS, 4 + int(rng.expovariate(1 / 40)))

    def open(self, *, load: bool, file: str = FILE) -> None:
        rng, seeds = self.rng, (0, 0)
        if rng.random() < self.profile.seeded:
            seeds = (rng.choice((0, 1, -1, 5_000)), rng.choice((0, 1, -5, NOON - 7_500, NOON, I64_MAX)))
        self.add(
            "open",
            file=file,
            hash_slot_num=self.geometry[0],
            index_num=self.geometry[1],
            end_phy_offset=from_i64(seeds[0]),
            end_timestamp=from_i64(seeds[1]),
            load=load,
        )
        if seeds[1] > 0 and not load:
            self.begin = seeds[1]

    def put(self) -> None:
        when = self.times[min(self.put_count, self.length - 1)]
        self.add(
            "put",
            **key_fields(self.rng.choice(self.keys)),
            phy_offset=from_i64(draw_offset(self.rng, self.put_count)),
            store_timestamp=from_i64(when),
        )
        self.begin = self.begin if self.put_count else when
        self.put_count += 1
        if self.begin > 0:  # where a reader places it: whole seconds from begin
            seconds = min(max(0, java.div(when - self.begin, 1000)), (1 << 31) - 1)
            self.shown_times.append(java.to_i64(self.begin + seconds * 1000))
        else:
            self.shown_times.append(self.begin)

    def edge(self) -> int:
        around = self.rng.choice(self.shown_times) if self.shown_times else NOON
        if self.rng.random() < 0.2:
            around = self.rng.choice(self.times[: self.put_count + 1])
        return clamped(around + self.rng.choice((-1000, -999, -1, 0, 0, 0, 1, 999, 1000)))

    def window(self) -> dict[str, str]:
        rng = self.rng
        if rng.random() < self.profile.edges:
            begin = self.edge() if rng.random() < 0.7 else rng.choice((0, I64_MIN))
            end = self.edge() if rng.random() < 0.7 else I64_MAX
        else:
            begin, end = rng.choice(((0, I64_MAX), (I64_MIN, I64_MAX), (any_i64(rng), any_i64(rng))))
        return {"begin": from_i64(begin), "end": from_i64(end)}

    def select(self) -> None:
        rng = self.rng
        key = rng.choice(self.keys) if rng.random() < 0.9 else draw_key(rng, "plain")
        limit = (
            rng.choice((-1, 0, 1, 2, 3, self.profile.most)) if rng.random() < self.profile.odd_limits else 64
        )
        extra: dict[str, object] = {}
        if rng.random() < 0.15:
            extra["initial"] = [from_i64(any_i64(rng)) for _ in range(rng.randrange(4))]
        self.add("select", **key_fields(key), max_num=limit, **self.window(), **extra)

    def reopen(self) -> None:
        rng = self.rng
        if rng.random() < 0.4:
            self.add("flush")
        if rng.random() < 0.6:
            self.add("close")
        self.open(
            load=rng.random() >= self.profile.unloaded, file=_OTHER_FILE if rng.random() < 0.1 else FILE
        )

    def time_matched(self) -> None:
        self.add("time_matched", **self.window())

    def hash(self) -> None:
        self.ops.append({"op": "key.hash", **key_fields(self.rng.choice(self.keys))})


def draw_list(
    rng: Random,
    profile: ListWeights,
    *,
    geometry: tuple[int, int] | None = None,
    keys: Sequence[str] | None = None,
    files: Mapping[str, FileImage] | None = None,
) -> Drawn:
    """One list of up to 200 operations."""
    if geometry is None:
        geometry = (rng.choice(profile.slots), rng.choice(profile.entries))
    builder = _IndexOperations(
        rng, profile, geometry, keys or draw_keys(rng, profile.keys), from_file=bool(files)
    )
    builder.files = dict(files or {})
    builder.open(load=bool(files) and rng.random() < 0.9)
    most = MOST_OPERATIONS - 3  # a reopen is up to three
    return builder.drawn(profile.weights, builder.length, most=most)


# --- damage -------------------------------------------------------------------------------------------

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


def damaged_chains(rng: Random, profile: ListWeights, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file whose chains are damaged and whose header is in order."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((2, 6, 12, 40)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((1, 2, geometry[1] // 2 + 1, geometry[1] - 1, geometry[1]))
    image = _spoilt(rng, geometry, keys, max(1, count)).file.image()
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image})


def damaged_header(rng: Random, profile: ListWeights, geometry: tuple[int, int] | None) -> Drawn:
    """A list over a file with any header: a count of zero, below zero, beyond the file."""
    geometry = geometry or (rng.choice((1, 2, 5)), rng.choice((1, 2, 4, 12)))
    keys = draw_keys(rng, _KEYS)
    count = rng.choice((0, -1, _I32_MIN, 1, 2, geometry[1], geometry[1] + 1, geometry[1] * 2 + 5, I32_MAX))
    image = _spoilt(rng, geometry, keys, count).file.image()
    return draw_list(rng, profile, geometry=geometry, keys=keys, files={FILE: image})


def other_length(rng: Random, profile: ListWeights, geometry: tuple[int, int] | None) -> Drawn:
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


def nearly_full(rng: Random, profile: ListWeights, geometry: tuple[int, int] | None) -> Drawn:
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


# --- properties ---------------------------------------------------------------------------------------


def _plain(rng: Random, profile: ListWeights, geometry: Geometry | None) -> Drawn:
    return draw_list(rng, profile, geometry=geometry)


def _key_hashes(rng: Random, profile: ListWeights, _geometry: Geometry | None) -> Drawn:
    count = rng.randrange(1, 60)
    keys = [draw_key(rng, rng.choice(profile.keys)) for _ in range(count)]
    return Drawn(tuple({"op": "key.hash", **key_fields(key)} for key in keys))


_DRAWS: Final[Mapping[str, Callable[[Random, ListWeights, Geometry | None], Drawn]]] = {
    "plain": _plain,
    "key_hashes": _key_hashes,
    "damaged_chains": damaged_chains,
    "damaged_header": damaged_header,
    "other_length": other_length,
    "nearly_full": nearly_full,
}
_NEEDED: Final = {"plain": ("put",), "triples": ("flush",)}


def index_property(name: str, clauses: tuple[str, ...], settings: Settings) -> Property:
    """A property of index files."""
    profile, (kind,) = profile_of(ListWeights, settings), settings.get("draw", PLAIN)
    always = ("flush", "close") if "reopen" in profile.weights else ()
    ops, needs = operations("index", profile.weights, always=always, needs=_NEEDED.get(kind, ()))
    if "index.hash" in ops:
        ops = ops - {"index.hash"} | {"key.hash"}
    if kind == "key_hashes":
        ops = needs = frozenset({"key.hash"})

    def draw(rng: Random, geometry: Geometry | None, number: int) -> Drawn:
        if kind == "triples":
            return index_triples(rng, geometry, number)
        return _DRAWS[kind](rng, profile, geometry)

    features = LONE if "lone" in profile.keys else frozenset[str]()
    return Property(name, clauses, ops, needs, draw, features, **scope_of(settings))
