"""Lists in which every three moves follow each other, for index files and for queues; and which triples a run has sent.

The moves go round in a de Bruijn sequence, in which each triple of moves occurs once; list N has the N-th part of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from rocket_reference import key_hash

from rocket_conformance.properties._property import FILE, NOON, Drawn, Geometry
from rocket_conformance.protocol import Op, from_i64, key_of, to_i64

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
