"""What the broker of a store does that its log does not show: it may index messages under their tags, as since 5.4.0."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from rocket_spec.layout import RECORD_FIXED_V4, Geometry

from rocket_columnar.formats import ENTRY_DTYPE, Record, hash_key, parse_properties, parse_record, tag_key
from rocket_columnar.log import KeyRules
from rocket_columnar.store import StoreFile, read_at

_SAMPLE: Final = 256
"""Entries of each index file that are compared with their records."""


class BrokerRules(NamedTuple):
    """What a broker's configuration and release decide.

    Attributes:
        light: whether light queues have the number 0 (`enableLmq`).
        keys: what is read in the properties.
        batched: topics of batch queues, which are not rebuilt: beside them a broker of 5.x takes no other queue (BCQ-2).
    """

    light: bool
    keys: KeyRules
    batched: tuple[str, ...] = ()


def batch_topics(store: Path) -> tuple[str, ...]:
    """The topics of a store's batch queues."""
    folder = store / "batchconsumequeue"
    return tuple(sorted(one.name for one in folder.iterdir())) if folder.is_dir() else ()


def has_tag_keys(files: Sequence[StoreFile], geometry: Geometry) -> bool:
    """Whether an entry of `topic#T#tags` follows the keys of a record with tags, in the newest index file that has one.

    The release of the last start decides: a store may have been written by an older one before.

    Raises:
        OSError: a file cannot be read.
    """
    logs = [file for file in files if file.kind == "log"]
    for file in reversed(
        [file for file in files if file.kind == "index" and file.size() == geometry.file_size]
    ):
        raw = read_at(file, geometry.entries_offset + ENTRY_DTYPE.itemsize, _SAMPLE * ENTRY_DTYPE.itemsize)
        entries = np.frombuffer(raw[: len(raw) // ENTRY_DTYPE.itemsize * ENTRY_DTYPE.itemsize], ENTRY_DTYPE)
        runs = np.split(entries, np.flatnonzero(np.diff(entries["phy_offset"])) + 1)
        for run in runs[1:-1]:  # the others may have entries elsewhere
            wanted = _tag_hash(logs, int(run["phy_offset"][0]))
            if wanted is not None:
                return wanted in run["key_hash"].tolist()
    return False


def _tag_hash(logs: Sequence[StoreFile], phy_offset: int) -> int | None:
    """The hash of the key of a record's tags; None for one without tags, or where no record can be read."""
    for file in logs:
        at = phy_offset - file.base_offset
        if not 0 <= at < file.size():
            continue
        raw = read_at(file, at, int.from_bytes(read_at(file, at, 4)))
        record = parse_record(raw, 0) if len(raw) > RECORD_FIXED_V4 else None
        if isinstance(record, Record):
            topic = raw[record.topic :][: record.topic_length].decode("utf-8", "replace")
            tags = parse_properties(raw[record.properties :][: record.properties_length]).get(b"TAGS")
            return hash_key(tag_key(topic, tags.decode())) if tags else None
    return None
