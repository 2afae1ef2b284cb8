"""A rebuild in one pass over the log: what a batch of records adds is put into index files and queues at once."""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

from rocket_columnar.log import read_requests, read_requests_ahead
from rocket_columnar.rebuild.batch_columns import Batch, joined_batches, keys_added, units_added
from rocket_columnar.rebuild.dispatched_columns import Dispatched, UnsafeQueue, log_finding
from rocket_columnar.rebuild.index_writer import IndexFiles, name_indexes
from rocket_columnar.rebuild.lanes import Lane, Ranks
from rocket_columnar.rebuild.plan import plan_indexes
from rocket_columnar.rebuild.queue_writer import QueueFiles
from rocket_columnar.store import is_large

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rocket_columnar.findings import Finding
    from rocket_columnar.log import Gap, Requests
    from rocket_columnar.rebuild.plan import RebuildPlan
    from rocket_columnar.store import StoreFile, WorkDone

    _Part = tuple[StoreFile, Sequence[Requests]]  # batches of a log file

__all__ = ["rebuild_in_one_pass"]

_RECORDS: Final = 1 << 13
"""Of a batch at least, and usually at most twice as many: with what is made of them, they stay in a processor's cache."""
_AHEAD: Final = 2  # parts of the log that are read ahead for each thread


def rebuild_in_one_pass(plan: RebuildPlan, directory: Path, threads: int, work: WorkDone) -> list[Dispatched]:
    """Writes index files and consume queues of a store; returns what its log files held.

    Args:
        plan: of the rebuild.
        directory: gets `index/`, `consumequeue/` and `consumequeue_ext/`.
        threads: number of threads for a large log.
        work: reports the bytes of the log that were read.

    Raises:
        OSError: reading or writing fails.
    """
    making = _Making(plan, directory)
    try:
        if threads > 1 and making.compiled:
            with ThreadPoolExecutor(threads) as pool:
                making.run_threaded(pool, threads, work)
        else:
            making.run(work)
        return making.finish()
    finally:
        making.abandon()


class _Making:
    """Index files and queues in the making, and what was found in the log."""

    def __init__(self, plan: RebuildPlan, directory: Path) -> None:
        self.compiled = is_large(plan.logs)
        self._plan = plan
        self._folder = directory / "index"
        self._index = IndexFiles(self._folder, plan.geometry, compiled=self.compiled)
        self._queues = QueueFiles(directory, plan.files, plan.queue_file_size, compiled=self.compiled)
        self._batches: defaultdict[StoreFile, list[Batch]] = defaultdict(list)
        self._gaps: defaultdict[StoreFile, list[Finding]] = defaultdict(list)

    def run(self, work: WorkDone) -> None:
        """The whole log, batch by batch."""
        for file in self._plan.logs:
            requests = read_requests(
                file,
                self._queues.topics,
                partial(self._note, file),
                compiled=self.compiled,
            )
            for batch in joined_batches(requests, _RECORDS):
                self._add_keys((file, [batch]))
                self._add_units((file, [batch]))
            work.add(file.size())

    def run_threaded(self, pool: ThreadPoolExecutor, threads: int, work: WorkDone) -> None:
        """The same; threads read parts of the log, and put them in order into index files, and into queues.

        A part is read while nothing waits to be put: the keys, which take longest, would trail behind at the end.
        """
        ranks = Ranks(pool)
        lanes = [Lane(ranks.rank(rank), add) for rank, add in enumerate((self._add_keys, self._add_units))]
        reading = ranks.rank(len(lanes))
        parts = read_requests_ahead(
            self._plan.logs, self._queues.topics, self._note, reading, _AHEAD * threads
        )
        for file, length, requests in parts:
            batches = [*joined_batches(requests, _RECORDS)]
            for lane in lanes:
                lane.put((file, batches))
            work.add(length)
        for lane in lanes:
            lane.finish()

    def _note(self, file: StoreFile, gap: Gap) -> None:
        self._gaps[file].append(log_finding(file, gap, last=file is self._plan.logs[-1]))

    def _add_keys(self, part: _Part) -> None:
        file, batches = part
        for batch in batches:
            added = keys_added(batch)
            if added is not None:
                self._index.put(added)
                self._batches[file].append(added.summary())

    def _add_units(self, part: _Part) -> None:
        file, batches = part
        for batch in batches:
            self._queues.put(units_added(file, batch, self._queues.topics, light=self._plan.light))

    def abandon(self) -> None:
        """Closes the files that are open after a failure."""
        self._index.abandon()
        self._queues.abandon()

    def finish(self) -> list[Dispatched]:
        """Completes and names the files."""
        self._queues.close()
        unsafe: defaultdict[StoreFile, list[UnsafeQueue]] = defaultdict(list)
        for topic, queue_id, offset in self._queues.unsafe:
            file = next(file for file in reversed(self._plan.logs) if file.base_offset <= offset)
            unsafe[file].append(UnsafeQueue(topic, queue_id, file.name, offset - file.base_offset))
        dispatched = [
            Dispatched(tuple(self._batches[file]), tuple(self._gaps[file]), tuple(unsafe[file]))
            for file in self._plan.logs
        ]
        indexes = plan_indexes(dispatched, self._plan.geometry)
        self._index.close(len(indexes))
        names = name_indexes(self._plan.files, dispatched, indexes, self._index.causes)
        for path, name in zip(self._index.made, names, strict=True):
            path.rename(path.with_name(f".{name}"))
        for name in names:
            (self._folder / f".{name}").rename(self._folder / name)
        return dispatched
