"""Reading parts of files that may be large, sparse, or in use by a broker.

Plain reads into buffers of our own, not maps: memory stays bounded by what is asked for, and a file that
is cut off meanwhile ends in an error instead of a fatal signal.
"""

from __future__ import annotations

import errno
import heapq
import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import MalformedError

_BYTES_AT_ONCE: Final = 1 << 20
_PAGE: Final = 1 << 12
_MOMENT: Final = 0.005  # s
_NEW: Final = 0.2  # s after its making for which an empty file may be one that a broker is making

PAUSES: Final = (_MOMENT, 0.02, 0.1)
"""Seconds after which the end of a log is checked again: a broker may be writing a record there."""

HOLE_FLOOR: Final = 8 << 20
"""Bytes of a file that are decoded whatever of them is a hole: more than a whole consume-queue file of the default size."""
HOLE_FACTOR: Final = 64
"""Bytes that are decoded for each byte on disk beyond that: a file system that compresses stays below."""
_KEPT: Final = 96  # files that stay open within `files_kept_open`, beside those in use
PREADV: Final = getattr(os, "preadv", None)  # not on Windows
_OF_THE_PROCESS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def raise_of_process(error: OSError) -> None:
    """Raises an error that says nothing about the file: the process has too many files open, or too little memory."""
    if error.errno in _OF_THE_PROCESS:
        raise error


_gentle: GentleReads | None = None


def read_gently(reads: GentleReads | None) -> None:
    """Has all files that are opened from now on read gently; None ends that."""
    global _gentle  # noqa: PLW0603 - one process, one page cache and one limit
    _gentle = reads if PREADV is not None else None


def require_regular(path: os.PathLike[str] | str, mode: int) -> None:
    """Raises an OSError with one clear reason where `mode` is no regular file's (a pipe would block us)."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))


def settled(look: Callable[[], os.stat_result]) -> os.stat_result:
    """The status of a file, checked again while it is empty and new.

    A broker makes a file first, and then gives it its length. The age of the file bounds the wait: of many empty files
    only those that were made at this moment take time, and that together no more than one.
    """
    status = look()
    while not status.st_size and 0 <= time.time() - status.st_ctime < _NEW:
        time.sleep(_MOMENT)
        status = look()
    return status


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file that has no path here: in memory, fetched, or read from far away.

    Attributes:
        name: for messages.
        size: of the whole file, bytes.
        read: gives the bytes from an offset on, as many as are asked for (fewer only where it has no more; then
            it is called again). Threads may call it at once where `decode` is given several.
    """

    name: str
    size: int
    read: Callable[[int, int], bytes | bytearray | memoryview]

    @classmethod
    def of_bytes(cls, name: str, data: bytes | bytearray | memoryview) -> Source:
        """A file that is wholly in memory; nothing is copied."""
        view = memoryview(data).cast("B")
        return cls(name, len(view), lambda offset, length: view[offset : offset + length])


