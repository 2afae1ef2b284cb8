"""The inside of a decode task: some files to one Parquet part per table, and the outcome as a line of JSON.

A part is written under a name of its own and renamed when whole, so that a task that is retried or run twice
leaves one copy. Errors that a retry cannot cure come back as outcomes, whole, instead of as a Java stack trace.
"""

from __future__ import annotations

import json
import uuid
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow.parquet as pq
from rocket_columnar.schema import SCHEMAS
from rocket_spec.errors import FormatError, InvalidError, MalformedError, UsageError

from rocket_spark._engine import decode_part

if TYPE_CHECKING:
    from rocket_columnar.store import StoreFile
    from rocket_spec.layout import Geometry

__all__ = ["PartTask", "raise_error", "run_part"]

_BATCH_ROWS: Final = 1 << 20
"""Rows of a batch, and so of a Parquet row group, at most."""

_FORMAT_ERRORS: Final = {error.__name__: error for error in (FormatError, InvalidError, MalformedError)}


@dataclass(frozen=True, slots=True)
class PartTask:
    """What one task decodes: `files` of one kind, to a part of that number in each of `tables`."""

    number: int
    files: tuple[StoreFile, ...]
    following: tuple[StoreFile, ...]
    tables: tuple[str, ...]
    geometry: Geometry | None
    directory: str


def run_part(task: PartTask) -> str:
    """Decodes `task` and returns its outcome as JSON: `{"parts": {table: [rows, bytes]}, "gaps": [...]}` or an error."""
    try:
        return json.dumps(_write_parts(task))
    except FormatError as error:
        fields = {
            "found": str(error.found),
            "expected": str(error.expected),
            "file": error.file,
            "offset": error.offset,
            "clause": error.clause,
        }
        return json.dumps({"error": type(error).__name__, "fields": fields})
    except UsageError as error:
        return json.dumps({"error": "UsageError", "fields": {"message": str(error)}})
    except OSError as error:
        fields = {"errno": error.errno, "strerror": error.strerror or str(error), "filename": error.filename}
        return json.dumps({"error": "OSError", "fields": fields}, default=str)


def raise_error(outcome: dict[str, Any]) -> None:
    """Raises again, in the driver, the error that an outcome of `run_part` carries, if it does.

    Raises:
        FormatError: and its two subclasses, as the engine raised them.
        UsageError: as the engine raised it.
        OSError: with number, text and file name.
    """
    name = outcome.get("error")
    if name is None:
        return
    fields = outcome["fields"]
    if name in _FORMAT_ERRORS:
        raise _FORMAT_ERRORS[name](**fields)
    if name == "OSError":
        raise OSError(fields["errno"], fields["strerror"], fields["filename"])
    raise UsageError(fields["message"])


def _write_parts(task: PartTask) -> dict[str, Any]:
    gaps: list[str] = []
    rows = dict.fromkeys(task.tables, 0)
    names: dict[str, tuple[Path, Path]] = {}
    try:
        with ExitStack() as stack:
            writers: dict[str, pq.ParquetWriter] = {}
            for table in task.tables:
                folder = Path(task.directory) / table
                folder.mkdir(parents=True, exist_ok=True)
                final = folder / f"part-{task.number:05}.parquet"
                unique = folder / f".part-{task.number:05}.{uuid.uuid4().hex}"
                names[table] = unique, final
                # Without the Arrow schema beside Parquet's own, dictionaries read back as plain strings.
                writers[table] = stack.enter_context(
                    pq.ParquetWriter(unique, SCHEMAS[table], compression="zstd", store_schema=False)
                )
            batches = decode_part(
                task.files,
                task.following,
                tables=task.tables,
                geometry=task.geometry,
                batch_rows=_BATCH_ROWS,
                on_gap=lambda gap: gaps.append(str(gap)),
            )
            for table, batch in batches:
                rows[table] += batch.num_rows
                writers[table].write_batch(batch)
        for unique, final in names.values():
            unique.replace(final)
    except BaseException:
        for unique, _ in names.values():
            unique.unlink(missing_ok=True)
        raise
    parts = {table: [rows[table], final.stat().st_size] for table, (_, final) in names.items()}
    return {"parts": parts, "gaps": gaps}
