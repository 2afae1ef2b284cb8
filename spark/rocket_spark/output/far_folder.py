"""An output folder on S3 or HDFS, by the rules of `local_folder`: moved into place once all tasks are done.

There is no rename of a folder there, and on S3 none of an object. `_SUCCESS`, written last in one piece, marks a folder
as complete; without it the content is unfinished. Tasks write to their own disk and upload to `_temporary`.
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

from rocket_spark.files import FarStorage, local_copy, range_source, storage_for
from rocket_spark.output.journal import ENTRY, read_entries
from rocket_spark.output.manifest import (
    COMING,
    MANIFEST,
    OWNER,
    SUCCESS,
    TEMPORARY,
    manifest_text,
    parsed_manifest,
)
from rocket_spark.tasks import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rocket_spark.files import FileInfo

__all__ = ["FarFolder", "FarOutput", "far_attempt", "far_fetched", "far_manifest", "far_names", "note_far"]

_MOVES: Final = 16
"""Files that are copied at once; each takes a few round trips."""


@dataclass(frozen=True)
class FarFolder:
    """Where tasks write."""

    storage: FarStorage
    uri: str


def _far(uri: str, options: Mapping[str, str] | None) -> tuple[FarStorage, str]:
    storage, uri = storage_for(uri, options)
    if not isinstance(storage, FarStorage):
        raise TypeError(f"{uri}: is a path of this machine")
    return storage, uri.rstrip("/")


def _listed(storage: FarStorage, uri: str) -> list[FileInfo]:
    try:
        return storage.list(uri)
    except FileNotFoundError:
        return []


def far_names(out: str, options: Mapping[str, str] | None) -> set[str]:
    """Names in the folder `out`; OSError if it cannot be listed."""
    storage, uri = _far(out, options)
    return {info.name for info in _listed(storage, uri)}


def _text(storage: FarStorage, info: FileInfo) -> str:
    return storage.opened(info.uri, info.size)(0, info.size).decode("utf-8", "replace")


def far_manifest(out: str, options: Mapping[str, str] | None) -> dict[str, Any]:
    """The manifest in the folder `out`; OSError if there is none, UsageError if it is damaged or of another version."""
    storage, uri = _far(out, options)
    try:
        info = storage.stat(f"{uri}/{MANIFEST}")
    except FileNotFoundError:
        info = storage.stat(f"{uri}/{COMING}")
    return parsed_manifest(_text(storage, info), uri)


def note_far(folder: FarFolder, name: str, text: str) -> None:
    """As `rocket_spark.output.local_folder.note_locally`."""
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:
        path = Path(scratch) / name
        path.write_text(text, "utf-8")
        folder.storage.upload(path, f"{folder.uri}/{name}")


@contextmanager
def far_attempt(folder: FarFolder, name: str) -> Iterator[Path]:
    """As `rocket_spark.output.local_folder.attempt`: what was written to the path is uploaded when the block ends.

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
    """As `rocket_spark.output.fetched`: copies on the worker's own disk, with holes for what is not needed."""
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as scratch:

        def copy(name: str, wanted: tuple[int, int]) -> None:
            uri = f"{folder.uri}/{name}"
            there = range_source(folder.storage, folder.storage.stat(uri))
            local_copy(StoreFile("log", Path(uri), name, source=there), Path(scratch), [wanted])

        with ThreadPoolExecutor(_MOVES) as pool:
            list(pool.map(copy, ranges.keys(), ranges.values()))
        yield Path(scratch)


