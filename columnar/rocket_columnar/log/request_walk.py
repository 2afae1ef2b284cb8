"""The dispatch requests that a healthy broker makes from a range of one commit-log file."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from rocket_columnar.fast import LogForm, log_form
from rocket_columnar.formats import clean_utf8
from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.request_columns import ROLLBACK, Requests, TopicNames, topic_code
from rocket_columnar.log.row_values import RowTopics, bodies_match, tags_codes
from rocket_columnar.log.scan import Records, Scan
from rocket_columnar.store import Reader

_ROWS: Final = 1 << 13


class Dispatch:
    """Makes dispatch requests of records.

    Args:
        names: to which topics are added.
        form: how records are read.
        check_crc: whether bodies are checked against their sums.
    """

    def __init__(self, names: TopicNames, form: LogForm, *, check_crc: bool) -> None:
        self._names = names
        self._check_crc = check_crc
        self._topics = RowTopics(form, lambda raw: names.number(clean_utf8(raw).decode()))

    def requests(self, records: Records) -> Requests:
        """The requests of some records; their rows are changed."""
        records.find_values()
        rows = records.rows
        numbers = self._topics.numbers(records)
        topics = self._topics.values(numbers).astype(np.int32)
        codes, known = tags_codes(records, self._topics.scheduled[numbers])
        dispatched = np.ones(len(rows), np.bool_) if known is None else known
        transaction = rows["sys_flag"] & ROLLBACK
        silent = ~dispatched | (transaction == ROLLBACK)
        for name in ("keys", "uniq_key"):
            rows[f"{name}_length"][silent] = 0
        before = np.array([topic_code(name) for name in self._names.names], np.uint32)[topics]
        key_count, key_hash = records.form.hash_keys(records.window, rows, before)
        return Requests(
            **{name: rows[name].copy() for name in ("phy_offset", "size", "queue_id", "queue_offset")},
            topic=topics,
            tags_code=codes,
            dispatched=dispatched,
            store_timestamp=rows["store_timestamp"].copy(),
            transaction=transaction.astype(np.int8),
            crc_ok=bodies_match(records) if self._check_crc else np.ones(len(rows), np.bool_),
            copied=rows["multi_dispatch"].copy(),
            key_count=key_count,
            key_hash=key_hash,
        )


class RequestScan:
    """The requests of the records of one file that begin in a range of it.

    Only the contents of queues and index files are kept: no bodies, no texts, and only the hashes of keys.

    Args:
        reader: of the file.
        base_offset: where the file begins in the log, in bytes.
        names: to which topics are added.
        check_crc: whether bodies are checked against their sums.
        rows: maximum number of records in a batch.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        names: TopicNames,
        *,
        check_crc: bool = False,
        rows: int = _ROWS,
    ) -> None:
        form = log_form(reader.allocated)
        self._scan = Scan(reader, base_offset, form, bodies=check_crc, rows=rows)
        self._dispatch = Dispatch(names, form, check_crc=check_crc)

    @property
    def first(self) -> int:
        """See `Scan`."""
        return self._scan.first

    @property
    def next(self) -> int:
        """See `Scan`."""
        return self._scan.next

    def run(self, begin: int, end: int, *, exact: bool, on_gap: Callable[[Gap], None]) -> Iterator[Requests]:
        """The batches of the records that begin in [begin, end); arguments as of `Scan.run`."""
        for records in self._scan.run(begin, end, exact=exact, on_gap=on_gap):
            yield self._dispatch.requests(records)
