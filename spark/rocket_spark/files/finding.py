"""A store under a URI, found as under a local path: by place and name, else by what a file begins with.

What is listed far away is laid out again in a temporary directory, as files of the same names and sizes that
are nothing but holes, and the engine's own search looks through these.
"""

import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from pathlib import Path
from typing import Final

from rocket_columnar.store import KINDS, StoreFile
from rocket_columnar.store import find_files as find_local
from rocket_spec.errors import UsageError

from rocket_spark.files.storage import FileInfo, Storage, range_source, scheme_of, storage_for

_PLACES: Final = {
    "index": "index",
    "consumequeue": "queue",
    "consumequeue_ext": "ext",
    "commitlog": "log",
    "checkpoint": "checkpoint",
    "batchconsumequeue": "batch",
    "timerlog": "timer_log",
    "config": "config",
}

_MARKS: Final = frozenset(_PLACES) - {"config"}  # names that show a store

_HEAD: Final = 4096  # bytes that identify a file's kind if its place does not

_GLOB: Final = re.compile(r"[*?\[]")


def is_glob(path: str) -> bool:
    """Whether a path has characters of a glob."""
    return _GLOB.search(path) is not None


def expand(uri: str, options: Mapping[str, str] | None = None) -> list[str]:
    """The paths that a glob (`*`, `?`, `[...]`, within one name) stands for, in order; UsageError if it matches nothing."""
    storage, path = storage_for(uri, options)
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if _GLOB.search(part))
    found = ["/".join(parts[:first]) or ("/" if path.startswith("/") else ".")]
    for depth, part in enumerate(parts[first:], first):
        matches = re.compile(translate(part)).match
        last = depth == len(parts) - 1
        found = [
            info.uri
            for above in found
            for info in _listed(storage, above)
            if matches(info.name) and (last or info.is_directory)
        ]
    if not found:
        raise UsageError(f"{uri}: matches nothing")
    return found


def _listed(storage: Storage, uri: str) -> list[FileInfo]:
    try:
        return storage.list(uri)
    except (FileNotFoundError, NotADirectoryError):  # removed meanwhile
        return []


def is_store(uri: str, options: Mapping[str, str] | None = None) -> bool:
    """Whether `uri` is the directory of a store, which need not have files yet."""
    storage, path = storage_for(uri, options)
    return any(
        info.name in _MARKS or info.name.startswith("dledger-")
        for info in _listed(storage, path)
        if info.is_directory or info.name == "checkpoint"
    )


def find_roots(uri: str, options: Mapping[str, str] | None = None) -> list[str]:
    """The stores below `uri`, at whatever depth, and the directories with files outside of stores; in order."""
    storage, path = storage_for(uri, options)
    if not storage.stat(path).is_directory:
        return [path]
    return list(_roots(storage, path, storage.list(path)))


def _roots(storage: Storage, uri: str, children: list[FileInfo]) -> Iterator[str]:
    if any(child.name in _MARKS for child in children):
        yield uri
        return
    if any(not child.is_directory for child in children):
        yield uri
    for child in children:
        if child.is_directory:
            yield from _roots(storage, child.uri, _listed(storage, child.uri))


def find_files(
    uri: str,
    kind: str | None = None,
    *,
    kinds: Iterable[str] | None = None,
    options: Mapping[str, str] | None = None,
    commitlog: Sequence[str] = (),
    on_skip: Callable[[str, str], None] = lambda _name, _reason: None,
) -> list[StoreFile]:
    """As `rocket_columnar.store.find_files`, of a path or a URI; UsageError also for a scheme that is not read, or a wrong option.

    A file that is not on a local disk has a `source` that reads it by ranges and can be sent to a task, its URI as the source's name, and a
    path that is only good for its name. `options` are of the storage, see `storage_for`; `commitlog` are further directories of the store's
    commit log, in the same kind of storage (STORE-17).
    """
    storage, path = storage_for(uri, options)
    every = frozenset(KINDS if kinds is None else kinds)
    for folder in commitlog:
        if scheme_of(folder) != scheme_of(path):
            raise UsageError(
                f"{folder}: not in the storage of {uri}, as all directories of a commit log must be"
            )
    if storage.is_near:
        return find_local(path, kind, kinds=every, commitlog=commitlog, on_skip=on_skip)
    top = storage.stat(path)
    listed = list(_below(storage, top, every if kind is None else {kind})) if top.is_directory else [top]
    with tempfile.TemporaryDirectory(prefix="rocketspec-") as directory:
        skeleton = _Skeleton(storage, top, listed, Path(directory))
        for folder in commitlog:
            skeleton.add_log(folder)
        return skeleton.find(kind, every, on_skip)


