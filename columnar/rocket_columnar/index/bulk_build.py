"""Builds index files in bulk, byte for byte as single puts would have made them, rolls included.

Keys go from UTF-8 to hashes without becoming Python strings.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import DEFAULT_GEOMETRY, Geometry

from rocket_columnar.fast import hash_keys
from rocket_columnar.index.bulk_file import NewIndex, Puts, plain

AT_ONCE: Final = 1 << 16


class IndexBuilder:
    """Puts entries into new index files, one after another; use it in a `with` block.

    A file is created when a put needs it: the first with the first put, the next when a put finds the file full. It then
    begins with the end of the file before, as IndexService rolls (IDX-FILE-2, IDX-PUT-8).
    """

    def __init__(
        self,
        paths: Iterable[Path],
        geometry: Geometry = DEFAULT_GEOMETRY,
        *,
        end_phy_offset: int = 0,
        end_timestamp: int = 0,
    ) -> None:
        """Creates no file yet.

        Args:
            paths: of the files, in the order in which they are filled; there may be more than are needed.
            geometry: of the files.
            end_phy_offset: of the file before the first, bytes; 0 without one.
            end_timestamp: of the file before the first, ms since the epoch; 0 without one.

        Raises:
            UsageError: a geometry without room, or one whose positions overflow: puts would never end.
        """
        if not plain(geometry) or geometry.index_num < 2:
            raise UsageError(
                f"nothing can be put into geometry {geometry.hash_slot_num},{geometry.index_num}"
            )
        self.geometry = geometry
        self.made: list[Path] = []
        self._paths = iter(paths)
        self._file: NewIndex | None = None
        self._seed = end_phy_offset, end_timestamp

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Completes the last file. Entries are in a file once the next one is begun, or it is closed."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def begin(self) -> None:
        """Creates the first file, or the next one after a full file, before its first put.

        Errors as in `put_many`.
        """
        if self._file is None or self._file.full():
            self._file = self._rolled()

    def put_many(
        self,
        keys: Sequence[str] | NDArray[np.int32] | Any,
        phy_offsets: Sequence[int] | NDArray[np.int64],
        store_timestamps: Sequence[int] | NDArray[np.int64],
        *,
        topic: str | None = None,
    ) -> None:
        """Puts all entries, in order.

        Args:
            keys: of the messages of `topic`, or index keys (`topic#key`) without it: a list, a pyarrow array
                of strings or of UTF-8 in binaries, or their hashes as an int32 array.
            phy_offsets: bytes, one for each key.
            store_timestamps: ms since the epoch, one for each key.
            topic: of the messages.

        Raises:
            UsageError: more files are needed than there are paths; the entries before that are put.
            ValueError: the three differ in length; a key is null or not UTF-8.
            RejectedError: the name of a file is not a Java long.
            FileExistsError: a file already exists.
            OSError: a file cannot be made or written.
        """
        offsets = np.ascontiguousarray(phy_offsets, np.int64)
        times = np.ascontiguousarray(store_timestamps, np.int64)
        if not len(keys) == len(offsets) == len(times):
            raise ValueError(f"{len(keys)} keys, {len(offsets)} offsets, {len(times)} timestamps")
        done = 0
        for hashes in _hashed(keys, topic):
            stop = done + len(hashes)
            self._put(Puts(hashes, offsets[done:stop], times[done:stop]))
            done = stop

    def _put(self, puts: Puts) -> None:
        done, number = 0, len(puts.hashes)
        while done < number:
            if self._file is None or self._file.full():
                self._file = self._rolled()
            done += self._file.put(puts.part(done, number))

    def _rolled(self) -> NewIndex:
        """The next file, seeded with the end of the full one."""
        path = next(self._paths, None)
        if path is None:
            raise UsageError(f"the puts need more than {len(self.made)} files")
        if path.exists():
            raise FileExistsError(f"{path} already exists; index files are not overwritten")
        phy_offset, timestamp = self._seed
        if self._file is not None:
            phy_offset, timestamp = self._file.header.end_phy_offset, self._file.header.end_timestamp
            self.close()
        file = NewIndex(path, self.geometry, end_phy_offset=phy_offset, end_timestamp=timestamp)
        self.made.append(path)
        return file


def _hashed(keys: Any, topic: str | None) -> Iterator[NDArray[np.int32]]:
    """The hashes of the keys, a batch at a time."""
    if isinstance(keys, np.ndarray):
        yield np.ascontiguousarray(keys, np.int32)
    elif hasattr(getattr(keys, "type", None), "index_type"):  # a dictionary is hashed once
        yield hash_keys(keys, topic)
    else:
        for start in range(0, len(keys), AT_ONCE):
            yield hash_keys(keys[start : start + AT_ONCE], topic)


def build(
    paths: Iterable[Path],
    keys: Sequence[str] | NDArray[np.int32] | Any,
    phy_offsets: Sequence[int] | NDArray[np.int64],
    store_timestamps: Sequence[int] | NDArray[np.int64],
    *,
    topic: str | None = None,
    geometry: Geometry = DEFAULT_GEOMETRY,
) -> list[Path]:
    """Makes index files from these puts, and returns them. Arguments and errors as in `IndexBuilder`."""
    with IndexBuilder(paths, geometry) as builder:
        builder.put_many(keys, phy_offsets, store_timestamps, topic=topic)
    return builder.made
