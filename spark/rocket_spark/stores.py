"""The stores of one job: the name of each in the output, and its files."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError
from rocket_spec.layout import Geometry

from rocket_spark.files import COMMITLOG, find_files, is_remote, storage_for, stripped


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
        options = dict(storage or {})
        folders = [_absolute(folder) for folder in self.commitlog]  # tasks run in other directories
        for folder in folders:
            if "," in folder:
                raise UsageError(
                    f"{folder}: a comma separates directories of a commit log; a path cannot contain one"
                )
        return options | {COMMITLOG: ",".join(folders)} if folders else options


StorePath = str | Path | Store
"""A path, a URI (`s3://`, `hdfs://`) as a string, or a `Store`."""


def stores_by_name(stores: StorePath | Sequence[StorePath]) -> dict[str, Store]:
    """The stores of a job by their names; see `name_stores`."""
    given = [stores] if isinstance(stores, str | Path | Store) else list(stores)
    each = [store if isinstance(store, Store) else Store(store) for store in given]
    return dict(zip(name_stores(given), each, strict=True))


def name_stores(stores: StorePath | Sequence[StorePath]) -> dict[str, str]:
    """Absolute paths or URIs by name: "" for a single store, else the path below their common folder (`broker-a/store`).

    Raises:
        UsageError: no store, one named twice, or one inside another.
    """
    given = [stores] if isinstance(stores, str | Path | Store) else list(stores)
    if not given:
        raise UsageError("no store to read")
    paths = [_absolute(store.path if isinstance(store, Store) else store) for store in given]
    if len(paths) == 1:
        return {"": paths[0]}
    parts = [path.split("/") for path in paths]
    order = sorted(range(len(parts)), key=parts.__getitem__)
    for before, number in pairwise(order):  # in order, what is inside a directory follows it
        if parts[before] == parts[number]:
            raise UsageError(f"{paths[number]}: named twice")
        if parts[number][: len(parts[before])] == parts[before]:
            raise UsageError(f"{paths[number]}: overlaps {paths[before]}")
    common = next(number for number, names in enumerate(zip(*parts, strict=False)) if len(set(names)) > 1)
    return {"/".join(mine[common:]): path for mine, path in zip(parts, paths, strict=True)}


@dataclass(frozen=True, slots=True)
class StoreTask:
    """One store as a task takes it: its name, path or URI, geometry if it is given, and options of its storage."""

    store: str
    path: str
    geometry: Geometry | None
    storage: dict[str, str]


def store_tasks(
    stores: StorePath | Sequence[StorePath], geometry: Geometry | None, storage: Mapping[str, str] | None
) -> list[StoreTask]:
    """A task for each store; errors as of `name_stores`."""
    paths = name_stores(stores)
    return [
        StoreTask(name, paths[name], geometry or store.geometry, store.options(storage))
        for name, store in stores_by_name(stores).items()
    ]


def _absolute(store: str | Path) -> str:
    """Symbolic links are kept: their names may be those that the stores are known by."""
    if is_remote(str(store)):
        return stripped(str(store))
    _, path = storage_for(str(store))
    return Path(os.path.abspath(path)).as_posix()  # noqa: PTH100


def store_files(
    store: str,
    storage: Mapping[str, str] | None,
    on_skip: Callable[[str, str], None] = lambda _name, _reason: None,
) -> list[StoreFile]:
    """The files of a store; `storage` has the options of S3 and HDFS; errors as of `rocket_spark.files.find_files`."""
    try:
        return find_files(store, options=storage, on_skip=on_skip)
    except UsageError as error:
        raise UsageError(error.problem) from error  # without the hint: jobs have no such option


def reasons(failed: Mapping[str, Exception], stores: Mapping[str, str]) -> str:
    """Errors of stores in one line."""
    return "; ".join(f"{name or stores[name]}: {error}" for name, error in failed.items())
