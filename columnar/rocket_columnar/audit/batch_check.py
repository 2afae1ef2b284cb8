"""Checks the batch queues of 5.x: each unit against the unit before it, and against its record in the log (BCQ-1, BCQ-3)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from rocket_spec.errors import FormatError
from rocket_spec.later_layouts import BATCH_UNIT

from rocket_columnar.decode import decode
from rocket_columnar.facts import Store
from rocket_columnar.findings import Finding, finding
from rocket_columnar.formats import clean_utf8, parse_int
from rocket_columnar.log import StoredRecords
from rocket_columnar.store import StoreFile, by_queue

_NO_CURE: Final = (
    "none: rocketspec does not rebuild batch queues; copy the queue from a replica while the broker is down"
)
_COLUMNS: Final = ["position", "phy_offset", "size", "store_timestamp", "base_offset", "batch_size"]
_Unit = dict[str, Any]


def check_batches(store: Store) -> Iterator[Finding]:
    """The findings on batch queues, queue by queue; records that came after the plan was made are not judged."""
    with StoredRecords(store.logs) as records:
        for files in by_queue(store.batches).values():
            yield from _of_queue(store, records, files)


def _of_queue(store: Store, records: StoredRecords, files: Sequence[StoreFile]) -> Iterator[Finding]:
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
    }
    for name, value in expected.items():
        if unit[name] != value:
            text = f"found {name} {unit[name]:,}, expected {value:,} as in the record at physical offset {unit['phy_offset']:,}"
            yield _finding("queue.wrong_target", file, _at(file, unit, name), text, "BCQ-3")