def _below(storage: Storage, top: FileInfo, kinds: Collection[str]) -> Iterator[FileInfo]:
    """The content below, without the folders of a store that hold other kinds."""
    children = storage.list(top.uri)
    yield from children
    in_store = any(child.name in _MARKS for child in children)
    for child in children:
        kind = "log" if child.name.startswith("dledger-") else _PLACES.get(child.name)
        if child.is_directory and (kind in kinds or not in_store):
            yield from storage.walk(child.uri)


class _Skeleton:
    """The listing laid out as files of holes."""

    def __init__(self, storage: Storage, top: FileInfo, listed: list[FileInfo], directory: Path) -> None:
        self.storage = storage
        self.top = top
        self.base = top.uri.rstrip("/")
        self.directory = directory
        self.logs: dict[Path, str] = {}
        # The three names above a file are its topic, its queue, and the folder of queues.
        parts = [part for part in self.base.partition("://")[2].split("/") if part not in ("", ".", "..")]
        self.root = directory.joinpath("store", *parts[-4:])
        self.infos: dict[Path, FileInfo] = {}
        if top.is_directory:
            self.root.mkdir(parents=True)
        for info in listed:
            below = info.uri[len(self.base) :].strip("/")
            self._lay(self.root / below if below else self.root, info)

    def _lay(self, place: Path, info: FileInfo) -> None:
        """Makes a directory, or a file of a hole."""
        if info.is_directory:
            place.mkdir(parents=True, exist_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            file.truncate(info.size)
        self.infos[place] = info

    def add_log(self, uri: str) -> None:
        """Adds a directory of the commit log that is outside of the store."""
        place = self.directory / "logs" / str(len(self.logs))
        place.mkdir(parents=True)
        self.logs[place] = uri.rstrip("/")
        for info in self.storage.list(uri):
            self._lay(place / info.name, info)

    def find(
        self, kind: str | None, kinds: Collection[str], on_skip: Callable[[str, str], None]
    ) -> list[StoreFile]:
        """The files found, each with its source: by their places, else by what they begin with."""
        skipped: list[tuple[str, str]] = []

        def found() -> list[StoreFile]:
            skipped.clear()
            return find_local(
                self.root,
                kind,
                kinds=kinds,
                commitlog=list(self.logs),
                on_skip=lambda *skip: skipped.append(skip),
            )

        files: list[StoreFile] = []
        unclear = not self.top.is_directory
        if not unclear:
            try:
                files = found()
            except UsageError:
                unclear = True
        if unclear or any(reason.startswith("of no known kind") for _, reason in skipped):
            self._fetch_heads()
            try:
                files = found()
            except UsageError as error:
                raise UsageError(self._named(error.problem), hint=error.hint) from None
        for name, reason in skipped:
            on_skip(self._named(name), reason)
        return [self._far(file) for file in files]

    def _fetch_heads(self) -> None:
        """Fetches the first bytes of the files beside each other at the top."""
        for place, info in self.infos.items():
            if place in (self.root, self.root / place.name) and info.size:
                head = self.storage.opened(info.uri, info.size)(0, min(_HEAD, info.size))
                with place.open("r+b") as file:
                    file.write(head)

    def _named(self, text: str) -> str:
        """A text with the URIs in place of the paths of the skeleton."""
        for place, uri in (*self.logs.items(), (self.root, self.base)):
            text = text.replace(str(place), uri)
        return text

    def _far(self, file: StoreFile) -> StoreFile:
        info = self.infos[file.path]
        log = None if file.log is None else Path(self.base)
        source = range_source(self.storage, info)
        return replace(file, path=Path(info.uri), name=self._named(file.name), source=source, log=log)
