"""Jobs without Spark: their tasks run in this process, one after the other."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self

from pyspark import SparkContext


class InProcess(SparkContext):
    """A context for `rocket_spark.tasks.run_tasks`, whose tasks it passes on as Spark sends them."""

    def __init__(self) -> None:
        self._groups: list[Any] = []
        self._work: Callable[[Iterable[Any]], Iterator[bytes]] = iter

    def getConf(self) -> Any:  # noqa: N802 - Spark's name
        """Without a setting."""
        return {}

    def parallelize(self, c: Iterable[Any], numSlices: int | None = None) -> Any:  # noqa: N803 - Spark's name
        """The tasks, by Spark's tasks."""
        del numSlices
        self._groups = pickle.loads(pickle.dumps(list(c)))
        return self

    def mapPartitions(self, f: Callable[[Iterable[Any]], Iterator[bytes]]) -> Self:  # noqa: N802 - Spark's name
        """What is to be done."""
        self._work = f
        return self

    def collect(self) -> list[bytes]:
        """Does it."""
        return [outcome for group in self._groups for outcome in self._work([group])]

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802 - Spark's name
        """None."""

    def setLocalProperty(self, key: str, value: str | None) -> None:  # noqa: N802 - Spark's name
        """Does nothing, as there is no job whose group could be named."""

    def statusTracker(self) -> Any:  # noqa: N802 - Spark's name
        """One that knows no job."""
        return self

    def getJobIdsForGroup(self, _group: str) -> list[int]:  # noqa: N802 - Spark's name
        """None of any group."""
        return []

    def stop(self) -> None:
        """There is nothing to stop."""
