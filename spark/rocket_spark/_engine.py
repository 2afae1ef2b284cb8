"""Part of a store through the engine, as if the whole were decoded at once.

What the engine says of a commit-log file depends on those behind it: zeros at its end are the end of the log or a gap
in it. So a part is decoded with the files that follow, up to their first batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocket_columnar import decode as engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from rocket_columnar.decode import Gap
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = ["decode_part", "followers"]


def followers(files: Sequence[StoreFile]) -> list[tuple[StoreFile, ...]]:
    """For each file those that its decoding needs to know of: of the log, up to the next one that holds anything.

    Raises:
        OSError: a log file cannot be read.
    """
    found: list[tuple[StoreFile, ...]] = []
    behind: tuple[StoreFile, ...] = ()
    for file in reversed(files):
        if file.kind != "log":
            found.append(())
            continue
        found.append(behind)
        behind = (file,) if _begins(file) else (file, *behind)
    return found[::-1]


def _begins(file: StoreFile) -> bool:
    with file.open() as reader:
        return bool(reader.read(0, min(8, reader.size)).any())


def decode_part(
    files: Sequence[StoreFile],
    following: Sequence[StoreFile],
    *,
    tables: Sequence[str],
    geometry: Geometry | None,
    columns: Sequence[str] | None = None,
    batch_rows: int,
    on_gap: Callable[[Gap], None],
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of `files` as (table, record batch), as the engine gives them.

    Args:
        files: of one kind.
        following: as `followers` gives them; nothing of them is returned.
        tables: of that kind.
        geometry: of index files.
        columns: these, and `file`; all when None.
        batch_rows: rows of a batch at most.
        on_gap: called for gaps in the log; it may be one between `following`, too.

    Raises:
        MalformedError: bytes that cannot be decoded.
        OSError: a file cannot be read.
    """
    own = {file.name for file in files}
    batches = engine.decode(
        [*files, *following],
        tables=tables,
        geometry=geometry,
        columns=None if columns is None else list(dict.fromkeys([*columns, "file"])),
        batch_rows=batch_rows,
        on_gap=on_gap,
    )
    for table, batch in batches:
        if following and batch.num_rows and batch.column("file")[0].as_py() not in own:
            return
        yield table, batch
