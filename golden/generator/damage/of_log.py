"""Damages of the commit log, of the checkpoint and of the store as a whole."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from generator.damage.damaging import variant

if TYPE_CHECKING:
    from collections.abc import Callable

    from generator.damage.damaging import Store, Variant


def log_gap(store: Store) -> Variant:
    """Damage that an audit calls `log.gap`."""
    files = store.lines["log_file"]
    file = store.pick(files[1:-1])["file"]
    return variant(
        file, None, "a commit-log file in the middle is missing", {"file": file, "action": "delete"}
    )


def damaged_record(
    store: Store, field: int, after: Callable[[bytes], bytes], size: int, note: str
) -> Variant:
    """A variant with another value in a field of some record that is neither the first nor the last of the log."""
    record = store.pick(store.lines["log_record"][1:-1])
    at = store.record_at(record) + field
    old = store.files[record["file"]][at : at + size]
    return variant(
        record["file"],
        at,
        f"record {record['phy_offset']}: {note}",
        store.write(record["file"], at, after(old)),
    )


def log_magic(store: Store) -> Variant:
    """Damage that an audit calls `log.magic`."""
    return damaged_record(store, 4, lambda old: bytes([old[0] ^ 1]) + old[1:], 4, "magic one bit off")


def log_length(store: Store) -> Variant:
    """Damage that an audit calls `log.length`."""
    more = store.draw.randrange(1, 20)
    return damaged_record(
        store,
        0,
        lambda old: struct.pack(">i", struct.unpack(">i", old)[0] + more),
        4,
        f"total size {more} too large",
    )


def log_position(store: Store) -> Variant:
    """Damage that an audit calls `log.position`."""
    return damaged_record(
        store,
        28,
        lambda old: struct.pack(">q", struct.unpack(">q", old)[0] + 64),
        8,
        "physicalOffset 64 bytes off its place",
    )


def log_crc(store: Store) -> Variant:
    """Damage that an audit calls `log.crc`."""
    return damaged_record(
        store, 88, lambda old: bytes([old[0] ^ 0x80]), 1, "first byte of the body one bit off"
    )


def log_torn(store: Store) -> Variant:
    """Damage that an audit calls `log.torn`."""
    record = store.lines["log_record"][-1]
    kept = store.draw.randrange(8, record["size"] - 8)
    at = store.record_at(record) + kept
    return variant(
        record["file"],
        at,
        f"the last record, {record['phy_offset']}, is zeros from its byte {kept} on",
        store.write(record["file"], at, bytes(record["size"] - kept)),
    )


def checkpoint_ahead(store: Store) -> Variant:
    """Damage that an audit calls `checkpoint.ahead`."""
    time = store.lines["log_record"][-1]["store_timestamp"] + 3_600_000
    return variant(
        "checkpoint",
        0,
        "all three times an hour after the last message",
        store.write("checkpoint", 0, struct.pack(">3q", time, time, time)),
    )


def checkpoint_behind(store: Store) -> Variant:
    """Damage that an audit calls `checkpoint.behind`."""
    return variant("checkpoint", 0, "all three times are 0", store.write("checkpoint", 0, bytes(24)))


def store_abort(_store: Store) -> Variant:
    """Damage that an audit calls `store.abort`."""
    return variant(
        "abort",
        None,
        "the file that an unclean stop leaves",
        {"file": "abort", "action": "make", "offset": 0},
    )


LOG: Final = (
    ("log-gap", "log.gap", log_gap),
    ("log-magic", "log.magic", log_magic),
    ("log-length", "log.length", log_length),
    ("log-position", "log.position", log_position),
    ("log-crc", "log.crc", log_crc),
    ("log-torn", "log.torn", log_torn),
    ("checkpoint-ahead", "checkpoint.ahead", checkpoint_ahead),
    ("checkpoint-behind", "checkpoint.behind", checkpoint_behind),
    ("store-abort", "store.abort", store_abort),
)
"""Name, the code of the finding, and what makes it."""
