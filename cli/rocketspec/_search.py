"""Searches for messages by any of their keys and IDs, as the verb `query` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocket_columnar.query import OpenStore

from rocketspec._ask import Asked, answer, explained

if TYPE_CHECKING:
    from rocket_columnar.query import Answer, Explanation
    from rocket_spec.layout import Geometry


def find(
    store: Path | str,
    *,
    topic: str | None = None,
    key: str | None = None,
    unique_key: str | None = None,
    offset_id: str | None = None,
    begin: int | None = None,
    end: int | None = None,
    scan: bool = False,
    geometry: Geometry | None = None,
    commitlog: Sequence[str] = (),
) -> Answer:
    """Every message with a key or ID, without a broker's limit.

    Args:
        store: the store's directory.
        topic: the topic; required with `key`.
        key: a key or unique key.
        unique_key: an ID made by a client (`msgId`).
        offset_id: an ID made by a broker (`offsetMsgId`).
        begin: earliest store timestamp, ms.
        end: latest store timestamp, ms, inclusive.
        scan: read the commit log instead of the index.
        geometry: of the index files; else it is inferred.
        commitlog: the commit-log directories, if they are not in the store.

    Raises:
        UsageError: no store, not exactly one of `key`, `unique_key` and `offset_id`, or a geometry that cannot be inferred.
        FormatError: no index file that can be read as one.
        OSError: a path that is missing or cannot be read.
    """
    asked = Asked(
        topic, key, unique_key, offset_id, begin, end, None, True, key is not None and not scan, scan
    )
    asked.check(explain=False)
    with OpenStore(store, geometry, commitlog=commitlog) as opened:
        return answer(opened, asked)


def explain(
    store: Path | str,
    topic: str,
    key: str,
    *,
    begin: int | None = None,
    end: int | None = None,
    max_num: int | None = None,
    geometry: Geometry | None = None,
    commitlog: Sequence[str] = (),
) -> Explanation:
    """The path of a broker to a key through index files, slots, chains and log, and why nothing is found.

    Arguments and errors as for `find` and `query`.
    """
    asked = Asked(topic, key, None, None, begin, end, max_num, False, False, False)
    asked.check(explain=True)
    with OpenStore(store, geometry, commitlog=commitlog) as opened:
        _, walk = explained(opened, asked)
    return walk
