"""The columns of `commit_log`, made of the records of a scan; only those that are requested."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rocket_columnar import arrow
from rocket_columnar.arrow import Array, Columns
from rocket_columnar.fast import PlainLog
from rocket_columnar.formats import clean_utf8, host_text
from rocket_columnar.log import Records, RowTopics, bodies_match, tags_codes

_NUMBERS: Final = (
    *("size", "queue_id", "flag", "queue_offset", "phy_offset", "sys_flag", "born_timestamp"),
    *("store_timestamp", "reconsume_times", "prepared_transaction_offset"),
)
_TEXTS: Final = ("keys", "uniq_key", "tags")
_HOSTS: Final = ("born_host", "store_host")

_VALUES: Final = frozenset({*_TEXTS, "tags_code", "properties"})
"""Columns of what the properties contain."""

_MOST_HOSTS: Final = 1 << 16  # known at a time: ports make each client another


class Topics:
    """The dictionary of topics. It grows during a decode, so each batch's dictionary extends the one before."""

    def __init__(self) -> None:
        self._by_name: dict[bytes, int] = {}
        self._new: list[bytes] = []
        self._array = arrow.texts([])

    def number(self, raw: bytes) -> int:
        """The number of a topic's bytes; different malformed bytes can be one name."""
        name = clean_utf8(raw)
        number = self._by_name.setdefault(name, len(self._by_name))
        if number == len(self._array) + len(self._new):
            self._new.append(name)
        return number

    def array(self) -> Array:
        """All names so far."""
        if self._new:
            self._array = pa.concat_arrays([self._array, arrow.texts(self._new)])
            self._new = []
        return self._array


class LogColumns:
    """Makes the columns of a decode, batch by batch.

    Attributes:
        form: how records are read.
        bodies: whether the columns need the records' bodies.
        topics: the dictionary of topics.
    """

    def __init__(self, names: set[str], form: PlainLog, topics: Topics | None = None) -> None:
        self.form = form
        self.bodies = bool(names & {"body", "crc_ok"})
        self.topics = topics or Topics()
        self._names = names
        self._row_topics = RowTopics(form, self.topics.number)
        self._hosts = form.new_numbers()

    def has_topic(self, records: Records, wanted: Callable[[bytes], bool]) -> NDArray[np.bool_]:
        """A mask of the records whose topic is wanted."""
        distinct = self.form.new_numbers()
        numbers = distinct.numbers(*records.places("topic"))
        return np.array([wanted(raw) for raw in distinct.items], np.bool_)[numbers]

    def of(self, records: Records) -> Columns:
        """The columns of some records, without `file`."""
        names, rows = self._names, records.rows
        if names & _VALUES:
            records.find_values()
        columns: Columns = {name: arrow.integers(rows[name]) for name in _NUMBERS if name in names}
        if "body_crc" in names:
            columns["body_crc"] = arrow.integers(rows["body_crc"].astype(np.int64) & 0xFFFFFFFF)
        if names & {"topic", "tags_code"}:
            self._add_topics(records, columns)
        for name in names.intersection(_TEXTS):
            offsets, data = self.form.gather(*records.places(name))
            columns[name] = arrow.gathered(offsets, data, valid=rows[f"{name}_length"] > 0, text=True)
        for name in names.intersection(_HOSTS):
            columns[name] = self._host_column(*records.places(name))
        if "body" in names:
            columns["body"] = arrow.gathered(*self.form.gather(*records.places("body")))
        if "crc_ok" in names:
            columns["crc_ok"] = arrow.booleans(bodies_match(records))
        if "properties" in names:
            counts, keys, items = self.form.split_properties(records.window, rows)
            columns["properties"] = arrow.map_of(
                counts, arrow.gathered(*keys, text=True), arrow.gathered(*items, text=True)
            )
        return columns

    def _add_topics(self, records: Records, columns: Columns) -> None:
        numbers = self._row_topics.numbers(records)
        if "topic" in self._names:
            indices = self._row_topics.values(numbers).astype(np.int32)
            columns["topic"] = arrow.dictionary(indices, self.topics.array())
        if "tags_code" in self._names:
            codes, known = tags_codes(records, self._row_topics.scheduled[numbers])
            columns["tags_code"] = arrow.integers(codes, known)

    def _host_column(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Array:
        if len(self._hosts.items) > _MOST_HOSTS:
            self._hosts = self.form.new_numbers()
        used, places = np.unique(self._hosts.numbers(window, at, lengths), return_inverse=True)
        texts = arrow.strings([host_text(self._hosts.items[number]) for number in used.tolist()])
        return arrow.taken(texts, places.astype(np.int32))
