"""Index files from the columns of the log files, each on its own, and their names."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import Geometry

from rocket_columnar.index import IndexBuilder, IndexHeader, read_headers
from rocket_columnar.rebuild.dispatched_columns import KEYS, RECORDS, Dispatched, KeyRange
from rocket_columnar.rebuild.plan import IndexPlan, record_after
from rocket_columnar.store import StoreFile

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FORM: Final = "%Y%m%d%H%M%S"
_QUARTER: Final = 900_000  # ms: time zones are whole quarters of an hour


class LogKeys(NamedTuple):
    """The keys of an index file that one log file has.

    Attributes:
        directory: that `dispatch_log` wrote.
        ranges: the keys, batch by batch; of the file before, at most the last key.
    """

    directory: Path
    ranges: list[KeyRange]


def keys_of(plan: IndexPlan, folders: Sequence[Path], dispatched: Sequence[Dispatched]) -> list[LogKeys]:
    """The input of `write_index` for a file: its keys, and the one before them."""
    found: list[LogKeys] = []
    base = 0
    for folder, part in zip(folders, dispatched, strict=True):
        ranges = part.key_ranges(max(plan.begin - 1, 0) - base, plan.end - base)
        if ranges:
            found.append(LogKeys(folder, ranges))
        base += part.keys
    return found


def write_index(plan: IndexPlan, path: Path, keys: Sequence[LogKeys], geometry: Geometry) -> int | None:
    """Writes one index file from the columns of the log files, seeded with the key before its first (IDX-SVC-1 .. IDX-SVC-4).

    Args:
        plan: the file.
        path: of the new file; any name that is a number.
        keys: as `keys_of` returns them.
        geometry: of the file.

    Returns:
        Store timestamp of the record that made the file necessary, if it is in the batch of the key before.

    Raises:
        OSError: reading or writing fails.
    """
    seed = _Seed(0, 0, None)
    every = [(part.directory, some) for part in keys for some in part.ranges]
    if plan.begin:
        directory, some = every[0]
        seed = _seed(directory, some)
        first = some._replace(begin=some.begin + 1)
        every[0] = directory, first
    with IndexBuilder(
        [path], geometry, end_phy_offset=seed.phy_offset, end_timestamp=seed.store_timestamp
    ) as builder:
        builder.begin()
        for directory, some in every:
            if some.begin < some.end:
                columns = _records(directory, some)
                owner = np.repeat(np.arange(some.records), columns[2])[some.begin : some.end]
                hashes = _column(directory, "key_hash", some.key + some.begin, some.end - some.begin)
                builder.put_many(hashes, columns[0][owner], columns[1][owner])
    return seed.cause


class _Seed(NamedTuple):
    """Offset and time of the key before a file, and the time of the record that the next key would belong to."""

    phy_offset: int
    store_timestamp: int
    cause: int | None


def _seed(directory: Path, some: KeyRange) -> _Seed:
    """The seed of the file after the first key of a range."""
    offsets, times, counts = _records(directory, some)
    ends = np.cumsum(counts)
    owner, after = (int(np.searchsorted(ends, key, "right")) for key in (some.begin, some.begin + 1))
    if after > owner:  # the next record comes first, with keys or without
        after = owner + 1
    cause = int(times[after]) if after < times.size else None
    return _Seed(int(offsets[owner]), int(times[owner]), cause)


def _records(directory: Path, some: KeyRange) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Offsets, times and numbers of keys of a batch's records."""
    first, second, third = (_column(directory, name, some.record, some.records) for name in RECORDS)
    return first, second, third


def _column(directory: Path, name: str, first: int, count: int) -> NDArray[Any]:
    dtype = np.dtype({**KEYS, **RECORDS}[name])
    return np.fromfile(directory / name, dtype, count, offset=first * dtype.itemsize)


def name_indexes(
    files: Sequence[StoreFile],
    dispatched: Sequence[Dispatched],
    plans: Sequence[IndexPlan],
    causes: Sequence[int | None],
) -> list[str]:
    """The files' names, from what `write_index` returned.

    A broker names a file by its wall clock when it makes one; here the name is the store time of the record
    that made it necessary, increased by 1 ms if two would be equal, and no later than that of a following file: the
    clock may have been ahead for a while.
    """
    zone = _zone_of(read_headers(file for file in files if file.kind == "index"))
    stored = [
        record_after(dispatched, plan.begin) if cause is None else cause
        for plan, cause in zip(plans, causes, strict=True)
    ]
    clocks = [_clock(time or 0, zone) for time in stored]
    names: list[str] = []
    last = 0
    for clock in list(accumulate(reversed(clocks), min))[::-1]:
        last = max(clock, last + 1)
        names.append(f"{last:017}")
    return names


def _clock(time: int, zone: timedelta) -> int:
    """The digits of a clock that shows a time in ms; 0 for one before the year 1000, which has fewer."""
    try:
        moment = _EPOCH + timedelta(milliseconds=time) + zone
    except OverflowError:
        moment = _EPOCH
    return int(f"{moment:{_FORM}}{moment.microsecond // 1000:03}") if moment.year >= 1000 else 0


def _zone_of(headers: Iterable[tuple[StoreFile, IndexHeader]]) -> timedelta:
    """The offset from UTC of the clock that named the index files, by the first file that shows it; else this machine's."""
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
