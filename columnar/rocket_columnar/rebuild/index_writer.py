"""Index files written again, put by put in the order of the log, rolled where 4.9.3 rolls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np
from rocket_spec.errors import UsageError

from rocket_columnar.index import IndexFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

    from rocket_columnar.index import IndexHeader
    from rocket_columnar.log import Requests
    from rocket_columnar.store import StoreFile

__all__ = ["IndexWriter", "zone_of"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FORM: Final = "%Y%m%d%H%M%S"
_QUARTER: Final = 900_000  # ms: zones are whole quarters of an hour


class IndexWriter:
    """Builds index files as `IndexService.buildIndex` 201-246 does (IDX-SVC-1 .. IDX-SVC-4).

    A broker names a file by its wall clock when it makes one; here the name is the store time of the record
    that made it necessary, moved on by a ms where two would be the same.
    """

    def __init__(self, directory: Path, geometry: Geometry, zone: timedelta) -> None:
        if geometry.index_num <= 1 or geometry.hash_slot_num < 1:
            raise UsageError(
                f"geometry {geometry.hash_slot_num},{geometry.index_num}: such an index file holds nothing"
            )
        self._directory = directory
        self._geometry = geometry
        self._zone = zone
        self._file: IndexFile | None = None
        self._named = 0

    def add(self, batch: Requests) -> None:
        """Indexes the records of a batch.

        A message makes or rolls a file before anything is asked of it, so one without keys does so too.
        """
        times = batch.store_timestamp[batch.dispatched]
        if not times.size:
            return
        index = self._file
        if index is None or index.full():
            index = self._roll(int(times[0]))
        owner = np.repeat(np.arange(batch.phy_offset.size), batch.key_count)
        done = 0
        while done < owner.size:
            rest = owner[done:]
            put = index.put_many(batch.key_hash[done:], batch.phy_offset[rest], batch.store_timestamp[rest])
            done += int(np.count_nonzero(put))
            if done < owner.size:
                index = self._roll(int(batch.store_timestamp[_next(batch, owner, done)]))
        later = np.flatnonzero(batch.dispatched)
        later = later[later > (int(owner[-1]) if owner.size else -1)]
        if later.size and index.full():
            self._roll(int(batch.store_timestamp[later[0]]))

    def _roll(self, time: int) -> IndexFile:
        header = None if self._file is None else self._file.header()
        self.close()
        path = self._directory / self.name(time)
        index = self._file = IndexFile(
            path,
            *self._geometry,
            end_phy_offset=0 if header is None else header.end_phy_offset,
            end_timestamp=0 if header is None else header.end_timestamp,
        )
        return index

    def name(self, time: int) -> str:
        """The name of the next file, made necessary by a record of that store time, ms."""
        try:
            moment = _EPOCH + timedelta(milliseconds=time) + self._zone
        except OverflowError:
            moment = _EPOCH
        number = int(f"{moment:{_FORM}}{moment.microsecond // 1000:03}") if moment.year >= 1000 else 0
        self._named = max(number, self._named + 1)
        return f"{self._named:017}"

    def close(self) -> None:
        """Releases the file in work."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _next(batch: Requests, owner: NDArray[np.int64], done: int) -> int:
    """The record that finds the file full after `done` keys: the one in work, else the next, with keys or without."""
    if done and owner[done] == owner[done - 1]:
        return int(owner[done])
    behind = int(owner[done - 1]) + 1 if done else 0
    return behind + int(np.argmax(batch.dispatched[behind:]))


def zone_of(headers: Iterable[tuple[StoreFile, IndexHeader]]) -> timedelta:
    """How far the clock that named the index files was from UTC, by the first file that tells; else this machine's."""
    for file, header in headers:
        name = file.path.name
        if header.index_count > 1 and header.begin_timestamp > 0 and len(name) == 17 and name.isdecimal():
            try:
                named = datetime.strptime(name[:14], _FORM).replace(tzinfo=UTC)
            except ValueError:
                continue
            away = (named - _EPOCH) // timedelta(milliseconds=1) - header.begin_timestamp
            quarters = round(away / _QUARTER)
            if abs(away - quarters * _QUARTER) < _QUARTER // 3 and abs(quarters) <= 4 * 14:
                return timedelta(milliseconds=quarters * _QUARTER)
    return datetime.now().astimezone().utcoffset() or timedelta()
