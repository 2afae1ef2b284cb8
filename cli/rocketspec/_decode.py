"""The engine's `decode`, from a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocket_columnar.decode import decode as decode_files
from rocket_columnar.store import find_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

__all__ = ["decode"]


def decode(
    path: Path | str, *, kind: str | None = None, commitlog: Sequence[Path | str] = (), **options: Any
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of everything at `path`, as (table, record batch), in bounded memory.

    Args:
        path: a file, a directory of a store, or a store.
        kind: "index", "queue", "ext", "log" or "checkpoint"; by default detected from path and content.
        commitlog: directories of the store's commit log beside its own `commitlog`.
        options: those of `rocket_columnar.decode.decode`.

    Raises:
        UsageError: an unknown table or column, or a geometry that cannot be inferred.
        FormatError: bytes that cannot be decoded, with file and offset.
        OSError: a path that is missing or cannot be read.
    """
    return decode_files(find_files(path, kind, commitlog=commitlog), **options)