class Reader(ABC):
    """An open file: name, size when it was opened, and positioned reads; `allocated` bytes on disk at most, `reached` by the farthest read."""

    def __init__(self, name: str, size: int, allocated: int) -> None:
        self.name = name
        self.size = size
        self.allocated = allocated
        self.reached = 0

    def read(self, offset: int, length: int) -> NDArray[np.uint8]:
        """Exactly `length` bytes from `offset`; MalformedError if the file has fewer (any more)."""
        buffer = np.empty(length, np.uint8)
        self.read_into(offset, buffer)
        return buffer

    def read_into(self, offset: int, buffer: NDArray[np.uint8]) -> None:
        """As `read`, into a buffer that is there."""
        length = len(buffer)
        self.reached = max(self.reached, offset + length)
        view = buffer.data
        done = 0
        while done < length:
            try:
                count = self._read_some(offset + done, view[done:])
            except OSError as error:
                raise OSError(error.errno, error.strerror, self.name) from error
            if not count:
                raise MalformedError(
                    file=self.name,
                    offset=offset + done,
                    found="the end of the file",
                    expected=f"{length - done:,} more bytes",
                )
            done += count

    @abstractmethod
    def _read_some(self, offset: int, view: memoryview) -> int:
        """One read; how many bytes it gave."""

    def extents(self, begin: int = 0) -> Iterator[tuple[int, int]]:
        """The ranges (begin, end) from `begin` on that may hold data; the holes between them read as zeros."""
        if begin < self.size:
            yield begin, self.size

    def data_end(self) -> int:
        """The byte after the last one that is not in the hole at the end; the size without such a hole."""
        return max((end for _, end in self.extents()), default=0)

    def held_by_either(self, other: Reader, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Offset and length of parts of [begin, end), to compare two files: without holes that both have."""
        for first, last in heapq.merge(self.extents(begin), other.extents(begin)):
            for start in range(max(first, begin), min(last, end), _BYTES_AT_ONCE):
                yield start, min(_BYTES_AT_ONCE, last - start, end - start)
            begin = max(begin, last)

    def aligned(self, size: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges before `end` that may hold data, widened to multiples of `size`."""
        done = 0
        for first, last in self.extents():
            begin, stop = max(first // size * size, done), min(-(-last // size) * size, end)
            if begin < stop:
                yield begin, stop
                done = stop

    def require_held(self, begin: int, end: int, what: str, clause: str) -> None:
        """Raises MalformedError if the bytes [begin, end) are mostly a hole, so that decoding them costs more than the disk holds.

        `what` is in them, for the message; `clause` is the id of the clause that is broken.
        """
        limit = max(HOLE_FLOOR, HOLE_FACTOR * self.allocated)
        if end - begin > limit:
            raise MalformedError(
                file=self.name,
                offset=begin,
                found=f"{what} over {end - begin:,} bytes, of which the disk holds at most {self.allocated:,}",
                expected=f"at most {limit:,} with the holes between them (copy the file with `cp --sparse=never` to decode it)",
                clause=clause,
            )

    def last_nonzero(self, begin: int, end: int) -> int | None:
        """Offset of the last byte in [begin, end) that is not zero, or None; holes are not read."""
        step = _PAGE  # most files are full to their end
        for first, limit in reversed(list(self.extents(begin))):
            low, high = max(first, begin), min(limit, end)
            while high > low:
                start = max(low, high - step)
                step = min(4 * step, _BYTES_AT_ONCE)
                found = np.flatnonzero(self.read(start, high - start))
                if found.size:
                    return start + int(found[-1])
                high = start
        return None

    def first_nonzero(self, begin: int, end: int) -> int | None:
        """Offset of the first byte in [begin, end) that is not zero, or None; holes are not read."""
        step = _PAGE  # nearly always it is near
        for first, limit in self.extents(begin):
            low, high = max(first, begin), min(limit, end)
            while low < high:
                part = self.read(low, min(step, high - low))
                if part.any():
                    return low + int((part != 0).argmax())
                low += part.size
                step = min(4 * step, _BYTES_AT_ONCE)
            if limit >= end:
                return None
        return None


class _SourceReader(Reader):
    """Reads through a `Source`."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.name, source.size, source.size)
        self._read = source.read

    def _read_some(self, offset: int, view: memoryview) -> int:
        data = memoryview(self._read(offset, min(len(view), max(0, self.size - offset)))).cast("B")
        view[: len(data)] = data
        return len(data)


class _FileReader(Reader):
    """Reads a file that is open."""

    def __init__(self, name: str, descriptor: int) -> None:
        status = settled(lambda: os.fstat(descriptor))
        super().__init__(
            name, status.st_size, min(status.st_size, 512 * getattr(status, "st_blocks", 1 << 54))
        )
        self._file = os.fdopen(descriptor, "rb", buffering=0)
        if _gentle is not None:
            _gentle.opened(descriptor)
        self._lock = Lock()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _read_some(self, offset: int, view: memoryview) -> int:
        """One read; threads may read at once."""
        if _gentle is not None:
            return _gentle.read(self._file.fileno(), view, offset)
        if PREADV is not None:
            count: int = PREADV(self._file.fileno(), [view], offset)
            return count
        with self._lock:
            self._file.seek(offset)
            return self._file.readinto(view) or 0

    def extents(self, begin: int = 0) -> Iterator[tuple[int, int]]:
        """The ranges (begin, end) from `begin` on that may hold data; the holes between them read as zeros."""
        seek_data, seek_hole = getattr(os, "SEEK_DATA", None), getattr(os, "SEEK_HOLE", None)
        position = begin
        while position < self.size:
            if seek_data is None or seek_hole is None:
                yield position, self.size
                return
            try:
                first = os.lseek(self._file.fileno(), position, seek_data)
                end = os.lseek(self._file.fileno(), first, seek_hole)
            except OSError as error:
                if error.errno == errno.ENXIO:  # only a hole is left
                    return
                first, end = position, self.size
            end = min(end, self.size)
            yield first, end
            position = end


class _KeptOpen:
    """Readers that stay open after their use, the last used ones of at most `_KEPT`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._readers: dict[
            str, tuple[_FileReader, int]
        ] = {}  # with the number of uses; the one used last is at the end

    @contextmanager
    def reader(self, name: str, opened: Callable[[], _FileReader]) -> Iterator[_FileReader]:
        """The reader of a file, which others may use at the same time."""
        with self._lock:
            known = self._readers.pop(name, None)
            reader, uses = known or (opened(), 0)
            self._readers[name] = reader, uses + 1
        try:
            yield reader
        finally:
            with self._lock:
                reader, uses = self._readers.pop(name)
                self._readers[name] = reader, uses - 1
                unused = [other for other, (_, number) in self._readers.items() if not number]
                for other in unused[: max(len(self._readers) - _KEPT, 0)]:
                    self._readers.pop(other)[0].close()

    def close(self) -> None:
        """Closes all."""
        while self._readers:
            self._readers.popitem()[1][0].close()


_kept: _KeptOpen | None = None


@contextmanager
def files_kept_open() -> Iterator[None]:
    """Within it a file of a store that nobody writes is opened once for many reads, also by threads."""
    global _kept  # noqa: PLW0603 - one process, one table of open files
    if _kept is not None:
        yield
        return
    _kept = kept = _KeptOpen()
    try:
        yield
    finally:
        _kept = None
        kept.close()


@contextmanager
def open_reader(path: os.PathLike[str] | str, source: Source | None = None) -> Iterator[Reader]:
    """Opens `path`, or a `source` instead, for reading; raises OSError with it, also for what is no regular file."""
    if source is not None:
        yield _SourceReader(source)
        return
    if _kept is not None:
        with _kept.reader(os.fspath(path), lambda: _opened(path)) as reader:
            yield reader
        return
    reader = _opened(path)
    try:
        yield reader
    finally:
        reader.close()


def _opened(path: os.PathLike[str] | str) -> _FileReader:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        require_regular(path, os.fstat(descriptor).st_mode)
        return _FileReader(os.fspath(path), descriptor)
    except BaseException:
        os.close(descriptor)
        raise


# Reads that leave a broker on the same machine its page cache, its disk and its processors.
#
# What a read brings into the page cache is dropped again, except pages that were there before: the broker reads these, or
# has just written them. No more bytes are read per second than a limit allows, and the process only gets the processor
# and the disk while no other process wants them.


_READS_AT_ONCE: Final = 1 << 16  # bytes; one is dropped from its first page on that was not in the page cache
NOWAIT: Final = getattr(os, "RWF_NOWAIT", 0)


class GentleReads:
    """Positioned reads of files, as of all threads of a process, at a `rate` of bytes per second at most; None for no limit."""

    def __init__(self, rate: float | None = None) -> None:
        self._rate = rate
        self._lock = Lock()
        self._due = 0.0

    def opened(self, descriptor: int) -> None:
        """Turns read-ahead off for a file: pages read ahead would seem to have been in the page cache before."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def read(self, descriptor: int, view: memoryview, offset: int) -> int:
        """One read of at most `_BYTES_AT_ONCE` bytes; the number of bytes, 0 at the end of the file."""
        part = view[: _READS_AT_ONCE - offset % _READS_AT_ONCE]
        self._wait(len(part))
        cached = read_cached(descriptor, part, offset)
        if cached is None or cached == len(part):
            return os.preadv(descriptor, [part], offset) if cached is None else cached
        count = os.preadv(descriptor, [part[cached:]], offset + cached)
        begin = (offset + cached) // _PAGE * _PAGE
        end = -(-(offset + cached + count) // _PAGE) * _PAGE
        if count:
            os.posix_fadvise(descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)
        return cached + count

    def _wait(self, count: int) -> None:
        """Waits until the limit allows `count` more bytes."""
        if self._rate is None:
            return
        with self._lock:
            now = time.monotonic()
            self._due = max(self._due, now)
            wait = self._due - now
            self._due += count / self._rate
        if wait > 0:
            time.sleep(wait)


def read_cached(descriptor: int, part: memoryview, offset: int) -> int | None:
    """Reads what the page cache has, up to its first gap; the number of bytes, or None if the system does not report it."""
    if not NOWAIT:
        return None
    try:
        return os.preadv(descriptor, [part], offset, NOWAIT)
    except BlockingIOError:
        return 0
    except OSError:  # a file system without such reads
        return None


def lower_priority() -> None:
    """Gives this process, and threads that it starts later, the processor and the disk that no other process wants."""
    import psutil

    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    elif hasattr(os, "nice"):
        os.nice(19)
    process = psutil.Process()
    if hasattr(process, "ionice"):
        with suppress(psutil.Error):  # refused in some sandboxes, which does no harm
            process.ionice(psutil.IOPRIO_CLASS_IDLE)
