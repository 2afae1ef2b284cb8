"""Searches for messages by their keys and IDs, as the verb `query` and the functions `find` and `explain` make them."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.formats import make_offset_id, parse_offset_id, parse_unique_key
from rocket_columnar.query import OpenStore, QueryAnswer, find_by_offset_id, find_by_unique_key, scan
from rocket_columnar.query import explain as explain_walk
from rocket_spec.errors import InvalidError, UsageError

from rocketspec._options import refuse

if TYPE_CHECKING:
    from rocket_columnar.query import Explanation, Row
    from rocket_spec.layout import Geometry


_LIMIT: Final = 32  # messages that a broker's client asks for


@dataclass(frozen=True, slots=True)
class SearchArguments:
    """The options; exactly one of `key`, `unique_key` (made by a client) and `offset_id` (by a broker) is set.

    Times are in ms. `exact` drops messages that only share the hash of the key, `every` all limits; `scan` reads the log instead of the index.
    """

    topic: str | None
    key: str | None
    unique_key: str | None = None
    offset_id: str | None = None
    begin: int | None = None
    end: int | None = None
    max_num: int | None = None
    exact: bool = False
    every: bool = False
    scan: bool = False

    def check(self, *, explain: bool) -> None:
        """Raises UsageError for options that cannot be combined."""
        ids = {"--key": self.key, "--unique-key": self.unique_key, "--offset-id": self.offset_id}
        given = [name for name, value in ids.items() if value is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none"
            raise UsageError(f"expected one of --key, --unique-key and --offset-id; found {found}")
        if self.key is not None and self.topic is None:
            raise UsageError("--key requires --topic: the index stores topic and key together")
        if explain and (self.topic is None or self.offset_id is not None):
            raise UsageError("--explain requires --topic, and --key or --unique-key: it follows the index")
        if self.every and self.scan:
            raise UsageError("--all and --scan are mutually exclusive")
        if self.max_num is not None and self.max_num < 0:
            raise UsageError(f"--max {self.max_num}: expected 0 or more")
        if self.max_num is not None and (self.every or self.scan or self.key is None):
            raise UsageError("--max is the limit of a broker: it requires --key without --all or --scan")
        more = {
            "--topic": self.topic,
            "--begin": self.begin,
            "--end": self.end,
            "--exact": self.exact,
            "--all": self.every,
            "--scan": self.scan,
        }
        named = more if self.offset_id is not None else {}
        refuse(named, "cannot be combined with --offset-id, which names one message")


def answer(store: OpenStore, asked: SearchArguments) -> QueryAnswer:
    """The messages; raises what the searches raise."""
    window = (-(1 << 63) if asked.begin is None else asked.begin, _last(asked, (1 << 63) - 1))
    if asked.offset_id is not None:
        return store.answer_of(find_by_offset_id(store, parse_offset_id(asked.offset_id)))
    wanted = asked.key if asked.key is not None else asked.unique_key or ""
    if asked.scan:
        rows = scan(store, asked.topic, wanted, window=window)
        return store.answer_of([row for row in rows if asked.unique_key in (None, row["uniq_key"])])
    if asked.unique_key is not None:
        topics = sorted(store.store.has_queue) if asked.topic is None else [asked.topic]
        found = find_by_unique_key(store, asked.unique_key, topics)
        return store.answer_of([row for row in found if window[0] <= row["store_timestamp"] <= window[1]])
    topic = asked.topic or ""
    if asked.every:
        return store.query_all(topic, wanted, begin=asked.begin, end=asked.end)
    ask = store.query_exact if asked.exact else store.query
    return ask(topic, wanted, **_limits(asked))


def explained(store: OpenStore, asked: SearchArguments) -> tuple[QueryAnswer, Explanation]:
    """The messages, none on a chain on which a broker would never answer, and the path of a broker to the key."""
    try:
        found = answer(store, asked)
    except InvalidError:
        found = QueryAnswer((), (), 0, 0, truncated=False)
    wanted = asked.key if asked.key is not None else asked.unique_key or ""
    return found, explain_walk(store, asked.topic or "", wanted, exact=asked.exact, **_limits(asked))


def _limits(asked: SearchArguments) -> dict[str, int]:
    return {
        "max_num": _LIMIT if asked.max_num is None else asked.max_num,
        "begin": asked.begin or 0,
        "end": _last(asked, time.time_ns() // 1_000_000),
    }


def _last(asked: SearchArguments, otherwise: int) -> int:
    return otherwise if asked.end is None else asked.end


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
) -> QueryAnswer:
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
    asked = SearchArguments(
        topic,
        key,
        unique_key,
        offset_id,
        begin,
        end,
        None,
        offset_id is None,
        key is not None and not scan,
        scan,
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
    asked = SearchArguments(topic, key, begin=begin, end=end, max_num=max_num)
    asked.check(explain=True)
    with OpenStore(store, geometry, commitlog=commitlog) as opened:
        _, walk = explained(opened, asked)
    return walk


def plain(row: Row) -> Row:
    """A message as JSON: its row with its IDs; binary is base64."""
    shown = {
        name: b64encode(value).decode() if isinstance(value, bytes) else value for name, value in row.items()
    }
    whole = row["topic"] is not None
    shown["offset_id"] = make_offset_id(row["store_host"], row["phy_offset"]) if whole else None
    shown["client"] = client_of(row["uniq_key"], row["born_timestamp"]) if whole else None
    return shown


def client_of(unique_key: str | None, born_timestamp: int | None) -> dict[str, Any] | None:
    """The origin and time that a unique key records; None for a key not made by a client of 4.9.3."""
    try:
        parts = parse_unique_key(unique_key or "")
    except UsageError:
        return None
    now = time.time_ns() // 1_000_000
    made = parts.time_before(now) if born_timestamp is None else parts.time_near(born_timestamp)
    return asdict(parts) | {"time": made}
