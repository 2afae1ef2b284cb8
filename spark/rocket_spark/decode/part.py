"""The inside of a decode task: files to Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar import decode as engine
from rocket_columnar.log import Gap
from rocket_columnar.store import StoreFile
from rocket_spec.errors import MalformedError

from rocket_spark.decode.options import DecodeOptions
from rocket_spark.decode.part_tasks import PartTask
from rocket_spark.decode.part_writer import BATCH_ROWS, PartWriter
from rocket_spark.files import size_now
from rocket_spark.output import Folder, attempt

if TYPE_CHECKING:
    import pyarrow as pa


_USUAL: Final = DecodeOptions()


def run_part(task: PartTask, directory: Folder, options: DecodeOptions = _USUAL) -> dict[str, Any]:
    """In a task: decodes to an attempt in `directory`.

    Returns:
        `parts`: by table and path in the table's folder, the attempt's file and its rows; `gaps` of the log; `nulled`,
        the number of times out of range. Of a commit log also the physical offsets `begin` of the first record and
        `end` after the last; else None.

    Raises:
        FormatError: bytes that cannot be decoded, or a file of another size than planned.
        OSError: a file cannot be read or written.
    """
    gaps: list[str] = []
    begin = end = None
    _check_sizes(task)
    with attempt(directory, f"part-{task.number:05}") as folder:
        folder.mkdir()
        with ExitStack() as stack:
            writers = {
                table: stack.enter_context(
                    PartWriter(folder, table, task.name, options, order=_order(task, table))
                )
                for table in task.tables
            }
            for table, batch in batches(task, lambda gap: gaps.append(str(gap))):
                writers[table].write(batch)
                if table == "commit_log" and batch.num_rows:
                    offsets, last = batch.column("phy_offset"), batch.num_rows - 1
                    begin = offsets[0].as_py() if begin is None else begin
                    end = offsets[last].as_py() + batch.column("size")[last].as_py()
        _check_sizes(task)
        _check_rows(task, {table: sum(writer.rows.values()) for table, writer in writers.items()})
    return {
        "parts": {
            table: {path: [f"{folder.name}/{table}/{path}", count] for path, count in writer.rows.items()}
            for table, writer in writers.items()
        },
        "gaps": gaps,
        "nulled": sum(writer.nulled for writer in writers.values()),
        "begin": begin,
        "end": end,
    }


def _order(task: PartTask, table: str) -> str | None:
    """The column by which the rows of a task are in order."""
    if table == "commit_log":
        return "phy_offset"
    if table == "index_entries" and len(task.files) == 1:
        return "entry"
    one_queue = len({file.path.parent for file in task.files}) == 1
    return "logical_offset" if table == "consume_queue" and one_queue else None


def batches(task: PartTask, on_gap: Callable[[Gap], None]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Pairs of table and batch of a task's files; `on_gap` takes what the log lacks."""
    guesses = None if task.guess is None else dict.fromkeys(task.files, task.guess)
    if not task.rows:
        yield from engine.decode(
            [*task.files, *task.following],
            tables=task.tables,
            geometry=guesses,
            batch_rows=BATCH_ROWS,
            on_gap=on_gap,
            log_range=task.log_range,
        )
        return
    for table in task.tables:
        for file, (first, end) in zip(task.files, task.rows, strict=True):
            ranged = table != "index_headers"
            yield from engine.decode(
                [file],
                tables=[table],
                geometry=guesses,
                skip=first if ranged else 0,
                limit=end - first if ranged else None,
                batch_rows=BATCH_ROWS,
            )


def _check_sizes(task: PartTask) -> None:
    for file, planned in zip(task.files, task.sizes, strict=True):
        size = size_now(file)
        if size != planned:
            raise _changed(file, f"{size:,} bytes", f"{planned:,}")


def _check_rows(task: PartTask, rows: dict[str, int]) -> None:
    """Whether a task that knows its rows wrote them."""
    planned = sum(end - first for first, end in task.rows)
    for table in ("index_entries", "consume_queue"):
        if task.rows and rows.get(table, planned) != planned:
            raise _changed(task.files[0], f"{rows[table]:,} rows", f"{planned:,}")


def _changed(file: StoreFile, found: str, planned: str) -> MalformedError:
    name = str(file.path) if file.source is None else file.source.name
    return MalformedError(file=name, found=found, expected=f"{planned}, as when the job began")
