"""What earlier runs with `append` decoded of a store, and what there is to decode now.

Coverage ends where a stream would stop, after the last whole record or unit: what a broker is writing waits for the next
run. It is kept in the manifest, with what was read last, so that a log or queue that a recovery cut back is noticed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rocket_columnar.index import GeometryGuess
from rocket_columnar.store import StoreFile
from rocket_spec.errors import MalformedError
from rocket_spec.layout import QUEUE_UNIT

from rocket_spark.reading import LogTail, QueueTail, entry_count

_OFFSET: Final = "phy_offset"

REPLACED: Final = frozenset({"index_headers", "checkpoint", "consume_queue_ext"})
"""Tables whose rows change: each run writes them anew."""


@dataclass(slots=True)
class Bounds:
    """What a run decodes of one store.

    Attributes:
        log: physical offsets of the records, the first and the one after the last.
        rows: of queue and index files, by name: numbers of rows, the first and the one after the last.
        coverage: what is decoded after this run, for the manifest.
        lost: what expired before it was decoded, in words.
    """

    log: tuple[int, int] | None = None
    rows: dict[str, tuple[int, int]] = field(default_factory=dict)
    coverage: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def wanted(self, file: StoreFile) -> bool:
        """Whether `file` has rows to be decoded."""
        if file.kind == "log":
            assert self.log is not None  # noqa: S101 - there is a log file
            return file.base_offset < self.log[1] and file.base_offset + file.size() > self.log[0]
        if file.kind in ("queue", "index"):
            first, end = self.rows[file.name]
            return first < end
        return True


def bounds_of(
    files: Sequence[StoreFile], guesses: Mapping[StoreFile, GeometryGuess], before: Mapping[str, Any]
) -> Bounds:
    """What there is to decode of `files`, of which `before` is the coverage.

    Raises:
        MalformedError: a log, queue or index file is no longer the one that was decoded.
        OSError: a file cannot be read.
    """
    bounds = Bounds(coverage=dict(before))
    kinds: dict[str, list[StoreFile]] = {}
    for file in files:
        kinds.setdefault(file.kind, []).append(file)
    try:
        if "log" in kinds:
            _log_bounds(kinds["log"], before.get("log"), bounds)
        if "queue" in kinds:
            _queue_bounds(kinds["queue"], before.get("queue", {}), bounds)
    except MalformedError as error:
        raise MalformedError(
            file=error.file,
            found=error.found,
            expected="what an earlier run decoded; decode this store to a new directory",
        ) from error
    counts: dict[str, int] = {}
    for file in kinds.get("index", ()):
        first, end = before.get("index", {}).get(file.name, 0), entry_count(file, guesses[file])
        if end < first:
            raise MalformedError(
                file=file.name,
                found=f"{end:,} entries",
                expected=f"the {first:,} that an earlier run decoded; decode this store to a new directory",
            )
        bounds.rows[file.name] = (first, end)
        counts[file.name] = end
    bounds.coverage["index"] = counts
    return bounds


def _log_bounds(files: list[StoreFile], before: dict[str, int] | None, bounds: Bounds) -> None:
    tail = LogTail(files)
    begin = first = tail.first()
    if before is not None and before[_OFFSET] < first[_OFFSET]:
        bounds.lost.append(
            f"commit log: physical offsets {before[_OFFSET]:,} to {first[_OFFSET]:,} were deleted before they were decoded"
        )
    elif before is not None:
        begin = tail.checked(before, fail_on_loss=True)
    end = tail.last(begin, None, None)
    bounds.log = begin[_OFFSET], end[_OFFSET]
    bounds.coverage["log"] = end


def _queue_bounds(files: list[StoreFile], before: dict[str, int], bounds: Bounds) -> None:
    tail = QueueTail(files)
    start = dict(before)
    for name, first in tail.first().items():
        if start.get(name, first) < first:
            bounds.lost.append(
                f"consume queue {name}: units {start[name]:,} to {first:,} were deleted before they were decoded"
            )
            tail.forget(start, name)
    begin = tail.checked(start, fail_on_loss=True)
    end = tail.last(begin, None, None)
    for name, queue in tail.queues.items():
        for file in queue:
            base, count = file.base_offset // QUEUE_UNIT.size, file.size() // QUEUE_UNIT.size
            bounds.rows[file.name] = max(0, begin[name] - base), max(0, min(count, end[name] - base))
    bounds.coverage["queue"] = end
