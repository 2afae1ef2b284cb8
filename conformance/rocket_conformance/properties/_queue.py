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
    Drawn,
    Geometry,
    ListBuilder,
    Property,
    clamped,
    draw_text,
    list_length,
    operations,
    queue_triples,
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


# --- queue --------------------------------------------------------------------------------------------

_PUTS: Final = {"put": 60, "get": 15, "bounds": 15}
_MIXED: Final = {
    **_PUTS,
    "recover": 5,
    "truncate": 5,
    "correct_min": 5,
    "delete_expired": 5,
    "last_offset": 5,
    "reopen": 5,
}


def _queue(name: str, profile: QueueProfile, *also: str) -> Property:
    needs = ("put",) if profile.laid < 1 else ()
    ops, needed = operations("queue", profile.weights, always=("recover",), needs=needs)

    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        builder = _QueueOperations(rng, profile)
        if rng.random() < profile.laid:  # over files that an earlier run may have left
            builder.lay()
        builder.open(load=bool(builder.files) and rng.random() < 0.97)
        length = list_length(rng, profile.mean)
        return builder.drawn(profile.weights, length, most=length)

    return Property(name, (name.partition("/")[0], *also), ops, needed, draw)


def _tags(name: str, kinds: tuple[str, ...], features: frozenset[str] = frozenset()) -> Property:
    def draw(rng: Random, _geometry: Geometry | None, _number: int) -> Drawn:
        ops: list[Op] = []
        for _ in range(rng.randrange(1, 40)):
            text = None if rng.random() < 0.05 else draw_text(rng, rng.choice(kinds))
            ops.append({"op": "tags.code"} | ({"tags": None} if text is None else key_fields(text, "tags")))
        return Drawn(tuple(ops))

    ops = frozenset({"tags.code"})
    return Property(name, ("CQ-TAGS-1",), ops, ops, draw, features)


_TRIPLES: Final = frozenset(f"queue.{name}" for name in ("open", "put", "get", "bounds", *_MIXED)) - {
    "queue.reopen"
}

QUEUE_PROPERTIES: Final = (
    _queue(
        "CQ-UNIT-3/prop-units-in-use",
        QueueProfile(
            {"recover": 20, "get": 20, "truncate": 10, "last_offset": 15, "bounds": 10, "put": 15},
            laid=1.0,
            damaged=0.2,
            mean=14,
        ),
        "CQ-REC-2",
    ),
    _queue(
        "CQ-FILE-1/prop-file-sizes",
        QueueProfile(_PUTS, sizes=(1, 19, 20, 21, 39, 40, 41, 59, 60, 61, 0, -1, -20), laid=0.2),
        "CQ-FILE-2",
    ),
    _queue("CQ-FILE-4/prop-many-files", QueueProfile(_PUTS, sizes=(40, 60), laid=0.1, astray=0.03, mean=40)),
    _tags("CQ-TAGS-1/prop-tags-codes", ("plain", "colliding", "extreme", "cjk", "emoji", "separators")),
    _tags("CQ-TAGS-1/prop-lone-surrogates", ("lone", "emoji"), LONE),
    _queue(
        "CQ-LOAD-1/prop-odd-files",
        QueueProfile(
            {"get": 20, "bounds": 20, "put": 20, "reopen": 15, "recover": 10},
            laid=1.0,
            odd_files=0.3,
            recovered=0.4,
            mean=12,
        ),
        "CQ-LOAD-2",
    ),
    _queue(
        "CQ-GET-1/prop-gets",
        QueueProfile(
            {"get": 60, "put": 15, "correct_min": 6, "delete_expired": 5, "reopen": 4, "truncate": 4}
        ),
        "CQ-BND-1",
    ),
    _queue(
        "CQ-PUT-1/prop-repeats", QueueProfile(_PUTS | {"reopen": 4}, repeats=0.6, astray=0.05), "CQ-PUT-7"
    ),
    _queue(
        "CQ-PUT-2/prop-logical-offsets",
        QueueProfile(_PUTS | {"reopen": 4}, astray=0.6, far=0.02, repeats=0.05),
        "CQ-PUT-3",
        "CQ-PUT-4",
    ),
    Property(
        "CQ-PUT-3/prop-triples",
        ("CQ-PUT-3", "CQ-PUT-4", "CQ-REC-1", "CQ-TRUNC-2"),
        _TRIPLES,
        frozenset({"queue.open", "queue.put"}),
        queue_triples,
    ),
    _queue("CQ-PUT-5/prop-rolls", QueueProfile(_PUTS, sizes=(20, 40, 60), astray=0.1, laid=0.4, mean=30)),
    _queue(
        "CQ-PUT-6/prop-first-offsets",
        QueueProfile(
            _PUTS | {"correct_min": 5, "truncate": 5, "recover": 3},
            laid=0.05,
            first=(1, 2, 3, 4, 5, 6, 9, 10, 11, 50),
            mean=8,
        ),
        "CQ-UNIT-2",
        "CQ-TRUNC-5",
    ),
    _queue(
        "CQ-PUT-8/prop-negative-and-far-offsets",
        QueueProfile(
            _PUTS | {"recover": 4},
            laid=0.1,
            first=(-1, -2, -3, -5, -6, 1 << 59, 922337203685477580, 922337203685477581, 1 << 62),
            astray=0.2,
            far=0.4,
            mean=8,
        ),
    ),
    _queue(
        "CQ-REC-1/prop-many-files",
        QueueProfile(
            {"recover": 20, "bounds": 10, "get": 10, "put": 20, "reopen": 10},
            laid=1.0,
            most_files=6,
            damaged=0.08,
            mean=12,
        ),
        "CQ-REC-3",
        "CQ-REC-4",
    ),
    _queue(
        "CQ-TRUNC-2/prop-truncations",
        QueueProfile(
            {"truncate": 30, "bounds": 5, "put": 25, "recover": 15, "reopen": 5, "correct_min": 3},
            laid=0.85,
            damaged=0.04,
            mean=12,
        ),
        "CQ-TRUNC-1",
        "CQ-TRUNC-3",
        "CQ-TRUNC-4",
        "CQ-TRUNC-7",
    ),
    _queue(
        "CQ-MIN-1/prop-minimum",
        QueueProfile(
            {"correct_min": 40, "bounds": 5, "get": 15, "put": 20, "delete_expired": 5, "reopen": 4}, laid=0.8
        ),
        "CQ-MIN-2",
    ),
    _queue(
        "CQ-DEL-1/prop-expiry",
        QueueProfile(
            {"delete_expired": 30, "put": 25, "get": 10, "reopen": 5}, laid=0.9, most_files=6, damaged=0.03
        ),
    ),
    _queue(
        "CQ-LAST-1/prop-last-offsets",
        QueueProfile(
            {"last_offset": 30, "put": 30, "truncate": 12, "recover": 8, "reopen": 5, "bounds": 5},
            sizes=(40, 60, 100),
            laid=0.7,
            damaged=0.05,
        ),
        "CQ-LAST-2",
    ),
    _queue("CQ-BND-1/prop-histories", QueueProfile(_MIXED, damaged=0.03, mean=40), "CQ-REC-2", "CQ-TRUNC-2"),
)
"""In the order of their clauses."""
