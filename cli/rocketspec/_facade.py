"""The Python face of the command: a few functions that hand over to the rooms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from rocket_columnar.query import Answer
    from rocket_columnar.store import StoreFile
    from rocket_conformance.report import Report
    from rocket_spec.layout import Geometry

__all__ = ["conform", "decode", "open_store", "query"]


def open_store(path: Path | str, *, kind: str | None = None) -> list[StoreFile]:
    """The files of a store, a directory of one, or the one file at `path`, in a stable order.

    Raises:
        UsageError: an unknown kind, or nothing found.
        OSError: a path that is missing or cannot be read.
    """
    from rocket_columnar.store import find_files

    return find_files(path, kind)


def decode(
    path: Path | str,
    *,
    kind: str | None = None,
    tables: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    geometry: Geometry | None = None,
    limit: int | None = None,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of everything at `path`, as (table, record batch), in bounded memory; column names as in `rocket_spec.tables`.

    Args:
        path: a file, a directory of a store, or a store.
        kind: takes the files as "index", "queue", "ext", "log" or "checkpoint"; else it is told by path and bytes.
        tables: only these tables.
        columns: only these columns.
        geometry: of the index files; else it is inferred.
        limit: at most so many rows of each table.

    Raises:
        UsageError: an unknown table or column, or a geometry that cannot be told.
        FormatError: bytes that cannot be decoded, with file and offset.
        OSError: a path that is missing or cannot be read.
    """
    from rocket_columnar.decode import decode as decode_files

    files = open_store(path, kind=kind)
    return decode_files(files, tables=tables, geometry=geometry, columns=columns, limit=limit)


def query(store: Path | str, *, topic: str, key: str, **options: Any) -> Answer:
    """What a broker would answer to a query by key; see `rocket_columnar.query.query` for the options."""
    from rocket_columnar.query import query as query_store

    return query_store(store, topic, key, **options)


def conform(command: Sequence[str] = (), **options: Any) -> Report:
    """Runs the suite against an adapter's command, or against the bundled engine without one.

    Args:
        command: the adapter's command line.
        options: fields of `rocket_conformance.runner.Options`.

    Raises:
        UsageError: when nothing is selected.
    """
    from rocket_conformance.runner import Options, run

    from rocketspec.verbs.conform import open_implementation

    with open_implementation(list(command), None, None) as transport:
        return run(transport, Options(**options))
