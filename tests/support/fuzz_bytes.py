"""Inputs of fuzzers: bytes of a sample with a few changes, most of them in the fields of a layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import random

__all__ = ["LONGEST", "Samples"]

LONGEST: Final = 1 << 16
"""Bytes of an input at most."""

_NUMBERS: Final = (
    0,
    1,
    -1,
    2,
    0x7F,
    0x80,
    0x7FFF,
    0x8000,
    0x7FFFFFFF,
    -(1 << 31),
    1 << 31,
    (1 << 63) - 1,
    -(1 << 63),
)


class Samples(NamedTuple):
    """What mutations begin with.

    Attributes:
        whole: sound inputs.
        fields: (place, bytes) of numbers in a structure.
        step: bytes from one structure to the next; 0 if there is one.
        pieces: bytes that mean something where they are.
    """

    whole: tuple[bytes, ...]
    fields: tuple[tuple[int, int], ...] = ()
    step: int = 0
    pieces: tuple[bytes, ...] = (b"\0", b"\xff\xff\xff\xff")

    def mutated(self, rng: random.Random) -> bytes:
        """A sample with one to four changes."""
        data = bytearray(rng.choice(self.whole))
        for _ in range(rng.getrandbits(2) + 1):
            self._change(data, rng)
        del data[LONGEST:]
        return bytes(data)

    def _change(self, data: bytearray, rng: random.Random) -> None:
        kind = rng.getrandbits(4)
        if kind < 8 and self.fields:
            place, width = rng.choice(self.fields)
            if self.step:
                place += self.step * int(rng.random() * (len(data) // self.step + 1))
            self._number(data, place, width, rng)
            return
        at = int(rng.random() * (len(data) + 1))
        end = at + rng.choice((1, 1, 2, 4, 8, 20, 100))
        if kind < 9:
            self._number(data, at, rng.choice((1, 2, 4, 8)), rng)
        elif kind < 11:
            data[at:end] = rng.randbytes(min(end, len(data)) - at)
        elif kind == 11:
            del data[at:]
        elif kind == 12:
            del data[at:end]
        elif kind == 13:
            data[at:at] = data[at:end] * rng.choice((1, 2, 9))
        elif kind == 14:
            data[at:at] = rng.choice(self.pieces)
        else:
            other = rng.choice(self.whole)
            data[at:] = other[int(rng.random() * (len(other) + 1)) :]

    @staticmethod
    def _number(data: bytearray, place: int, width: int, rng: random.Random) -> None:
        """A number becomes an extreme one, one near the length, one near what it was, or any."""
        kind = rng.getrandbits(2)
        if kind == 0:
            value = rng.choice(_NUMBERS)
        elif kind == 1:
            value = len(data) - place + rng.randint(-2, 2)
        elif kind == 2:
            value = int.from_bytes(data[place : place + width]) + rng.randint(-3, 3)
        else:
            value = rng.getrandbits(8 * width) >> rng.randrange(8 * width)
        if place + width <= len(data):
            data[place : place + width] = (value & (1 << 8 * width) - 1).to_bytes(width)
