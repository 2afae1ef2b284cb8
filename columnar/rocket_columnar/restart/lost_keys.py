"""Keys that are in no index file that a start leaves, of records that it does not dispatch again."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rocket_columnar.audit import RangeResult, Surveys, entries_of, plan_audit, read_frames, survey_file
from rocket_columnar.facts import Store
from rocket_columnar.formats import hash_key, index_key
from rocket_columnar.log import StoredRecord, StoredRecords
from rocket_columnar.store import StoreFile, WorkDone, size_of


class LostKey(NamedTuple):
    """One key that no index file would hold any more.

    Attributes:
        topic: of the record.
        key: its text; None if it can no longer be read from the record.
        phy_offset: of the record, bytes.
        key_hash: of topic and key.
    """

    topic: str
    key: str | None
    phy_offset: int
    key_hash: int


@dataclass(frozen=True, slots=True)
class LostKeys:
    """Keys that no index file would hold any more; iterating reads their texts from the log.

    Attributes:
        phy_offset: of each key's record, bytes, ascending.
        key_hash: of each key.
        logs: the commit-log files.
    """

    phy_offset: NDArray[np.int64]
    key_hash: NDArray[np.int32]
    logs: tuple[StoreFile, ...] = ()

    @classmethod
    def none(cls) -> LostKeys:
        """No keys."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int32))

    def __len__(self) -> int:
        return self.phy_offset.size

    @property
    def records(self) -> int:
        """How many records they belong to."""
        return int(np.unique(self.phy_offset).size)

    def __iter__(self) -> Iterator[LostKey]:
        texts: dict[int, list[str]] = {}
        topic, at = "", -1
        with StoredRecords(self.logs) as records:
            for offset, key_hash in zip(self.phy_offset.tolist(), self.key_hash.tolist(), strict=True):
                if offset != at:
                    at, texts = offset, {}
                    topic, keys = _keys_of(records.at(offset))
                    for key in keys:
                        texts.setdefault(hash_key(index_key(topic, key)), []).append(key)
                held = texts.get(key_hash)
                text = None if not held else held.pop(0) if len(held) > 1 else held[0]
                yield LostKey(topic, text, offset, key_hash)


def _keys_of(record: StoredRecord | None) -> tuple[str, list[str]]:
    """Topic and keys of a record."""
    if record is None:
        return "", []
    names = (record.pairs.get(b"UNIQ_KEY", b""), *record.pairs.get(b"KEYS", b"").split(b" "))
    return record.topic, [name.decode() for name in names if name]


def lost_keys(store: Store, deleted: AbstractSet[str], begin: int, work: WorkDone) -> LostKeys:
    """Keys of records before `begin`, where dispatch begins again, that no index file but `deleted` ones has, range by range.

    `work` counts the bytes of the index files and of the log before `begin`.
    """
    plan, kept = plan_audit(store), [file for file in store.content_indexes if file.name not in deleted]
    ranges = [part for part in plan.ranges if part.begin < begin]
    sizes = [size_of(file) or 0 for file in kept]
    work.expect(sum(sizes) + sum(part.size for part in ranges))
    surveys = []
    for file, size in zip(kept, sizes, strict=True):
        surveys.append(survey_file(store, file))
        work.add(size)
    targets = Surveys.of(surveys).indexes
    offsets, hashes = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    start: int | None = None
    for part in ranges:
        result = RangeResult(part, part.begin, part.end)
        frames = read_frames(plan, part, None if part.exact else start, result)
        start = result.next
        every = frames.all
        owner = np.repeat(np.arange(every.phy_offset.size), every.key_count)
        codes, safe = (owner << 31) | every.key_hash, entries_of(store, targets, frames, result) != 0
        lost = (
            ~safe & (every.phy_offset[owner] < begin) & ~np.isin(codes, codes[safe])
        )  # a message may have one key twice
        offsets.append(every.phy_offset[owner][lost])
        hashes.append(every.key_hash[lost])
        work.add(part.size)
    return LostKeys(np.concatenate(offsets), np.concatenate(hashes), store.logs)
