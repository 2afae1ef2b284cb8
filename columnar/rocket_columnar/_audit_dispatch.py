"""The commit log file by file as dispatch requests, for a rebuild and for what a start does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rocket_columnar._audit_scan import COMMIT, NOT, PREPARED, ROLLBACK, LogStretch, Requests, TopicNames
from rocket_columnar._gap import Gap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocket_columnar.store import StoreFile

__all__ = [
    "COMMIT",
    "NOT",
    "PREPARED",
    "ROLLBACK",
    "Requests",
    "TopicNames",
    "is_large",
    "requests",
    "values",
]

_LARGE: Final = 16 << 20
"""Bytes of log from which compiled loops serve; below, their start-up costs more than they save."""


def values(array: Any) -> NDArray[Any]:
    """A primitive Arrow array without nulls as NumPy's, not copied where the types allow it."""
    kind = array.type.to_pandas_dtype()
    if kind is np.bool_:
        return np.fromiter((bool(value) for value in array.to_pylist()), np.bool_, len(array))
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind, len(array), array.offset * np.dtype(kind).itemsize)


def is_large(files: Sequence[StoreFile]) -> bool:
    """Whether these files hold so much that compiled loops pay."""
    held = 0
    for file in files:
        try:
            with file.open() as reader:
                held += reader.allocated
        except FileNotFoundError:
            continue
        if held >= _LARGE:
            return True
    return False


def requests(
    file: StoreFile,
    names: TopicNames,
    on_gap: Callable[[Gap], None],
    *,
    check_crc: bool = False,
    compiled: bool | None = None,
) -> Iterator[Requests]:
    """The requests of one commit-log file; `on_gap` gets each range in which no record verifies.

    Raises:
        OSError: the file cannot be read.
    """
    large = is_large([file]) if compiled is None else compiled
    with file.open() as reader:
        if not reader.size:
            on_gap(Gap(reader.name, file.base_offset, file.base_offset, "an empty file", "a commit log"))
            return
        stretch = LogStretch(reader, file.base_offset, names, check_crc=check_crc, compiled=large)
        yield from stretch.run(0, reader.size, exact=True, on_gap=on_gap)
