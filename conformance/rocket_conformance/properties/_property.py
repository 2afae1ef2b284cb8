"""Properties: lists of operations drawn from a seed, with keys, texts and numbers weighted to where implementations break."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from rocket_conformance.cases import Case
from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Op

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
    """Grows one list of a family of operations; a move is a method, or else the operation of its name.

    Args:
        rng: what is drawn from.
        family: `queue`.
    """

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
    """A property.

    Attributes:
        id: `CLAUSE/prop-slug`.
        clauses: the clauses it bears on, the one it is named after first.
        ops: the operations that its lists use.
        needs: those of them that an adapter must have declared; its lists go without the others.
        draw: makes the list of a number, of the given geometry where there is one.
        features: what an adapter must have declared.
        any_geometry: whether it needs an adapter that takes any geometry.
        beyond: the limit of an adapter that it is all about, if any: it does not apply to one that has it.
    """

    id: str
    clauses: tuple[str, ...]
    ops: frozenset[str]
    needs: frozenset[str]
    draw: Callable[[Random, Geometry | None, int], Drawn]
    features: frozenset[str] = frozenset()
    any_geometry: bool = False
    beyond: str | None = None


LONE: Final = frozenset({"lone_surrogates"})
"""The features that lists with lone surrogates need."""


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
