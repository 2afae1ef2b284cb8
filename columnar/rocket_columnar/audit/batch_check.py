"""Checks the batch queues of 5.x: each unit against the one before it and against its record, and each record for a unit (BCQ-1, BCQ-3)."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from rocket_spec.errors import FormatError
from rocket_spec.later_layouts import BATCH_UNIT

from rocket_columnar.decode import Where, decode
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.formats import clean_utf8, parse_int, tags_code
from rocket_columnar.log import StoredRecords
from rocket_columnar.store import StoreFile, by_queue

_NO_CURE: Final = (
    "none: rocketspec does not rebuild batch queues; copy the queue from a replica while the broker is down"
)
_COLUMNS: Final = [
    "position",
    "phy_offset",
    "size",
    "tags_code",
    "store_timestamp",
    "base_offset",
    "batch_size",
]
_RECORD: Final = ["phy_offset", "topic", "queue_id", "sys_flag"]

_TRANSACTION: Final = 0xC
"""Bits of sys_flag that hold the transaction type."""

_HIDDEN: Final = (0x4, 0xC)
"""Transaction types of half messages and rollbacks, which get no unit."""

_Unit = dict[str, Any]


def check_batches(store: Store) -> Iterator[Finding]:
    """The findings on batch queues, queue by queue; records that came after the plan was made are not judged."""
    if not store.batches:
        return
    known: set[int] = set()  # physical offsets of the units
    with StoredRecords(store.logs) as records:
        for files in by_queue(store.batches).values():
            yield from _of_queue(store, records, files, known)
    yield from _missing(store, known)


def _missing(store: Store, known: Collection[int]) -> Iterator[Finding]:
    """Queues with records that have no unit; unless the broker was stopped, the newest may be on their way."""
    last = store.end if store.clean or not (known or store.live) else max(known, default=-1)
    topics = frozenset(file.topic for file in store.batches if file.topic is not None)
    lacking: dict[tuple[str, int], list[int]] = {}
    for _, batch in decode(store.logs, tables=["commit_log"], columns=_RECORD, where=Where(topics=topics)):
        for row in batch.to_pylist():
            at = int(row["phy_offset"])
            if (
                at < min(last, store.end)
                and at not in known
                and row["sys_flag"] & _TRANSACTION not in _HIDDEN
            ):
                lacking.setdefault((row["topic"], row["queue_id"]), []).append(at)
    for (topic, queue_id), places in sorted(lacking.items()):
        text = f"{len(places):,} records have no unit, the first one at physical offset {places[0]:,}"
        name = f"batchconsumequeue/{topic}/{queue_id}"
        yield finding("queue.missing_unit", name, None, text, clause="BCQ-3", cure=_NO_CURE)


def _of_queue(
    store: Store, records: StoredRecords, files: Sequence[StoreFile], known: set[int]
) -> Iterator[Finding]:
    last: list[_Unit] = []
    for file in files:
        try:
            units = [
                row
                for _, batch in decode([file], tables=["batch_consume_queue"], columns=_COLUMNS)
                for row in batch.to_pylist()
            ]
        except FileNotFoundError:  # expired meanwhile
            continue
        except FormatError as error:
            text = f"found {error.found}, expected {error.expected}"
            yield _finding("queue.size", file, error.offset, text, "BCQ-2")
            continue
        known.update(unit["phy_offset"] for unit in units)
        for before, unit in pairwise([*last, *units]):
            yield from _against_before(file, before, unit)
        for unit in units:
            yield from _against_record(store, records, file, unit)
        last = units[-1:] or last


def _finding(code: str, file: StoreFile, offset: int | None, text: str, clause: str) -> Finding:
    return finding(code, file.name, offset, text, clause=clause, cure=_NO_CURE)


def _at(file: StoreFile, unit: _Unit, field: str) -> int:
    return int(unit["position"]) - file.base_offset + BATCH_UNIT.offset_of(field)


def _against_before(file: StoreFile, before: _Unit, unit: _Unit) -> Iterator[Finding]:
    due = before["base_offset"] + before["batch_size"]
    if unit["base_offset"] != due:
        text = f"found base_offset {unit['base_offset']:,}, expected {due:,}, where the unit before it ends"
        code = "queue.gap" if unit["base_offset"] > due else "queue.order"
        yield _finding(code, file, _at(file, unit, "base_offset"), text, "BCQ-3")
    if unit["phy_offset"] <= before["phy_offset"]:
        text = f"found phy_offset {unit['phy_offset']:,} after {before['phy_offset']:,}"
        yield _finding("queue.order", file, _at(file, unit, "phy_offset"), text, "BCQ-3")


def _against_record(store: Store, records: StoredRecords, file: StoreFile, unit: _Unit) -> Iterator[Finding]:
    phy_offset, size = unit["phy_offset"], unit["size"]
    if phy_offset < store.begin or phy_offset >= store.end:  # expired, or newer than the plan
        if phy_offset >= store.end and not store.live:
            text = f"found phy_offset {phy_offset:,}, but the log ends at {store.end:,}"
            yield _finding("queue.dangling", file, _at(file, unit, "phy_offset"), text, "BCQ-1")
        return
    record = records.at(phy_offset)
    if record is None or record.fixed.total_size != size:
        text = f"no record of {size:,} bytes begins at physical offset {phy_offset:,}"
        yield _finding("queue.dangling", file, _at(file, unit, "phy_offset"), text, "BCQ-1")
        return
    fixed, topic, pairs = record
    number = pairs.get(b"INNER_NUM", b"") if b"INNER_BASE" in pairs else b""
    messages = parse_int(clean_utf8(number).decode())
    if (topic, fixed.queue_id) != (file.topic, file.queue_id):
        text = f"the record at physical offset {unit['phy_offset']:,} is of {topic} queue {fixed.queue_id}"
        yield _finding("queue.wrong_target", file, _at(file, unit, "phy_offset"), text, "BCQ-1")
        return
    expected = {
        "base_offset": fixed.queue_offset,
        "batch_size": 1 if messages is None else messages,
        "store_timestamp": fixed.store_timestamp,
        "tags_code": tags_code(topic.encode(), pairs, fixed.store_timestamp, store.delays),
    }
    for name, value in expected.items():
        if value is not None and unit[name] != value:
            text = f"found {name} {unit[name]:,}, expected {value:,} as in the record at physical offset {unit['phy_offset']:,}"
            yield _finding("queue.wrong_target", file, _at(file, unit, name), text, "BCQ-3")
