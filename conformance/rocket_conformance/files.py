"""Files as the suite keeps them, reads them within bounds, and where cases run.

A default index file is 420 MB of which a case writes a few hundred bytes; an image of it holds those.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from rocket_spec.errors import MalformedError, UsageError
from rocket_spec.temporary_folders import owned_folder

CHUNK: Final = 1 << 16
_ZEROS: Final = bytes(CHUNK)

MOST_HELD: Final = 256 << 20
"""Maximum number of bytes in the files of a case that are not in chunks of zeros: only these take memory and disk space."""

_READ: Final = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


@dataclass(frozen=True, slots=True)
class FileImage:
    """The bytes of a file."""

    size: int  # length, bytes
    # pieces of 64 KiB (the last one shorter) by their number; one that is all zeros is absent
    chunks: Mapping[int, bytes] = field(default_factory=dict[int, bytes])
    whole: bool = True  # whether the bytes are known; else `chunks` is empty
    digest: str | None = None  # SHA-256 of the chunks, of an image whose bytes were dropped

    @property
    def held(self) -> int:
        """Bytes of memory that the chunks take."""
        return sum(map(len, self.chunks.values()))

    def without_bytes(self) -> FileImage:
        """The image with a digest instead of its bytes."""
        digest = hashlib.sha256()
        for number, chunk in sorted(self.chunks.items()):
            digest.update(number.to_bytes(8, "big") + chunk)
        return FileImage(self.size, whole=False, digest=digest.hexdigest())

    def is_like(self, other: FileImage) -> bool:
        """Whether it has the bytes of a whole image, which are compared by digest if its own were dropped."""
        return self.size == other.size and self == (other if self.digest is None else other.without_bytes())

    def at(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset` on; fewer at the file's end."""
        end = min(offset + length, self.size)
        parts: list[bytes] = []
        while offset < end:
            number, start = divmod(offset, CHUNK)
            stop = min(CHUNK, start + end - offset)
            chunk = self.chunks.get(number)
            parts.append(_ZEROS[start:stop] if chunk is None else chunk[start:stop])
            offset += stop - start
        return b"".join(parts)

    def pieces(self) -> Iterator[bytes]:
        """All bytes, in pieces."""
        for number in range((self.size + CHUNK - 1) // CHUNK):
            yield self.chunks.get(number, _ZEROS[: min(CHUNK, self.size - number * CHUNK)])

    def write(self, path: Path) -> None:
        """Makes the file; it is sparse where the file system can do that."""
        with path.open("wb") as file:
            for number, chunk in sorted(self.chunks.items()):
                file.seek(number * CHUNK)
                file.write(chunk)
            file.truncate(self.size)

    def sha256(self) -> str:
        """SHA-256 of the bytes, hex."""
        digest = hashlib.sha256()
        for piece in self.pieces():
            digest.update(piece)
        return digest.hexdigest()

    def to_base64(self) -> str:
        """The bytes, compressed by Zstandard and encoded by Base64, as case files hold them."""
        from rocket_golden import zstd  # noqa: PLC0415 - only where case files are written

        compressor = zstd.ZstdCompressor(level=9)
        compressor.set_pledged_input_size(self.size)
        parts = [compressor.compress(piece) for piece in self.pieces()]
        return base64.b64encode(b"".join([*parts, compressor.flush()])).decode("ascii")

    def resized(self, size: int) -> FileImage:
        """The image of another length: cut off, or followed by zeros."""
        lengths = {
            number: min(CHUNK, size - number * CHUNK) for number in self.chunks if number * CHUNK < size
        }
        return FileImage(size, {n: self.chunks[n][:k].ljust(k, b"\0") for n, k in lengths.items()})

    def differing_bytes(self, other: FileImage) -> Iterator[int]:
        """Offsets, ascending, of the bytes that differ, up to the shorter length; none unless both were read."""
        if not (self.whole and other.whole):
            return
        size = min(self.size, other.size)
        for number in sorted(self.chunks.keys() | other.chunks.keys()):
            start = number * CHUNK
            mine, theirs = self.at(start, CHUNK), other.at(start, CHUNK)
            if mine != theirs:
                for index, (one, two) in enumerate(zip(mine, theirs, strict=False)):
                    if one != two and start + index < size:
                        yield start + index


class SparseFile:
    """A file of zeros to write into; one of 420 MB costs what is written."""

    def __init__(self, size: int, begin: FileImage | None = None) -> None:
        self.size = size
        held: Mapping[int, bytes] = {} if begin is None else begin.resized(size).chunks
        self._chunks = {number: bytearray(chunk) for number, chunk in held.items()}

    def write(self, offset: int, data: bytes) -> None:
        """Writes at a byte offset; bytes beyond the end of the file are dropped."""
        for index, byte in enumerate(data, offset):
            if 0 <= index < self.size:
                number, inside = divmod(index, CHUNK)
                length = min(CHUNK, self.size - number * CHUNK)
                self._chunks.setdefault(number, bytearray(length))[inside] = byte

    def image(self) -> FileImage:
        """Its current content."""
        chunks = {number: bytes(chunk) for number, chunk in self._chunks.items() if any(chunk)}
        return FileImage(self.size, chunks)


def image_of(data: bytes) -> FileImage:
    """The image of these bytes."""
    chunks: dict[int, bytes] = {}
    for number in range((len(data) + CHUNK - 1) // CHUNK):
        chunk = data[number * CHUNK : (number + 1) * CHUNK]
        if chunk != _ZEROS[: len(chunk)]:
            chunks[number] = chunk
    return FileImage(len(data), chunks)


class Allowance:
    """Maximum total length of the unpacked files of one case file, bytes; a small case file can claim terabytes."""

    def __init__(self, *, size: int = 2 << 30) -> None:
        self._size = size
        self._held = MOST_HELD

    def take(self, chunk: bytes, *, zeros: bool) -> None:
        """Subtracts a chunk.

        Raises MalformedError: when that is more than is left.
        """
        self._size -= len(chunk)
        self._held -= 0 if zeros else len(chunk)
        if self._size < 0 or self._held < 0:
            raise MalformedError(
                found="files that unpack to more",
                expected="at most 2 GiB in all files of a case, 256 MiB of it not zero",
            )


def image_from_base64(text: str, allowance: Allowance) -> FileImage:
    """The image of a file as case files hold it.

    Raises MalformedError: when it is not Base64 of a Zstandard frame, or unpacks to more than is allowed.
    """
    from rocket_golden import zstd  # noqa: PLC0415 - only where case files are read

    chunks: dict[int, bytes] = {}
    size = 0
    try:
        packed = base64.b64decode(text, validate=True)
        with zstd.open(io.BytesIO(packed)) as reader:
            while chunk := _read_fully(reader, CHUNK):
                zeros = chunk == _ZEROS[: len(chunk)]
                allowance.take(chunk, zeros=zeros)
                if not zeros:
                    chunks[size // CHUNK] = chunk
                size += len(chunk)
    except (ValueError, EOFError, zstd.ZstdError) as error:
        if isinstance(error, MalformedError):
            raise
        raise MalformedError(found=str(error), expected="Base64 of a Zstandard frame") from None
    return FileImage(size, chunks)


def _read_fully(reader: BinaryIO | io.BufferedIOBase, length: int) -> bytes:
    parts: list[bytes] = []
    while length and (part := reader.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def open_inside(directory: Path, path: str) -> BinaryIO | None:
    """A file in a case's directory, opened for reading; None when it is missing or not a regular file.

    Raises ValueError: when a part of the path is a symbolic link.
    Raises OSError: when it cannot be read.
    """
    *folders, _ = path.split("/")
    here = directory
    for part in (None, *folders):
        here = here if part is None else here / part
        if here.is_symlink():
            raise ValueError(f"{path}: a symbolic link leads there; links are not followed")
    try:
        descriptor = os.open(directory / path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError(f"{path} is a symbolic link; links are not followed") from None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return open(descriptor, "rb")  # noqa: PTH123 - a descriptor
    os.close(descriptor)
    return None


def read_image(file: BinaryIO, *, most: int | None = None) -> FileImage:
    """The image of an open file, which is not read if it is longer than `most` bytes; holes are skipped if the system reports them.

    Raises ValueError: when more than 256 MiB of it are not zero.
    Raises OSError: when it cannot be read.
    """
    size = os.fstat(file.fileno()).st_size
    if most is not None and size > most:
        return FileImage(size, whole=False)
    if size <= 16 * CHUNK:
        return image_of(file.read(size))
    chunks: dict[int, bytes] = {}
    for start, end in data_regions(file.fileno(), 0, size):
        for number in range(start // CHUNK, (end + CHUNK - 1) // CHUNK):
            file.seek(number * CHUNK)
            chunk = file.read(min(CHUNK, size - number * CHUNK))
            if chunk != _ZEROS[: len(chunk)]:
                chunks[number] = chunk
                if len(chunks) * CHUNK > MOST_HELD:
                    raise ValueError(f"more than {MOST_HELD >> 20} MiB are not zero")
    return FileImage(size, chunks)


def data_regions(descriptor: int, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of a file that may contain anything but zeros: all from `begin` to `end` if the system does not report them."""
    if not (hasattr(os, "SEEK_DATA") and hasattr(os, "SEEK_HOLE")):
        yield begin, end
        return
    stop = begin
    while stop < end:
        try:
            start = os.lseek(descriptor, stop, os.SEEK_DATA)
        except OSError:  # ENXIO: only a hole follows
            return
        stop = min(end, os.lseek(descriptor, start, os.SEEK_HOLE))
        yield start, stop


_PART: Final = 1 << 20


def parts_on_disk(descriptor: int, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of a range that are on disk, in parts with their offsets; holes are left out."""
    for start, stop in data_regions(descriptor, begin, end):
        for position in range(start, stop, _PART):
            if data := os.pread(descriptor, min(_PART, stop - position), position):
                yield position, data


class Window:
    """A file seen through a window that moves forward."""

    def __init__(self, descriptor: int) -> None:
        self.size = os.fstat(descriptor).st_size  # length of the file, bytes
        self._descriptor = descriptor
        self._begin = 0
        self._data = b""

    def at(self, position: int, length: int) -> tuple[bytes, int]:
        """Bytes of which `length` from `position` on are there, as far as the file goes, and the place of the first."""
        start = position - self._begin
        if start < 0 or start + length > len(self._data):
            self._data = os.pread(self._descriptor, max(_PART, length), position)
            self._begin, start = position, 0
        return self._data, start


def copy_sparse(source: Path, target: Path) -> None:
    """Copies a file, or a folder with all in it, with the holes of its files; links are not followed."""
    if source.is_symlink():
        return
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        for child in source.iterdir():
            copy_sparse(child, target / child.name)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as read, target.open("wb") as written:
        size = os.fstat(read.fileno()).st_size
        for offset, data in parts_on_disk(read.fileno(), 0, size):
            os.pwrite(written.fileno(), data, offset)
        written.truncate(size)


# --- input files --------------------------------------------------------------------------------------

_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A FIFO without a writer is opened at once, and then refused."""


def read_input(path: Path, *, limit: int, expected: str) -> bytes:
    """The bytes of a file; links are followed.

    Raises MalformedError: when it is not a regular file, or longer than the limit in bytes; `expected` names what it should be.
    Raises OSError: when it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        found = "a directory" if stat.S_ISDIR(about.st_mode) else "not a regular file"
        raise MalformedError(file=str(path), found=found, expected=expected)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
        size = min(about.st_size, limit)
        data = file.read(size + 1)  # room for this much is taken at once
    if len(data) > limit or about.st_size > limit:
        raise MalformedError(
            file=str(path),
            found=f"{about.st_size:,} bytes",
            expected=f"{expected} of at most {limit:,} bytes",
        )
    return data


# --- scratch space ------------------------------------------------------------------------------------

IN_MEMORY: Final = "/dev/shm"  # noqa: S108 - Linux's own; only inside a fresh folder, and only where it exists

_ROOM: Final = 2 << 30
"""Bytes that must be free there: a few files of the default geometry, written out in full."""

_CHOSEN_BY_USER: Final = ("TMPDIR", "TEMP", "TMP")
_PREFIX: Final = "rocketspec-run-"


def scratch_root(given: Path | None = None) -> Path:
    """The folder to make temporary folders in.

    It is the given one; else the system's, if the environment names one (TMPDIR); else a memory-backed one with
    2 GiB of room; else the system's.

    Raises UsageError: when the given one is not a folder.
    """
    if given is not None:
        if not given.is_dir():
            raise UsageError(f"{given} is not a folder")
        return given
    system = Path(tempfile.gettempdir())
    if any(name in os.environ for name in _CHOSEN_BY_USER):
        return system
    in_memory = Path(IN_MEMORY)
    try:
        if (
            in_memory.is_dir()
            and os.access(in_memory, os.W_OK)
            and shutil.disk_usage(in_memory).free >= _ROOM
        ):
            return in_memory
    except OSError:
        pass
    return system


def scratch(given: Path | None = None) -> contextlib.AbstractContextManager[Path]:
    """A private temporary folder, removed at the end; those of killed runs are removed first.

    Raises UsageError: as `scratch_root`.
    """
    return owned_folder(scratch_root(given), prefix=_PREFIX)
