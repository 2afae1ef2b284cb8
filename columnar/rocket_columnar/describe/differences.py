"""Compares two files of one kind field by field, two stores by their logs, indexes and queues, and their configurations."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rocket_spec.errors import UsageError
from rocket_spec.layout import (
    CHECKPOINT,
    EXT_UNIT,
    INDEX_ENTRY,
    INDEX_HEADER,
    INDEX_SLOT,
    QUEUE_UNIT,
    RECORD,
    Geometry,
    Layout,
)
from rocket_spec.tables import TABLES

from rocket_columnar.decode import decode
from rocket_columnar.describe.overview import Overview, QueueView, look_at
from rocket_columnar.facts import NOT_LISTED, Store, as_store
from rocket_columnar.formats import LONG_MIN, body_begin
from rocket_columnar.index import GeometryGuess, resolve_some
from rocket_columnar.store import StoreFile, Unreadable, by_queue, find_files, is_gone, open_reader

if TYPE_CHECKING:
    import pyarrow as pa


# Compares the configuration of two stores, as a start of each would load it (CFG-1).


_KEYS: Final = {
    "consumer_offsets": ("group", "topic", "queue_id"),
    "delay_offsets": ("delay_level",),
    "topics": ("topic",),
    "subscription_groups": ("group",),
}
"""The tables that a slave fetches from its master (`SlaveSynchronize.syncAll`), each with the columns that name a row."""

_BUILT_IN: Final = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_",
)
"""Beginnings of groups that a broker adds when it starts (`SubscriptionGroupManager.init`)."""

_NOT_STARTED: Final = {"offset": 0}  # offset of a delay level without a row

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConfigDifference:
    """One value of `config/` in which two stores differ."""

    table: str  # "consumer_offsets", "delay_offsets", "topics" or "subscription_groups"
    # group, topic and queue; delay level; topic; or group. Empty if a store's whole table cannot be loaded
    key: tuple[str | int, ...]
    column: str | None  # the column that differs; None if a store lacks the row
    first: Any  # its value in the first store, without a column whether the row is there
    second: Any  # the same of the second store


def compare_configurations(first: Store, second: Store) -> Iterator[ConfigDifference]:
    """Differences in offsets, topics and groups; none if a store has no directory `config`.

    A delay level without an offset counts as one at 0. Topics and groups that every broker adds when it starts may be missing.
    """
    stores = (first, second)
    if not all(store.path is not None and (store.path / "config").is_dir() for store in stores):
        return
    for table, key in _KEYS.items():
        loaded = [store.config(table) for store in stores]
        if not all(config.starts for config in loaded):
            if loaded[0].starts != loaded[1].starts:
                yield ConfigDifference(table, (), None, loaded[0].starts, loaded[1].starts)
            continue
        sides = [{tuple(row[name] for name in key): row for row in config.rows} for config in loaded]
        for name in sorted({*sides[0], *sides[1]}):
            yield from _row(table, name, sides[0].get(name), sides[1].get(name))


def _row(
    table: str, key: tuple[Any, ...], first: _Row | None, second: _Row | None
) -> Iterator[ConfigDifference]:
    if table == "delay_offsets":
        first, second = first or _NOT_STARTED, second or _NOT_STARTED
    if first is None or second is None:
        own = {"topics": NOT_LISTED, "subscription_groups": _BUILT_IN}.get(table, ())
        if not (own and str(key[0]).startswith(own)):
            offsets = [None if row is None else row.get("offset", True) for row in (first, second)]
            yield ConfigDifference(table, key, None, *offsets)
        return
    for column in (name for name in second if name not in _KEYS[table]):
        if first[column] != second[column]:
            yield ConfigDifference(table, key, column, first[column], second[column])


# Compares two stores that hold the same messages, as master and slave do: which is behind, and where they first differ.


_Files = dict[tuple[str, int], list[StoreFile]]

_LOG: Final = ("", -1)  # stands for the log beside the queues

_BYTES_AT_ONCE: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class StoreDifference:
    """One thing in which two stores differ."""

    part: str  # "log", "index", or the queue: "TOPIC/NUMBER"
    # "behind": its end is missing in one store; "begins later": its beginning is; "missing": all of it is; "content": bytes that
    # both have differ
    what: str
    store: int | None  # 1 or 2: the store that lacks something; None for "content"
    # number of records of the log, entries of the index or units of the queue that it lacks; None for "content"
    count: int | None
    # where the lacking part begins in the other store, or the first byte that differs: a physical offset; of a queue a logical
    # one
    offset: int
    # physical offset of the record in which the logs first differ; None otherwise, or between records
    record: int | None = None


def compare_stores(
    first: Store | Path, second: Store | Path, *, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[StoreDifference]:
    """Differences between the logs, the indexes and the queues of two stores; what only one still has is no first difference.

    `on_progress` is called with the bytes of both logs that were compared, and those of all.

    Raises UsageError: a store has no commit log.
    Raises OSError: a file cannot be read.
    """
    stores = tuple(map(as_store, (first, second)))
    views = tuple(map(look_at, stores))
    files = tuple(map(_by_part, stores))
    for store, view in zip(stores, views, strict=True):
        for name, reason in view.problems:
            if isinstance(reason, Unreadable):
                raise OSError(errno.EACCES, reason, f"{store.name}/{name}")
        if view.log is None:
            raise UsageError(f"{store.name}: contains no commit log")
    yield from _logs(views, files, on_progress)
    entries = [sum(index.entries for index in view.indexes) for view in views]
    ends = [
        max((index.end_phy_offset for index in view.indexes if index.entries), default=0) for view in views
    ]
    if ends[0] != ends[1]:
        late = int(ends[1] < ends[0])
        yield StoreDifference(
            "index", "behind", 1 + late, max(entries[1 - late] - entries[late], 0), ends[late]
        )
    queues = [{(queue.topic, queue.queue_id): queue for queue in view.queues} for view in views]
    for place in sorted({*queues[0], *queues[1]}):
        yield from _queue(place, [side.get(place) for side in queues], files)


def _by_part(store: Store) -> _Files:
    """The files of the log and of each queue; none of a queue that is deleted after the look at the store."""
    there = by_queue(file for file in store.queues if not is_gone(file))
    return defaultdict(list, {**there, _LOG: list(store.of("log"))})


def _logs(
    views: tuple[Overview, ...], files: tuple[_Files, ...], on_progress: Callable[[int, int], None] | None
) -> Iterator[StoreDifference]:
    logs = [view.log for view in views if view.log is not None]
    begins, ends = [log.begin for log in logs], [log.end for log in logs]
    for what, late, part in (
        ("begins later", int(begins[1] > begins[0]), (min(begins), max(begins))),
        ("behind", int(ends[1] < ends[0]), (min(ends), max(ends))),
    ):
        if part[0] < part[1]:
            rows = _records(files[1 - late][_LOG], *part)
            count = sum(part[0] <= row["phy_offset"] < part[1] for row in rows)
            yield StoreDifference("log", what, 1 + late, count, part[0])
    pair = files[0][_LOG], files[1][_LOG]
    at = _first_difference(pair, max(begins), min(ends), on_progress)
    if at is not None:
        rows = _records(pair[0], at, at + 1)
        held = (row["phy_offset"] for row in rows if 0 <= at - row["phy_offset"] < row["size"])
        yield StoreDifference("log", "content", None, None, at, next(held, None))


def _records(files: Sequence[StoreFile], begin: int, end: int) -> Iterator[dict[str, Any]]:
    """Place and size of the records in the files that hold a range."""
    chosen = [file for file in files if file.base_offset < end and file.base_offset + file.size() > begin]
    if not chosen:
        return iter(())
    batches = decode(chosen, tables=["commit_log"], columns=["phy_offset", "size"], on_gap=lambda _: None)
    return chain.from_iterable(batch.to_pylist() for _, batch in batches)


def _queue(
    name: tuple[str, int], pair: Sequence[QueueView | None], files: tuple[_Files, ...]
) -> Iterator[StoreDifference]:
    shown = f"{name[0]}/{name[1]}"
    first, second = pair
    if first is None or second is None:
        there = first or second
        assert there is not None
        yield StoreDifference(shown, "missing", 1 + (second is None), there.messages, there.min_offset)
        return
    ends = first.max_offset, second.max_offset
    if ends[0] != ends[1]:
        yield StoreDifference(shown, "behind", 1 + (ends[1] < ends[0]), abs(ends[0] - ends[1]), min(ends))
    begin, end = max(first.min_offset, second.min_offset), min(ends)
    at = _first_difference((files[0][name], files[1][name]), begin * QUEUE_UNIT.size, end * QUEUE_UNIT.size)
    if at is not None:
        yield StoreDifference(shown, "content", None, None, at // QUEUE_UNIT.size)


def _first_difference(
    pair: tuple[Sequence[StoreFile], Sequence[StoreFile]],
    begin: int,
    end: int,
    on_progress: Callable[[int, int], None] | None = None,
) -> int | None:
    """The first place in [begin, end) at which the bytes of two sequences of files differ, or only one has any."""
    spans = [[(file.base_offset, file.base_offset + file.size(), file) for file in files] for files in pair]
    ends = chain.from_iterable(span[:2] for span in chain(*spans))
    cuts = sorted({begin, end, *(cut for cut in ends if begin < cut < end)}) if begin < end else []
    for start, stop in pairwise(cuts):
        held = [next((file for low, high, file in side if low <= start < high), None) for side in spans]
        if held[0] is None or held[1] is None:
            if held[0] is not held[1]:
                return start
            continue
        with held[0].open() as one, held[1].open() as other:
            for position in range(start, stop, _BYTES_AT_ONCE):
                length = min(_BYTES_AT_ONCE, stop - position)
                first = one.read(position - held[0].base_offset, length)
                second = other.read(position - held[1].base_offset, length)
                places = np.flatnonzero(first != second)
                if places.size:
                    return position + int(places[0])
                if on_progress is not None:
                    on_progress(position - begin, end - begin)
    return None


_Progress = Callable[[int, int], None] | None
_FieldRow = dict[str, Any]

_TABLES: Final = {
    "queue": ("consume_queue", "logical_offset"),
    "ext": ("consume_queue_ext", "address"),
    "log": ("commit_log", "phy_offset"),
    "checkpoint": ("checkpoint", None),
}
"""The table of each kind but the index, and the column with the place of a row; of other kinds only bytes are compared."""

_DERIVED: Final = {
    "entry": {"file", "slot", "store_timestamp"},
    "header": {"file", "hash_slot_num", "index_num"},
    "unit": {"file", "topic", "queue_id", "pre_blank"},
    "record": {"file", "crc_ok", "keys", "uniq_key", "tags", "tags_code"},
}
"""Columns that no field of their own stands for."""
_LAYOUTS: Final[dict[str, Layout]] = {
    "header": INDEX_HEADER,
    "entry": INDEX_ENTRY,
    "unit": QUEUE_UNIT,
    "record": RECORD,
    "checkpoint": CHECKPOINT,
}
_ABSENT: Final = "absent"
_BORN_V6: Final = 16  # of sys_flag (LOG-REC-2)


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field that differs.

    Attributes:
        part: "size", "header", "slot", "entry", "unit", "record" or "checkpoint"; "byte" if only
            bytes outside of all fields differ: the first of them.
        number: which slot or entry, or the logical offset, address or physical offset; None if there is one only.
        field: name of the column.
        offset: byte in the first file, or where the row begins in the one that has it; None if the field's place varies.
        first: value in the first file; None if it lacks the row.
        second: value in the second file.
    """

    part: str
    number: int | None
    field: str
    offset: int | None
    first: Any
    second: Any


