"""The records of a log, and the key hashes of many keys, each by Python and NumPy or by compiled loops, and the choice between the two forms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rocket_spec.layout import RECORD_FIXED_V4

from rocket_columnar import formats
from rocket_columnar.fast.compiling import settings_in_the_way
from rocket_columnar.formats import Record, check_frame_head, parse_properties, parse_record, string_hash

_FROM: Final = 16 << 20
"""Bytes of input from which compiled loops are used; for less, loading them costs more than they save."""

_asked = 0
_forced: bool | None = None


def pays(size: int) -> bool:
    """Whether compiled loops are used for `size` bytes more of input: once this process has been asked for enough."""
    global _asked  # noqa: PLW0603 - loops are loaded once a process
    _asked += size
    wanted = _asked >= _FROM if _forced is None else _forced
    return wanted and not settings_in_the_way()


@contextmanager
def forced(*, compiled: bool) -> Iterator[None]:
    """Within the block, compiled loops are used for all inputs, or for none; so that tests compare the two."""
    global _forced  # noqa: PLW0603 - for the threads of the block too
    before, _forced = _forced, compiled
    try:
        yield
    finally:
        _forced = before


# The columns that a log loop fills for each record, and the range that it searches.


SLACK: Final = 64
"""Bytes after the last one of a window, whose content does not matter: compiled loops may look past what they read."""

_FIELDS: Final = (
    *("born_host", "store_host", "body", "topic", "properties"),
    *("keys", "uniq_key", "tags", "delay"),
)
"""Parts of a record that are bytes; the last four are values of its properties, of length 0 if absent."""

ROW: Final = np.dtype(
    [
        ("size", np.int32),
        ("body_crc", np.int32),
        ("queue_id", np.int32),
        ("flag", np.int32),
        ("queue_offset", np.int64),
        ("phy_offset", np.int64),
        ("sys_flag", np.int32),
        ("born_timestamp", np.int64),
        ("store_timestamp", np.int64),
        ("reconsume_times", np.int32),
        ("prepared_transaction_offset", np.int64),
        *((f"{part}_{what}", np.int64) for part in _FIELDS for what in ("at", "length")),
        ("multi_dispatch", np.bool_),
        ("readable", np.bool_),
    ]
)
"""A record: its fixed fields as they are, and where in the window its parts begin, and their lengths.

