"""Inputs of the fuzzer as strategies of Hypothesis: bytes of a sample with a few changes; and those that failed once, which are files."""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import add
from pathlib import Path
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.later_layouts import BATCH_UNIT, LATER_CHECKPOINT, TIMER_SLOT, TIMER_UNIT
from rocket_spec.layout import (
    ENTRY,
    ENTRY_INDEX_UNIT,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    RECORD,
    Geometry,
    Layout,
)

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

GEOMETRY: Final = Geometry(7, 20)
"""Of the files that are made here."""

Fields = Mapping[str, Sequence[tuple[int, int]]]
"""Numbers in a file: of each field of its structures the places and bytes, so that each field is drawn as often as another."""

_COUNT: Final = re.compile("size|length|count|num|entry")
"""In the name of a field that promises how many bytes or things there are."""

_RECORD: Final = re.compile(rb"\xda\xa3\x20[\xa7\xab]")
_PLACES: Final = 16
"""Of one field."""
_STRUCTURES: Final[dict[str, Layout]] = {
    "consumequeue": QUEUE_UNIT, "consumequeue_ext": EXT_UNIT, "batchconsumequeue": BATCH_UNIT, "timerwheel": TIMER_SLOT,
    "timerlog": TIMER_UNIT, "entries": ENTRY_INDEX_UNIT,
}  # fmt: skip
"""What a file of this kind is full of, from its first byte on."""


def kind_of(name: str) -> str:
    """The kind of a store's file: its folder, or what DLedger calls that."""
    first, _, rest = name.partition("/")
    return (
        {"data": "commitlog", "index": "entries"}.get(rest.partition("/")[0], "")
        if first.startswith("dledger-")
        else first
    )


def _fields(layout: Layout, *starts: int) -> Fields:
    """The fixed fields of a structure that begins at these places."""
    return {
        f"{layout.name} {one.name}": [(at + (one.offset or 0), one.size or 0) for at in starts[:_PLACES]]
        for one in layout.fixed
        if starts
    }


@cache
def fields_of(name: str, data: bytes, geometry: Geometry) -> Fields:
    """The numbers in a store's file, by the layout tables; none of a text."""
    kind = kind_of(name)
    if kind in _STRUCTURES:
        return _fields(_STRUCTURES[kind], *range(0, len(data), _STRUCTURES[kind].size))
    if kind == "checkpoint":
        return _fields(LATER_CHECKPOINT, 0)
    if kind == "index":
        slots = range(INDEX_HEADER.size, geometry.entries_offset, INDEX_SLOT.size)
        entries = range(geometry.entries_offset + INDEX_ENTRY.size, len(data), INDEX_ENTRY.size)
        return {**_fields(INDEX_HEADER, 0), **_fields(INDEX_SLOT, *slots), **_fields(INDEX_ENTRY, *entries)}
    if kind != "commitlog":
        return {}
    starts = [found.start() - 4 for found in _RECORD.finditer(data)][:_PLACES]
    lengths = [_lengths(data, at) for at in starts]
    framed = _fields(ENTRY, *(at - ENTRY.size for at in starts)) if name.startswith("dledger-") else {}
    varying = ("body_length", "topic_length", "properties_length")
    return {
        **framed,
        **_fields(RECORD, *starts),
        **dict(zip(varying, zip(*lengths, strict=True), strict=False)),
    }


def counts(fields: Fields) -> list[str]:
    """The names of those that promise how many bytes or things there are."""
    return [name for name in fields if _COUNT.search(name.rpartition(" ")[2])]


def _lengths(data: bytes, at: int) -> list[tuple[int, int]]:
    """The lengths of body, topic and properties of a record, which stand after hosts, body and topic."""
    flags = int.from_bytes(data[at + 36 : at + 40])
    wide = 2 if data[at + 7 : at + 8] == b"\xab" else 1
    body = at + 84 + 12 * ((flags >> 4 & 1) + (flags >> 5 & 1))
    topic = body + 4 + int.from_bytes(data[body : body + 4])
    properties = topic + wide + int.from_bytes(data[topic : topic + wide])
    return [(body, 4), (topic, wide), (properties, 2)]


def claims(width: int) -> SearchStrategy[bytes]:
    """A number of `width` bytes that promises more than any file holds."""
    largest = (1 << 8 * width - 1) - 1
    return st.sampled_from([largest, largest - 1, largest // 2]).map(lambda number: number.to_bytes(width))


def numbers(width: int, *near: int) -> SearchStrategy[bytes]:
    """A number of `width` bytes: one that promises too much, another extreme one, one near one of `near`, or any."""
    mask = (1 << 8 * width) - 1
    close = st.builds(add, st.sampled_from(near), st.integers(-3, 3))
    value = st.sampled_from(_NUMBERS) | close | st.integers(0, mask)
    return claims(width) | value.map(lambda number: (number & mask).to_bytes(width))


def _name(fields: Fields) -> SearchStrategy[str]:
    """The name of a field: a count in half of all."""
    every = st.sampled_from([*fields])
    return st.sampled_from(counts(fields)) | every if counts(fields) else every


@st.composite
def mutated(draw: DrawFn, whole: Sequence[bytes], name: str = "") -> bytes:
    """A sound sample with one to four changes.

    Args:
        draw: given by Hypothesis.
        whole: the samples.
        name: of the file in a store, for its fields; none for a text.
    """
    data = draw(st.sampled_from(whole))
    fields = fields_of(name, data, GEOMETRY)
    for _ in range(draw(st.integers(1, 4))):
        data = draw(_changed(data, whole, fields))[:_LONGEST]
    return data


@st.composite
def _changed(draw: DrawFn, data: bytes, whole: Sequence[bytes], fields: Fields) -> bytes:
    if draw(st.booleans()):
        return (
            _with_number(draw, data, *draw(st.sampled_from(fields[draw(_name(fields))])))
            if fields
            else _with_value(draw, data)
        )
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
    return _with_value(draw, data)


def _with_value(draw: DrawFn, data: bytes) -> bytes:
    """A text with one value made extreme, or another of the same text."""
    found = list(_VALUE.finditer(data))
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
    """One change to one file of a store."""

    # "write" bytes at a place, "truncate" to a length (longer files end in a hole), "put" the whole content, "delete", "fifo" for
    # a FIFO in its place, "copy" the file that `data` names over it, or "rename" it to `data`
    action: str
    file: str  # relative to the store
    at: int = 0  # byte, or the new length
    data: str = ""  # hexadecimal, or a name


class Damaged(NamedTuple):
    """A store by its name, and what is done to it."""

    store: str
    damages: list[Damage]


class Target(NamedTuple):
    """A function that takes what comes from elsewhere."""

    inputs: SearchStrategy[Any]  # what it is given
    # takes an input, and a folder of its own; AssertionError if two ways to answer differ
    run: Callable[[Any, Path], Any]
    errors: tuple[type[BaseException], ...] = (FormatError, UsageError)  # documented errors


def recorded(value: bytes | Damaged) -> dict[str, Any]:
    """An input as a file of `tests/fuzz/inputs` has it, beside the name of its target."""
    return value._asdict() if isinstance(value, Damaged) else {"data": base64.b64encode(value).decode()}


def load(path: Path) -> tuple[str, bytes | Damaged]:
    """Target and input of a file; the target may be a pattern of several."""
    value = json.loads(path.read_bytes())
    if "data" in value:
        return value["target"], base64.b64decode(value["data"])
    return value["target"], Damaged(value["store"], [Damage(*damage) for damage in value["damages"]])
