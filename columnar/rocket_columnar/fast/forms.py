"""Chooses the plain or the compiled form of two loops: the records of a log, and the key hashes of many keys, both without copying UTF-8."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocket_columnar import formats
from rocket_columnar.fast.plain_log import PlainLog, pays

_WORTH: Final = 16  # bytes that cost about as much as a key


def log_form(size: int) -> PlainLog:
    """The form for a log of `size` bytes, or a file of one."""
    if pays(size):
        from rocket_columnar.fast.compiled import CompiledLog

        return CompiledLog()
    return PlainLog()


def hash_keys(keys: Sequence[str] | Any, topic: str | None = None) -> NDArray[np.int32]:
    """As `formats.hash_keys`; many keys in Arrow's arrays by a compiled loop. ValueError for nulls, or bytes that are not UTF-8."""
    if isinstance(keys, (list, tuple)) or not pays(len(keys) * _WORTH):
        return formats.hash_keys(keys, topic)
    return formats.hash_keys(keys, topic, of_strings=_hash_strings)


def _hash_strings(array: Any, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Hashes of an Arrow array of strings or binaries, without a copy of it."""
    import pyarrow as pa

    from rocket_columnar.fast.compiled import hash_utf8

    kind = array.type
    if not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
        array = array if pa.types.is_binary(kind) or pa.types.is_string(kind) else array.cast(pa.string())
        bounds: NDArray[Any] = np.frombuffer(array.buffers()[1], np.int32)
    else:
        bounds = np.frombuffer(array.buffers()[1], np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    hashes = np.empty(len(array), np.int32)
    bad = hash_utf8(data, bounds[array.offset :], int(codes[0]), hashes)
    if bad >= 0:
        raise ValueError(f"key {bad:,} is not well-formed UTF-8")
    return hashes
