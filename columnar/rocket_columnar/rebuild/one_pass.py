"""A rebuild in one pass over the log: what a batch of records adds is put into index files and queues at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rocket_columnar.log import read_requests
from rocket_columnar.rebuild.batch_columns import joined_batches, keys_added, units_added
from rocket_columnar.rebuild.dispatched_columns import Dispatched
from rocket_columnar.rebuild.holes import Gaps, log_holes
from rocket_columnar.rebuild.index_writer import IndexFiles, name_indexes
from rocket_columnar.rebuild.plan import plan_indexes
from rocket_columnar.rebuild.queue_writer import QueueFiles

if TYPE_CHECKING:
    from pathlib import Path

    from rocket_columnar.log import Requests
    from rocket_columnar.rebuild.batch_columns import Batch
    from rocket_columnar.rebuild.dispatched_columns import LeftOut
    from rocket_columnar.rebuild.plan import RebuildPlan
    from rocket_columnar.store import StoreFile, WorkDone

__all__ = ["rebuild_in_one_pass"]

_RECORDS: Final = 1 << 13
"""Of a batch at least, and usually at most twice as many: with what is made of them, they stay in a processor's cache."""


def rebuild_in_one_pass(
    plan: RebuildPlan, directory: Path, work: WorkDone
) -> tuple[list[Dispatched], list[LeftOut]]:
    """Writes index files and consume queues of a store; returns what its log files held, and the queues left out.

    Args:
        plan: of the rebuild.
        directory: gets `index/`, `consumequeue/` and `consumequeue_ext/`.
        work: reports the bytes of the log that were read.

    Raises:
        OSError: reading or writing fails.
    """
    making = _Making(plan, directory)
    try:
        making.run(work)
        return making.finish()
    finally:
        making.abandon()


class _Making:
    """Index files and queues in the making, and what was found in the log."""

    def __init__(self, plan: RebuildPlan, directory: Path) -> None:
        holes = log_holes(plan.logs)
        self._plan = plan
        self._folder = directory / "index"
        self._index = IndexFiles(self._folder, plan.geometry)
        self._queues = QueueFiles(directory, plan.files, plan.queue_file_size, holes)
        self._batches: dict[StoreFile, list[Batch]] = {file: [] for file in plan.logs}
        self._gaps = {file: Gaps(file, holes, last=file is plan.logs[-1]) for file in plan.logs}

    def run(self, work: WorkDone) -> None:
        """The whole log, batch by batch."""
        for file in self._plan.logs:
            gaps = self._gaps[file]
            done = file.base_offset
            requests = read_requests(file, self._queues.topics, gaps.add)
            for batch in joined_batches(requests, _RECORDS):
                gaps.pass_over(batch)
                self._put(file, batch)
                work.add(gaps.end - done)
                done = gaps.end
            gaps.close()
            work.add(file.base_offset + file.size() - done)

    def _put(self, file: StoreFile, batch: Requests) -> None:
        added = keys_added(batch)
        if added is not None:
            self._index.put(added)
            self._batches[file].append(added.summary())
        self._queues.put(units_added(file, batch, self._queues.topics, light=self._plan.light))

    def abandon(self) -> None:
        """Closes the files that are open after a failure."""
        self._index.abandon()
        self._queues.abandon()

    def finish(self) -> tuple[list[Dispatched], list[LeftOut]]:
        """Completes and names the files."""
        self._queues.close()
        dispatched = [
            Dispatched(tuple(self._batches[file]), tuple(self._gaps[file].findings))
            for file in self._plan.logs
        ]
        indexes = plan_indexes(dispatched, self._plan.geometry)
        self._index.close(len(indexes))
        names = name_indexes(self._plan.files, dispatched, indexes, self._index.causes)
        for path, name in zip(self._index.made, names, strict=True):
            path.rename(path.with_name(f".{name}"))
        for name in names:
            (self._folder / f".{name}").rename(self._folder / name)
        return dispatched, self._queues.left_out
