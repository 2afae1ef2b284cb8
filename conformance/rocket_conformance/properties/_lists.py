"""Operation lists: drawn whole from a seed, never steered by what an implementation answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from rocket_reference import java

from rocket_conformance.files import FileImage
from rocket_conformance.properties._drawn import MOST_OPERATIONS, Drawn, ListBuilder
from rocket_conformance.properties._keys import (
    I64_MAX,
    I64_MIN,
    NOON,
    any_i64,
    clamped,
    draw_key,
    draw_keys,
    draw_offset,
    times,
)
from rocket_conformance.protocol import from_i64, key_fields

FILE: Final = "20260101000000000"
_OTHER_FILE: Final = "20260102030405006"


@dataclass(frozen=True, slots=True)
class Profile:
    """Weights of the lists of a property.

    Attributes:
        weights: how often each move comes; `reopen` may flush, close and load.
        slots: numbers of slots to choose from.
        entries: numbers of entries to choose from.
        keys: kinds of keys.
        times: kinds of time sequences.
        seeded: share of opens with seeds.
        unloaded: share of reopens without load.
        odd_limits: share of selects with a max_num at an edge.
        edges: share of windows laid at the edge of an earlier put.
        most: the greatest max_num; a damaged chain that cycles through hits fills a list of that length.
    """

    weights: Mapping[str, int]
    slots: Sequence[int] = (1, 2, 3, 7, 16, 101)
    entries: Sequence[int] = (1, 2, 3, 5, 12, 40, 220)
    keys: Sequence[str] = ("plain", "colliding", "extreme", "cjk", "emoji")
    times: Sequence[str] = ("steady", "close", "shuffled", "decades", "around_zero", "negative", "extreme")
    seeded: float = 0.15
    unloaded: float = 0.3
    odd_limits: float = 0.3
    edges: float = 0.6
    most: int = 1_000_000


class _Builder(ListBuilder):
    """Grows one list, and remembers its puts so that windows can begin and end at their times."""

    def __init__(
        self,
        rng: Random,
        profile: Profile,
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
    profile: Profile,
    *,
    geometry: tuple[int, int] | None = None,
    keys: Sequence[str] | None = None,
    files: Mapping[str, FileImage] | None = None,
) -> Drawn:
    """One list of up to 200 operations."""
    if geometry is None:
        geometry = (rng.choice(profile.slots), rng.choice(profile.entries))
    builder = _Builder(rng, profile, geometry, keys or draw_keys(rng, profile.keys), from_file=bool(files))
    builder.files = dict(files or {})
    builder.open(load=bool(files) and rng.random() < 0.9)
    most = MOST_OPERATIONS - 3  # a reopen is up to three
    return builder.drawn(profile.weights, builder.length, most=most)
