"""Large stores for benchmarks.

A store holds the records of a golden store, as the real broker wrote them, again and again: each copy with its own
physical offset, logical offset, times and keys, so that it is what a broker that ran on would have written. Consume
queues and index files come from a rebuild.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

import numpy as np
from rocket_columnar.rebuild import rebuild
from rocket_columnar.store import find_files
from rocket_golden import open_store

if TYPE_CHECKING:
    from numpy.typing import NDArray

GOLDEN: Final = "default-geometry"
"""The golden store whose records are copied."""

_ROUND_MS: Final = 1000
_DIGITS: Final = np.frombuffer(b"0123456789ABCDEF", np.uint8)


class _Template(NamedTuple):
    """The records of a round, one behind the other, and where what changes lies in each."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    queues: NDArray[np.int64]
    ranks: NDArray[np.int64]
    totals: NDArray[np.int64]
    times: NDArray[np.int64]
    digits: NDArray[np.int64]


def _record(raw: bytes, body_size: int) -> tuple[bytes, int]:
    """A record with a body of at least `body_size` bytes, if it has one; where its properties begin."""
    length = int.from_bytes(raw[84:88])
    topic = 88 + length
    body = raw[88:topic]
    while body and len(body) < body_size:
        body += body[: body_size - len(body)]
    whole = bytearray(raw[:84] + len(body).to_bytes(4) + body + raw[topic:])
    whole[0:4] = len(whole).to_bytes(4)
    whole[8:12] = (crc32(body) & 0x7FFFFFFF).to_bytes(4)
    at = 88 + len(body)
    return bytes(whole), at + 1 + whole[at] + 2


def _template(body_size: int) -> _Template:
    records: list[bytes] = []
    digits: list[int] = []
    queues: list[tuple[bytes, bytes]] = []
    begin = 0
    with tempfile.TemporaryDirectory() as directory:
        store = open_store(GOLDEN, Path(directory))
        for file in find_files(store / "commitlog"):
            data, at = file.path.read_bytes(), 0
            while (size := int.from_bytes(data[at : at + 4])) and data[
                at + 4 : at + 8
            ] == b"\xda\xa3\x20\xa7":
                record, properties = _record(data[at : at + size], body_size)
                key = record.find(b"UNIQ_KEY\1", properties)
                if key < 0:
                    raise ValueError("a record without a unique key")
                digits.append(
                    begin + key + len(b"UNIQ_KEY\1") + 24
                )  # of 32 hexadecimal digits the last eight
                topic = 88 + int.from_bytes(record[84:88])
                queues.append((record[topic : properties - 2], record[12:16]))
                records.append(record)
                begin += len(record)
                at += size
    names = {name: number for number, name in enumerate(dict.fromkeys(queues))}
    numbers = np.array([names[name] for name in queues], np.int64)
    ranks = np.array(
        [int((numbers[:at] == number).sum()) for at, number in enumerate(numbers.tolist())], np.int64
    )
    sizes = np.array([len(record) for record in records], np.int64)
    raw = np.frombuffer(b"".join(records), np.uint8)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    times = np.array([int.from_bytes(record[56:64]) for record in records], np.int64)
    return _Template(raw, starts, numbers, ranks, np.bincount(numbers), times, np.array(digits, np.int64))


def _put_longs(data: NDArray[np.uint8], places: NDArray[np.int64], values: NDArray[np.int64]) -> None:
    data[places[:, None] + np.arange(8)] = values.astype(">i8").view(np.uint8).reshape(-1, 8)


def golden_records() -> int:
    """How many records the golden store has."""
    return _template(0).ranks.size


def make_log(directory: Path, size: int, *, file_size: int, body_size: int) -> int:
    """Writes a commit log of about `size` bytes; how many records it holds."""
    template = _template(body_size)
    directory.mkdir(parents=True)
    count = template.ranks.size
    span = int(template.times.max() - template.times.min()) // _ROUND_MS * _ROUND_MS + _ROUND_MS
    position, number = 0, 0
    opened = None
    try:
        while position < size:
            turn, first = divmod(number, count)
            base = position - position % file_size
            if position == base:
                if opened is not None:
                    opened.close()
                opened = (directory / f"{base:020}").open("wb")
                opened.truncate(file_size)
            room = base + file_size - position
            inside = template.starts[first:] - template.starts[first]
            stop = first + int(np.searchsorted(inside, room - 8, side="right")) - 1
            if stop > first:
                opened.write(_round(template, turn, slice(first, stop), position, span).data)  # type: ignore[union-attr]
                position += int(inside[stop - first])
                number += stop - first
            if stop < count:
                opened.write((base + file_size - position).to_bytes(4) + b"\xcb\xd4\x31\x94")  # type: ignore[union-attr]
                position = base + file_size
    finally:
        if opened is not None:
            opened.close()
    return number


def _round(template: _Template, turn: int, part: slice, position: int, span: int) -> NDArray[np.uint8]:
    """Records of one round with offsets, times and keys of their own."""
    begin = int(template.starts[part.start])
    data = template.data[begin : int(template.starts[part.stop])].copy()
    starts = template.starts[part] - begin
    _put_longs(data, starts + 20, turn * template.totals[template.queues[part]] + template.ranks[part])
    _put_longs(data, starts + 28, position + starts)
    times = template.times[part] + turn * span
    _put_longs(data, starts + 40, times - 1)
    _put_longs(data, starts + 56, times)
    digits = template.digits[part] - begin
    numbers = turn * template.ranks.size + np.arange(part.start, part.stop)
    for place in range(8):
        data[digits + place] = _DIGITS[(numbers >> (28 - 4 * place)) & 15]
    return data


def make_store(root: Path, size: int, *, file_size: int, body_size: int) -> int:
    """Writes a healthy store of about `size` bytes; how many records it holds."""
    mean = max(241, 241 - 57 + body_size)
    share = mean / (mean + 20 + 20 * 2.6)  # a unit and some entries beside each record
    count = make_log(root / "commitlog", int(size * share), file_size=file_size, body_size=body_size)
    made = root.with_name("made")
    rebuild(root, made)
    for part in ("index", "consumequeue"):
        (made / part).rename(root / part)
    shutil.rmtree(made)
    return count
