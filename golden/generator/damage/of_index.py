"""Damages of index files."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from generator.damage.damaging import variant

if TYPE_CHECKING:
    from generator.damage.damaging import Store, Variant


def index_size_short(store: Store) -> Variant:
    """Damage that an audit calls `index.size`."""
    file = store.index_file()["file"]
    size = len(store.files[file]) // 2
    return variant(
        file,
        size,
        f"index file cut to {size} bytes",
        {"file": file, "action": "cut", "offset": size},
    )


def index_size_long(store: Store) -> Variant:
    """Damage that an audit calls `index.size`."""
    file = store.index_file()["file"]
    size = len(store.files[file])
    return variant(file, size, "16 bytes beyond the index file's end", store.write(file, size, b"\x5a" * 16))


def index_header_count_high(store: Store) -> Variant:
    """Damage that an audit calls `index.header_count`."""
    header = store.index_file()
    count = header["index_num"] + store.draw.randrange(1, 9)
    return variant(
        header["file"],
        36,
        f"indexCount {count}, more than the file has entries",
        store.write(header["file"], 36, struct.pack(">i", count)),
    )


def index_header_count_low(store: Store) -> Variant:
    """Damage that an audit calls `index.header_count`."""
    header = store.index_file()
    count = header["index_count"] // 2
    return variant(
        header["file"],
        36,
        f"indexCount {count}, less than there are entries",
        store.write(header["file"], 36, struct.pack(">i", count)),
    )


def index_header_bounds_begin(store: Store) -> Variant:
    """Damage that an audit calls `index.header_bounds`."""
    header = store.index_file()
    offset = header["end_phy_offset"]
    return variant(
        header["file"],
        16,
        f"beginPhyOffset {offset}, that of the last put",
        store.write(header["file"], 16, struct.pack(">q", offset)),
    )


def index_header_bounds_end(store: Store) -> Variant:
    """Damage that an audit calls `index.header_bounds`."""
    header = store.index_file()
    offset = header["begin_phy_offset"]
    return variant(
        header["file"],
        24,
        f"endPhyOffset {offset}, that of the first put",
        store.write(header["file"], 24, struct.pack(">q", offset)),
    )


def index_slot_range(store: Store) -> Variant:
    """Damage that an audit calls `index.slot_range`."""
    header = store.index_file()
    slot = store.draw.choice(sorted(store.newest(header["file"])))
    value = header["index_count"] + store.draw.randrange(1, 1000)
    at = store.slot_at(slot)
    return variant(
        header["file"],
        at,
        f"slot {slot} holds {value}, beyond indexCount",
        store.write(header["file"], at, struct.pack(">i", value)),
    )


def index_slot_hash(store: Store) -> Variant:
    """Damage that an audit calls `index.slot_hash`."""
    file = store.index_file()["file"]
    newest = store.newest(file)
    slot, other = store.draw.sample(sorted(newest), 2)
    at = store.slot_at(slot)
    return variant(
        file,
        at,
        f"slot {slot} holds entry {newest[other]}, whose hash belongs to slot {other}",
        store.write(file, at, struct.pack(">i", newest[other])),
    )


def index_prev_range(store: Store) -> Variant:
    """Damage that an audit calls `index.prev_range`."""
    header = store.index_file()
    entry = store.pick([line for line in store.of_file("index_entry", header["file"]) if line["prev_entry"]])
    value = header["index_count"] + store.draw.randrange(1, 1000)
    at = store.entry_at(entry["entry"]) + 16
    return variant(
        header["file"],
        at,
        f"previous entry of entry {entry['entry']} is {value}, beyond indexCount",
        store.write(header["file"], at, struct.pack(">i", value)),
    )


def index_chain_cycle(store: Store) -> Variant:
    """Damage that an audit calls `index.chain_cycle`."""
    file = store.index_file()["file"]
    newest = store.newest(file)
    entries = store.of_file("index_entry", file)
    oldest = [line for line in entries if not line["prev_entry"] and newest[line["slot"]] > line["entry"]]
    entry = store.pick(oldest)
    at = store.entry_at(entry["entry"]) + 16
    return variant(
        file,
        at,
        f"previous entry of entry {entry['entry']}, the oldest of slot {entry['slot']}, is the newest",
        store.write(file, at, struct.pack(">i", newest[entry["slot"]])),
    )


def index_entry_dangling(store: Store) -> Variant:
    """Damage that an audit calls `index.entry_dangling`."""
    file = store.index_file()["file"]
    entry = store.pick(store.of_file("index_entry", file))
    at = store.entry_at(entry["entry"]) + 4
    offset = entry["phy_offset"] + store.draw.randrange(1, 80)
    return variant(
        file,
        at,
        f"entry {entry['entry']} points to {offset}, into the middle of a record",
        store.write(file, at, struct.pack(">q", offset)),
    )


def index_entry_wrong_key(store: Store) -> Variant:
    """Damage that an audit calls `index.entry_wrong_key`."""
    file = store.index_file()["file"]
    entry = store.pick(store.of_file("index_entry", file))
    key = entry["key"].partition("#")[2]
    others = [
        line
        for line in store.lines["log_record"]
        if key not in (line["keys"] or "").split(" ") and key != line["uniq_key"]
    ]
    offset = store.pick(others)["phy_offset"]
    at = store.entry_at(entry["entry"]) + 4
    return variant(
        file,
        at,
        f"entry {entry['entry']} points to {offset}, a record without its key",
        store.write(file, at, struct.pack(">q", offset)),
    )


def index_missing_key(store: Store) -> Variant:
    """Damage that an audit calls `index.missing_key`."""
    file = store.index_file()["file"]
    slot = store.draw.choice(sorted(store.newest(file)))
    at = store.slot_at(slot)
    return variant(file, at, f"slot {slot} is empty, its chain lost", store.write(file, at, bytes(4)))


def index_ahead_of_log(store: Store) -> Variant:
    """Damage that an audit calls `index.ahead_of_log`."""
    file = store.lines["log_file"][-1]["file"]
    last = store.lines["index_header"][-1]["file"]
    return variant(
        last,
        24,
        f"the last commit-log file, {file}, is missing",
        {"file": file, "action": "delete"},
    )


def index_empty(store: Store) -> Variant:
    """Damage that an audit calls `index.empty`."""
    last = store.lines["index_header"][-1]["file"]
    file = f"index/{int(last.partition('/')[2]) + 1}"
    size = len(store.files[last])
    return variant(
        file,
        None,
        "a further index file that holds zeros",
        {"file": file, "action": "make", "offset": size},
    )


def index_name_order(store: Store) -> Variant:
    """Damage that an audit calls `index.name_order`."""
    first, last = (store.lines["index_header"][at]["file"] for at in (0, -1))
    file = f"index/{int(last.partition('/')[2]) + 1}"
    return variant(
        file,
        None,
        f"the oldest index file, {first}, has the newest name",
        {"file": first, "action": "rename", "to": file},
    )


INDEX: Final = (
    ("index-size-short", "index.size", index_size_short),
    ("index-size-long", "index.size", index_size_long),
    ("index-header-count-high", "index.header_count", index_header_count_high),
    ("index-header-count-low", "index.header_count", index_header_count_low),
    ("index-header-bounds-begin", "index.header_bounds", index_header_bounds_begin),
    ("index-header-bounds-end", "index.header_bounds", index_header_bounds_end),
    ("index-slot-range", "index.slot_range", index_slot_range),
    ("index-slot-hash", "index.slot_hash", index_slot_hash),
    ("index-prev-range", "index.prev_range", index_prev_range),
    ("index-chain-cycle", "index.chain_cycle", index_chain_cycle),
    ("index-entry-dangling", "index.entry_dangling", index_entry_dangling),
    ("index-entry-wrong-key", "index.entry_wrong_key", index_entry_wrong_key),
    ("index-missing-key", "index.missing_key", index_missing_key),
    ("index-ahead-of-log", "index.ahead_of_log", index_ahead_of_log),
    ("index-empty", "index.empty", index_empty),
    ("index-name-order", "index.name_order", index_name_order),
)
"""Name, the code of the finding, and what makes it."""
