"""Properties: operation lists that are drawn from a seed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from rocket_conformance.cases import Case
from rocket_conformance.properties._drawn import Drawn

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
    rng = Random(f"{seed}/{wanted.id}/{number}")  # noqa: S311 - not for secrets
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
