"""Several stores that grow, followed by one stream."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError

from rocket_spark.reading.log_tail import LogTail
from rocket_spark.reading.options import Request
from rocket_spark.reading.partitions import FilePart
from rocket_spark.reading.queue_tail import QueueTail

Offsets = dict[str, int]

_BETWEEN: Final = " :: "
"""Between the name of a store and an offset of its own; the names of topics cannot contain it."""


def store_of(file: StoreFile) -> str:
    """What the name of a log or queue file begins with before the part that is its name in the store."""
    parts = file.name.split("/")
    depth = 4 if file.kind == "queue" else 3 if file.framed else 2
    return "/".join(parts[:-depth])


class StoresTail:
    """The logs or the queues of several stores as they are now; an offset holds those of every store.

    A store that appears later is read from its beginning.
    """

    def __init__(self, files: Mapping[str, list[StoreFile]], table: str) -> None:
        self.tails: dict[str, LogTail | QueueTail] = {
            store: LogTail(mine) if table == "commit_log" else QueueTail(mine)
            for store, mine in files.items()
        }

    def _each(self, work: Callable[[str, LogTail | QueueTail], Offsets]) -> Offsets:
        """The offsets that `work` gives for each store, together."""
        return {
            f"{store}{_BETWEEN}{name}": value
            for store, tail in self.tails.items()
            for name, value in work(store, tail).items()
        }

    def first(self) -> Offsets:
        """Where each store begins."""
        return self._each(lambda _, tail: tail.first())

    def checked(self, start: Offsets, *, fail_on_loss: bool) -> Offsets:
        """`start` with stores that are new; an error, or where to go on, if something is gone."""
        begins = _by_store(start)
        for store in begins.keys() - self.tails.keys():
            if fail_on_loss:
                raise UsageError(
                    f"{store}: the store is gone; the stream has read it before (failOnDataLoss=false goes on without it)"
                )
        found = self._each(
            lambda store, tail: (
                tail.checked(begins[store], fail_on_loss=fail_on_loss) if store in begins else tail.first()
            )
        )
        return start | found if begins.keys() - self.tails.keys() else found

    def last(self, begin: Offsets, max_rows: int | None, max_bytes: int | None) -> Offsets:
        """How far each store can be read; the stores share the limits equally, each gets at least one row."""
        begins, count = _by_store(begin), max(len(self.tails), 1)
        rows, size = (None if most is None else max(most // count, 1) for most in (max_rows, max_bytes))
        return begin | self._each(lambda store, tail: tail.last(begins[store], rows, size))

    def least(self, one: Offsets, other: Offsets) -> Offsets:
        """Of each store the offset that comes first."""
        return self._chosen(one, other, lambda tail: tail.least)

    def greatest(self, one: Offsets, other: Offsets) -> Offsets:
        """Of each store the offset that comes last."""
        return self._chosen(one, other, lambda tail: tail.greatest)

    def _chosen(
        self,
        one: Offsets,
        other: Offsets,
        choose: Callable[[LogTail | QueueTail], Callable[[Offsets, Offsets], Offsets]],
    ) -> Offsets:
        mine, others = _by_store(one), _by_store(other)
        known = mine.keys() & others.keys() & self.tails.keys()
        return one | self._each(
            lambda store, tail: (
                choose(tail)(mine[store], others[store]) if store in known else mine.get(store, {})
            )
        )

    def parts(self, begin: Offsets, end: Offsets, asked: Request) -> Iterator[FilePart]:
        """The rows between two offsets, store by store."""
        begins, ends = _by_store(begin), _by_store(end)
        for store, tail in self.tails.items():
            if store in ends:
                yield from tail.parts(begins.get(store) or tail.first(), ends[store], asked)


def _by_store(offsets: Offsets) -> dict[str, Offsets]:
    found: dict[str, Offsets] = {}
    for key, value in offsets.items():
        store, _, name = key.rpartition(_BETWEEN)
        found.setdefault(store, {})[name] = value
    return found
