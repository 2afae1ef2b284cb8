"""What a task writes, and reads of earlier tasks: a file or a tree under a name that no other run of the task has."""

import errno
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from rocket_columnar.store import StoreFile

from rocket_spark.files import LocalStorage, Storage, local_copy, range_source, sync
from rocket_spark.output.manifest import ENTRY, task_id

WHOLE: Final = (0, 1 << 63)
"""All bytes of a file, for `fetched`."""

MOVES: Final = 16
"""Files that are copied at once; far away each takes a few round trips."""


@dataclass(frozen=True)
class Folder:
    """Where tasks write their attempts; can be sent to them."""

    storage: Storage
    uri: str

    @property
    def is_near(self) -> bool:
        """Whether it is a path of this machine."""
        return isinstance(self.storage, LocalStorage)


@contextmanager
def attempt(folder: Folder, name: str, *, synced: bool = True) -> Iterator[Path]:
    """In a task: a path of its own for one run to write a file or a tree to, stored when the block ends.

    What was written is removed when the block fails. The path's own name is what the driver commits. Without `synced` a
    local file need not outlive a crash of the machine: for what only this job reads.

    Raises:
        OSError: it cannot be written, what arrived has another length, or the job is over and its folder gone.
    """
    own = f"{name}.{uuid4().hex}"
    if folder.is_near:
        path = Path(folder.uri) / own
        try:
            yield path
            if synced:
                sync(path)
        except BaseException:
            folder.storage.remove(str(path))
            raise
        return
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
        path = Path(scratch) / own
        yield path

        def upload(file: Path) -> None:
            uri = f"{folder.uri}/{file.relative_to(scratch).as_posix()}"
            folder.storage.upload(file, uri)
            size, arrived = file.stat().st_size, folder.storage.stat(uri).size
            if arrived != size:
                raise OSError(errno.EIO, f"{arrived:,} bytes arrived of {size:,}", uri)

        found = path.rglob("*") if path.is_dir() else [path]
        with ThreadPoolExecutor(MOVES) as pool:
            list(pool.map(upload, (file for file in found if file.is_file())))


def note(folder: Folder, name: str, text: str, *, beside: str | None = None) -> None:
    """Writes a small file as a whole; OSError if the folder is gone.

    On disks it is written `beside` first, by default in `folder`, and renamed.
    """
    with ExitStack() as stack:
        scratch = beside or folder.uri
        if not folder.is_near:
            scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="rocketspec-"))
        path = Path(scratch) / f"{uuid4().hex}.tmp"
        path.write_text(text, "utf-8")
        folder.storage.upload(path, f"{folder.uri}/{name}")


@contextmanager
def fetched(folder: Folder, ranges: Mapping[str, tuple[int, int]]) -> Iterator[Path]:
    """In a task: a directory to read from what earlier tasks wrote, under the same names.

    Args:
        folder: where tasks write.
        ranges: by name, the first byte that is needed and the one after the last; other bytes may be absent.

    Raises:
        OSError: a file cannot be read, or its copy not be written.
    """
    if folder.is_near:
        yield Path(folder.uri)
        return
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:

        def copy(name: str, wanted: tuple[int, int]) -> None:
            uri = f"{folder.uri}/{name}"
            there = range_source(folder.storage, folder.storage.stat(uri))
            local_copy(StoreFile("log", Path(uri), name, source=there), Path(scratch), [wanted])

        with ThreadPoolExecutor(MOVES) as pool:
            list(pool.map(copy, ranges.keys(), ranges.values()))
        yield Path(scratch)


def journalled_in(folder: Folder, work: Callable[..., Any], job: str) -> Callable[..., Any]:
    """`work`, for tasks of a job, with an entry in `folder` for each that finishes; see `rocket_spark.output.manifest`."""

    @wraps(work)
    def run(task: Any, *rest: Any) -> Any:
        outcome = work(task, *rest)
        note(folder, f"{ENTRY}{task_id(task, job)}", json.dumps({"outcome": outcome}))
        return outcome

    return run
