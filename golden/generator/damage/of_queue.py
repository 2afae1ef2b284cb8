"""Damages of consume queues."""

from __future__ import annotations

import itertools
import struct
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from generator.damage.damaging import UNIT, variant

if TYPE_CHECKING:
    from generator.damage.damaging import Line, Store, Variant


def queue_size(store: Store) -> Variant:
    """Damage that an audit calls `queue.size`."""
    file = store.pick(store.lines["queue_file"])["file"]
    size = len(store.files[file]) - store.draw.randrange(1, UNIT)
    return variant(
        file,
        size,
        f"consume-queue file cut to {size} bytes",
        {"file": file, "action": "cut", "offset": size},
    )


def queue_order(store: Store) -> Variant:
    """Damage that an audit calls `queue.order`."""
    units = store.lines["queue_unit"]
    first, second = store.draw.choice(
        [(one, two) for one, two in itertools.pairwise(units) if one["file"] == two["file"]]
    )
    at = store.unit_at(first)
    data = store.files[first["file"]][at : at + 2 * UNIT]
    return variant(
        first["file"],
        at,
        f"units {first['logical_offset']} and {second['logical_offset']} are exchanged",
        store.write(first["file"], at, data[UNIT:] + data[:UNIT]),
    )


def queue_gap(store: Store) -> Variant:
    """Damage that an audit calls `queue.gap`."""
    folders: dict[str, list[str]] = defaultdict(list)
    for line in store.lines["queue_file"]:
        folders[line["file"].rpartition("/")[0]].append(line["file"])
    names = store.draw.choice([names for names in folders.values() if len(names) > 2])
    file = store.draw.choice(names[1:-1])
    return variant(
        file, None, "a consume-queue file in the middle is missing", {"file": file, "action": "delete"}
    )


def last_units(store: Store) -> list[Line]:
    """The last unit of each queue."""
    return list({(line["topic"], line["queue_id"]): line for line in store.lines["queue_unit"]}.values())


def queue_missing_unit(store: Store) -> Variant:
    """Damage that an audit calls `queue.missing_unit`."""
    unit = store.pick([line for line in last_units(store) if line["logical_offset"] > 0])
    at = store.unit_at(unit)
    return variant(
        unit["file"],
        at,
        f"the last unit, {unit['logical_offset']}, is zeros",
        store.write(unit["file"], at, bytes(UNIT)),
    )


def queue_dangling(store: Store) -> Variant:
    """Damage that an audit calls `queue.dangling`."""
    unit = store.pick(last_units(store))
    at = store.unit_at(unit)
    offset = store.log_end + store.draw.randrange(1, 10_000)
    return variant(
        unit["file"],
        at,
        f"unit {unit['logical_offset']} points to {offset}, beyond the log's end",
        store.write(unit["file"], at, struct.pack(">q", offset)),
    )


def queue_wrong_target(store: Store) -> Variant:
    """Damage that an audit calls `queue.wrong_target`."""
    unit = store.pick(store.lines["queue_unit"])
    record = store.pick([line for line in store.lines["log_record"] if line["topic"] != unit["topic"]])
    at = store.unit_at(unit)
    return variant(
        unit["file"],
        at,
        f"unit {unit['logical_offset']} points to {record['phy_offset']}, a record of topic {record['topic']}",
        store.write(unit["file"], at, struct.pack(">qi", record["phy_offset"], record["size"])),
    )


def queue_tags_code(store: Store) -> Variant:
    """Damage that an audit calls `queue.tags_code`."""
    unit = store.pick([line for line in store.lines["queue_unit"] if line["topic"] != "SCHEDULE_TOPIC_XXXX"])
    at = store.unit_at(unit) + 12
    code = unit["tags_code"] ^ (1 << store.draw.randrange(31))
    return variant(
        unit["file"],
        at,
        f"unit {unit['logical_offset']} has the tags code {code}, one bit off",
        store.write(unit["file"], at, struct.pack(">q", code)),
    )


QUEUE: Final = (
    ("queue-size", "queue.size", queue_size),
    ("queue-order", "queue.order", queue_order),
    ("queue-gap", "queue.gap", queue_gap),
    ("queue-missing-unit", "queue.missing_unit", queue_missing_unit),
    ("queue-dangling", "queue.dangling", queue_dangling),
    ("queue-wrong-target", "queue.wrong_target", queue_wrong_target),
    ("queue-tags-code", "queue.tags_code", queue_tags_code),
)
"""Name, the code of the finding, and what makes it."""
