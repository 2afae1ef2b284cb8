"""Large index files to columns: a run of entries at a time through one compiled loop, on one or more threads."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from rocket_spec.layout import INDEX_ENTRY

from rocket_columnar import arrow, kernels
from rocket_columnar.arrow import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from rocket_spec.layout import Geometry

    from rocket_columnar.arrow import Columns
    from rocket_columnar.decode.row_choice import RowChoice
    from rocket_columnar.store import Reader

__all__ = ["split_entries"]

_TYPES: Final = {name: SCHEMAS["index_entries"].field(name).type for name in kernels.EntryColumns._fields}
_NUMPY: Final = {name: np.dtype(kind.to_pandas_dtype()) for name, kind in _TYPES.items()}


class _Scratch(threading.local):
    """One thread's memory, reused for each run: the bytes read, and columns that were not asked for."""

    raw = np.empty(0, np.uint8)

    def __init__(self) -> None:
        self.columns: dict[str, NDArray[Any]] = {}

    def bytes(self, length: int) -> NDArray[np.uint8]:
        """`length` bytes, whose content is arbitrary."""
        if len(self.raw) < length:
            self.raw = np.empty(length, np.uint8)
        return self.raw[:length]

    def column(self, name: str, count: int) -> NDArray[Any]:
        """Memory for a column that is discarded."""
        if name not in self.columns or len(self.columns[name]) < count:
            self.columns[name] = np.empty(count, _NUMPY[name])
        return self.columns[name][:count]


def split_entries(
    reader: Reader, geometry: Geometry, begin_timestamp: int, run: tuple[int, int], choice: RowChoice
) -> Iterator[tuple[int, Columns]]:
    """The rows of `index_entries`, without `file`, for the entries from `run[0]` up to `run[1]`; see `entry_columns`.

    Columns are in memory of Arrow's pool, which reuses it once a batch is released.
    """
    scratch = _Scratch()
    split = kernels.prepared(kernels.split_entries)

    def work(start: int) -> tuple[int, Columns]:
        count = min(choice.batch_rows, run[1] - start)
        raw = scratch.bytes(count * INDEX_ENTRY.size)
        reader.read_into(geometry.entries_offset + start * INDEX_ENTRY.size, raw)
        columns: Columns = {}
        views: list[NDArray[Any]] = []
        for name, dtype in _NUMPY.items():
            if name in choice.names:
                buffer = pa.allocate_buffer(count * dtype.itemsize)
                columns[name] = arrow.of_buffer(_TYPES[name], count, buffer)
                views.append(np.frombuffer(memoryview(buffer), dtype))
            else:
                views.append(scratch.column(name, count))
        split(
            raw.view(np.uint32), start, geometry.hash_slot_num, begin_timestamp, kernels.EntryColumns(*views)
        )
        return count, columns

    starts = range(*run, choice.batch_rows)
    if choice.threads < 2:
        yield from map(work, starts)
        return
    with ThreadPoolExecutor(choice.threads) as pool:
        ahead: deque[Any] = deque()
        try:
            for start in starts:
                ahead.append(pool.submit(work, start))
                if len(ahead) > choice.threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
