"""What the broker of a store does that its log does not show: it may index messages under their tags, as since 5.4.0."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from rocket_spec.layout import Geometry

from rocket_columnar.formats import ENTRY_DTYPE, hash_key, tag_key
from rocket_columnar.log import KeyRules, StoredRecords
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
    indexes = [file for file in files if file.kind == "index" and file.size() == geometry.file_size]
    with StoredRecords([file for file in files if file.kind == "log"]) as records:
        for file in reversed(indexes):
            size = ENTRY_DTYPE.itemsize
            raw = read_at(file, geometry.entries_offset + size, _SAMPLE * size)
            entries = np.frombuffer(raw[: len(raw) // size * size], ENTRY_DTYPE)
            runs = np.split(entries, np.flatnonzero(np.diff(entries["phy_offset"])) + 1)
            for run in runs[1:-1]:  # the others may have entries elsewhere
                record = records.at(int(run["phy_offset"][0]))
                tags = record and record.pairs.get(b"TAGS")
                if record and tags:
                    return hash_key(tag_key(record.topic, tags.decode())) in run["key_hash"].tolist()
    return False
