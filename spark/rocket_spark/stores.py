"""The stores of one job: the name of each in the output, and its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rocket_spec.errors import UsageError

from rocket_spark.files import find_files, is_remote, storage_for, stripped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rocket_columnar.store import StoreFile

__all__ = ["StorePath", "name_stores", "reasons", "store_files"]

StorePath = str | Path
"""A path, or a URI (`s3://`, `hdfs://`) as a string."""


def name_stores(stores: StorePath | Sequence[StorePath]) -> dict[str, str]:
    """Absolute paths or URIs by name: "" for a single store, else the path below their common folder (`broker-a/store`).

    Raises:
        UsageError: no store, one named twice, or one inside another.
    """
    given = [stores] if isinstance(stores, str | Path) else list(stores)
    if not given:
        raise UsageError("no store to read")
    paths = [_absolute(store) for store in given]
    if len(paths) == 1:
        return {"": paths[0]}
    parts = [path.split("/") for path in paths]
    for number, mine in enumerate(parts):
        for other in parts[:number]:
            if mine == other:
                raise UsageError(f"{paths[number]}: named twice")
            if mine[: len(other)] == other[: len(mine)]:
                raise UsageError(f"{paths[number]}: overlaps {'/'.join(other)}")
    common = next(number for number, names in enumerate(zip(*parts, strict=False)) if len(set(names)) > 1)
    return {"/".join(mine[common:]): path for mine, path in zip(parts, paths, strict=True)}


def _absolute(store: StorePath) -> str:
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
