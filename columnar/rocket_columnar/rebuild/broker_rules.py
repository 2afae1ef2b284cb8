"""Rules of a broker that its log does not show: light queues, batch queues, deleted topics, and messages indexed under their tags."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from rocket_spec.layout import DEFAULT_GEOMETRY, Geometry

from rocket_columnar.facts import is_deleted
from rocket_columnar.formats import ENTRY_DTYPE, hash_key, tag_key
from rocket_columnar.index import hashes_at
from rocket_columnar.log import KeyRules, Requests, StoredRecords, TopicNames
from rocket_columnar.store import StoreFile, is_safe, read_at

_SAMPLE: Final = 256  # entries of each index file that are compared with their records


class BrokerRules(NamedTuple):
    """Rules that depend on a broker's configuration and release."""

    light: bool  # whether light queues have the number 0 (`enableLmq`)
    keys: KeyRules  # what is read in the properties
    # topics of batch queues, which are not rebuilt: beside them a broker of 5.x takes no other queue (BCQ-2)
    batched: frozenset[str] = frozenset()
    # the topics that a broker knows or has queues of; any other one was deleted, and is not rebuilt. None for all
    kept: frozenset[str] | None = None
    indexes: tuple[StoreFile, ...] = ()  # the store's own index files that have the usual length
    geometry: Geometry = DEFAULT_GEOMETRY  # of these

    def writes(self, topic: str) -> bool:
        """Whether the queues of a topic are rebuilt."""
        return topic not in self.batched and not is_deleted(topic, self.kept)


class UnsafeKeys:
    """Records with keys whose topics cannot be directories: damaged, so that nobody asks for their keys. They keep those of the store's index."""

    def __init__(self) -> None:
        self._unsafe: list[int] = []
        self._known = self._added = 0
        self._rows: list[tuple[int, int, int]] = []

    def add(self, batch: Requests, topics: TopicNames) -> None:
        """Takes down those of a batch, whose keys are added to the column."""
        new = topics.names[self._known :]
        self._unsafe += [number for number, name in enumerate(new, self._known) if not is_safe(name)]
        self._known += len(new)
        counts = batch.key_count
        if self._unsafe:
            rows = np.flatnonzero(np.isin(batch.topic, self._unsafe) & (counts > 0))
            begins = np.cumsum(counts, dtype=np.int64) - counts + self._added
            found = zip(
                *(column[rows].tolist() for column in (batch.phy_offset, begins, counts)), strict=True
            )
            self._rows.extend(found)
        self._added += batch.key_hash.size

    def replace(self, column: Path, kind: str, rules: BrokerRules) -> None:
        """Writes the keys of the store's own index over those in the column, of numbers of this kind; that index is read once."""
        if not self._rows:
            return
        own = hashes_at(rules.indexes, rules.geometry, [phy_offset for phy_offset, _, _ in self._rows])
        with column.open("r+b") as file:
            for phy_offset, begin, count in self._rows:
                kept = np.array(own.get(phy_offset, ()), kind)
                if kept.size == count:
                    file.seek(begin * kept.itemsize)
                    file.write(kept.tobytes())


def has_tag_keys(logs: Sequence[StoreFile], indexes: Sequence[StoreFile], geometry: Geometry) -> bool:
    """Whether an entry of `topic#T#tags` follows the keys of a record with tags, in the newest index file that has one.

    The release of the last start decides: a store may have been written by an older one before.
    """
    with StoredRecords(logs) as records:
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
