"""Dispatch requests of the commit log, file by file, for rebuilds and for predicting a start."""

from collections.abc import Callable, Iterator

from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.request_columns import Requests, TopicNames
from rocket_columnar.log.request_walk import RULES_4_9_3, KeyRules, RequestScan
from rocket_columnar.store import StoreFile


def read_requests(
    file: StoreFile,
    names: TopicNames,
    on_gap: Callable[[Gap], None],
    *,
    keys: KeyRules = RULES_4_9_3,
) -> Iterator[Requests]:
    """The requests of one commit-log file; `on_gap` is called with each range in which no record verifies.

    `keys` are the rules of the release.

    Raises:
        OSError: the file cannot be read.
    """
    with file.open() as reader:
        if not reader.size:
            on_gap(Gap(reader.name, file.base_offset, file.base_offset, "an empty file", "a commit log"))
            return
        scan = RequestScan(reader, file.base_offset, names, keys=keys)
        yield from scan.run(0, reader.size, exact=True, on_gap=on_gap)
