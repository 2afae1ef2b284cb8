"""The options of `query`, and the search that they select."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rocket_columnar.formats import parse_offset_id
from rocket_columnar.query import Answer, find_by_offset_id, find_by_unique_key, scan, topics_of
from rocket_columnar.query import explain as explain_walk
from rocket_spec.errors import InvalidError, UsageError

if TYPE_CHECKING:
    from rocket_columnar.query import Explanation, OpenStore


_LIMIT: Final = 32  # messages that a broker's client asks for


@dataclass(frozen=True, slots=True)
class Asked:
    """The options; exactly one of `key`, `unique_key` and `offset_id` is set.

    Attributes:
        topic: the topic, or None for any.
        key: a key, or a unique key used as one.
        unique_key: an ID made by a client.
        offset_id: an ID made by a broker.
        begin: first ms, or None.
        end: last ms, or None.
        max_num: greatest number of messages, or None.
        exact: drop messages that only share the hash of the key.
        every: no limit.
        scan: read the log instead of the index.
    """

    topic: str | None
    key: str | None
    unique_key: str | None
    offset_id: str | None
    begin: int | None
    end: int | None
    max_num: int | None
    exact: bool
    every: bool
    scan: bool

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
        if self.offset_id is not None:
            for name, value in {"--begin": self.begin, "--end": self.end}.items():
                if value is not None:
                    raise UsageError(f"{name} cannot be combined with --offset-id, which names one message")


def answer(store: OpenStore, asked: Asked) -> Answer:
    """The messages; raises what the searches raise."""
    window = (-(1 << 63) if asked.begin is None else asked.begin, _last(asked, (1 << 63) - 1))
    if asked.offset_id is not None:
        return store.answer_of(find_by_offset_id(store, parse_offset_id(asked.offset_id)))
    wanted = asked.key if asked.key is not None else asked.unique_key or ""
    if asked.scan:
        rows = scan(store, asked.topic, wanted, window=window)
        return store.answer_of([row for row in rows if asked.unique_key in (None, row["uniq_key"])])
    if asked.unique_key is not None:
        topics = topics_of(store) if asked.topic is None else [asked.topic]
        found = find_by_unique_key(store, asked.unique_key, topics)
        return store.answer_of([row for row in found if window[0] <= row["store_timestamp"] <= window[1]])
    topic = asked.topic or ""
    if asked.every:
        return store.query_all(topic, wanted, begin=asked.begin, end=asked.end)
    ask = store.query_exact if asked.exact else store.query
    return ask(topic, wanted, **_limits(asked))


def explained(store: OpenStore, asked: Asked) -> tuple[Answer, Explanation]:
    """The messages, and the path of a broker to the key.

    A chain on which a broker would never answer gives no messages, and is explained.
    """
    try:
        found = answer(store, asked)
    except InvalidError:
        found = Answer((), (), 0, 0, truncated=False)
    wanted = asked.key if asked.key is not None else asked.unique_key or ""
    return found, explain_walk(store, asked.topic or "", wanted, exact=asked.exact, **_limits(asked))


def _limits(asked: Asked) -> dict[str, int]:
    return {
        "max_num": _LIMIT if asked.max_num is None else asked.max_num,
        "begin": asked.begin or 0,
        "end": _last(asked, time.time_ns() // 1_000_000),
    }


def _last(asked: Asked, otherwise: int) -> int:
    return otherwise if asked.end is None else asked.end
