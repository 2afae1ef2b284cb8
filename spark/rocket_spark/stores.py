"""The stores of one job: the name of each in the output, its files, and what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from rocket_columnar.store import StoreFile
from rocket_spec.errors import FormatError, UsageError
from rocket_spec.layout import Geometry

from rocket_spark.files import COMMITLOG, commit_logs, find_files, is_remote, storage_for, stripped
from rocket_spark.tasks import Failures, JobError, Progress, TaskOptions, run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Store:
    """One store of a job, with what is known of it beside its files.

    Attributes:
        path: its directory, or a URI (`s3://`, `hdfs://`) as a string.
        commitlog: directories of its commit log outside of `commitlog` in it, in the same kind of storage.
        geometry: of its index files, unless the job is given one.
        queue_file_size: bytes of its consume-queue files, unless the job is given a size.
    """

    path: str | Path
    commitlog: tuple[str, ...] = ()
    geometry: Geometry | None = None
    queue_file_size: int | None = None

    def options(self, storage: Mapping[str, str] | None) -> dict[str, str]:
        """The options of S3 and HDFS, and the directories of this store's commit log.

        Raises:
            UsageError: a directory with a comma in its path, which separates directories.
        """
        folders = [_absolute(folder) for folder in self.commitlog]  # tasks run in other directories
        for folder in folders:
            if "," in folder:
                raise UsageError(
                    f"{folder}: a comma separates directories of a commit log; a path cannot contain one"
                )
        return {**(storage or {}), **({COMMITLOG: ",".join(folders)} if folders else {})}


StorePath = str | Path | Store
"""A path, a URI (`s3://`, `hdfs://`) as a string, or a `Store`."""


class JobOptions(TypedDict, total=False):
    """What every job on whole stores takes.

    Attributes:
        geometry: of the index files; else that of each `Store`, else it is inferred, store by store.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        failed: receives the error of each store that cannot be read, instead of raising it; a job on a single store raises
            it in any case.
    """

    geometry: Geometry | None
    storage: Mapping[str, str] | None
    failed: Failures | None


def name_stores(stores: StorePath | Sequence[StorePath]) -> dict[str, Store]:
    """Stores, each with an absolute path or URI, by name: "" for a single one, else the path below their common folder.

    Raises:
        UsageError: no store, one named twice, or one inside another.
    """
    given = [stores] if isinstance(stores, str | Path | Store) else list(stores)
    if not given:
        raise UsageError("no store to read")
    each = [store if isinstance(store, Store) else Store(store) for store in given]
    paths = [_absolute(store.path) for store in each]
    parts = [path.split("/") for path in paths]
    order = sorted(range(len(parts)), key=parts.__getitem__)
    for before, number in pairwise(order):  # in order, what is inside a directory follows it
        if parts[before] == parts[number]:
            raise UsageError(f"{paths[number]}: named twice")
        if parts[number][: len(parts[before])] == parts[before]:
            raise UsageError(f"{paths[number]}: overlaps {paths[before]}")
    differ = (number for number, names in enumerate(zip(*parts, strict=False)) if len(set(names)) > 1)
    common = next(differ, len(parts[0]))
    return {
        "/".join(mine[common:]): replace(store, path=path)
        for mine, path, store in zip(parts, paths, each, strict=True)
    }


@dataclass(frozen=True, slots=True)
class StoreTask:
    """One store as a task takes it: its name, path or URI, what is given of its files, and options of its storage."""

    store: str
    path: str
    geometry: Geometry | None
    queue_file_size: int | None
    storage: dict[str, str]
    weight: int = 8 << 20
    """What planning a store costs, in bytes: eight small stores share a task."""

    def files(self, on_skip: Callable[[str, str], None] = lambda _name, _reason: None) -> list[StoreFile]:
        """The files of the store; errors as of `rocket_spark.files.find_files`."""
        try:
            return find_files(self.path, options=self.storage, on_skip=on_skip)
        except UsageError as error:
            raise UsageError(error.problem) from error  # without the hint: jobs have no such option

    @property
    def commitlog(self) -> list[str]:
        """Directories of the commit log outside of the store."""
        return commit_logs(self.storage)

    def is_in_use(self) -> bool:
        """Whether the store has a file `abort`; OSError if it cannot be listed."""
        storage, uri = storage_for(self.path, self.storage)
        return any(info.name == "abort" for info in storage.list(uri))


def store_tasks(
    stores: StorePath | Sequence[StorePath], geometry: Geometry | None, storage: Mapping[str, str] | None
) -> list[StoreTask]:
    """A task for each store; errors as of `name_stores`."""
    return [
        StoreTask(
            name, str(store.path), geometry or store.geometry, store.queue_file_size, store.options(storage)
        )
        for name, store in name_stores(stores).items()
    ]


class JobStores:
    """The stores of one job, and those of them that failed.

    Attributes:
        tasks: one for each store.
        failed: errors by the names of stores.
    """

    def __init__(
        self,
        stores: StorePath | Sequence[StorePath],
        *,
        geometry: Geometry | None = None,
        storage: Mapping[str, str] | None = None,
        failed: Failures | None = None,
    ) -> None:
        """Takes what `JobOptions` describes; errors as of `name_stores`."""
        self.tasks = store_tasks(stores, geometry, storage)
        self._collected = failed if len(self.tasks) > 1 else None

    @property
    def failed(self) -> Failures:
        """The error of each store that failed."""
        found = self._collected or {}
        return {task.store: found[task.store] for task in self.tasks if task.store in found}

    @property
    def paths(self) -> dict[str, str]:
        """Paths and URIs by name."""
        return {task.store: task.path for task in self.tasks}

    @contextmanager
    def planning(self, store: str) -> Iterator[None]:
        """Collects the error of a store that the block raises."""
        try:
            yield
        except (FormatError, UsageError, OSError) as error:
            if self._collected is None:
                raise
            self._collected[store] = error

    def run(
        self, spark: SparkSession, work: Callable[..., Any], tasks: Sequence[Any], **how: Unpack[TaskOptions]
    ) -> list[Any]:
        """The results of tasks, as of `run_tasks`; None for those that failed."""
        return run_tasks(spark, work, tasks, failed=self._collected, **how)

    def good(self, tasks: Sequence[Any], results: Iterable[Any]) -> list[tuple[Any, Any]]:
        """Tasks with their results, without those of stores that failed; JobError if all stores did."""
        failed = self.failed
        if len(failed) == len(self.tasks):
            told = "; ".join(f"{name}: {error}" for name, error in failed.items())
            raise JobError(f"no store can be read: {told}")
        pairs = zip(tasks, results, strict=True)
        return [(task, result) for task, result in pairs if task.store not in failed]

    def each(
        self, spark: SparkSession, work: Callable[[StoreTask], Any], progress: Progress
    ) -> dict[str, Any]:
        """What `work` returns for each store that does not fail."""
        done = self.run(spark, work, self.tasks, what="stores", progress=progress)
        return {task.store: found for task, found in self.good(self.tasks, done)}


def _absolute(store: str | Path) -> str:
    """Symbolic links are kept: their names may be those that the stores are known by."""
    if is_remote(str(store)):
        return stripped(str(store))
    _, path = storage_for(str(store))
    return Path(os.path.abspath(path)).as_posix()  # noqa: PTH100