`multi_dispatch` is whether it names queues for multi-dispatch, `readable` whether its properties are well-formed UTF-8.
"""


class LogRange(NamedTuple):
    """A range of a log file in a window."""

    at: int  # place in the window at which the first record begins
    stop: int  # place before which a record must begin
    end: int  # place at which the bytes end
    room: int  # bytes that the file has from the first record on
    position: int  # physical offset of the first record


_VALUES: Final[tuple[bytes, ...]] = (b"KEYS", b"UNIQ_KEY", b"TAGS", b"DELAY")

_COMPLETED: Final = list((ROW.names or ())[-2 * len(_VALUES) - 2 :])
"""Columns that `find_values` fills: positions and lengths of the values of `_VALUES`, and two flags."""

# A pair is dropped if it contains a second `\1`, except at its end (LOG-PROP-3).
_PAIR: Final = re.compile(rb"\x02(KEYS|UNIQ_KEY|TAGS|DELAY|INNER_MULTI_DISPATCH)\x01([^\x02]+)")
_PAIR_BEFORE_4_9_1: Final = re.compile(
    rb"\x02(KEYS|UNIQ_KEY|TAGS|DELAY|INNER_MULTI_DISPATCH)\x01([^\x01\x02]+)\x01*(?![^\x02])"
)


class PlainNumbers:
    """Distinct byte strings, numbered in the order in which they came; `items` are all of them."""

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self._known: dict[bytes, int] = {}

    def numbers(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """The number of each item of a window, as an index into `items`; new ones are added."""
        found = [self._known.setdefault(item, len(self._known)) for item in _items(window, at, lengths)]
        self.items = list(self._known)
        return np.array(found, np.int32)


class PlainLog:
    """Reads the records of a window of `SLACK` bytes more than it holds; the interface of both forms. `one_separator`: pairs as before 4.9.1."""

    def __init__(self, *, one_separator: bool = False) -> None:
        self._pair = _PAIR_BEFORE_4_9_1 if one_separator else _PAIR

    def find_records(
        self, window: NDArray[np.uint8], range_: LogRange, rows: NDArray[np.void]
    ) -> tuple[int, int]:
        """Fills rows with the records that verify and follow one another, without what their properties contain.

        Returns the number of rows, and where the next record begins.
        """
        view, at = window.data, range_.at
        found: list[tuple[Any, ...]] = []
        while at < range_.stop and at + RECORD_FIXED_V4 <= range_.end and len(found) < len(rows):
            passed = at - range_.at
            if check_frame_head(view, at, range_.room - passed, range_.position + passed) is not None:
                break
            size = int.from_bytes(view[at : at + 4], signed=True)
            if at + size > range_.end or not isinstance(record := parse_record(view, at), Record):
                break
            found.append(row_of(record, at))
            at += size
        rows[: len(found)] = np.array(found, ROW)
        return len(found), at

    def find_values(self, window: NDArray[np.uint8], rows: NDArray[np.void]) -> None:
        """Completes rows with what their properties contain (LOG-PROP-1); of a repeated name the last value counts."""
        texts = _items(window, rows["properties_at"], rows["properties_length"])
        found = []
        for text, at in zip(texts, rows["properties_at"].tolist(), strict=True):
            values: dict[bytes, tuple[int, int]] = dict.fromkeys(_VALUES, (0, 0))
            copied = False
            for pair in self._pair.finditer(b"\2" + text):
                if pair[1] in values:
                    values[pair[1]] = at - 1 + pair.start(2), len(pair[2])
                else:
                    copied = True
            found.append((*chain.from_iterable(values.values()), copied, _is_utf8(text)))
        rows[_COMPLETED] = np.array(found, rows[_COMPLETED].dtype)

    def gather(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Byte strings of a window one after the other: where each begins and the last ends, and the bytes."""
        return _joined(_items(window, at, lengths))

    def hash_codes(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """`String.hashCode` of each text."""
        known: dict[bytes, int] = {}
        for text in _items(window, at, lengths):
            if text not in known:
                known[text] = string_hash(text.decode())
        return np.array([known[text] for text in _items(window, at, lengths)], np.int64).astype(np.int32)

    def hash_keys(
        self, window: NDArray[np.uint8], rows: NDArray[np.void], codes: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The number of index keys of each row, and the hashes of all, in the order of their puts (IDX-SVC-1, IDX-SVC-2).

        `codes` has for each row the `String.hashCode` of what precedes its keys in the index.
        """
        counts, keys, before = [], [], []
        unique = _items(window, rows["uniq_key_at"], rows["uniq_key_length"])
        words = _items(window, rows["keys_at"], rows["keys_length"])
        for first, others, code in zip(unique, words, codes.tolist(), strict=True):
            found = [part.decode() for part in (first, *others.split(b" ")) if part]
            keys += found
            before += [code] * len(found)
            counts.append(len(found))
        return np.array(counts, np.int32), formats.hash_keys(keys, after=np.array(before, np.uint32))

    def split_properties(
        self, window: NDArray[np.uint8], rows: NDArray[np.void]
    ) -> tuple[NDArray[np.int32], Any, Any]:
        """The number of pairs of each row, and all names and all values, as `gather` gives byte strings."""
        texts = _items(window, rows["properties_at"], rows["properties_length"])
        pairs = [parse_properties(text) for text in texts]
        counts = np.fromiter(map(len, pairs), np.int32, len(pairs))
        names = [name for found in pairs for name in found]
        values = [value for found in pairs for value in found.values()]
        return counts, _joined(names), _joined(values)

    def new_numbers(self) -> PlainNumbers:
        """No strings so far."""
        return PlainNumbers()


def row_of(record: Record, at: int) -> tuple[Any, ...]:
    """A row of dtype ROW for the record at a place, without what its properties contain."""
    fixed = record.fixed
    born, store = len(fixed.born_host), len(fixed.store_host)
    parts = (
        *(at + 48, born),
        *(at + 56 + born, store),
        *(record.body, max(fixed.body_length, 0)),
        *(record.topic, record.topic_length),
        *(record.properties, record.properties_length),
    )
    return (
        *(fixed.total_size, fixed.body_crc, fixed.queue_id, fixed.flag, fixed.queue_offset),
        *(fixed.phy_offset, fixed.sys_flag, fixed.born_timestamp, fixed.store_timestamp),
        *(fixed.reconsume_times, fixed.prepared_transaction_offset),
        *parts,
        *(0,) * 8,
        *(False, True),
    )


def _items(window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[bytes]:
    view = window.data
    ends = at + lengths
    return [bytes(view[begin:end]) for begin, end in zip(at.tolist(), ends.tolist(), strict=True)]


def _joined(items: Iterable[bytes]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    items = list(items)
    offsets = np.zeros(len(items) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, items), np.int32, len(items)), out=offsets[1:])
    return offsets, np.frombuffer(b"".join(items), np.uint8)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class _CompiledNumbers(PlainNumbers):
    """Distinct byte strings, numbered by a compiled loop."""

    def __init__(self, loops: Any) -> None:
        super().__init__()
        self._loops = loops
        self._used = 0
        self._strings = loops.StringTable(
            np.full(1 << 10, -1, np.int32), np.empty(1 << 12, np.uint8), np.zeros(1 << 8, np.int64)
        )

    def numbers(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        items = np.ascontiguousarray(at), np.ascontiguousarray(lengths)
        numbers, done = np.empty(len(at), np.int32), 0
        while True:
            done, self._used = self._loops.number_strings(
                window, items, done, self._strings, self._used, numbers
            )
            if done == len(at):
                break
            self._grow(int(lengths[done]))
        _, pool, bounds = self._strings
        for number in range(len(self.items), self._used):
            self.items.append(pool[bounds[number] : bounds[number + 1]].tobytes())
        return numbers

    def _grow(self, length: int) -> None:
        """Makes room for twice as many items, and for one of `length` bytes."""
        _, pool, bounds = self._strings
        room, used = 2 * len(bounds), self._used
        self._strings = self._loops.StringTable(
            np.full(4 * room, -1, np.int32),
            np.empty(2 * len(pool) + length, np.uint8),
            np.zeros(room, np.int64),
        )
        items = bounds[:used].copy(), np.diff(bounds[: used + 1])
        _, self._used = self._loops.number_strings(pool, items, 0, self._strings, 0, np.empty(used, np.int32))


class _CompiledLog(PlainLog):
    """The same by compiled loops; making one loads Numba."""

    def __init__(self) -> None:
        super().__init__()
        from rocket_columnar.fast import compiled

        self._loops: Any = compiled

    def find_records(
        self, window: NDArray[np.uint8], range_: LogRange, rows: NDArray[np.void]
    ) -> tuple[int, int]:
        """See `PlainLog`."""
        found: tuple[int, int] = self._loops.find_records(window, range_, rows)
        return found

    def find_values(self, window: NDArray[np.uint8], rows: NDArray[np.void]) -> None:
        """See `PlainLog`."""
        self._loops.find_values(window, rows)

    def gather(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """See `PlainLog`."""
        offsets = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        self._loops.gather_bytes(window, np.ascontiguousarray(at), offsets, data)
        return offsets, data

    def hash_codes(
        self, window: NDArray[np.uint8], at: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """See `PlainLog`."""
        codes = np.empty(len(at), np.int32)
        self._loops.hash_codes(window, np.ascontiguousarray(at), np.ascontiguousarray(lengths), codes)
        return codes

    def hash_keys(
        self, window: NDArray[np.uint8], rows: NDArray[np.void], codes: NDArray[np.uint32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """See `PlainLog`."""
        most = int(rows["keys_length"].sum()) // 2 + 2 * len(rows)
        counts, hashes = np.empty(len(rows), np.int32), np.empty(most, np.int32)
        used = self._loops.hash_row_keys(window, rows, codes, (counts, hashes))
        return counts, hashes[:used].copy()

    def split_properties(
        self, window: NDArray[np.uint8], rows: NDArray[np.void]
    ) -> tuple[NDArray[np.int32], Any, Any]:
        """See `PlainLog`."""
        counts = np.empty(len(rows), np.int32)
        pairs = np.empty((4, int(rows["properties_length"].sum()) // 2 + len(rows)), np.int64)
        used = self._loops.split_pairs(window, rows, counts, pairs)
        names, values = (self.gather(window, pairs[k, :used], pairs[k + 1, :used]) for k in (0, 2))
        return counts, names, values

    def new_numbers(self) -> _CompiledNumbers:
        """See `PlainLog`."""
        return _CompiledNumbers(self._loops)


_WORTH: Final = 16  # bytes that cost about as much as a key


def log_form(size: int) -> PlainLog:
    """The form for a log of `size` bytes, or a file of one."""
    return _CompiledLog() if pays(size) else PlainLog()


def hash_keys(keys: Sequence[str] | Any, topic: str | None = None) -> NDArray[np.int32]:
    """As `formats.hash_keys`; many keys in Arrow's arrays by a compiled loop. ValueError for nulls, or bytes that are not UTF-8."""
    if isinstance(keys, (list, tuple)) or not pays(len(keys) * _WORTH):
        return formats.hash_keys(keys, topic)
    return formats.hash_keys(keys, topic, of_strings=_hash_strings)


def _hash_strings(array: Any, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Hashes of an Arrow array of strings or binaries, without a copy of it."""
    import pyarrow as pa

    from rocket_columnar.fast.compiled import hash_utf8

    kind = array.type
    if not (pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)):
        array = array if pa.types.is_binary(kind) or pa.types.is_string(kind) else array.cast(pa.string())
        bounds: NDArray[Any] = np.frombuffer(array.buffers()[1], np.int32)
    else:
        bounds = np.frombuffer(array.buffers()[1], np.int64)
    data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    hashes = np.empty(len(array), np.int32)
    bad = hash_utf8(data, bounds[array.offset :], int(codes[0]), hashes)
    if bad >= 0:
        raise ValueError(f"key {bad:,} is not well-formed UTF-8")
    return hashes
