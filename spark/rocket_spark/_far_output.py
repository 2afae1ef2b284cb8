"""An output folder on S3 or HDFS, by the rules of `_commit`: what tasks wrote is put in place when all of it is there.

Without a rename of folders, nor of objects, the last word is `_SUCCESS`, which is one write of a whole object: without it
what lies there is a rest. Tasks write to their own disk, and upload to `_temporary`.
"""

from __future__ import annotations

import errno
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from rocket_columnar.store import StoreFile
from rocket_spec.errors import UsageError

from rocket_spark._commit import MANIFEST, SUCCESS, TEMPORARY, manifest_text
from rocket_spark.files import local_copy, storage_for
from rocket_spark.files._copy import source
from rocket_spark.files._storage import FarStorage
from rocket_spark.jobs import JobError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from rocket_spark.files import FileInfo

__all__ = ["FarFolder", "FarOutput", "check_far_out", "far_attempt", "far_fetched"]

_MOVES: Final = 16
"""Files that are copied at once: each is a few round trips."""


@dataclass(frozen=True)
class FarFolder:
    """Where tasks write."""

    storage: FarStorage
    uri: str


def _far(uri: str, options: Mapping[str, str] | None) -> tuple[FarStorage, str]:
    storage, uri = storage_for(uri, options)
    if not isinstance(storage, FarStorage):
        raise TypeError(f"{uri}: lies on this machine")
    return storage, uri.rstrip("/")


def _listed(storage: FarStorage, uri: str) -> list[FileInfo]:
    try:
        return storage.list(uri)
    except FileNotFoundError:
        return []


def check_far_out(
    out: str,
    stores: Collection[str],
    owned: Collection[str],
    options: Mapping[str, str] | None,
    *,
    overwrite: bool,
) -> None:
    """As `rocket_spark._commit.check_out`; `overwrite` lets pass what a job left that was killed, and nothing finished.

    Raises:
        UsageError: the folder will not do.
        OSError: it cannot be listed.
    """
    storage, uri = _far(out, options)
    for store in stores:
        if f"{out}/".startswith(f"{store}/"):
            raise UsageError(f"{out}: lies in the store that is read; choose another directory")
    names = {info.name for info in _listed(storage, uri)}
    if names and not overwrite:
        raise UsageError(f"{out}: exists and is not empty; name a new one to write to")
    if SUCCESS in names:
        raise UsageError(
            f"{out}: holds what a job finished; on S3 and HDFS that is not overwritten, remove it first"
        )
    foreign = sorted(names - {MANIFEST, TEMPORARY} - set(owned))
    if foreign:
        raise UsageError(f"{out}: holds {foreign[0]!r}, which no such job wrote; it is not overwritten")


@contextmanager
def far_attempt(folder: FarFolder, name: str) -> Iterator[Path]:
    """As `rocket_spark._commit.attempt`: what was written to the path is uploaded when the block ends.

    Raises:
        OSError: it cannot be written, or what arrived has another length.
    """
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
        path = Path(scratch) / f"{name}.{uuid4().hex}"
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
def far_fetched(folder: FarFolder, ranges: Mapping[str, tuple[int, int]]) -> Iterator[Path]:
    """As `rocket_spark._output.fetched`: copies of those bytes on the worker's own disk, with holes between.

    Raises:
        OSError: a file cannot be read, or the copy not written.
    """
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:

        def copy(name: str, wanted: tuple[int, int]) -> None:
            uri = f"{folder.uri}/{name}"
            there = source(folder.storage, folder.storage.stat(uri))
            local_copy(StoreFile("log", Path(uri), name, source=there), Path(scratch), [wanted])

        with ThreadPoolExecutor(_MOVES) as pool:
            list(pool.map(copy, ranges.keys(), ranges.values()))
        yield Path(scratch)


class FarOutput:
    """As `rocket_spark._commit.Output`."""

    def __init__(self, out: str, options: Mapping[str, str] | None, *, overwrite: bool = False) -> None:
        """Takes the folder, the options of its storage, and whether what a killed job left may be replaced."""
        self._overwrite = overwrite
        self._storage, self.out = _far(out, options)
        self._temporary = f"{self.out}/{TEMPORARY}"
        self.folder = FarFolder(self._storage, f"{self._temporary}/{uuid4().hex}")
        self._placed: list[str] = []

    def __enter__(self) -> Self:
        """Removes what an earlier job left unfinished; JobError for what came there since the folder was checked."""
        there = _listed(self._storage, self.out)
        if there and (not self._overwrite or any(info.name == SUCCESS for info in there)):
            raise JobError(f"{there[0].uri}: came there meanwhile; nothing is replaced")
        for info in there:
            self._storage.remove(info.uri)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Removes what was not committed, the last word first; an error there does not hide the job's own."""
        placed = self._placed[::-1] if kind is not None else []
        for uri in (*placed, self._temporary):
            with suppress(OSError):
                self._storage.remove(uri)

    def size(self, name: str) -> int:
        """Bytes of an attempt; JobError where it is gone."""
        uri = f"{self.folder.uri}/{name}"
        try:
            return self._storage.stat(uri).size
        except FileNotFoundError as error:
            raise JobError(f"{uri}: written by a task, and gone") from error

    def commit(self, parts: Mapping[str, str], facts: Mapping[str, Any]) -> None:
        """As `rocket_spark._commit.Output.commit`.

        Raises:
            JobError: an attempt is gone, or something else came into the folder meanwhile.
            OSError: a file cannot be put in place.
        """
        before = [info.uri for info in _listed(self._storage, self.out) if info.name != TEMPORARY]
        if before:
            raise JobError(f"{before[0]}: came there while the job ran; nothing is replaced")

        def put(place: str, name: str) -> dict[str, Any]:
            size = self.size(name)
            self._placed.append(f"{self.out}/{place}")
            self._storage.move(f"{self.folder.uri}/{name}", f"{self.out}/{place}")
            return {"path": place, "bytes": size}

        with ThreadPoolExecutor(_MOVES) as pool:
            files = list(pool.map(put, parts.keys(), parts.values()))
        self._write(MANIFEST, manifest_text(facts, sorted(files, key=lambda file: file["path"])))
        self._write(SUCCESS, "")

    def _write(self, name: str, text: str) -> None:
        self._placed.append(f"{self.out}/{name}")
        with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
            path = Path(scratch) / name
            path.write_text(text, "utf-8")
            self._storage.upload(path, f"{self.out}/{name}")
