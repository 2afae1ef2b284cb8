"""Collects records into columns; only what is requested is read, decoded and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import crc32

import numpy as np
import pyarrow as pa

from rocket_columnar import arrow
from rocket_columnar.formats import FixedFields, clean_utf8, host_text, parse_properties, tags_code

if TYPE_CHECKING:
    from rocket_columnar.arrow import Array, Columns
    from rocket_columnar.formats import Buffer, Record

__all__ = ["LogRows", "Topics"]

_NUMBERS: Final = {
    "size": np.int32,
    "body_crc": np.int64,
    "queue_id": np.int32,
    "flag": np.int32,
    "queue_offset": np.int64,
    "phy_offset": np.int64,
    "sys_flag": np.int32,
    "born_timestamp": np.int64,
    "store_timestamp": np.int64,
    "reconsume_times": np.int32,
    "prepared_transaction_offset": np.int64,
}
_HOSTS: Final = {"born_host", "store_host"}
_FULL: Final = 32 << 20  # bytes of bodies and properties that make a batch, however few its rows


class Topics:
    """The dictionary of topics. It grows during a decode, so each batch's dictionary extends the one before."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._by_name: dict[bytes, int] = {}
        self._new: list[bytes] = []
        self._array = arrow.texts([])

    def number(self, raw: bytes) -> int:
        """The number of a topic's bytes; different malformed bytes can be one name."""
        number = self._numbers.get(raw)
        if number is None:
            name = clean_utf8(raw)
            number = self._numbers[raw] = self._by_name.setdefault(name, len(self._by_name))
            if number == len(self._array) + len(self._new):
                self._new.append(name)
        return number

    def array(self) -> Array:
        """All names so far."""
        if self._new:
            self._array = pa.concat_arrays([self._array, arrow.texts(self._new)])
            self._new = []
        return self._array


class LogRows:
    """The rows of one batch in the making; `add` records, `take` the columns."""

    def __init__(self, names: set[str], topics: Topics) -> None:
        self._names = names
        self._topics = topics
        self._wants_topic = "topic" in names
        self._wants_body = "body" in names
        self._wants_crc = "crc_ok" in names
        self._wants_pairs = "properties" in names
        self._wants_texts = bool(names & {"keys", "uniq_key", "tags", "tags_code"})
        self._clear()

    def _clear(self) -> None:
        self.count = 0
        self.size = 0
        self._fixed: list[tuple[int | bytes, ...]] = []
        self._topic_numbers: list[int] = []
        self._bodies: list[bytes] = []
        self._crc_ok: list[bool] = []
        self._texts: list[tuple[bytes | None, bytes | None, bytes | None, int | None]] = []
        self._pair_counts: list[int] = []
        self._pair_names: list[bytes] = []
        self._pair_values: list[bytes] = []

    @property
    def full(self) -> bool:
        """Whether there are enough bytes for a batch."""
        return self.size >= _FULL

    def add(self, window: Buffer, record: Record) -> None:
        """Adds a row, from the window that contains the record."""
        fixed, body, topic, topic_length, properties, properties_length = record
        self.count += 1
        self._fixed.append(tuple(fixed))  # garbage collection skips plain tuples of numbers
        raw_topic = window[topic : topic + topic_length]
        if self._wants_topic:
            self._topic_numbers.append(self._topics.number(raw_topic))
        if self._wants_body or self._wants_crc:
            stored = window[body : topic - 1]
            if self._wants_body:
                self._bodies.append(stored)
                self.size += len(stored)
            if self._wants_crc:
                self._crc_ok.append(not stored or crc32(stored) & 0x7FFFFFFF == fixed.body_crc)
        if self._wants_texts or self._wants_pairs:
            pairs = parse_properties(window[properties : properties + properties_length])
            if self._wants_texts:
                code = tags_code(raw_topic, pairs, fixed.store_timestamp)
                self._texts.append((pairs.get(b"KEYS"), pairs.get(b"UNIQ_KEY"), pairs.get(b"TAGS"), code))
            if self._wants_pairs:
                self._pair_counts.append(len(pairs))
                self._pair_names += pairs
                self._pair_values += pairs.values()
            self.size += properties_length

    def take(self) -> Columns:
        """The columns of all rows added since the last call, without `file`."""
        columns: Columns = {}
        fields = FixedFields._make(zip(*self._fixed, strict=True))
        for name in self._names & _NUMBERS.keys():
            field = "total_size" if name == "size" else name
            values = np.array(getattr(fields, field), _NUMBERS[name])
            columns[name] = arrow.integers(values & 0xFFFFFFFF if name == "body_crc" else values)
        for name in self._names & _HOSTS:
            columns[name] = arrow.strings([host_text(raw) for raw in getattr(fields, name)])
        if self._wants_topic:
            numbers = np.array(self._topic_numbers, np.int32)
            columns["topic"] = arrow.dictionary(numbers, self._topics.array())
        if self._wants_body:
            columns["body"] = arrow.binaries(self._bodies)
        if self._wants_crc:
            columns["crc_ok"] = arrow.booleans(np.array(self._crc_ok, np.bool_))
        if self._wants_texts:
            keys, uniq_key, tags, codes = zip(*self._texts, strict=True)
            columns["keys"] = arrow.texts(keys)
            columns["uniq_key"] = arrow.texts(uniq_key)
            columns["tags"] = arrow.texts(tags)
            columns["tags_code"] = arrow.integers(
                np.array([code or 0 for code in codes], np.int64),
                np.array([code is not None for code in codes], np.bool_),
            )
        if self._wants_pairs:
            columns["properties"] = arrow.maps(self._pair_counts, self._pair_names, self._pair_values)
        self._clear()
        return columns
