"""The output folder of a job, by Spark's habits: tasks write below `_temporary`, the driver moves what counts, `_SUCCESS` is last.

A task writes under a name that no other run of it has, and returns that name to the driver. Spark gives the driver one
outcome for each task: of a task that was retried or ran twice, one copy is moved into place and the rest removed. A
folder without `_SUCCESS` is what a job left that was killed or failed while it moved files: `overwrite` replaces it.
"""

import errno
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from uuid import uuid4

from rocket_columnar.store import StoreFile, protected_directories
from rocket_spec.errors import UsageError

from rocket_spark.files import FileInfo, Storage, is_remote, local_copy, range_source, storage_for, stripped
from rocket_spark.tasks import JobError

SUCCESS: Final = "_SUCCESS"  # the empty file that is written last

TEMPORARY: Final = "_temporary"
"""The folder in which tasks write. Readers of such folders ignore names that begin with `_`."""

WHOLE: Final = (0, 1 << 63)  # all bytes of a file, for `fetched`

_MOVES: Final = 16  # files that are moved or copied at once; far away each takes a few round trips


@dataclass(frozen=True)
class Folder:
    """The folder in which tasks write their attempts; can be sent to them."""

    storage: Storage
    uri: str

    @property
    def is_near(self) -> bool:
        """Whether it is a path of this machine."""
        return self.storage.is_near


@contextmanager
def attempt(folder: Folder, name: str) -> Iterator[Path]:
    """In a task: a path of its own for one run to write a file or a tree to, stored when the block ends.

    What was written is removed when the block fails. The path's own name is what the driver moves. OSError also if what arrived has another
    length, or the job is over and its folder gone.
    """
    own = f"{name}.{uuid4().hex}"
    if folder.is_near:
        path = Path(folder.uri) / own
        try:
            yield path
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
        with ThreadPoolExecutor(_MOVES) as pool:
            list(pool.map(upload, (file for file in found if file.is_file())))


@contextmanager
def fetched(folder: Folder, ranges: Mapping[str, tuple[int, int]]) -> Iterator[Path]:
    """In a task: a directory to read from what earlier tasks wrote, under the same names.

    `ranges` has by name the first byte that is needed and the one after the last; other bytes may be absent. An OSError if a file cannot
    be read, or its copy not be written.
    """
    if folder.is_near:
        yield Path(folder.uri)
        return
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:

        def copy(name: str, wanted: tuple[int, int]) -> None:
            uri = f"{folder.uri}/{name}"
            there = range_source(folder.storage, folder.storage.stat(uri))
            local_copy(StoreFile("log", Path(uri), name, source=there), Path(scratch), [wanted])

        with ThreadPoolExecutor(_MOVES) as pool:
            list(pool.map(copy, ranges.keys(), ranges.values()))
        yield Path(scratch)


class Output:
    """The folder of one job while it runs; use it in a `with` block. `folder` is where tasks write."""

    def __init__(self, out: str | Path, storage: Mapping[str, str] | None = None) -> None:
        """Takes a folder that `check_out` accepted, and the options of its storage."""
        self.storage, uri = storage_for(str(out), storage)
        self.out = uri.rstrip("/")
        self._temporary = f"{self.out}/{TEMPORARY}"
        self.folder = Folder(self.storage, f"{self._temporary}/{uuid4().hex}")
        self._made: list[Path] = []
        self._earlier: list[str] = []

    def __enter__(self) -> Self:
        """Makes the folder; what an earlier job left in `_temporary` goes."""
        self.storage.remove(self._temporary)
        self._earlier = sorted(
            (info.name for info in _listed(self.storage, self.out)), key=lambda name: name != SUCCESS
        )
        if self.folder.is_near:
            out = Path(self.out)
            self._made = [path for path in (out, *out.parents) if not path.exists()]
            Path(self.folder.uri).mkdir(parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Removes what was not committed, and the folder if it did not exist before and is empty."""
        with suppress(OSError):
            if self.folder.is_near:
                # The slower copy of a task that ran twice may still write, and would keep what is removed from going.
                Path(self.folder.uri).rename(f"{self._temporary}/{uuid4().hex}")
                # Its one call that was under way during the rename may still make something behind a removal.
                for _ in range(3):
                    self.storage.remove(self._temporary)
            self.storage.remove(self._temporary)
            for path in self._made if kind is not None else ():
                path.rmdir()

    def commit(self, parts: Mapping[str, str]) -> dict[str, int]:
        """Removes earlier output, moves attempts into place and writes `_SUCCESS`; the bytes of each file.

        The names of the attempts come by their path in the folder, with `/`. JobError for one that is missing.
        """
        with ThreadPoolExecutor(_MOVES) as pool:
            sizes = dict(zip(parts, pool.map(self._size, parts.values()), strict=True))
            for name in self._earlier:
                self.storage.remove(f"{self.out}/{name}")
            list(pool.map(self._move, parts.values(), parts))
        with attempt(self.folder, SUCCESS) as path:
            path.touch()
        self._move(path.name, SUCCESS)
        return sizes

    def _size(self, name: str) -> int:
        uri = f"{self.folder.uri}/{name}"
        try:
            return self.storage.stat(uri).size
        except FileNotFoundError as error:
            raise JobError(f"{uri}: written by a task and missing since") from error

    def _move(self, name: str, place: str) -> None:
        self.storage.move(f"{self.folder.uri}/{name}", f"{self.out}/{place}")


def check_out(
    out: str | Path,
    stores: Iterable[str],
    owned: Collection[str],
    storage: Mapping[str, str] | None,
    *,
    overwrite: bool,
) -> str:
    """Refuses a folder that is inside a store that is read, or contains anything; else its absolute path, or its URI.

    With `overwrite` it may contain what such a job wrote: names in `owned`.
    """
    files, path = storage_for(str(out), storage)
    place = stripped(path) if is_remote(str(out)) else str(Path(path).absolute())
    require_outside(place, stores)
    names = {info.name for info in _listed(files, place)}
    if names and not overwrite:
        killed = " (a job is writing there, or was killed)" if TEMPORARY in names else ""
        raise UsageError(f"{out}: exists and is not an empty directory{killed}; choose a new one")
    foreign = sorted(names - {SUCCESS, TEMPORARY} - set(owned))
    if foreign:
        raise UsageError(
            f"{out}: contains {foreign[0]!r}, which was not written by rocketspec; refusing to overwrite"
        )
    return place


def require_outside(place: str, stores: Iterable[str]) -> None:
    """Raises UsageError for a folder that is inside one of the stores, by their paths and URIs."""
    if any(_is_inside(place, store) for store in stores):
        raise UsageError(f"{place}: is inside a store that is read; choose another directory")


def _listed(storage: Storage, uri: str) -> list[FileInfo]:
    """The content of a folder that may be missing; a file is named as if it were in it."""
    try:
        return storage.list(uri)
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        return [storage.stat(uri)]


def _is_inside(out: str, store: str) -> bool:
    if is_remote(out) != is_remote(store):
        return False
    if is_remote(out):
        return _place(out).startswith(_place(store))
    try:
        protected = list(protected_directories(Path(store)))
    except OSError:  # of a store that cannot be listed, which the job reports
        protected = [Path(store)]
    return any(Path(os.path.realpath(out)).is_relative_to(folder) for folder in protected)


def _place(uri: str) -> str:
    """The target of a URI, independent of the name of its scheme and the number of slashes."""
    return "/".join(part for part in uri.partition("://")[2].split("/") if part) + "/"
