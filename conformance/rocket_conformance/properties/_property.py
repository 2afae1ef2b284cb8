"""Properties: lists of operations drawn from a seed, with keys, texts and numbers weighted to where implementations break.

Lists of triples, for index files and for queues, have every three moves follow each other: the moves go round in a de Bruijn
sequence, in which each triple of moves occurs once, and list N has the N-th part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar

from rocket_reference import key_hash

from rocket_conformance.cases import Case
from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Op, from_i64, key_of, to_i64

FILE: Final = "20260101000000000"
"""The index file of a drawn list."""

I64_MIN: Final = -(1 << 63)
I64_MAX: Final = (1 << 63) - 1
I32_MAX: Final = (1 << 31) - 1

NOON: Final = 1_767_268_800_000
"""A time in ms, 2026-01-01T12:00Z: what a healthy broker stores."""

_COLLIDING: Final = tuple(f"{topic}Topic#{key}" for topic in ("Aa", "BB") for key in ("Aa", "BB"))
_EXTREME: Final = (
    "polygenelubricants",
    "",
    "#",
    "T#",
    "\0",
    "\0\0",
    "\x7f" * 9,
)  # the first hashes to MIN_VALUE
_CJK: Final = ("订单#支付", "主题#键值", "トピック#キー", "토픽#키", "a\u00e9#\u00fc")
_EMOJI: Final = (
    "T#\U0001f680",
    "\U0001f469\u200d\U0001f4bb#k",
    "T#\U00020000\U0002a6d6",
    "\U0010ffff#\U00010000",
)
_LONE: Final = ("T#\ud800", "T#\udc00x", "\udfff\ud800#k", "T#\U0001f680\ud83d")
_LETTERS: Final = "abAB01#-_%"
_SEPARATORS: Final = (" ", "  ", "\t", ",", ";", "||", "\n", "\u00a0", "\u3000", "\u2003", "\x1f", "\0")


def draw_key(rng: Random, kind: str) -> str:
    """One key of a kind, plain if it is none of these; `lone` holds lone surrogates and needs the feature of that name."""
    fixed: Sequence[str] = {
        "colliding": _COLLIDING,
        "extreme": _EXTREME,
        "cjk": _CJK,
        "emoji": _EMOJI,
        "lone": _LONE,
    }.get(kind, ())
    if fixed and rng.random() < 0.7:
        return rng.choice(fixed)
    text = "".join(rng.choices(_LETTERS, k=rng.randrange(1, 12)))
    return rng.choice(fixed) + text if fixed else "Topic#" + text


def draw_text(rng: Random, kind: str) -> str:
    """A text of one of the kinds of keys, or of `separators`: words with something between them."""
    if kind != "separators":
        return draw_key(rng, kind)
    words = ("TagA", "TagB", "a", "", "k1", "\u8ba2\u5355", "\U0001f680")
    parts = [rng.choice(words) + rng.choice(_SEPARATORS) for _ in range(rng.randrange(1, 5))]
    return "".join(parts) + rng.choice(words)


def draw_keys(rng: Random, kinds: Sequence[str]) -> list[str]:
    """A few keys for a list: few, so that chains grow."""
    return [draw_key(rng, rng.choice(kinds)) for _ in range(rng.choice((1, 2, 3, 5, 8)))]


def clamped(value: int) -> int:
    """The nearest 64-bit integer."""
    return min(max(value, I64_MIN), I64_MAX)


def any_i64(rng: Random) -> int:
    """A 64-bit integer, mostly at an edge."""
    near = rng.choice((0, 1000, NOON, I32_MAX, I32_MAX * 1000, -I32_MAX * 1000, I64_MIN, I64_MAX))
    return clamped(near + rng.randrange(-3, 4))


def draw_offset(rng: Random, place: int) -> int:
    """A physical offset: ascending as a broker's, or any."""
    return place * 200 + rng.randrange(100) if rng.random() < 0.85 else any_i64(rng)


