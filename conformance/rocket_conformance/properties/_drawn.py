"""A drawn list with its files, and how one grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from rocket_conformance.files import FileImage
from rocket_conformance.protocol import Op

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
