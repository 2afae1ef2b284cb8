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
    *,
    tag_keys: bool = False,
) -> Iterator[Requests]:
    """The requests of one commit-log file; `on_gap` is called with each range in which no record verifies.

    With `tag_keys` messages are also indexed under their tags, as since 5.4.0.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open() as reader:
        if not reader.size:
            on_gap(Gap(reader.name, file.base_offset, file.base_offset, "an empty file", "a commit log"))
            return
        scan = RequestScan(reader, file.base_offset, names, tag_keys=tag_keys)
        yield from scan.run(0, reader.size, exact=True, on_gap=on_gap)
