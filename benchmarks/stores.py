"""Healthy stores of any size, number of queues and size of body; consume queues and index files come from a rebuild."""

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zlib import crc32

import rocketspec
from rocket_spec.layout import BLANK_MAGIC, DEFAULT_GEOMETRY, MESSAGE_MAGIC, Geometry

_BEGIN: Final = 1_700_000_000_000
_HOST: Final = struct.pack(">4si", bytes([127, 0, 0, 1]), 10911)
_QUEUES_PER_TOPIC: Final = 4
_UNITS: Final = 5  # in each queue of a store with many files
_QUEUES_PER_INDEX: Final = 20


def topic(number: int, queues: int) -> str:
    """The topic of a record by its number."""
    return f"topic-{number % queues // _QUEUES_PER_TOPIC}"


def key(number: int) -> str:
    """The key of a record by its number."""
    return f"order-{number}"


def unique_key(number: int) -> str:
    """The unique key of a record by its number."""
    return f"7F00000100002A9F{number:016X}"


def _records(queues: int, body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each record's bytes before and after its physical offset, without end; queues take turns."""
    crc, number = crc32(body) & 0x7FFFFFFF, 0
    while True:
        name, stored = topic(number, queues).encode(), _BEGIN + number
        text = f"KEYS\1{key(number)}\2UNIQ_KEY\1{unique_key(number)}\2WAIT\1true\2TAGS\1tag{number % 7}\2".encode()
        size = 91 + len(body) + len(name) + len(text)
        queue = number % queues % _QUEUES_PER_TOPIC
        head = struct.pack(">iiiiiq", size, MESSAGE_MAGIC, crc, queue, 0, number // queues)
        times = struct.pack(">iq8sq8siqi", 0, stored, _HOST, stored, _HOST, 0, 0, len(body))
        yield head, b"".join((times, body, bytes([len(name)]), name, struct.pack(">h", len(text)), text))
        number += 1


def write_log(
    directory: Path,
    *,
    body: int,
    records: int = 1 << 62,
    size: int = 1 << 62,
    file_size: int = 0,
    queues: int = 4,
) -> int:
    """Writes a commit log of the given number of records, or of about the given number of bytes; returns how many records were written.

    `body` is the length of a record's body and `file_size` that of a log file, in bytes; 0 makes one file that ends with the last record. There
    are four queues a topic.
    """
    directory.mkdir(parents=True, exist_ok=True)
    made, position, base = _records(queues, bytes(body)), 0, 0
    out = (directory / f"{0:020}").open("wb")
    try:
        out.truncate(file_size)
        for number in range(records):
            head, tail = next(made)
            length = len(head) + 8 + len(tail)
            if file_size and position + length + 8 > base + file_size:
                out.write(struct.pack(">ii", base + file_size - position, BLANK_MAGIC))
                position = base = base + file_size
                out.close()
                out = (directory / f"{base:020}").open("wb")
                out.truncate(file_size)
            if position + length > size:
                return number
            out.write(b"".join((head, position.to_bytes(8), tail)))
            position += length
        return records
    finally:
        out.close()


def _rebuilt(store: Path, geometry: Geometry = DEFAULT_GEOMETRY) -> None:
    """Moves the index files and queues of a rebuild into the store."""
    with tempfile.TemporaryDirectory(dir=store.parent) as directory:
        made = Path(directory) / "made"
        rocketspec.rebuild(store, made, geometry=geometry)
        for part in ("index", "consumequeue"):
            (made / part).rename(store / part)


def make_store(store: Path, size: int, *, body: int, file_size: int = 1 << 30) -> int:
    """Writes a store with a log of `size` bytes; how many records it has."""
    count = write_log(store / "commitlog", body=body, size=size, file_size=min(size, file_size))
    _rebuilt(store)
    return count


def make_many_files(store: Path, queues: int) -> int:
    """Writes a store with the given number of queues and an index file for each twenty of them; its records."""
    count = write_log(store / "commitlog", body=100, records=queues * _UNITS, queues=queues)
    keys = 2 * _UNITS * _QUEUES_PER_INDEX
    _rebuilt(store, Geometry(keys // 4, keys + 1))
    return count
