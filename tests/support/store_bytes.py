"""Files of a store packed by hand with `struct`, for tests of whatever reads them."""

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BEGIN = 1_700_000_000_000
"""A store timestamp, ms."""

_MESSAGE = struct.pack(">I", 0xDAA320A7)
_BLANK = struct.pack(">I", 0xCBD43194)


class Entry(NamedTuple):
    """An index entry before it has a place: the chain follows from the hashes."""

    key_hash: int
    phy_offset: int
    time_diff: int


def _header(entries: Sequence[Entry], used: int) -> bytes:
    if not entries:
        return bytes(40)
    first, last = entries[0], entries[-1]
    return struct.pack(
        ">qqqqii",
        BEGIN,
        BEGIN + 1000 * last.time_diff,
        first.phy_offset,
        last.phy_offset,
        used,
        len(entries) + 1,
    )


def _chained(slots: int, entries: Sequence[Entry]) -> tuple[dict[int, int], bytes]:
    """The slots in use and the entries' bytes, as puts would leave them."""
    newest: dict[int, int] = {}
    packed = b""
    for number, entry in enumerate(entries, 1):
        slot = entry.key_hash % slots
        packed += struct.pack(">iqii", *entry, newest.get(slot, 0))
        newest[slot] = number
    return newest, packed


def index_file(slots: int, capacity: int, entries: Sequence[Entry]) -> bytes:
    """A whole index file of `slots` slots and room for `capacity` entries (entry 0 among them)."""
    newest, packed = _chained(slots, entries)
    table = b"".join(struct.pack(">i", newest.get(slot, 0)) for slot in range(slots))
    return _header(entries, len(newest)) + table + (bytes(20) + packed).ljust(20 * capacity, b"\0")


def write_sparse_index(path: Path, slots: int, capacity: int, entries: Sequence[Entry]) -> None:
    """The same as a file with holes where nothing was written."""
    newest, packed = _chained(slots, entries)
    with path.open("wb") as file:
        file.truncate(40 + 4 * slots + 20 * capacity)
        file.write(_header(entries, len(newest)))
        for slot, number in newest.items():
            file.seek(40 + 4 * slot)
            file.write(struct.pack(">i", number))
        file.seek(40 + 4 * slots + 20)
        file.write(packed)


def unit(phy_offset: int, size: int, tags_code: int = 0) -> bytes:
    """A consume-queue unit."""
    return struct.pack(">qiq", phy_offset, size, tags_code)


def ext_unit(tags_code: int, store_timestamp: int, bit_map: bytes) -> bytes:
    """A consume-queue ext unit."""
    return struct.pack(">hqqh", 20 + len(bit_map), tags_code, store_timestamp, len(bit_map)) + bit_map


def checkpoint(physic: int, logics: int, index: int) -> bytes:
    """A checkpoint file."""
    return struct.pack(">qqq", physic, logics, index).ljust(4096, b"\0")


def _host(address: bytes, port: int) -> bytes:
    return address + struct.pack(">i", port)


def record(
    phy_offset: int,
    *,
    topic: bytes = b"T",
    body: bytes = b"body",
    properties: bytes = b"",
    sys_flag: int = 0,
    born: bytes = bytes([10, 0, 0, 1]),
    store: bytes = bytes([10, 0, 0, 2]),
    queue_id: int = 0,
    queue_offset: int = 0,
    store_timestamp: int = BEGIN,
    body_crc: int | None = None,
    body_length: int | None = None,
    properties_length: int | None = None,
) -> bytes:
    """A commit-log record at `phy_offset`; the lengths can be made wrong."""
    crc = zlib.crc32(body) & 0x7FFFFFFF if body_crc is None else body_crc
    rest = struct.pack(">iiiqqiq", crc, queue_id, 5, queue_offset, phy_offset, sys_flag, BEGIN - 1)
    rest += _host(born, 1111) + struct.pack(">q", store_timestamp) + _host(store, 2222)
    rest += struct.pack(">iqi", 3, 4, len(body) if body_length is None else body_length) + body
    rest += struct.pack(">B", len(topic)) + topic
    rest += (
        struct.pack(">h", len(properties) if properties_length is None else properties_length) + properties
    )
    return struct.pack(">i", 8 + len(rest)) + _MESSAGE + rest


def blank(size: int, *, filled: bool = True) -> bytes:
    """A blank that fills `size` bytes to the file's end; only its first 8 bytes are written."""
    return (struct.pack(">i", size) + _BLANK).ljust(size if filled else 8, b"\0")


def contents(directory: Path) -> dict[str, bytes]:
    """The bytes of all files below a directory, by their names there."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}


def own_contents(store: Path) -> dict[str, bytes]:
    """The bytes of a store's files, but for those that a repair makes: its folders, and a lock."""
    held = contents(store)
    return {name: held[name] for name in held if not name.startswith("rocketspec-repair-") and name != "lock"}


def put(directory: Path, name: str, data: bytes) -> Path:
    """Writes a file below `directory`, with the folders on the way."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def overwrite(path: Path, at: int, data: bytes) -> None:
    """Puts bytes over those of a file from a byte on."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
