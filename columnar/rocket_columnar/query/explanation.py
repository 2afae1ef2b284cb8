"""Explains the result of a query: each index file, slot and chain entry that it visits, and the reason in words."""

from dataclasses import dataclass

from rocket_spec.errors import InvalidError

from rocket_columnar.formats import hash_key, index_key
from rocket_columnar.index import GeometryGuess
from rocket_columnar.query.broker_query import MAX_BATCH, OpenStore
from rocket_columnar.query.explain_files import FileWalk, TimeWindow, walk_files
from rocket_columnar.query.explain_reasons import reasons


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole walk.

    Attributes:
        index_key: topic#key, which is hashed.
        key_hash: its hash.
        begin: first ms of the window.
        end: last ms of the window.
        limit: hits at most: min(max_num, 64).
        geometry: of the index files, and how it was determined; None without files.
        files: newest first, as a query goes.
        skipped: names in the index folder that a broker does not load, each with the reason.
        found: number of messages in the answer; None if a broker would never answer.
        reasons: why nothing was found, in sentences; empty when something was.
    """

    index_key: str
    key_hash: int
    begin: int
    end: int
    limit: int
    geometry: GeometryGuess | None
    files: tuple[FileWalk, ...]
    skipped: tuple[tuple[str, str], ...]
    found: int | None
    reasons: tuple[str, ...]


def explain(
    store: OpenStore, topic: str, key: str, *, max_num: int, begin: int, end: int, exact: bool = False
) -> Explanation:
    """Walks as a query does, and beyond its end, and explains why nothing is found.

    Where the index does not show the key at all, the commit log is read for it.

    Args:
        store: an open store.
        topic: its topic.
        key: a key or unique key.
        max_num: messages at most.
        begin: first ms of the window, inclusive.
        end: last ms of the window, inclusive.
        exact: explain the exact query.

    Raises:
        UsageError: for a negative `max_num`.
        OSError: when a file cannot be read.

    Source: IDX-SEL-1 .. IDX-SEL-9, IDX-TIME-1 .. IDX-TIME-3; `IndexService.queryOffset` 157-195.
    """
    ask = store.query_exact if exact else store.query
    found: int | None
    try:
        found = len(ask(topic, key, max_num=max_num, begin=begin, end=end).messages)
    except InvalidError:
        found = None
    window = TimeWindow(begin, end, min(max_num, MAX_BATCH))
    name = index_key(topic, key)
    key_hash = hash_key(name)
    files = tuple(walk_files(store, topic, key, window))
    why = () if found else tuple(reasons(store, files, (topic, key, key_hash), window))
    indexes = store.indexes
    return Explanation(
        name,
        key_hash,
        *(begin, end, window.limit),
        indexes.geometry,
        files,
        indexes.skipped,
        found,
        why,
    )
