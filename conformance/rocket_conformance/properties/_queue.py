"""Properties of consume queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from struct import pack
from typing import Final

from rocket_reference import PRE_BLANK, QueueUnit, encode_queue_unit, file_name, queue_file_size

from rocket_conformance.files import image_of
from rocket_conformance.properties._property import (
    I32_MAX,
    I64_MAX,
    I64_MIN,
    LONE,
    NOON,
    PLAIN,
    Drawn,
    Geometry,
    ListBuilder,
    Property,
    Settings,
    clamped,
    draw_text,
    list_length,
    operations,
    profile_of,
    queue_triples,
    scope_of,
)
from rocket_conformance.protocol import Op, from_i64, key_fields

_UNIT: Final = 20
_I32_MIN: Final = -(1 << 31)

_EXT: Final = -(1 << 31) - 1
"""The greatest tags code that is the address of an ext unit."""

_TAGS_CODES: Final = (0, 1, -1, 2598919, I32_MAX, _I32_MIN, _EXT + 1, _EXT, I64_MIN, I64_MIN + 20, NOON)

_FAR: Final = (1 << 59, 922337203685477580, 922337203685477581, -922337203685477581, I64_MAX, I64_MIN)
"""Logical offsets whose places are at or beyond 64 bits."""

_FAR_GETS: Final = (1 << 59, -(1 << 59), I64_MAX, I64_MIN)
"""The same, but for places that come round to the middle of a unit: no get of 4.9.3 gives a unit there."""
_PLACES: Final = (("T", 0), ("T", 0), ("T", 3), ("%LMQ%a-b_c", 0), ("%RETRY%g", 11))


@dataclass(frozen=True, slots=True)
class QueueProfile:
    """Weights of the lists of a property."""

    # how often each move comes; `reopen` opens again, and mostly loads and recovers
    weights: Mapping[str, int]
    sizes: Sequence[int] = (40, 60, 60, 100, 200)  # configured lengths of files
    laid: float = 0.5  # share of lists over files that exist at the start
    damaged: float = 0.0  # share of laid units that are spoilt
    most_files: int = 4  # the most files that exist at the start
    first: Sequence[int] = (1, 2, 5, 7)  # logical offsets of the first put, beside 0
    repeats: float = 0.15  # share of puts that end near the greatest end seen
    astray: float = 0.15  # share of puts at another logical offset than the next
    far: float = 0.05  # share of those whose place is beyond 64 bits
    odd_files: float = 0.0  # share of laid files of another name or length
    recovered: float = 0.85  # share of loads that a recovery follows
    mean: int = 22  # of operations


class _QueueOperations(ListBuilder):
    """Grows one list, and keeps roughly what 4.9.3 would: where the queue begins and ends."""

    def __init__(self, rng: Random, profile: QueueProfile) -> None:
        super().__init__(rng, "queue")
        self.profile = profile
        self.topic, self.queue_id = rng.choice(_PLACES)
        self.size = rng.choice(profile.sizes)
        self.per_file = max(1, queue_file_size(self.size) // _UNIT)
        self.first = 0
        """Logical offset of the first unit."""
        self.starts: list[int] = []
        """Physical offsets of the units, and so logical offsets from `first` on."""
        self.end = -1
        self.next_offset = rng.choice((0, 0, 100, 5_000))

    # --- files that exist at the start --------------------------------------------------------------------

    def lay(self) -> None:
        rng = self.rng
        count = rng.randrange(1, self.profile.most_files + 1)
        used = rng.randrange((count - 1) * self.per_file, count * self.per_file + 1)
        base = rng.choice((0, 0, 0, 1, 3, -2, 1 << 30)) * self.per_file
        self.first = base
        units = [self._unit() for _ in range(used)]
        if rng.random() < 0.15:
            blanks = rng.randrange(1, self.per_file + 1)
            units[:blanks] = [encode_queue_unit(PRE_BLANK)] * min(blanks, len(units))
        stale = rng.choice((0, 0, 1, 3))  # after a unit that ends the queue
        units += [bytes(_UNIT), *(self._stale() for _ in range(stale))] if stale else []
        count = max(count, -(-len(units) // self.per_file))
        for number in range(count):
            data = b"".join(units[number * self.per_file : (number + 1) * self.per_file])
            name = file_name((base + number * self.per_file) * _UNIT)
            length = self.per_file * _UNIT
            if rng.random() < self.profile.odd_files:
                name, length = self._odd(name, length)
            self.files[f"consumequeue/{self.topic}/{self.queue_id}/{name}"] = image_of(
                data[:length].ljust(length, b"\0")
            )

    def _odd(self, name: str, length: int) -> tuple[str, int]:
        """Another length, a name that is no number, or one that does not adjoin."""
        rng = self.rng
        kind = rng.randrange(5)
        if kind < 2:
            return name, max(0, length + rng.choice((-_UNIT, -1, 1, _UNIT, -length)))
        if kind == 2:
            return rng.choice(("x", "+00000000000000000060", "40", "00000000000000000040.bak")), length
        return file_name(int(name) + rng.choice((-_UNIT, _UNIT, length))), length

    def _unit(self) -> bytes:
        rng = self.rng
        if rng.random() < self.profile.damaged:
            self.starts.append(self.next_offset)
            return self._spoilt()
        size = rng.choice((100, 100, 100, 1, 50))
        start, self.next_offset = self.next_offset, self.next_offset + size
        self.starts.append(start)
        self.end = self.next_offset
        return pack(">qiq", start, size, rng.choice(_TAGS_CODES))

    def _spoilt(self) -> bytes:
        """A unit at the edge of being one: zeros, a negative offset, no size, pre-blank."""
        rng = self.rng
        offset = rng.choice((0, -1, self.next_offset, I64_MAX, I64_MIN, 0))
        return pack(">qiq", offset, rng.choice((0, -1, 1, _I32_MIN, I32_MAX)), rng.choice((0, -1)))

    def _stale(self) -> bytes:
        return encode_queue_unit(QueueUnit(self.next_offset + self.rng.randrange(-300, 300), 100, 7))

    # --- moves --------------------------------------------------------------------------------------------

    def open(self, *, load: bool) -> None:
        self.add("open", topic=self.topic, queue_id=self.queue_id, file_size=self.size, load=load)
        if load and self.rng.random() < self.profile.recovered:
            self.add("recover")

    def reopen(self) -> None:
        self.open(load=self.rng.random() < 0.9)

    @property
    def next(self) -> int:
        return self.first + len(self.starts)

    def put(self) -> None:
        rng, profile = self.rng, self.profile
        size = rng.choice((100, 100, 100, 50, 1, 0, -1))
        offset = max(self.end, 0) + (rng.choice((0, 1, 70, -30)) if rng.random() < 0.3 else 0)
        if rng.random() < profile.repeats:
            offset = self.end - size + rng.choice((-100, -1, 0, 0, 1))
            if rng.random() < 0.05:
                offset = rng.choice((I64_MAX, I64_MAX - size, I64_MIN))
        place = self.next
        if not self.starts and rng.random() < 0.5:
            place = rng.choice(profile.first)
        if rng.random() < profile.astray:
            place += rng.choice((-self.per_file, -2, -1, -1, 1, 1, 2, self.per_file, -place))
            if rng.random() < profile.far:
                place = rng.choice(_FAR)
        offset, tags_code = clamped(offset), rng.choice(_TAGS_CODES)
        self.add(
            "put",
            offset=from_i64(offset),
            size=size,
            tags_code=from_i64(tags_code),
            cq_offset=from_i64(place),
        )
        if offset + size <= self.end or 0 != place < self.next:
            return
        if not self.starts:
            self.first = place if abs(place) < 1 << 40 else 0
        self.starts.append(offset)
        self.end = offset + size

    def get(self) -> None:
        rng = self.rng
        edge = rng.choice((self.first, self.first, self.next, self.next, 0, self.per_file))
        place = edge + rng.choice((-1, -1, 0, 0, 1, self.per_file, -self.per_file))
        if rng.random() < 0.05:
            place = rng.choice(_FAR_GETS)
        elif self.starts and rng.random() < 0.3:
            place = self.first + rng.randrange(len(self.starts))
        self.add("get", cq_offset=from_i64(place))

    def offset_at_an_edge(self) -> int:
        """A physical offset at, or one beside, that of a unit."""
        rng = self.rng
        edges = (self.starts[-1:] or [0]) + self.starts[:: self.per_file][-2:]
        around = rng.choice((*edges, self.end, rng.choice(self.starts or [0])))
        if rng.random() < 0.06:
            around = rng.choice((0, I64_MAX - 1, I32_MAX, -5))
        return clamped(around + rng.choice((-1, 0, 0, 0, 1, 1, 50)))

    def truncate(self) -> None:
        offset = self.offset_at_an_edge()
        self.add("truncate", phy_offset=from_i64(offset))
        self.starts = [start for start in self.starts if start < offset]
        self.end = self.starts[-1] + 100 if self.starts else offset

    def correct_min(self) -> None:
        self.add("correct_min", phy_min_offset=from_i64(self.offset_at_an_edge()))

    def delete_expired(self) -> None:
        self.add("delete_expired", phy_offset=from_i64(self.offset_at_an_edge()))


# --- properties ---------------------------------------------------------------------------------------


def queue_property(name: str, clauses: tuple[str, ...], settings: Settings) -> Property:
    """A property of consume queues."""
    (kind,) = settings.get("draw", PLAIN)
    if kind == "tags":
        return _tags(name, clauses, settings["kinds"])
    profile = profile_of(QueueProfile, settings)
    needs = ("put",) if profile.laid < 1 else ()
    ops, needed = operations("queue", profile.weights, always=("recover",), needs=needs)

    def draw(rng: Random, geometry: Geometry | None, number: int) -> Drawn:
        if kind == "triples":
            return queue_triples(rng, geometry, number)
        builder = _QueueOperations(rng, profile)
        if rng.random() < profile.laid:  # over files that an earlier run may have left
            builder.lay()
        builder.open(load=bool(builder.files) and rng.random() < 0.97)
        length = list_length(rng, profile.mean)
        return builder.drawn(profile.weights, length, most=length)

    return Property(name, clauses, ops, needed, draw, **scope_of(settings))


def _tags(name: str, clauses: tuple[str, ...], kinds: Sequence[str]) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        ops: list[Op] = []
        for _ in range(rng.randrange(1, 40)):
            text = None if rng.random() < 0.05 else draw_text(rng, rng.choice(kinds))
            ops.append({"op": "tags.code"} | ({"tags": None} if text is None else key_fields(text, "tags")))
        return Drawn(tuple(ops))

    ops = frozenset({"tags.code"})
    return Property(name, clauses, ops, ops, draw, LONE if "lone" in kinds else frozenset[str]())
