"""The inside of a decode task: parts of stores to Parquet."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field

from rocket_columnar.log import Gap

from rocket_spark.decode.options import DecodeOptions
from rocket_spark.decode.part_writer import BATCH_ROWS, PartWriter
from rocket_spark.decode.plan import PartTask
from rocket_spark.output import Folder, attempt
from rocket_spark.reading import FilePart, Problem, decoded
from rocket_spark.tasks import is_last_attempt


@dataclass(slots=True)
class PartDone:
    """The result of a task.

    Attributes:
        parts: by table and path in the table's folder, the attempt's file and its rows.
        rows: by store.
        gaps: of logs, by store.
        problems: files that could not be decoded, or not to their end, by store.
        nulled: the number of times out of range.
    """

    parts: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    gaps: dict[str, list[str]] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    nulled: int = 0


def run_part(task: PartTask, directory: Folder, options: DecodeOptions) -> PartDone:
    """In a task: decodes to an attempt in `directory`. A file that cannot be decoded is reported, and the rest is.

    Raises:
        FormatError: with `fail_fast`, bytes that cannot be decoded.
        OSError: a file cannot be written, or, before the last attempt of a task or with `fail_fast`, not be read.
    """
    done = PartDone()

    def on_problem(part: FilePart, problem: Problem) -> None:
        if isinstance(problem, Gap):
            done.gaps.setdefault(part.store, []).append(str(problem))
            return
        if isinstance(problem, OSError) and not is_last_attempt():
            raise problem
        if options.fail_fast and not isinstance(problem, str):
            raise problem
        done.problems.setdefault(part.store, []).append(str(problem))

    name = f"part-{task.number:05}"
    with attempt(directory, name) as folder:
        folder.mkdir()
        with ExitStack() as stack:
            writers = {
                table: stack.enter_context(
                    PartWriter(folder, table, f"{name}.parquet", options, order=_order(task, table))
                )
                for table in dict.fromkeys(part.table for part in task.parts)
            }
            for part, batch in decoded(task.parts, lambda _: None, on_problem, batch_rows=BATCH_ROWS):
                writers[part.table].write(batch, part.store)
                done.rows[part.store] += batch.num_rows
    for table, writer in writers.items():
        done.nulled += writer.nulled
        done.parts[table] = {
            path: (f"{folder.name}/{table}/{path}", count) for path, count in writer.rows.items()
        }
    return done


def _order(task: PartTask, table: str) -> str | None:
    """The column by which the rows of a table are in order."""
    files = [part.file for part in task.parts if part.table == table and part.file is not None]
    stores = {part.store for part in task.parts if part.table == table}
    if table == "commit_log" and len(stores) == 1:
        return "phy_offset"
    if table == "index_entries" and len(files) == 1:
        return "entry"
    one_queue = len({file.path.parent for file in files}) == 1
    return "logical_offset" if table == "consume_queue" and one_queue else None
