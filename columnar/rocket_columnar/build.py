"""Index files in bulk: what puts one after the other would have made, byte for byte, rolls included.

Keys go from UTF-8 to hashes without becoming Python strings, and hashes into mapped files; large batches by compiled
loops, a batch's hashes made while the one before it is put.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY

from rocket_columnar import hashing
from rocket_columnar._put_many import Puts, plain, put_batch
from rocket_columnar.hashing import hash_keys
from rocket_columnar.index_file import IndexFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

__all__ = ["IndexBuilder", "build"]

_AT_ONCE: Final = 1 << 20


class IndexBuilder:
    """Puts into one new index file after another; use it in a `with` block.

    A file is made when a put needs it: the first with the first put, the next when one finds the file full. It then
    begins with the end of the file before, as IndexService rolls (IDX-FILE-2, IDX-PUT-8).
    """

    def __init__(self, paths: Iterable[Path], geometry: Geometry = DEFAULT_GEOMETRY) -> None:
        """Takes the files' paths, in the order in which they are filled; more than are needed do no harm.

        Raises:
            UsageError: a geometry of no room, or one whose positions overflow: puts would never end.
        """
        if not plain(geometry) or geometry.index_num < 2:
            raise UsageError(f"no puts go into a geometry of {geometry.hash_slot_num},{geometry.index_num}")
        self.geometry = geometry
        self.made: list[Path] = []
        self._paths = iter(paths)
        self._file: _OpenFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Releases the file."""
        if self._file is not None:
            self._file.close()

    def put_many(
        self,
        keys: Sequence[str] | NDArray[np.int32] | Any,
        phy_offsets: Sequence[int] | NDArray[np.int64],
        store_timestamps: Sequence[int] | NDArray[np.int64],
        *,
        topic: str | None = None,
        threads: int = 1,
    ) -> None:
        """Puts all, in order.

        Args:
            keys: of the messages of `topic`, or index keys (`topic#key`) without it: a list, a pyarrow array
                of strings or of UTF-8 in binaries, or their hashes as an int32 array.
            phy_offsets: bytes, one a key.
            store_timestamps: ms since the epoch, one a key.
            topic: what the keys belong to.
            threads: 2 makes a batch's hashes while the one before it is put.

        Raises:
            UsageError: there are more files to make than paths; what went before is put.
            ValueError: the three differ in length; a key is null or no UTF-8.
            RejectedError: a file cannot be made, or its name is no Java long.
            FileExistsError: a file is there.
        """
        offsets = np.ascontiguousarray(phy_offsets, np.int64)
        times = np.ascontiguousarray(store_timestamps, np.int64)
        if not len(keys) == len(offsets) == len(times):
            raise ValueError(f"{len(keys)} keys, {len(offsets)} offsets, {len(times)} timestamps")
        compiled = len(keys) >= hashing.COMPILED_FROM
        done = 0
        for hashes in _hashed(keys, topic, threads):
            stop = done + len(hashes)
            self._put(Puts(hashes, offsets[done:stop], times[done:stop]), compiled=compiled)
            done = stop

    def _put(self, puts: Puts, *, compiled: bool) -> None:
        done, number = 0, len(puts.hashes)
        while done < number:
            if self._file is None or self._file.full():
                self._roll()
            assert self._file is not None  # noqa: S101 - for the type checkers
            done += self._file.put_batch(puts.part(done, number), compiled=compiled)

    def _roll(self) -> None:
        """The next file, seeded with the end of the one that is full."""
        path = next(self._paths, None)
        if path is None:
            raise UsageError(f"the puts need more than {len(self.made)} files")
        if path.exists():
            raise FileExistsError(f"{path} is there; index files are built anew")
        phy_offset, timestamp = 0, 0
        if self._file is not None:
            header = self._file.header()
            phy_offset, timestamp = header.end_phy_offset, header.end_timestamp
            self._file.close()
        self._file = _OpenFile(path, *self.geometry, end_phy_offset=phy_offset, end_timestamp=timestamp)
        self.made.append(path)


class _OpenFile(IndexFile):
    """An index file that takes puts as hashes."""

    __slots__ = ()

    def put_batch(self, puts: Puts, *, compiled: bool) -> int:
        """Puts as many as fit; how many those are."""
        header, accepted = put_batch(self._mapping, self.geometry, self.header(), puts, compiled=compiled)
        self._take(header)
        return accepted


def _hashed(keys: Any, topic: str | None, threads: int) -> Iterator[NDArray[np.int32]]:
    """The hashes of the keys, a batch at a time; with two threads one batch ahead."""
    if isinstance(keys, np.ndarray):
        yield np.ascontiguousarray(keys, np.int32)
        return
    parts = [(start, min(start + _AT_ONCE, len(keys))) for start in range(0, len(keys), _AT_ONCE)]
    compiled = len(keys) >= hashing.COMPILED_FROM

    def work(part: tuple[int, int]) -> NDArray[np.int32]:
        return hash_keys(keys[slice(*part)], topic, compiled=compiled)

    if threads < 2:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(1) as pool, ExitStack() as stack:
        ahead = [pool.submit(work, part) for part in parts[:2]]
        stack.callback(lambda: [future.cancel() for future in ahead])
        for part in [*parts[2:], None, None]:
            if not ahead:
                return
            hashes = ahead.pop(0).result()
            if part is not None:
                ahead.append(pool.submit(work, part))
            yield hashes


def build(
    paths: Iterable[Path],
    keys: Sequence[str] | NDArray[np.int32] | Any,
    phy_offsets: Sequence[int] | NDArray[np.int64],
    store_timestamps: Sequence[int] | NDArray[np.int64],
    *,
    topic: str | None = None,
    geometry: Geometry = DEFAULT_GEOMETRY,
    threads: int = 1,
) -> list[Path]:
    """Makes index files of these puts; the files made. Arguments and errors: see `IndexBuilder`."""
    with IndexBuilder(paths, geometry) as builder:
        builder.put_many(keys, phy_offsets, store_timestamps, topic=topic, threads=threads)
    return builder.made
