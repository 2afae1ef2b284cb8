"""The dispatch requests that a healthy broker makes from a range of one commit-log file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.profiles import profile

from rocket_columnar.fast import PlainLog, log_form
from rocket_columnar.formats import DELAYS, clean_utf8
from rocket_columnar.log.gaps import Gap
from rocket_columnar.log.request_columns import ROLLBACK, Requests, TopicNames, tag_code, topic_code
from rocket_columnar.log.row_values import RowTopics, bodies_match, properties_match, tags_codes
from rocket_columnar.log.scan import Records, Scan
from rocket_columnar.store import Reader, StoreFile

_ROWS: Final = 1 << 13


class KeyRules(NamedTuple):
    """Rules by which a broker reads the properties of a record, by its release and configuration.

    Attributes:
        tag_keys: messages are also indexed under their tags, as since 5.4.0.
        one_separator: a property that contains a second separator is dropped, as before 4.9.1.
        delays: ms of each delay level of the broker.
    """

    tag_keys: bool = False
    one_separator: bool = False
    delays: tuple[int, ...] = DELAYS

    @staticmethod
    def of(version: str) -> KeyRules:
        """Those of a release."""
        rules = profile(version).rules
        return KeyRules(rules.get("has_tag_keys", False), rules.get("one_separator", False))


RULES_4_9_3: Final = KeyRules()


class Dispatch:
    """Makes dispatch requests of records.

    Args:
        names: to which topics are added.
        form: how records are read.
        check_crc: whether bodies and properties are checked against their sums.
        keys: of the release.
    """

    def __init__(self, names: TopicNames, form: PlainLog, *, check_crc: bool, keys: KeyRules) -> None:
        self._names = names
        self._rules = keys
        self._check_crc = check_crc
        self._topics = RowTopics(form, lambda raw: names.number(clean_utf8(raw).decode()))

    def requests(self, records: Records) -> Requests:
        """The requests of some records; their rows are changed."""
        sound = np.ones(len(records.rows), np.bool_)
        if self._check_crc:
            sound = bodies_match(records) & properties_match(records)
        records.find_values(one_separator=self._rules.one_separator)
        rows = records.rows
        numbers = self._topics.numbers(records)
        topics = self._topics.values(numbers).astype(np.int32)
        codes, known = tags_codes(records, self._topics.scheduled[numbers], self._rules.delays)
        dispatched = np.ones(len(rows), np.bool_) if known is None else known
        transaction = rows["sys_flag"] & ROLLBACK
        silent = ~dispatched | (transaction == ROLLBACK)
        for name in ("keys", "uniq_key", "tags"):
            rows[f"{name}_length"][silent] = 0
        key_count, key_hash = self._keys(records, topics, topic_code)
        if self._rules.tag_keys:
            rows["uniq_key_at"], rows["uniq_key_length"] = rows["tags_at"], rows["tags_length"]
            rows["keys_length"] = 0
            counts, hashes = self._keys(records, topics, tag_code)
            key_hash = np.insert(key_hash, np.cumsum(key_count)[counts > 0], hashes)
            key_count += counts
        return Requests(
            **{name: rows[name].copy() for name in ("phy_offset", "size", "queue_id", "queue_offset")},
            topic=topics,
            tags_code=codes,
            dispatched=dispatched,
            store_timestamp=rows["store_timestamp"].copy(),
            transaction=transaction.astype(np.int8),
            crc_ok=sound,
            copied=rows["multi_dispatch"].copy(),
            key_count=key_count,
            key_hash=key_hash,
        )

    def _keys(
        self, records: Records, topics: NDArray[np.int32], code_of: Callable[[str], int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        before = np.array([code_of(name) for name in self._names.names], np.uint32)[topics]
        return records.form.hash_keys(records.window, records.rows, before)


class RequestScan:
    """The requests of the records of one file that begin in a range of it.

    Only the contents of queues and index files are kept: no bodies, no texts, and only the hashes of keys.

    Args:
        reader: of the file.
        base_offset: where the file begins in the log, in bytes.
        names: to which topics are added.
        check_crc: whether bodies are checked against their sums.
        rows: maximum number of records in a batch.
        keys: of the release.
    """

    def __init__(
        self,
        reader: Reader,
        base_offset: int,
        names: TopicNames,
        *,
        check_crc: bool = False,
        rows: int = _ROWS,
        keys: KeyRules = RULES_4_9_3,
    ) -> None:
        form = log_form(reader.allocated)
        self._scan = Scan(reader, base_offset, form, bodies=check_crc, rows=rows)
        self._dispatch = Dispatch(names, form, check_crc=check_crc, keys=keys)

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
