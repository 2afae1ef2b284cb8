"""Inputs of the fuzzer as strategies of Hypothesis: bytes of a sample with a few changes; and those that failed once, which are files."""

import base64
import json
import re
from collections.abc import Callable, Sequence
from operator import add
from pathlib import Path
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from rocket_spec.errors import FormatError, UsageError

INPUTS: Final = Path(__file__).parents[1] / "fuzz" / "inputs"
_LONGEST: Final = 1 << 16
_NUMBERS: Final = (
    0,
    1,
    -1,
    2,
    *(one for bits in (7, 15, 31, 63) for one in ((1 << bits) - 1, 1 << bits, -1 << bits)),
)
_PIECES: Final = (
    b"\0", b"\xff" * 4, b"\1", b"\2", b" ", b"KEYS\1", b"TAGS\1", b"UNIQ_KEY\1", b"DELAY\1", b"\xda\xa3\x20\xa7", b"\xcb\xd4\x31\x94",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\xe2\x82", b"\xef\xbf\xbd", b"\xff", "\uff11".encode(), b"a" * 70, b"+1",
    b"2147483648", b"\x1b[2J", b"../../x", b'"', b"\\ud800", b"1e999", b"-0", b"null", b"{}", b"[]", b"[" * 3000, b'{"a":' * 3000,
    b"9" * 5000, b"\r\n", b"true", b'"a\\u0000b"',
)  # fmt: skip
_VALUE: Final = re.compile(rb"[-+]?\d+(?:\.\d+)?|\"(?:[^\"\\]|\\.){0,40}\"")

Fields = Sequence[tuple[int, int]]
"""Place and bytes of each number in a structure."""


def numbers(width: int, *near: int) -> SearchStrategy[bytes]:
    """A number of `width` bytes: an extreme one, one near one of `near`, or any."""
    mask = (1 << 8 * width) - 1
    close = st.builds(add, st.sampled_from(near), st.integers(-3, 3))
    value = st.sampled_from(_NUMBERS) | close | st.integers(0, mask)
    return value.map(lambda number: (number & mask).to_bytes(width))


@st.composite
def mutated(draw: DrawFn, whole: Sequence[bytes], fields: Fields = ()) -> bytes:
    """A sound sample with one to four changes.

    Args:
        draw: given by Hypothesis.
        whole: the samples.
        fields: numbers in each of them.
    """
    data = draw(st.sampled_from(whole))
    for _ in range(draw(st.integers(1, 4))):
        data = draw(_changed(data, whole, fields))[:_LONGEST]
    return data


@st.composite
def _changed(draw: DrawFn, data: bytes, whole: Sequence[bytes], fields: Fields) -> bytes:
    if draw(st.booleans()) and fields:
        return _with_number(draw, data, *draw(st.sampled_from(fields)))
    at = draw(st.integers(0, len(data)))
    end = min(len(data), at + draw(st.sampled_from((1, 4, 20, 200))))
    part, after = data[at:end], data[end:]
    match draw(st.integers(0, 7)):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + after
        case 2:
            return data[:at] + draw(st.binary(min_size=len(part), max_size=len(part))) + after
        case 3:
            return data[:end] + part * draw(st.sampled_from((1, 2, 50))) + after
        case 4:
            return data[:at] + draw(st.sampled_from(_PIECES)) + data[at:]
        case 5:
            other = draw(st.sampled_from(whole))
            return data[:at] + other[draw(st.integers(0, len(other))) :]
        case 6:
            return _with_number(draw, data, at, draw(st.sampled_from((1, 2, 4, 8))))
    found = list(_VALUE.finditer(data))  # of a text: one becomes an extreme one, or another of the same text
    if not found:
        return data
    chosen = draw(st.sampled_from(found))
    others = [*(str(number).encode() for number in _NUMBERS), *_PIECES, *(one.group() for one in found)]
    return data[: chosen.start()] + draw(st.sampled_from(others)) + data[chosen.end() :]


def _with_number(draw: DrawFn, data: bytes, place: int, width: int) -> bytes:
    if place + width > len(data):
        return data
    known = int.from_bytes(data[place : place + width])
    return data[:place] + draw(numbers(width, len(data) - place, known)) + data[place + width :]


class Damage(NamedTuple):
    """One change to one file of a store.

    Attributes:
        action: "write" bytes at a place, "truncate" to a length (longer files end in a hole), "put" the whole content, "delete",
            "fifo" for a FIFO in its place, "copy" the file that `data` names over it, or "rename" it to `data`.
        file: relative to the store.
        at: byte, or the new length.
        data: hexadecimal, or a name.
    """

    action: str
    file: str
    at: int = 0
    data: str = ""


class Damaged(NamedTuple):
    """A store by its name, and what is done to it."""

    store: str
    damages: list[Damage]


class Target(NamedTuple):
    """A function that takes what comes from elsewhere.

    Attributes:
        inputs: what it is given.
        run: takes an input, and a folder of its own; AssertionError if two ways to answer differ.
        errors: documented errors.
    """

    inputs: SearchStrategy[Any]
    run: Callable[[Any, Path], Any]
    errors: tuple[type[BaseException], ...] = (FormatError, UsageError)


def recorded(value: bytes | Damaged) -> dict[str, Any]:
    """An input as a file of `tests/fuzz/inputs` has it, beside the name of its target."""
    return value._asdict() if isinstance(value, Damaged) else {"data": base64.b64encode(value).decode()}


def load(path: Path) -> tuple[str, bytes | Damaged]:
    """Target and input of a file; the target may be a pattern of several."""
    value = json.loads(path.read_bytes())
    if "data" in value:
        return value["target"], base64.b64decode(value["data"])
    return value["target"], Damaged(value["store"], [Damage(*damage) for damage in value["damages"]])
