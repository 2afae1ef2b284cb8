"""The Python face of the command: a few functions that hand over to the rooms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from rocket_columnar.audit import Finding, Level
    from rocket_columnar.query import Answer
    from rocket_columnar.rebuild import Rebuilt
    from rocket_columnar.store import StoreFile
    from rocket_conformance.report import Report
    from rocket_spec.layout import Geometry

__all__ = ["audit", "conform", "decode", "open_store", "query", "rebuild"]


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


def query(
    store: Path | str,
    *,
    topic: str,
    key: str,
    begin: int | None = None,
    end: int | None = None,
    max_num: int | None = 32,
    exact: bool = False,
    geometry: Geometry | None = None,
) -> Answer:
    """What a broker would answer to a query by key.

    Args:
        store: the store's directory.
        topic: the topic.
        key: a key or unique key.
        begin: first ms of the window; by default 0.
        end: last ms of the window; by default the present.
        max_num: messages at most, and never more than 64. None goes beyond the broker: every message with the topic
            and the key, each once, and no window where none is given.
        exact: drop hits of other keys with the same hash.
        geometry: of the index files; else it is inferred.

    Raises:
        UsageError: no store, or a geometry that cannot be told.
        FormatError: no index file that can be read as one, or a chain on which a broker would never answer.
        OSError: a path that is missing or cannot be read.
    """
    from rocket_columnar.query import query as query_store

    return query_store(
        store, topic, key, begin=begin, end=end, max_num=max_num, exact=exact, geometry=geometry
    )


def audit(
    store: Path | str, level: Level = "default", *, geometry: Geometry | None = None
) -> Iterator[Finding]:
    """What is wrong with a store, finding by finding; nothing for a healthy one, and nothing is written.

    Args:
        store: the store's directory.
        level: "quick", "default" or "deep".
        geometry: of the index files; else it is inferred.

    Raises:
        UsageError: an unknown level, no store, or a geometry that does not fit.
        OSError: the store cannot be read.
    """
    from rocket_columnar.audit import audit as audit_store

    return audit_store(store, level, geometry=geometry)


def rebuild(
    store: Path | str,
    directory: Path | str,
    *,
    geometry: Geometry | None = None,
    queue_file_size: int | None = None,
    only_missing: bool = False,
) -> Rebuilt:
    """Makes index files and consume queues again from the commit log, into a directory outside the store.

    Args:
        store: the store's directory.
        directory: where `index/`, `consumequeue/` and `consumequeue_ext/` go.
        geometry: of the index files; else the store's own, else 4.9.3's default.
        queue_file_size: of a consume-queue file, bytes; else the store's own, else 4.9.3's default.
        only_missing: leave out the files that the store holds already, byte for byte.

    Raises:
        UsageError: no commit log, a geometry that does not fit, or a directory that will not do.
        OSError: reading or writing fails.
    """
    from rocket_columnar.rebuild import rebuild as rebuild_store

    return rebuild_store(
        store,
        directory,
        geometry=geometry,
        queue_file_size=queue_file_size,
        only_missing=only_missing,
    )


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
