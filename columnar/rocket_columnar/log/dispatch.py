"""Dispatch requests of the commit log, file by file, for rebuilds and for predicting a start."""

from collections.abc import Callable, Iterator

from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.request_columns import Requests, TopicNames
from rocket_columnar.log.request_walk import RequestScan
from rocket_columnar.store import StoreFile


def read_requests(
    file: StoreFile,
    names: TopicNames,
    on_gap: Callable[[Gap], None],
) -> Iterator[Requests]:
    """The requests of one commit-log file; `on_gap` is called with each range in which no record verifies.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open() as reader:
        if not reader.size:
            on_gap(Gap(reader.name, file.base_offset, file.base_offset, "an empty file", "a commit log"))
            return
        scan = RequestScan(reader, file.base_offset, names)
        yield from scan.run(0, reader.size, exact=True, on_gap=on_gap)
