"""Key hashes of many keys: by NumPy, or by a compiled loop over UTF-8 that stays where it is."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rocket_columnar import formats
from rocket_columnar.fast.choice import pays
from rocket_columnar.formats import index_key, string_hash

_WORTH: Final = 16
"""Bytes that cost about as much as a key."""


def hash_keys(keys: Sequence[str] | Any, topic: str | None = None) -> NDArray[np.int32]:
    """As `formats.hash_keys`; many keys in Arrow's arrays by a compiled loop.

    Raises:
        ValueError: an Arrow array that contains a null, or bytes that are not UTF-8.
    """
    if isinstance(keys, (list, tuple)) or not pays(len(keys) * _WORTH):
        return formats.hash_keys(keys, topic)
    code = 0 if topic is None else string_hash(index_key(topic, "")) & 0xFFFFFFFF
    hashes = [_hash_arrow(chunk, code) for chunk in getattr(keys, "chunks", [keys])]
    return np.concatenate(hashes) if hashes else np.empty(0, np.int32)


def _hash_arrow(array: Any, code: int) -> NDArray[np.int32]:
    """Hashes of an Arrow array of strings or binaries, without a copy of it."""
    import pyarrow as pa

    from rocket_columnar.fast.compiled.utf8_text import hash_utf8

    if array.null_count:
        raise ValueError("a null has no key hash")
    if pa.types.is_dictionary(array.type):
        hashes: NDArray[np.int32] = _hash_arrow(array.dictionary, code)[array.indices.to_numpy()]
        return hashes
    if not len(array):
        return np.empty(0, np.int32)
    kind = array.type
    if not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
        array = array if pa.types.is_binary(kind) or pa.types.is_string(kind) else array.cast(pa.string())
        bounds: NDArray[Any] = np.frombuffer(array.buffers()[1], np.int32)
    else:
        bounds = np.frombuffer(array.buffers()[1], np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    hashes = np.empty(len(array), np.int32)
    bad = hash_utf8(data, bounds[array.offset :], code, hashes)
    if bad >= 0:
        raise ValueError(f"key {bad:,} is not well-formed UTF-8")
    return hashes
