"""The stores of one job or read: the name of each, its files, and what became of it.

A store has one name, whatever else is read: its canonical path or URI, or the short name in `NAME=PATH`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypedDict

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.store import BrokerConf, StoreFile, despite_unreadable, shown_name
from rocket_spec.errors import FormatError, UsageError, error_line
from rocket_spec.layout import Geometry

from rocket_spark.files import (
    expand,
    find_files,
    find_roots,
    is_glob,
    is_remote,
    is_store,
    local_copy,
    storage_for,
    stripped,
)
from rocket_spark.tasks import GROUP_BYTES, Failures, JobError, Progress, Spark, run_tasks, silent

_NAMED: Final = re.compile(r"([\w@+-][\w.@+-]*)=(.+)", re.DOTALL)

_PART: Final = re.compile(
    r"(?<=[^/])/(?:(?:index|commitlog|config|timerlog)(?:/[^/]+)?|(?:batch)?consumequeue(?:_ext)?(?:/[^/]+){0,3}|checkpoint)$"
)
"""The part of a store at the end of a path."""


@dataclass(frozen=True, slots=True)
class JobStore:
    """One store of a job, with what is known of it beside its files.

    Attributes:
        path: its directory, or a URI (`s3://`, `hdfs://`) as a string; `NAME=PATH` also gives it a short name.
        commitlog: directories of its commit log outside of `commitlog` in it, in the same kind of storage.
        geometry: of its index files, unless the job is given one.
        queue_file_size: bytes of its consume-queue files, unless the job is given a size.
        conf: the broker's configuration.
    """

    path: str | Path
    commitlog: tuple[str, ...] = ()
    geometry: Geometry | None = None
    queue_file_size: int | None = None
    conf: BrokerConf | None = field(default=None, compare=False)


class JobOptions(TypedDict, total=False):
    """Options of every job on whole stores.

    Attributes:
        geometry: of the index files; else that of each `JobStore`, else it is inferred, store by store.
        storage: options of S3 and HDFS; see `rocket_spark.files.storage_for`.
        failed: receives the error of each store that cannot be read, instead of raising it; a job on a single store raises
            it in any case.
        progress: see `rocket_spark.tasks.Progress`.
    """

    geometry: Geometry | None
    storage: Mapping[str, str] | None
    failed: Failures | None
    progress: Progress


def split_name(text: str) -> tuple[str | None, str]:
    """The short name in `NAME=PATH`, None without one, and the path. A path that exists is a path, whatever is in it."""
    found = _NAMED.fullmatch(text)
    if found is None or (not is_remote(text) and os.path.lexists(text)):
        return None, text
    return found[1], found[2]


def absolute(folder: str) -> str:
    """A path or URI as tasks, which run in other directories, can use it."""
    return stripped(folder) if is_remote(folder) else os.path.abspath(storage_for(folder)[1])


def canonical(path: str) -> str:
    """The canonical name of a place: absolute and without symbolic links; of a URI, without slashes at its end."""
    if is_remote(path):
        return stripped(re.sub(r"^s3[an]://", "s3://", path, flags=re.IGNORECASE))
    return Path(os.path.realpath(storage_for(path)[1])).as_posix()


OnSkip = Callable[[str, str], None]  # receives the name of each file that a listing skips, and the reason


@dataclass(frozen=True, slots=True)
class FoundStore:
    """One store that was asked for, with all that a task needs to read it.

    Attributes:
        store: its name: the short one, else the canonical path of the store, of which `path` may be a part, as text.
        commitlog: absolute directories of its commit log outside of `commitlog` in it.
        geometry: as of `JobStore`, and so are `queue_file_size` and `conf`.
        weight: the cost of planning a store, in bytes: of many stores seven share a task.
    """

    store: str
    path: str
    storage: Mapping[str, str] = field(default_factory=dict[str, str])
    matched: bool = False
    commitlog: tuple[str, ...] = ()
    geometry: Geometry | None = None
    queue_file_size: int | None = None
    conf: BrokerConf | None = None
    weight: int = 8 << 20

    def files(
        self,
        kinds: Iterable[str] | None = None,
        on_skip: OnSkip = lambda _name, _reason: None,
        *,
        kind: str | None = None,
        strict: bool = True,
    ) -> list[StoreFile]:
        """As `rocket_spark.files.find_files`; a file has its name in the store, also where `path` is a part of it.

        If not `strict`, those on disks that cannot be opened are skipped with an `Unreadable` reason; OSError if nothing is left.
        """
        skipped: list[tuple[str, str]] = []

        def found() -> list[StoreFile]:
            skipped.clear()
            listed = find_files(
                self.path,
                kind,
                kinds=kinds,
                options=self.storage,
                commitlog=self.commitlog,
                on_skip=lambda *skip: skipped.append(skip),
            )
            return listed if strict else all_open(listed)

        try:
            files = found() if strict else despite_unreadable(found)
        except UsageError as error:
            raise UsageError(
                error.problem
            ) from error  # without the hint: neither jobs nor sources have such an option
        for skip in skipped:
            on_skip(*skip)
        root = self.store if self.path.startswith(f"{self.store}/") else _PART.sub("", self.path)
        if root == self.path:
            return files
        wholes = ((file, str(file.path) if file.source is None else file.source.name) for file in files)
        return [
            replace(file, name=shown_name(whole.removeprefix(f"{root}/")))
            if whole.startswith(f"{root}/")
            else file
            for file, whole in wholes
        ]

    def is_in_use(self) -> bool:
        """Whether the store has a file `abort`; OSError if it cannot be listed."""
        storage, uri = storage_for(self.path, self.storage)
        return any(info.name == "abort" for info in storage.list(uri))


def find_places(
    text: str, storage: Mapping[str, str] | None = None, *, recursive: bool = False
) -> list[FoundStore]:
    """The stores that a path, a URI or a glob stands for, with `NAME=` before it or without, in order.

    Raises UsageError: a glob that matches nothing, or a short name for several stores.
    Raises OSError: a directory cannot be listed.
    """
    name, path = split_name(text)
    matched = is_glob(path) and not _exists(path, storage)
    found = expand(path, storage) if matched else [path]
    if recursive:
        found = [root for place in found for root in find_roots(place, storage)]
        matched = True
    paths = list(dict.fromkeys(map(canonical, found)))
    if name is not None and len(paths) > 1:
        raise UsageError(f"{text}: stands for {len(paths):,} stores; one name is for one store")
    options = dict(storage or {})
    return [FoundStore(name or shown_name(_root(path, storage)), path, options, matched) for path in paths]


def _root(path: str, storage: Mapping[str, str] | None) -> str:
    """The store that a path is, or is a part of."""
    root = _PART.sub("", path)
    return path if root == path or is_store(path, storage) else root


def _exists(path: str, storage: Mapping[str, str] | None) -> bool:
    files, plain = storage_for(path, storage)
    try:
        files.stat(plain)
    except OSError:
        return False
    return True


StorePath = str | Path | JobStore | FoundStore
"""A path, a URI (`s3://`, `hdfs://`) as a string, a `JobStore`, or what was found; with `NAME=` before it, or a glob."""


def all_open(files: list[StoreFile]) -> list[StoreFile]:
    """The files; OSError for one on disks that cannot be opened. One that is gone is left to its task."""
    for file in files:
        with suppress(FileNotFoundError), file.open():
            pass
    return files


def require_apart(paths: Iterable[str], *, nested: bool = False) -> None:
    """Raises UsageError if a path is there twice or, unless it may be `nested`, inside another one."""
    parts = sorted(path.split("/") for path in paths)
    for before, after in pairwise(parts):  # in order, what is inside a directory follows it
        if before == after:
            raise UsageError(f"{'/'.join(after)}: named twice")
        if not nested and after[: len(before)] == before:
            raise UsageError(f"{'/'.join(after)}: overlaps {'/'.join(before)}")


def store_tasks(
    stores: StorePath | Sequence[StorePath],
    geometry: Geometry | None = None,
    storage: Mapping[str, str] | None = None,
    *,
    recursive: bool = False,
) -> list[FoundStore]:
    """The stores that were asked for, in order.

    UsageError for no store, one named twice, two of one name, one inside another, or several with one commit log.
    """
    tasks: list[FoundStore] = []
    for given in [stores] if isinstance(stores, str | Path | JobStore | FoundStore) else stores:
        found = [given] if isinstance(given, FoundStore) else _found(given, storage, recursive=recursive)
        tasks += [
            replace(task, commitlog=tuple(map(absolute, task.commitlog)), geometry=geometry or task.geometry)
            for task in found
        ]
    if not tasks:
        raise UsageError("no store to read")
    require_apart([task.path for task in tasks], nested=recursive)
    folders = [folder for task in tasks for folder in task.commitlog]
    if len(set(folders)) < len(folders):
        raise UsageError(f"commitlog {folders[0]}: belongs to one store, and {len(tasks):,} are read")
    paths: dict[str, str] = {}
    for task in tasks:
        if paths.setdefault(task.store, task.path) != task.path:
            raise UsageError(
                f"{task.store}: names two stores, {paths[task.store]} and {task.path}; "
                "give each a name of its own, NAME=PATH"
            )
    return tasks


def _found(
    given: str | Path | JobStore, storage: Mapping[str, str] | None, *, recursive: bool
) -> list[FoundStore]:
    """The stores that one path stands for, with what is given of them."""
    job = given if isinstance(given, JobStore) else JobStore(given)
    known = {name: getattr(job, name) for name in ("commitlog", "geometry", "queue_file_size", "conf")}
    return [replace(place, **known) for place in find_places(str(job.path), storage, recursive=recursive)]


_ALONE: Final = 64  # number of stores up to which each is a Spark task


class JobStores:
    """The stores of one job; `failed` are errors by the names of those that failed, for `progress` see `rocket_spark.tasks.Progress`."""

    def __init__(
        self,
        stores: StorePath | Sequence[StorePath],
        *,
        geometry: Geometry | None = None,
        storage: Mapping[str, str] | None = None,
        failed: Failures | None = None,
        progress: Progress = silent,
    ) -> None:
        """Takes what `JobOptions` describes; errors as of `store_tasks`."""
        self.progress = progress
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
        self, spark: Spark, work: Callable[..., Any], tasks: Sequence[Any], what: str = "stores"
    ) -> list[tuple[Any, Any]]:
        """Tasks with their results, as of `run_tasks` and `good`."""
        done = run_tasks(spark, work, tasks, what=what, failed=self._collected, progress=self.progress)
        return self.good(tasks, done)

    def good(self, tasks: Sequence[Any], results: Iterable[Any]) -> list[tuple[Any, Any]]:
        """Tasks with their results, without those of stores that failed; JobError if all stores did."""
        failed = self.failed
        if len(failed) == len(self.tasks):
            told = "; ".join(f"{name}: {error_line(error)}" for name, error in failed.items())
            raise JobError(f"no store can be read: {told}")
        pairs = zip(tasks, results, strict=True)
        return [(task, result) for task, result in pairs if task.store not in failed]

    def each(self, spark: Spark, work: Callable[[FoundStore], Any]) -> dict[str, Any]:
        """Results of `work` for each store that does not fail; few stores, which may be large, are Spark tasks of their own."""
        alone = len(self.tasks) <= _ALONE
        tasks = [replace(task, weight=GROUP_BYTES) for task in self.tasks] if alone else self.tasks
        return {task.store: found for task, found in self.run(spark, work, tasks)}


@contextmanager
def near(task: FoundStore) -> Iterator[tuple[Path, list[Path]]]:
    """In a task: the directory of a store and those of its log; a copy on the worker's disk if it is far away."""
    if not is_remote(task.path):
        yield Path(task.path), [Path(folder) for folder in task.commitlog]
        return
    files = task.files(TABLE_KINDS.values())
    if task.commitlog:
        files = [
            replace(file, name=f"commitlog/{file.path.name}") if file.kind == "log" else file
            for file in files
        ]
    with copied(files) as place:
        if task.is_in_use():
            (place / "abort").touch()
        yield place, []


@contextmanager
def copied(files: Iterable[StoreFile]) -> Iterator[Path]:
    """A directory on the worker's disk with copies of files that are far away."""
    with TemporaryDirectory(prefix="rocketspec-") as scratch:
        for file in files:
            local_copy(file, Path(scratch))
        yield Path(scratch)