class FarOutput:
    """As `rocket_spark.output.Output`."""

    def __init__(
        self,
        out: str,
        options: Mapping[str, str] | None,
        *,
        overwrite: bool = False,
        resume: bool = False,
        append: bool = False,
    ) -> None:
        """Takes the folder, the options of its storage, and what may be done with its content: see `open_out`."""
        self._overwrite = overwrite or append
        self._resume = resume
        self._append = append
        self.storage, self.out = _far(out, options)
        self._temporary = f"{self.out}/{TEMPORARY}"
        self.folder = FarFolder(self.storage, f"{self._temporary}/{'attempts' if resume else uuid4().hex}")
        self._placed: list[str] = []
        self._token = uuid4().hex
        self._there: dict[str, FileInfo] = {}

    def __enter__(self) -> Self:
        """Removes unfinished output of an earlier job; JobError if something appeared since the folder was checked."""
        there = _listed(self.storage, self.out)
        if self._append:
            names = {info.name for info in there}
            if COMING in names and MANIFEST not in names:
                self.storage.move(f"{self.out}/{COMING}", f"{self.out}/{MANIFEST}")
            there = [info for info in there if info.name == TEMPORARY]
        elif there and not self._replaces({info.name for info in there}):
            raise JobError(f"{there[0].uri}: appeared meanwhile; nothing is replaced")
        if self._resume:
            self._claim()  # first: an earlier job that still runs ends here
        for info in there:
            if not (self._resume and info.name == TEMPORARY):
                self.storage.remove(info.uri)
        if not self._resume:
            self._claim()
        return self

    def _claim(self) -> None:
        note_far(FarFolder(self.storage, self._temporary), OWNER, self._token)

    def _taken(self) -> bool:
        """Whether a later job uses the folder."""
        try:
            return _text(self.storage, self.storage.stat(f"{self._temporary}/{OWNER}")) != self._token
        except FileNotFoundError:
            return False

    def _require_own(self) -> None:
        if self._taken():
            raise JobError(f"{self.out}: another job has begun to write there; this one ends")

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Removes what was not committed, `_SUCCESS` first; an error in this does not hide the job's own."""
        with suppress(OSError):
            if kind is not None and self._taken():
                return
        placed = self._placed[::-1] if kind is not None else []
        kept = kind is not None and self._resume
        for uri in placed if kept else (*placed, self._temporary):
            with suppress(OSError):
                self.storage.remove(uri)

    def _replaces(self, names: set[str]) -> bool:
        """Whether these are unfinished output that may go."""
        return SUCCESS not in names and (self._overwrite or (self._resume and TEMPORARY in names))

    def finished(self) -> dict[str, Any]:
        """As `rocket_spark.output.Output.finished`."""
        if not self._resume:
            return {}
        with suppress(FileNotFoundError):
            self._there = {info.uri: info for info in self.storage.walk(self.folder.uri)}
        entries = [info for info in self._there.values() if info.name.startswith(ENTRY)]
        with ThreadPoolExecutor(_MOVES) as pool:
            texts = list(pool.map(lambda info: _text(self.storage, info), entries))
        return read_entries(dict(zip((info.name for info in entries), texts, strict=True)))

    def holds(self, name: str) -> bool:
        """As `rocket_spark.output.Output.holds`, of what was there when `finished` was called: one listing for all."""
        return f"{self.folder.uri}/{name}" in self._there

    def size(self, name: str) -> int:
        """Bytes of an attempt; JobError if it is missing."""
        uri = f"{self.folder.uri}/{name}"
        try:
            return self.storage.stat(uri).size
        except FileNotFoundError as error:
            raise JobError(f"{uri}: written by a task and missing since") from error

    def commit(self, parts: Mapping[str, str], facts: Mapping[str, Any]) -> None:
        """As `rocket_spark.output.Output.commit`.

        Raises:
            JobError: an attempt is missing, or something else was put into the folder meanwhile.
            OSError: a file cannot be moved into place.
        """
        self._require_own()
        before = [info.uri for info in _listed(self.storage, self.out) if info.name != TEMPORARY]
        if before:
            raise JobError(f"{before[0]}: appeared while the job ran; nothing is replaced")

        files = self._put(parts)
        self._write(MANIFEST, manifest_text(facts, sorted(files, key=lambda file: file["path"])))
        self._require_own()
        self._write(SUCCESS, "")

    def _put(self, parts: Mapping[str, str]) -> list[dict[str, Any]]:
        """Moves attempts to their places."""

        def put(place: str, name: str) -> dict[str, Any]:
            size = self.size(name)
            self._placed.append(f"{self.out}/{place}")
            if self._append:
                self.storage.remove(f"{self.out}/{place}")
            self.storage.move(f"{self.folder.uri}/{name}", f"{self.out}/{place}")
            return {"path": place, "bytes": size}

        with ThreadPoolExecutor(_MOVES) as pool:
            return list(pool.map(put, parts.keys(), parts.values()))

    def add(
        self, parts: Mapping[str, str], facts: Mapping[str, Any], kept: Sequence[Mapping[str, Any]]
    ) -> None:
        """As `rocket_spark.output.Output.add`."""
        self._require_own()
        self.storage.remove(f"{self.out}/{SUCCESS}")
        added = self._put(parts)
        files = sorted([*kept, *added], key=lambda file: str(file["path"]))
        # One of the two manifests is whole at any time: without it, rows of files that expired would be lost.
        self._write(COMING, manifest_text(facts, files))
        self._placed.clear()
        self.storage.remove(f"{self.out}/{MANIFEST}")
        self.storage.move(f"{self.out}/{COMING}", f"{self.out}/{MANIFEST}")
        self.clean(str(file["path"]) for file in files)
        self._write(SUCCESS, "")

    def clean(self, listed: Iterable[str]) -> None:
        """As `rocket_spark.output.Output.clean`."""
        wanted = {f"{self.out}/{place}" for place in listed}
        for info in list(self.storage.walk(self.out)):
            own = not info.uri[len(self.out) + 1 :].startswith("_")
            if own and not info.is_directory and info.name.startswith("part-") and info.uri not in wanted:
                self.storage.remove(info.uri)

    def _write(self, name: str, text: str) -> None:
        self._placed.append(f"{self.out}/{name}")
        note_far(FarFolder(self.storage, self.out), name, text)
