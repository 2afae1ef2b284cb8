"""Follows the growing commit logs or consume queues of many stores, for streams and for batches between offsets.

An offset has that of each store, by the store's canonical path: `{"/data/a/store": {"phy_offset": n}}` of a commit log,
`{"/data/a/store": {"TOPIC/QUEUE": units}}` of consume queues.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from rocket_spec.errors import MalformedError, UsageError

from rocket_spark.reading.found import found_stores
from rocket_spark.reading.log_tail import LogTail
from rocket_spark.reading.options import Request
from rocket_spark.reading.parts import Cut, FilePart
from rocket_spark.reading.queue_tail import QueueTail

Offsets = dict[str, dict[str, int]]

_WORDS: Final = ("earliest", "latest")


def offsets_option(options: Mapping[str, str], name: str, default: str) -> str | Offsets:
    """`earliest`, `latest`, or offsets by store as JSON; UsageError for anything else."""
    text = options.get(name, default)
    if text in _WORDS:
        return text
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(own, dict) and all(type(value) is int for value in own.values()) for own in found.values()
    ):
        raise UsageError(
            f"option {name}: {text[:80]!r} is none of earliest, latest and JSON such as "
            '{"STORE": {"phy_offset": 0}} or {"STORE": {"TOPIC/QUEUE": 0}}'
        )
    return found


class StoreTails:
    """The logs, or the queues, of the stores of a read as they are now."""

    def __init__(self, request: Request, table: str, *, fail_on_loss: bool) -> None:
        """Lists the stores; errors as of `found_stores`."""
        self._fail = fail_on_loss
        self._cut = Cut(request.max_partition_rows, strict=request.mode == "FAILFAST")
        self._tails: dict[str, LogTail | QueueTail] = {}
        self._names: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self._turn = 0
        for store in found_stores(request, table, lacking=True):
            files = [file for file in store.files if file.size()]  # 0: made, not yet laid out
            self._names |= {store.name: store.path, store.path: store.path}
            if store.problem is not None:
                self._unreadable.add(store.path)
            elif files:
                kind = LogTail if table == "commit_log" else QueueTail
                self._tails[store.path] = kind(store.name, files)

    def first(self) -> Offsets:
        """The first offset of each store."""
        return {path: tail.first() for path, tail in self._tails.items()}

    def ends(self) -> Offsets:
        """After the last complete record or unit of each store."""
        return {path: tail.last(tail.first(), None, None)[0] for path, tail in self._tails.items()}

    def named(self, given: str | Offsets, option: str, *, others: str) -> Offsets:
        """The offsets in an option, in which a store has its name or its path; `others` is for stores without."""
        word = given if isinstance(given, str) else others
        base = self.first() if word == "earliest" else self.ends()
        for name, own in {} if isinstance(given, str) else given.items():
            path = self._names.get(name)
            if path is None:
                raise UsageError(f"option {option}: {name!r} is none of the stores: {', '.join(base)}")
            if path in base:
                base[path] = base[path] | own
        return base

    def checked(self, start: Offsets) -> Offsets:
        """`start`, with stores that came since; where data is gone, MalformedError or the offset to continue from."""
        if not all(isinstance(own, dict) for own in start.values()):
            raise UsageError(
                f"found offsets {json.dumps(start)[:80]}, expected those of each store: the checkpoint was written "
                "by an earlier version; begin with a new one"
            )
        for path in start.keys() - self._tails.keys() - self._unreadable if self._fail else ():
            raise self._gone(path)
        return start | {
            path: tail.checked(start[path], fail_on_loss=self._fail) if path in start else tail.first()
            for path, tail in self._tails.items()
        }

    def _gone(self, path: str) -> MalformedError:
        return MalformedError(
            file=path,
            found="no such files any more",
            expected="the store, where the stream stands; option failOnDataLoss=false goes on without",
        )

    def last(self, begin: Offsets, max_rows: int | None, max_bytes: int | None, turn: int = 0) -> Offsets:
        """The end of a trigger's reads. The stores share its limits, each in its turn: what one leaves is the next ones'."""
        end = dict(begin)
        paths = list(self._tails)
        shift = turn % max(len(paths), 1)
        for number, path in enumerate([*paths[shift:], *paths[:shift]]):
            left = len(paths) - number
            rows, size = (
                None if limit is None else -(-limit // left) if limit > 0 else 0
                for limit in (max_rows, max_bytes)
            )
            if 0 in (rows, size):
                continue
            tail = self._tails[path]
            end[path], count = tail.last(begin[path], rows, size)
            max_rows = None if max_rows is None else max_rows - count
            max_bytes = None if max_bytes is None else max_bytes - tail.bytes(begin[path], end[path])
        return end

    def limited(self, start: Offsets, begin: Offsets, end: Offsets, target: Offsets | None) -> Offsets:
        """`end`, not beyond `target`, nor before `begin`, and without stores that neither `start` nor `target` has."""
        found = dict(end)
        for path, tail in self._tails.items():
            if target is not None and path in target:
                found[path] = tail.least(end[path], begin[path] | target[path])
            elif target is not None:
                found[path] = begin[path]
                if path not in start:
                    del found[path]
                    continue
            found[path] = tail.greatest(found[path], begin[path])
        return found

    def parts(self, begin: Offsets, end: Offsets) -> Iterator[FilePart]:
        """The parts between two offsets; MalformedError if a store is gone with some of it."""
        for path, stop in end.items():
            if path in self._tails:
                yield from self._tails[path].parts(begin[path], stop, self._cut)
            elif self._fail and stop != begin.get(path):
                raise self._gone(path)