def times(rng: Random, kind: str, length: int) -> list[int]:
    """Store timestamps in ms for a list's puts, in their order."""
    base = NOON if rng.random() < 0.6 else rng.choice((1, 999, 1000, 86_400_000))
    found: list[int] = []
    now = {"around_zero": rng.randrange(-3, 4), "negative": -rng.randrange(1, NOON)}.get(kind, base)
    for _ in range(length):
        found.append(now)
        if kind == "close":
            now += rng.choice((0, 1, 499, 500, 999, 1000, 1001))
        elif kind == "shuffled":
            now = base + rng.randrange(-5_000, 20_000)
        elif kind == "decades":
            now += rng.choice((0, 1, 10**9, I32_MAX * 1000 - 1, I32_MAX * 1000, I32_MAX * 1000 + 999, 10**13))
        elif kind == "around_zero":
            now = rng.choice((0, -1, 1, 999, 1000, -1000, NOON))
        elif kind == "negative":
            now += rng.randrange(0, 5_000)
        elif kind == "extreme":
            now = any_i64(rng)
        else:
            now += rng.randrange(0, 3_000)
    return found


# --- drawn --------------------------------------------------------------------------------------------

MOST_OPERATIONS: Final = 200
"""Greatest length of a list."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn list, and the files that its directory has before the first operation."""

    ops: tuple[Op, ...]
    files: Mapping[str, FileImage] = field(default_factory=dict[str, "FileImage"])


def list_length(rng: Random, mean: int) -> int:
    """A number of operations: mostly a few, now and then as many as there may be."""
    if rng.random() < 0.02:
        return MOST_OPERATIONS
    return min(MOST_OPERATIONS, 3 + int(rng.expovariate(1 / mean)))


class ListBuilder:
    """Grows one list of a family of operations; a move is a method, or else the operation of its name."""

    def __init__(self, rng: Random, family: str) -> None:
        self.rng = rng
        self.ops: list[Op] = []
        self.files: dict[str, FileImage] = {}
        self._family = family

    def add(self, name: str, **fields: object) -> None:
        """Appends an operation of the family."""
        self.ops.append({"op": f"{self._family}.{name}", **fields})

    def drawn(self, weights: Mapping[str, int], length: int, *, most: int) -> Drawn:
        """The list after `length` moves, drawn by weight, or after the first that makes it `most` operations long."""
        for move in self.rng.choices(list(weights), weights=list(weights.values()), k=length):
            if len(self.ops) >= most:
                break
            method = getattr(self, move, None)
            if method is None:
                self.add(move)
            else:
                method()
        return Drawn(tuple(self.ops), self.files)


# --- property -----------------------------------------------------------------------------------------

Geometry = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Property:
    """A property."""

    id: str  # `CLAUSE/prop-slug`
    clauses: tuple[str, ...]  # the clauses it bears on, the one it is named after first
    ops: frozenset[str]  # the operations that its lists use
    needs: frozenset[str]  # those of them that an adapter must have declared; its lists go without the others
    # makes the list of a number, of the given geometry where there is one
    draw: Callable[[Random, Geometry | None, int], Drawn]
    features: frozenset[str] = frozenset()  # what an adapter must have declared
    any_geometry: bool = False  # whether it needs an adapter that takes any geometry
    # the limit of an adapter that it is all about, if any: it does not apply to one that has it
    beyond: str | None = None


LONE: Final = frozenset({"lone_surrogates"})
"""The features that lists with lone surrogates need."""

PLAIN: Final = ("plain",)
"""The usual way of drawing a list."""


Settings = Mapping[str, Sequence[Any]]
"""By name, the values that a property of `properties.txt` is drawn with."""

_Profile = TypeVar("_Profile")
_OF_NO_PROFILE: Final = {"moves", "draw", "geometry", "beyond"}


def described() -> Iterator[tuple[str, tuple[str, ...], Settings]]:
    """The properties of `properties.txt`: id, clauses, and settings."""
    text = Path(__file__).with_name("properties.txt").read_text("utf-8")
    known: dict[str, dict[str, Sequence[Any]]] = {}
    for heading, body in re.findall(r"^([^# \n].*)\n((?:  .*\n)+)", text, re.MULTILINE):
        name, *also = heading.split()
        settings: dict[str, Sequence[Any]] = {}
        for setting in body.split(";"):
            key, *values = setting.split()
            settings |= known[values[0]] if key == "like" else {key: tuple(map(_value, values))}
        known[name] = settings
        if "/" in name:
            yield name, (name.partition("/")[0], *also), settings


def _value(word: str) -> float | str:
    for number in (int, float):
        with suppress(ValueError):
            return number(word)
    return word.encode("ascii").decode("unicode_escape")