def diff(
    first: Path | str,
    second: Path | str,
    *,
    kind: str | None = None,
    geometry: Geometry | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[FieldDifference]:
    """The fields in which two files differ, in file order; topic, queue and file name come from the path and are ignored.

    By default the kind follows from path and content, and the geometry of index files from both together. `on_progress` is called with
    the bytes of the first file that were compared, and those of the file.

    Raises:
        UsageError: a directory, files of different kinds, or a geometry that cannot be inferred.
        MalformedError: bytes that cannot be decoded.
        OSError: a file cannot be read.
    """
    pair = _pair(Path(first), Path(second), kind)
    if pair[0].kind != pair[1].kind:
        raise UsageError(f"{first} is of kind {pair[0].kind}, {second} of kind {pair[1].kind}")
    found = _geometry(pair, geometry) if pair[0].kind == "index" else None
    return _differences(pair, found, on_progress)


def _geometry(pair: tuple[StoreFile, StoreFile], given: Geometry | None) -> Geometry:
    """The geometry of both; if it cannot be inferred from one, that of the other."""
    fitting = [file for file in pair if given is None or file.size() == given.file_size]
    return resolve_some(fitting or pair, given).geometry


def _pair(first: Path, second: Path, kind: str | None) -> tuple[StoreFile, StoreFile]:
    """Both files; if the kind of only one can be inferred, the other is taken as the same."""
    found: list[StoreFile | UsageError] = []
    for path in (first, second):
        try:
            found.append(_one(path, kind))
        except UsageError as error:
            found.append(error)
    kinds = [file.kind for file in found if not isinstance(file, UsageError)]
    one, other = (
        _one(path, kinds[0] if kinds and isinstance(file, UsageError) else kind)
        for path, file in zip((first, second), found, strict=True)
    )
    return one, other


def _one(path: Path, kind: str | None) -> StoreFile:
    if path.is_dir():
        raise UsageError(
            f"{path}: a directory; diff compares two files or two stores (for other directories, compare the digests)"
        )
    (file,) = find_files(path, kind)
    return file


def _differences(
    pair: tuple[StoreFile, StoreFile], geometry: Geometry | None, on_progress: _Progress
) -> Iterator[FieldDifference]:
    """The fields that differ; if none does but bytes do, the first such byte."""
    same = True
    for difference in _fields(pair, geometry, on_progress):
        same = False
        yield difference
    if same:
        yield from _first_byte(pair)


def _first_byte(pair: tuple[StoreFile, StoreFile]) -> Iterator[FieldDifference]:
    with open_reader(pair[0].path) as one, open_reader(pair[1].path) as other:
        for start, count in one.held_by_either(other, 0, min(one.size, other.size)):
            first, second = (reader.read(start, count) for reader in (one, other))
            places = np.flatnonzero(first != second)
            if places.size:
                at = int(places[0])
                yield FieldDifference("byte", None, "byte", start + at, int(first[at]), int(second[at]))
                return


def _fields(
    pair: tuple[StoreFile, StoreFile], geometry: Geometry | None, on_progress: _Progress
) -> Iterator[FieldDifference]:
    sizes = [file.path.stat().st_size for file in pair]
    if sizes[0] != sizes[1]:
        yield FieldDifference("size", None, "size", None, *sizes)
    if geometry is not None:
        yield from _rows(pair, "index_headers", "header", None, geometry)
        yield from _slots(pair, geometry)
        yield from _rows(pair, "index_entries", "entry", "entry", geometry, on_progress)
    elif pair[0].kind in _TABLES:
        table, key = _TABLES[pair[0].kind]
        part = {"queue": "unit", "ext": "unit", "log": "record"}.get(pair[0].kind, "checkpoint")
        yield from _rows(pair, table, part, key, None, on_progress)


def _slots(pair: tuple[StoreFile, StoreFile], geometry: Geometry) -> Iterator[FieldDifference]:
    with open_reader(pair[0].path) as one, open_reader(pair[1].path) as other:
        begin = INDEX_HEADER.size
        there = (min(one.size, other.size) - begin) // INDEX_SLOT.size
        end = begin + INDEX_SLOT.size * min(geometry.hash_slot_num, there)
        for offset, count in one.held_by_either(other, begin, end):
            first, second = (reader.read(offset, count).view(">i4") for reader in (one, other))
            for number in np.flatnonzero(first != second).tolist():
                yield FieldDifference(
                    "slot",
                    (offset - begin) // INDEX_SLOT.size + number,
                    "entry",
                    offset + INDEX_SLOT.size * number,
                    int(first[number]),
                    int(second[number]),
                )


def _batches(
    file: StoreFile, table: str, names: list[str], geometry: Geometry | None, on_progress: _Progress
) -> Iterator[pa.RecordBatch]:
    known = None if geometry is None else {file: GeometryGuess(geometry, "given", 1, "of the two files")}
    decoded = decode(
        [file],
        tables=[table],
        columns=names,
        geometry=known,
        on_gap=lambda _: None,  # what does not verify has no fields
        on_progress=on_progress,
    )
    return (batch for _, batch in decoded if batch.num_rows)


def _pairs(
    one: Iterator[pa.RecordBatch], other: Iterator[pa.RecordBatch], key: str | None
) -> Iterator[tuple[_FieldRow | None, _FieldRow | None]]:
    """Rows with the same key, without those of equal batches; None for a row that a file lacks."""
    first, second = next(one, None), next(other, None)
    while (
        first is not None
        and second is not None
        and (key is None or first.column(key).equals(second.column(key)))
    ):
        if not first.equals(second):
            yield from zip(first.to_pylist(), second.to_pylist(), strict=True)
        first, second = next(one, None), next(other, None)
    if key is None:
        return
    rows = [
        (row for batch in chain([head] if head is not None else [], rest) for row in batch.to_pylist())
        for head, rest in ((first, one), (second, other))
    ]
    row, twin = (next(side, None) for side in rows)
    while row is not None or twin is not None:
        if twin is None or (row is not None and row[key] < twin[key]):
            yield row, None
            row = next(rows[0], None)
        elif row is None or twin[key] < row[key]:
            yield None, twin
            twin = next(rows[1], None)
        else:
            yield row, twin
            row, twin = (next(side, None) for side in rows)


def _rows(
    pair: tuple[StoreFile, StoreFile],
    table: str,
    part: str,
    key: str | None,
    geometry: Geometry | None,
    on_progress: _Progress = None,
) -> Iterator[FieldDifference]:
    """Compares rows with the same key; a row that only one file has is one difference."""
    names = [column.name for column in TABLES[table] if column.name not in _DERIVED.get(part, {"file"})]
    one, other = (
        _batches(file, table, names, geometry, report)
        for file, report in zip(pair, (on_progress, None), strict=True)
    )
    base = pair[0].base_offset
    for first, second in _pairs(one, other, key):
        row = first or second or {}
        at = None if key is None else int(row[key])
        if first is None or second is None:
            shown = (_ABSENT if side is None else "there" for side in (first, second))
            yield FieldDifference(part, at, part, _start(part, at, base, geometry), *shown)
            continue
        for name in names:
            if name != key and first[name] != second[name]:
                offset = _offset(part, at, name, base, geometry)
                if part == "record" and offset is None and at is not None:
                    offset = _varying(first, name, at - base)
                yield FieldDifference(part, at, name, offset, first[name], second[name])


def _start(part: str, number: int | None, base: int, geometry: Geometry | None) -> int | None:
    """Byte of a file at which a row begins; 0 for parts that a file has only one of."""
    if number is None:
        return 0
    if part == "entry":
        return None if geometry is None else geometry.entries_offset + INDEX_ENTRY.size * number
    if part == "record":
        return number - base
    start = number - LONG_MIN - base if number < LONG_MIN >> 1 else number * QUEUE_UNIT.size - base
    return start if start >= 0 else None


def _varying(row: _FieldRow, field: str, start: int) -> int | None:
    """Byte of a record's field that is after its hosts, body or topic; None for any other column."""
    born = start + RECORD.offset_of("born_timestamp") + 8
    body = start + body_begin(row["sys_flag"])
    stored = born + body_begin(row["sys_flag"] & _BORN_V6) - body_begin(0) + 8
    name = (row["topic"] or "").encode()
    topic = body + len(row["body"] or b"") + (1 if len(name) < 1 << 7 else 2)
    return {
        "born_host": born,
        "store_timestamp": stored,
        "store_host": stored + 8,
        "reconsume_times": body - 16,
        "prepared_transaction_offset": body - 12,
        "body": body,
        "topic": topic,
        "properties": topic + len(name) + 2,
    }.get(field)


def _offset(part: str, number: int | None, field: str, base: int, geometry: Geometry | None) -> int | None:
    """Byte of a field in its file, if it has a fixed place."""
    layout = _LAYOUTS[part]
    if part == "unit" and number is not None and number < LONG_MIN >> 1:
        layout = EXT_UNIT  # an ext unit, whose number is its address
    start = _start(part, number, base, geometry)
    field = "total_size" if (part, field) == ("record", "size") else field
    try:
        return None if start is None else start + layout.offset_of(field)
    except KeyError:
        return None
