"""Messages that a broker does not return: every one with a key, by the IDs of a message, or without the index.

A record is returned only if the commit log contains it with the requested topic and key; each once, in
ascending order of offset. Windows use the record's own store timestamp, to the ms.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from rocket_columnar.formats import LONG_MAX, LONG_MIN, OffsetId, hash_key, index_key
from rocket_columnar.index import IndexFile
from rocket_columnar.query.chain_walk import settled, walk
from rocket_columnar.query.explain_records import find_key
from rocket_columnar.query.log_records import Row, keys_of
from rocket_columnar.query.open_files import OpenFiles

_LONG: Final = (LONG_MIN, LONG_MAX)


def find_all(store: OpenFiles, topic: str, key: str, *, window: tuple[int, int] = _LONG) -> list[Row]:
    """Every message that some index file leads to under a key.

    All files are walked to the real ends of their chains; damage ends a chain, and every walk ends.

    Args:
        store: an open store.
        topic: its topic.
        key: a key or unique key.
        window: first and last ms of the store timestamp, both inclusive.

    Raises:
        OSError: when a file cannot be read.
    """
    return _find(store, [topic], key, window)


def _find(store: OpenFiles, topics: Sequence[str], key: str, window: tuple[int, int] = _LONG) -> list[Row]:
    """The messages of several topics, topic by topic."""
    hashes = [hash_key(index_key(topic, key)) for topic in topics]
    offsets: list[set[int]] = [set() for _ in topics]
    for _, index in store.indexes.files:
        index.load()
        for key_hash, found in zip(hashes, offsets, strict=True):
            found.update(settled(index, key_hash, partial(_hits, index, key_hash)))
    return [
        row
        for topic, some in zip(topics, offsets, strict=True)
        for row in _rows(store, topic, key, some, window)
    ]


def _rows(
    store: OpenFiles, topic: str, key: str, offsets: Iterable[int], window: tuple[int, int]
) -> list[Row]:
    """The records at these offsets that have a topic and a key."""
    rows = (store.log.row(offset) for offset in sorted(offsets))
    return [row for row in rows if row["topic"] == topic and key in keys_of(row) and _inside(row, window)]


def _hits(index: IndexFile, key_hash: int) -> set[int]:
    """Physical offsets of all entries with a hash."""
    steps = walk(index, key_hash, *_LONG, past_stop=True)
    return {step.phy_offset for step in steps if step.key_hash == key_hash}


def scan(store: OpenFiles, topic: str | None, key: str, *, window: tuple[int, int] = _LONG) -> list[Row]:
    """Every message with a key in the commit log, without using the index; of any topic if none is given.

    Arguments and errors as `find_all`; damaged ranges of the log are skipped.
    """
    wanted = ("key",) if topic is not None else ("key", "other topic")
    found = (record.phy_offset for record in find_key(store.log, topic or "", key) if record.how in wanted)
    return [row for row in map(store.log.row, sorted(set(found))) if _inside(row, window)]


def find_by_unique_key(store: OpenFiles, unique_key: str, topics: Iterable[str]) -> list[Row]:
    """Every message of these topics with this unique key from a client; a resend has the key of the first attempt.

    Source: `MQAdminImpl.queryMessageByUniqKey`, which keeps the one that was stored first.
    """
    return [row for row in _find(store, list(topics), unique_key) if row["uniq_key"] == unique_key]


def find_by_offset_id(store: OpenFiles, offset_id: OffsetId) -> list[Row]:
    """A list of the record at the offset of an ID, or an empty one; no index is used.

    Source: `QueryMessageProcessor.viewMessageById` 127-160.
    """
    row = store.log.row(offset_id.phy_offset)
    return [] if row["topic"] is None else [row]


def _inside(row: Row, window: tuple[int, int]) -> bool:
    """Whether a record is stored in a window; there is none in a file that another overlaps, or that is gone since."""
    return row["topic"] is not None and bool(window[0] <= row["store_timestamp"] <= window[1])