def profile_of(kind: Callable[..., _Profile], settings: Settings) -> _Profile:
    """The profile with these settings: a number is a single value."""
    numbers = {item.name: isinstance(item.default, (int, float)) for item in fields(kind)}  # type: ignore[arg-type]
    chosen = {
        name: values[0] if numbers[name] else values
        for name, values in settings.items()
        if name not in _OF_NO_PROFILE
    }
    moves = settings["moves"]
    return kind(dict(zip(moves[::2], moves[1::2], strict=True)), **chosen)


def scope_of(settings: Settings) -> dict[str, Any]:
    """The fields of a property that say to which adapters it applies."""
    return {"any_geometry": "geometry" in settings, "beyond": settings.get("beyond", (None,))[0]}


def operations(
    family: str, weights: Mapping[str, int], *, always: Iterable[str], needs: Iterable[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The operations that lists of these moves use, and those they need: the given ones, and the most frequent move."""
    moves = [move for move in weights if move != "reopen"]
    names = {f"{family}.{name}" for name in (*moves, "open", *always)}
    heaviest = max(moves, key=lambda move: weights[move])
    return frozenset(names), frozenset(f"{family}.{name}" for name in ("open", heaviest, *needs))


def example(
    wanted: Property, *, seed: int, number: int, geometries: Sequence[Geometry] | None = None
) -> Case:
    """One list of a property; the same for the same arguments, on any machine."""
    rng = Random(f"{seed}/{wanted.id}/{number}")
    geometry = rng.choice(list(geometries)) if geometries else None
    drawn = wanted.draw(rng, geometry, number)
    return Case(
        id=wanted.id,
        clauses=wanted.clauses,
        ops=drawn.ops,
        files=drawn.files,
        producer=f"generated, example {number}",
        features=wanted.features,
        seed=seed,
    )


def examples(
    wanted: Property, *, seed: int, count: int, geometries: Sequence[Geometry] | None = None
) -> Iterator[Case]:
    """The first lists of a property."""
    for number in range(count):
        yield example(wanted, seed=seed, number=number, geometries=geometries)


# --- triples -------------------------------------------------------------------------------------------

_LENGTH: Final = 62
_SLOTS, _ENTRIES = 101, 220
_PLACES: Final = ("new slot", "same slot", "same key")
_TIMES: Final = ("earlier", "same time", "later")
_PUTS: Final = tuple(f"{place}, {time}" for place in _PLACES for time in _TIMES)
_UNIT_PUTS: Final = ("put next", "put again", "put elsewhere")

MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    "index": (*_PUTS, "flush", "load"),
    "queue": (
        *_UNIT_PUTS, "get", "recover", "truncate", "correct_min", "delete_expired", "last_offset", "bounds", "load",
    ),
}  # fmt: skip
"""Moves by family; every triple of them is sent."""


def _de_bruijn(count: int) -> Iterator[int]:
    """The numbers below `count` in a circle in which each three of them occur once: its Lyndon words in order."""
    word = [-1]
    while word:
        word[-1] += 1
        if 3 % len(word) == 0:
            yield from word
        word = [word[place % len(word)] for place in range(3)]
        while word and word[-1] == count - 1:
            word.pop()


def moves_of(family: str, number: int) -> list[str]:
    """The moves of list `number`: each begins with the last two of the one before."""
    names = MOVES[family]
    circle = [names[place] for place in _de_bruijn(len(names))]
    start = number * (_LENGTH - 2) % len(circle)
    return [circle[(start + place) % len(circle)] for place in range(_LENGTH)]


class _Keys:
    """The keys of a list: what is asked of the next one is found by trying."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._hashes: set[int] = set()
        self.used: list[str] = []

    def next(self, place: str) -> str:
        """A key whose slot, or whose key, was used before as the move asks for."""
        if place == "same key":
            return self._rng.choice(self.used)
        slots = {hash_ % _SLOTS for hash_ in self._hashes}
        while True:
            key = f"T#{self._rng.randrange(1 << 30)}"
            hash_ = key_hash(key)
            if hash_ not in self._hashes and (hash_ % _SLOTS in slots) == (place == "same slot"):
                self._hashes.add(hash_)
                self.used.append(key)
                return key


def index_triples(rng: Random, _geometry: Geometry | None, number: int) -> Drawn:
    """A list on one index file, which is loaded again at each `load`."""
    opening: Op = {
        "op": "index.open", "file": FILE, "hash_slot_num": _SLOTS, "index_num": _ENTRIES, "end_phy_offset": "0",
        "end_timestamp": "0", "load": False,
    }  # fmt: skip
    ops: list[Op] = [opening]
    keys = _Keys(rng)
    now = NOON
    step = {"earlier": -1500, "same time": 0, "later": rng.choice((999, 1000, 2500))}
    for offset, move in enumerate(("new slot, later", *moves_of("index", number))):
        if move == "flush":
            ops.append({"op": "index.flush"})
            continue
        if move == "load":
            ops.append(opening | {"load": True})
            continue
        place, _, time = move.partition(", ")
        now += step[time]
        ops.append(
            {
                "op": "index.put",
                "key": keys.next(place),
                "phy_offset": from_i64(100 * offset),
                "store_timestamp": from_i64(now),
            }
        )
    for key in keys.used[-4:]:
        window = {"begin": "0", "end": from_i64((1 << 63) - 1)}
        ops.append({"op": "index.select", "key": key, "max_num": 64, **window})
    return Drawn((*ops, {"op": "index.header"}, {"op": "index.flush"}))


def queue_triples(rng: Random, _geometry: Geometry | None, number: int) -> Drawn:
    """A list on one queue, whose puts end later than those before, or at the same place."""
    opening: Op = {"op": "queue.open", "topic": "T", "queue_id": 0, "file_size": 60, "load": False}
    ops: list[Op] = [opening]
    place = end = 0
    for move in ("put next", *moves_of("queue", number)):
        if move == "load":
            ops.append(opening | {"load": True})
        elif move in _UNIT_PUTS:
            place += {"put next": 1, "put again": 0, "put elsewhere": rng.choice((-2, 2, 4))}[move]
            end += 100 * (move != "put again")
            unit = {"size": 100, "tags_code": from_i64(rng.randrange(9)), "cq_offset": from_i64(place)}
            ops.append({"op": "queue.put", "offset": from_i64(end), **unit})
        elif move == "get":
            ops.append({"op": "queue.get", "cq_offset": from_i64(max(0, place + rng.choice((-2, -1, 0, 1))))})
        else:
            edge = from_i64(end + rng.choice((-100, 0, 1, 100)))
            name = {"truncate": "phy_offset", "correct_min": "phy_min_offset", "delete_expired": "phy_offset"}
            ops.append({"op": f"queue.{move}", **({name[move]: edge} if move in name else {})})
    return Drawn(tuple(ops))


# --- what was sent ---------------------------------------------------------------------------------------


def triples_in(family: str, ops: Sequence[Op]) -> Iterator[tuple[str, ...]]:
    """The triples of moves of a family in the operations of a case; other operations between them are passed over."""
    moves = list(_READERS[family](ops))
    yield from zip(moves, moves[1:], moves[2:], strict=False)


def _index_moves(ops: Sequence[Op]) -> Iterator[str]:
    hashes: set[int] = set()
    slots: set[int] = set()
    number, last = 1, None
    for op in ops:
        if op["op"] == "index.open":
            number, last = max(1, op["hash_slot_num"]), last if op["load"] else None
            if op["load"]:
                yield "load"
            else:
                hashes, slots = set(), set()
        elif op["op"] == "index.flush":
            yield "flush"
        elif op["op"] == "index.put":
            hash_, time = key_hash(key_of(op)), to_i64(op["store_timestamp"])
            place = "same key" if hash_ in hashes else "same slot" if hash_ % number in slots else "new slot"
            if last is not None:
                yield f"{place}, {'later' if time > last else 'earlier' if time < last else 'same time'}"
            hashes.add(hash_)
            slots.add(hash_ % number)
            last = time


def _queue_moves(ops: Sequence[Op]) -> Iterator[str]:
    last: int | None = None
    for op in ops:
        name = op["op"].removeprefix("queue.")
        if name == "open":
            if op["load"]:
                yield "load"
        elif name == "put":
            place = to_i64(op["cq_offset"])
            if last is not None:
                yield {1: "put next", 0: "put again"}.get(place - last, "put elsewhere")
            last = place
        elif name in MOVES["queue"]:
            yield name


_READERS: Final[Mapping[str, Callable[[Sequence[Op]], Iterator[str]]]] = {
    "index": _index_moves,
    "queue": _queue_moves,
}
