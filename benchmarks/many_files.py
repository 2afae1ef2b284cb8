"""Healthy stores of many files: short consume queues and small index files, as a broker with many topics has them."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Final
from zlib import crc32

from rocket_columnar.rebuild import rebuild
from rocket_spec.layout import MESSAGE_MAGIC, Geometry

__all__ = ["QUEUES_PER_TOPIC", "make_many_files", "some_key", "some_unique_key"]

QUEUES_PER_TOPIC: Final = 4
_HOST: Final = bytes([127, 0, 0, 1])
_BEGIN: Final = 1_700_000_000_000
_BODY: Final = bytes(100)
_UNITS: Final = 5
_FILES_PER_INDEX: Final = 20  # consume queues for each index file


def some_key(number: int) -> str:
    """The key of a record by its number."""
    return f"order-{number}"


def some_unique_key(number: int) -> str:
    """The unique key of a record by its number."""
    return f"7F00000100002A9F{number:016X}"


def _topic(number: int) -> bytes:
    return b"topic-%d" % number


def _record(number: int, queues: int, position: int) -> bytes:
    queue = number % queues
    topic = _topic(queue // QUEUES_PER_TOPIC)
    text = (
        f"KEYS\1{some_key(number)}\2UNIQ_KEY\1{some_unique_key(number)}\2WAIT\1true\2TAGS\1tag{number % 7}\2"
    )
    properties = text.encode()
    size = 91 + len(_BODY) + len(topic) + len(properties)
    crc, stored = crc32(_BODY) & 0x7FFFFFFF, _BEGIN + number
    head = struct.pack(
        ">iiiiiqqiq",
        size,
        MESSAGE_MAGIC,
        crc,
        queue % QUEUES_PER_TOPIC,
        0,
        number // queues,
        position,
        0,
        stored,
    )
    hosts = struct.pack(">4siq4siiqi", _HOST, 10911, stored, _HOST, 10911, 0, 0, len(_BODY))
    return b"".join(
        (head, hosts, _BODY, bytes([len(topic)]), topic, struct.pack(">h", len(properties)), properties)
    )


def make_many_files(store: Path, queues: int, *, queue_file_size: int = 6_000_000) -> int:
    """Writes a store with `queues` consume queues and an index file for each twenty of them; its records.

    Index files have a geometry that few keys fill, so that all but the last are full.
    """
    records = queues * _UNITS
    log = store / "commitlog" / f"{0:020}"
    log.parent.mkdir(parents=True)
    position = 0
    with log.open("wb") as out:
        for number in range(records):
            record = _record(number, queues, position)
            position += out.write(record)
        out.write((8).to_bytes(4) + b"\xcb\xd4\x31\x94")
    keys = 2 * _UNITS * _FILES_PER_INDEX
    with tempfile.TemporaryDirectory(dir=store.parent) as directory:
        made = Path(directory) / "made"
        rebuild(store, made, geometry=Geometry(keys // 4, keys + 1), queue_file_size=queue_file_size)
        for part in ("index", "consumequeue"):
            (made / part).rename(store / part)
    return records
