"""A store as a directory that a task can open: itself, or a copy on the worker's disk."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rocket_columnar.decode import TABLE_KINDS
from rocket_columnar.store import StoreFile

from rocket_spark.files import is_remote, local_copy
from rocket_spark.stores import StoreTask


@contextmanager
def near(task: StoreTask) -> Iterator[tuple[Path, list[Path]]]:
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
