"""Index files to rows: headers and entries, a run of entries at a time."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import INDEX_ENTRY, Geometry

from rocket_columnar import arrow
from rocket_columnar.arrow import Columns
from rocket_columnar.decode.filters import Where
from rocket_columnar.decode.row_choice import RowChoice
from rocket_columnar.formats import ENTRY_DTYPE
from rocket_columnar.index import read_header
from rocket_columnar.store import Reader, in_order

_MILLIS: Final = np.int64(1000)


def header_columns(reader: Reader, geometry: Geometry) -> Columns:
    """The one row of `index_headers`, without `file`: geometry, and the header as it is in the file (IDX-HDR-1)."""
    header = read_header(reader)
    wide = ("begin_timestamp", "end_timestamp", "begin_phy_offset", "end_phy_offset")
    columns = {name: arrow.integers(np.array([getattr(header, name)], np.int64)) for name in wide}
    narrow = {
        "hash_slot_num": geometry.hash_slot_num,
        "index_num": geometry.index_num,
        "hash_slot_count": header.hash_slot_count,
        "index_count": header.index_count,
    }
    return columns | {name: arrow.integers(np.array([value], np.int32)) for name, value in narrow.items()}


def entry_columns(reader: Reader, geometry: Geometry, choice: RowChoice) -> Iterator[tuple[int, Columns]]:
    """The rows of `index_entries`, without `file`: entries 1 .. indexCount - 1.

    Rows that `choice.skip` skips are not read, unless its `where` or `all_entries` makes it unknown which they
    are. Other batches are read ahead by `choice.threads` threads.

    `slot` is the key hash modulo the number of slots with the sign of Java's `%`; `store_timestamp` is the
    header's begin + 1000 * time_diff, wrapped as a long, which is what a query computes (IDX-SEL-4). With
    `all_entries` each entry from 1 on that is not all zeros is a row, even beyond the index count.
    """
    header = read_header(reader)
    where, batch_rows = choice.where, choice.batch_rows
    run = 1, min(header.index_count, geometry.index_num)
    if not choice.all_entries:
        begin = geometry.entries_offset
        end = min(begin + run[1] * INDEX_ENTRY.size, reader.size)
        reader.require_held(begin, end, f"{run[1] - 1:,} entries", "IDX-FILE-1")
    if where is None and not choice.all_entries:
        run = run[0] + choice.skip.of(max(0, run[1] - run[0])), run[1]
    runs: Iterable[tuple[int, int]] = [run]
    if choice.all_entries:
        runs = (
            _whole_entries(first, end, geometry) for first, end in reader.extents(geometry.entries_offset)
        )

    def read(batch: tuple[int, int]) -> tuple[int, Columns]:
        start, stop = batch
        offset = geometry.entries_offset + start * INDEX_ENTRY.size
        raw = reader.read(offset, (stop - start) * INDEX_ENTRY.size)
        numbers = np.arange(start, stop, dtype=np.int32)
        entries = raw.view(ENTRY_DTYPE)
        if choice.all_entries:
            written = raw.reshape(-1, INDEX_ENTRY.size).any(axis=1)
            entries, numbers = entries[written], numbers[written]
        if where is not None:
            entries, numbers = _filtered(entries, numbers, header.begin_timestamp, where)
        begin = np.int64(header.begin_timestamp)
        return entries.size, _columns(entries, numbers, geometry, begin, choice.names)

    batches = _batches(run[0], runs, batch_rows)
    with ThreadPoolExecutor(choice.threads) as pool:
        ahead = map(read, batches) if choice.threads < 2 else in_order(pool, read, batches, choice.threads)
        yield from ((count, columns) for count, columns in ahead if count)


def _batches(done: int, runs: Iterable[tuple[int, int]], batch_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `batch_rows` entries that do not overlap and begin at number `done` or later."""
    for first, end in runs:
        for start in range(max(first, done), end, batch_rows):
            yield start, min(start + batch_rows, end)
        done = max(done, end)


def _filtered(
    entries: NDArray[Any], numbers: NDArray[np.int32], begin: int, where: Where
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """The entries that pass; only the columns that the filter needs are read."""
    keep = where.rows(
        phy_offsets=entries["phy_offset"] if where.offsets is not None else None,
        store_timestamps=entries["time_diff"].astype(np.int64) * _MILLIS + np.int64(begin)
        if where.times is not None
        else None,
        key_hashes=entries["key_hash"].astype(np.int32) if where.key_hashes is not None else None,
    )
    return (entries, numbers) if keep is None else (entries[keep], numbers[keep])


def _whole_entries(first: int, end: int, geometry: Geometry) -> tuple[int, int]:
    """The range of entries that the bytes [first, end) touch."""
    base, width = geometry.entries_offset, INDEX_ENTRY.size
    return (first - base) // width, min(-((base - end) // width), geometry.index_num)


def _columns(
    entries: NDArray[Any], numbers: NDArray[np.int32], geometry: Geometry, begin: np.int64, names: set[str]
) -> Columns:
    columns: dict[str, NDArray[Any]] = {"entry": numbers}
    for name, kind in (("phy_offset", np.int64), ("prev_entry", np.int32)):
        if name in names:
            columns[name] = entries[name].astype(kind)
    if names & {"key_hash", "slot"}:
        columns["key_hash"] = entries["key_hash"].astype(np.int32)
    if "slot" in names:
        columns["slot"] = np.fmod(columns["key_hash"], np.int32(geometry.hash_slot_num))
    if names & {"time_diff", "store_timestamp"}:
        columns["time_diff"] = entries["time_diff"].astype(np.int32)
    if "store_timestamp" in names:
        columns["store_timestamp"] = columns["time_diff"].astype(np.int64) * _MILLIS + begin
    return {name: arrow.integers(values) for name, values in columns.items() if name in names}
