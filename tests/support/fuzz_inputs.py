"""Inputs of the fuzzer: bytes of a sample with a few changes, and the corpus of those that failed once."""

import base64
import hashlib
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocket_spec.errors import FormatError, UsageError

INPUTS: Final = Path(__file__).parents[1] / "fuzz" / "inputs"
_LONGEST: Final = 1 << 16
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
_PIECES: Final = (
    b"\0", b"\xff" * 4, b"\1", b"\2", b" ", b"KEYS\1", b"TAGS\1", b"UNIQ_KEY\1", b"DELAY\1", b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x82", b"\xef\xbf\xbd", b"\xff", "\uff11".encode(), b"a" * 70, b"+1",
    b"2147483648", b"\x1b[2J", b"../../x", b'"', b"\\ud800", b"1e999", b"-0", b"null", b"{}", b"[]", b"[" * 3000, b'{"a":' * 3000,
    b"9" * 5000, b"\r\n", b"true", b'"a\\u0000b"',
)  # fmt: skip
_VALUE: Final = re.compile(rb"[-+]?\d+(?:\.\d+)?|\"(?:[^\"\\]|\\.){0,40}\"")


class Samples(NamedTuple):
    """What mutations begin with.

    Attributes:
        whole: sound inputs.
        fields: (place, bytes) of numbers in a structure.
    """

    whole: tuple[bytes, ...]
    fields: tuple[tuple[int, int], ...] = ()

    def mutated(self, rng: random.Random) -> bytes:
        """A sample with one to four changes."""
        data = rng.choice(self.whole)
        for _ in range(rng.randint(1, 4)):
            data = self._changed(data, rng)[:_LONGEST]
        return data

    def _changed(self, data: bytes, rng: random.Random) -> bytes:
        if self.fields and rng.random() < 0.5:
            return _number(data, *rng.choice(self.fields), rng)
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 4, 20, 200)))
        match rng.randrange(8):
            case 0:
                return data[:at] + rng.randbytes(end - at) + data[end:]
            case 1:
                return data[:at]
            case 2:
                return data[:at] + data[end:]
            case 3:
                return data[:end] + data[at:end] * rng.choice((1, 2, 50)) + data[end:]
            case 4:
                return data[:at] + rng.choice(_PIECES) + data[at:]
            case 5:
                other = rng.choice(self.whole)
                return data[:at] + other[rng.randrange(len(other) + 1) :]
            case 6:
                return _number(data, at, rng.choice((1, 2, 4, 8)), rng)
            case _:
                return _value(data, rng)


def _number(data: bytes, place: int, width: int, rng: random.Random) -> bytes:
    """A number becomes an extreme one, one near the length, one near what it was, or any."""
    near = int.from_bytes(data[place : place + width]) + rng.randint(-3, 3)
    value = rng.choice(
        (rng.choice(_NUMBERS), len(data) - place + rng.randint(-2, 2), near, rng.getrandbits(8 * width))
    )
    if place + width > len(data):
        return data
    return data[:place] + (value & (1 << 8 * width) - 1).to_bytes(width) + data[place + width :]


def _value(data: bytes, rng: random.Random) -> bytes:
    """A number or string of a text becomes an extreme one, or another of the same text."""
    found = list(_VALUE.finditer(data))
    if not found:
        return data
    chosen = rng.choice(found)
    other = rng.choice([str(rng.choice(_NUMBERS)).encode(), rng.choice(_PIECES), rng.choice(found).group()])
    return data[: chosen.start()] + other + data[chosen.end() :]


class Target(NamedTuple):
    """A function that takes bytes from elsewhere.

    Attributes:
        make: an input.
        run: takes the input, and a folder of its own; AssertionError if two ways to answer differ.
        errors: documented errors.
    """

    make: Callable[[random.Random], bytes]
    run: Callable[[bytes, Path], Any]
    errors: tuple[type[BaseException], ...] = (FormatError, UsageError)


def load(path: Path) -> tuple[str, bytes]:
    """Target and bytes of an input of the corpus."""
    value = json.loads(path.read_bytes())
    return value["target"], base64.b64decode(value["data"])


def keep(name: str, data: bytes) -> Path:
    """Writes an input into the corpus."""
    text = json.dumps({"target": name, "data": base64.b64encode(data).decode()})
    INPUTS.mkdir(parents=True, exist_ok=True)
    path = INPUTS / f"{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"
    path.write_text(text + "\n", "utf-8")
    return path
