"""The files of a store: found by their place in it, else by what they hold.

A path may be one file, a directory of one kind, or the whole store. Nothing is opened but what has no place.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast, get_args

from rocket_spec.errors import UsageError
from rocket_spec.layout import ENTRY, MESSAGE_MAGIC

from rocket_columnar.formats import parse_int, parse_long
from rocket_columnar.store.detection import detect, entry_position
from rocket_columnar.store.reader import Source, open_reader, require_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from rocket_columnar.store.reader import Reader

__all__ = [
    "KINDS",
    "NO_NUMBER",
    "Kind",
    "Source",
    "StoreFile",
    "find_files",
    "is_gone",
    "placed_file",
    "protected_directories",
    "read_at",
    "shown_name",
    "while_listed",
    "while_there",
]

_T = TypeVar("_T")
Kind = Literal["index", "queue", "ext", "log", "checkpoint"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The kinds of files, in the order in which `find_files` lists them."""

NO_NUMBER: Final = "its name is not a number"
"""Why `find_files` leaves a file out that has another name than any of a store's."""

_TRIES: Final = 4
_CHOICES: Final = "--kind " + "|".join(KINDS)
_PLACES: Final[dict[str, Kind]] = {
    "index": "index",
    "consumequeue": "queue",
    "consumequeue_ext": "ext",
    "commitlog": "log",
    "checkpoint": "checkpoint",
}
_QUEUES: Final = ("consumequeue", "consumequeue_ext")
_MEMBER: Final = "dledger-"
_MEMBER_LOG: Final = "data"
"""A member of a DLedger group keeps its commit log in `dledger-ID/data/` (DLG-1)."""
_NAMES: Final = {
    "index": "index file",
    "queue": "consume-queue file",
    "ext": "consume-queue ext file",
    "log": "commit-log file",
    "checkpoint": "checkpoint",
}


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One file of a store.

    Attributes:
        kind: which layout it has.
        path: where it lies, beginning as the user's path did.
        name: its path relative to the store (to the given directory where no store is known), with `/`;
            the base name of a single file.
        topic: topic of a queue or ext file where the path tells it, else None.
        queue_id: queue number of a queue or ext file where the path tells it, else None.
        base_offset: of a queue, ext or log file the offset of its first byte in its queue or log, in bytes
            (its name, CQ-FILE-2, LOG-FILE-1); 0 for the other kinds.
        source: what is read in place of `path`: a file in memory, or one that is fetched.
        log: of a commit-log file the store, if its log is in several directories; else None.
    """

    kind: Kind
    path: Path
    name: str
    topic: str | None = None
    queue_id: int | None = None
    base_offset: int = 0
    source: Source | None = field(default=None, compare=False, repr=False)
    log: Path | None = field(default=None, compare=False, repr=False)

    @property
    def sequence(self) -> tuple[Path, str | None, int | None]:
        """What the files of one log, one queue or one ext queue have in common."""
        return self.log or self.path.parent, self.topic, self.queue_id

    @property
    def framed(self) -> bool:
        """Whether it is a file of DLedger mode, with a header before each record (DLG-2)."""
        folder = self.path.parent
        return self.kind == "log" and folder.name == _MEMBER_LOG and folder.parent.name.startswith(_MEMBER)

    def open(self) -> AbstractContextManager[Reader]:
        """Opens the file to read parts of it; OSError where it cannot be."""
        return open_reader(self.path, self.source)

    def size(self) -> int:
        """Bytes of the file; OSError where it is gone."""
        return self.path.stat().st_size if self.source is None else self.source.size


def is_gone(file: StoreFile) -> bool:
    """Whether nothing lies any more where a file was found."""
    return file.source is None and not os.path.lexists(file.path)


def while_there(files: Sequence[StoreFile], work: Callable[[Sequence[StoreFile]], _T]) -> _T:
    """What `work` makes of files, less those that a broker has deleted since they were listed.

    Raises:
        OSError: none of them is left, or one cannot be read.
    """
    while True:
        try:
            return work(files)
        except FileNotFoundError:
            left = [file for file in files if not is_gone(file)]
            if len(left) in (0, len(files)):
                raise
            files = left


def while_listed(work: Callable[[], _T]) -> _T:
    """What `work` gives, which lists files and opens them; done again where one was deleted in between.

    Raises:
        OSError: as `work` raises it, of a file that is missing after some tries, too.
    """
    for _ in range(_TRIES - 1):
        try:
            return work()
        except FileNotFoundError:
            continue
    return work()


@dataclass(frozen=True, slots=True)
class _Place:
    """What a path alone says: the kind, how deep below its folder it lies, and the store's root."""

    kind: Kind
    root: Path
    topic: str | None = None
    queue: str | None = None


def _skip_nothing(name: str, reason: str) -> None:
    """The default of `on_skip`."""


def _place(path: Path, *, is_file: bool) -> _Place | None:
    """The place of `path` in a store by its own and its parents' names, or None."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow the symbolic links that name the place)
    folder = whole.parent if is_file else whole
    parts = folder.parts
    for depth in (0, 1, 2):
        if len(parts) > depth and parts[-1 - depth] in _QUEUES and (not is_file or depth == 2):
            below = parts[len(parts) - depth :]
            root = Path(*parts[: len(parts) - depth - 1])
            return _Place(_PLACES[parts[-1 - depth]], root, *below)
    if len(parts) > 1 and parts[-2].startswith(_MEMBER):
        return _Place("log", folder.parent.parent) if parts[-1] == _MEMBER_LOG else None
    if parts and parts[-1] in ("index", "commitlog"):
        return _Place(_PLACES[parts[-1]], folder.parent)
    if is_file and whole.name == "checkpoint":
        return _Place("checkpoint", folder)
    return None


def placed_file(name: str, *, source: Source | None = None, path: Path | None = None) -> StoreFile | None:
    """The file of a store that has this name in it, such as `consumequeue/T/0/00000000000000000000`.

    Args:
        name: relative to the store, with `/`.
        source: reads it; see `Source`.
        path: where it lies, for a file without a source; by default the name itself.

    Returns:
        None for a name that is none of a store's files, as `find_files` would leave it out.
    """
    parts = name.split("/")
    if parts[0].startswith(_MEMBER):
        parts = ["commitlog", *parts[2:]] if parts[1:2] == [_MEMBER_LOG] else [""]
    kind = _PLACES.get(parts[0])
    path = Path(name) if path is None else path
    if kind == "checkpoint" or kind is None:
        return StoreFile("checkpoint", path, name, source=source) if name == "checkpoint" else None
    number = parse_long(parts[-1])
    if number is None or len(parts) != (4 if parts[0] in _QUEUES else 2):
        return None
    if kind == "index":
        return StoreFile(kind, path, name, source=source)
    if kind == "log":
        return StoreFile(kind, path, name, base_offset=number, source=source)
    queue_id = parse_int(parts[2])
    return None if queue_id is None else StoreFile(kind, path, name, parts[1], queue_id, number, source)


def protected_directories(path: Path) -> list[Path]:
    """The directories, symbolic links resolved, that nothing may be written into while `path` is read.

    They are `path` itself, or its folder where the path shows that the file lies in a store; the folders of
    that store; and all of it, where two of its parts show that it is one.
    """
    is_file = not path.is_dir()
    place = _place(path, is_file=is_file)
    kept = [] if is_file else [path]
    root = path if place is None else place.root
    parts = [root / name for name in _PLACES if (root / name).exists()]
    parts += [folder.parent for folder in _member_logs(root)]
    if place is not None or not is_file:
        kept += [part for part in parts if part.is_dir()]
    if place is not None and len(parts) > 1:
        kept.append(root)
    return [directory.resolve() for directory in kept]


def _is_store(path: Path) -> bool:
    return any((path / name).exists() for name in _PLACES) or bool(_member_logs(path))


def _member_logs(root: Path) -> list[Path]:
    """The commit-log directories of members of a DLedger group in a store."""
    members = [entry.name for entry in _entries(root) if entry.name.startswith(_MEMBER)]
    return [folder for name in members if (folder := root / name / _MEMBER_LOG).is_dir()]


def _entries(directory: Path, *, must_exist: bool = False) -> list[os.DirEntry[str]]:
    """The directory's entries in name order; one that is gone meanwhile, or is a file, has none."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise
        return []


def _irregular(entry: os.DirEntry[str]) -> str | None:
    """Why a directory's entry cannot be read as a file; "" where nothing lies there any more, None where it can."""
    if entry.is_file(follow_symlinks=False):  # which takes no system call
        return None
    try:
        mode = entry.stat().st_mode
    except FileNotFoundError:
        return "a symbolic link to nothing" if entry.is_symlink() else ""
    if stat.S_ISDIR(mode):
        return "a directory"
    return None if stat.S_ISREG(mode) else "not a regular file"


def shown_name(name: str) -> str:
    r"""A file's name, or part of one, as text that can be written anywhere: bytes that are no UTF-8 as `\xff`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class _Finder:
    """One search: the user's path, the root that names are relative to, and where skipped names go."""

    def __init__(
        self,
        path: Path,
        root: Path,
        skipped: list[tuple[str, str]],
        on_unreadable: Callable[[str, OSError], None] | None = None,
        commitlog: Sequence[Path] = (),
    ) -> None:
        self.path = path
        self.commitlog = commitlog
        self.on_unreadable = on_unreadable
        self.root = root
        self.skipped = skipped
        self._whole = Path(os.path.abspath(path))  # noqa: PTH100

    def name(self, path: Path) -> str:
        whole = self._whole / path.relative_to(self.path) if path.is_relative_to(self.path) else path
        if whole.is_relative_to(self.root):
            whole = whole.relative_to(self.root)
        return shown_name(whole.as_posix())

    def files(
        self, directory: Path, kind: Kind, topic: str | None = None, queue_id: int | None = None
    ) -> Iterator[StoreFile]:
        """The files of one folder whose names are numbers; 4.9.3 skips or refuses any other (IDX-FILE-4)."""
        found: list[tuple[int, StoreFile]] = []
        folder = self.name(directory)
        for entry in _entries(directory, must_exist=directory == self.path):
            name = shown_name(entry.name)
            name = name if folder == "." else f"{folder}/{name}"
            number = parse_long(entry.name)
            reason = NO_NUMBER if number is None else _irregular(entry)
            if number is None or reason is not None:
                if reason:
                    self.skipped.append((name, reason))
                continue
            base = 0 if kind == "index" else number
            found.append((base, StoreFile(kind, directory / entry.name, name, topic, queue_id, base)))
        # Index files stay in name order, in which 4.9.3 loads them.
        yield from (file for _, file in sorted(found, key=lambda pair: pair[0]))

    def topic(self, directory: Path, kind: Kind, topic: str) -> Iterator[StoreFile]:
        """The files of one topic's folder, queue by queue."""
        queues = []
        for entry in _entries(directory, must_exist=directory == self.path):
            queue_id = parse_int(entry.name)
            if queue_id is not None and entry.is_dir():
                queues.append((queue_id, entry.name))
        for queue_id, name in sorted(queues):
            yield from self.files(directory / name, kind, topic, queue_id)

    def topics(self, directory: Path, kind: Kind) -> Iterator[StoreFile]:
        """The files of all topics."""
        for entry in _entries(directory, must_exist=directory == self.path):
            try:
                found = (
                    list(self.topic(directory / entry.name, kind, shown_name(entry.name)))
                    if entry.is_dir()
                    else []
                )
            except OSError as error:
                if self.on_unreadable is None:
                    raise
                self.on_unreadable(self.name(directory / entry.name), error)
                continue
            yield from found

    def store(self, kinds: Collection[str]) -> Iterator[StoreFile]:
        """The files of the whole store that are of these kinds; other directories are not opened."""
        parts: dict[Kind, tuple[str, Callable[[], Iterable[StoreFile]]]] = {
            "index": ("index", lambda: self.files(self.path / "index", "index")),
            "queue": ("consumequeue", lambda: self.topics(self.path / "consumequeue", "queue")),
            "ext": ("consumequeue_ext", lambda: self.topics(self.path / "consumequeue_ext", "ext")),
            "log": ("commitlog", self.log),
            "checkpoint": ("checkpoint", self.checkpoint),
        }
        for kind, (name, listed) in parts.items():
            if kind not in kinds:
                continue
            try:
                yield from list(listed())
            except OSError as error:
                if self.on_unreadable is None:
                    raise
                self.on_unreadable(name, error)

    def checkpoint(self) -> Iterator[StoreFile]:
        """The checkpoint, if there is one."""
        for entry in _entries(self.path):
            if entry.name == "checkpoint":
                reason = _irregular(entry)
                if reason is None:
                    yield StoreFile("checkpoint", self.path / entry.name, entry.name)
                elif reason:
                    self.skipped.append((entry.name, reason))

    def log(self) -> list[StoreFile]:
        """The files of the commit log, from all its directories.

        They are plain ones, those of DLedger mode, or first the one and then the other (DLG-14).
        """
        members = _member_logs(self.path)
        if len(members) > 1:
            names = ", ".join(shown_name(folder.parent.name) for folder in members)
            raise UsageError(
                f"{self.path}: contains the logs of several DLedger members: {names}; expected one"
            )
        folders = (self.path / "commitlog", *members, *self.commitlog)
        files = [file for folder in dict.fromkeys(folders) for file in self.files(folder, "log")]
        files.sort(key=lambda file: file.base_offset)
        for before, file in pairwise(files):
            if before.base_offset == file.base_offset:
                raise UsageError(
                    f"{before.path} and {file.path}: two commit-log files of one name; expected one"
                )
        several = len({file.path.parent for file in files}) > 1
        return [replace(file, log=self.path) for file in files] if several else files

    def placed(self, place: _Place) -> Iterator[StoreFile]:
        """The files of a folder whose place in a store is known."""
        if place.kind in ("index", "log"):
            yield from self.files(self.path, place.kind)
        elif place.topic is None:
            yield from self.topics(self.path, place.kind)
        elif place.queue is None:
            yield from self.topic(self.path, place.kind, shown_name(place.topic))
        else:
            topic = shown_name(place.topic)
            yield from self.files(self.path, place.kind, topic, parse_int(place.queue))

    def unplaced(self) -> Iterator[StoreFile]:
        """The files of a folder without a place, each of the kind that its bytes tell."""
        for entry in _entries(self.path, must_exist=True):
            if _irregular(entry) is not None:
                continue
            path = self.path / entry.name
            kind = "checkpoint" if entry.name == "checkpoint" else _detect(path)
            if kind is None:
                self.skipped.append((self.name(path), f"of no known kind (use {_CHOICES})"))
            else:
                yield _single(path, kind)


def _detect(path: Path) -> Kind | None:
    try:
        with open_reader(path) as reader:
            return cast("Kind | None", detect(reader))
    except FileNotFoundError:
        return None


def _first_offset(path: Path) -> int:
    """The physical offset that the first record of a log file of another name gives itself, else 0."""
    with open_reader(path) as reader:
        if reader.size < 36:
            return 0
        head = reader.read(0, min(reader.size, ENTRY.size + 8)).tobytes()
    position = entry_position(head)
    if position is not None:
        return position
    (magic,) = struct.unpack_from(">i", head, 4)
    (offset,) = struct.unpack_from(">q", head, 28)
    return int(offset) if magic == MESSAGE_MAGIC else 0


def _single(path: Path, kind: Kind) -> StoreFile:
    """A file on its own: base name, and what its path tells."""
    place = _place(path, is_file=True)
    topic = queue_id = None
    if place is not None and place.kind == kind and place.queue is not None:
        topic, queue_id = shown_name(place.topic or ""), parse_int(place.queue)
    base = 0
    if kind in ("queue", "ext", "log"):
        number = parse_long(path.name)
        base = number if number is not None else _first_offset(path) if kind == "log" else 0
    return StoreFile(kind, path, shown_name(path.name), topic, queue_id, base)


def _from_file(path: Path, kind: Kind | None) -> StoreFile:
    place = _place(path, is_file=True)
    if kind is None and place is not None:
        kind = place.kind
    if kind is None:
        kind = _detect(path)
    if kind is None:
        what = (
            "an empty file" if path.stat().st_size == 0 else "neither its path nor its content identifies it"
        )
        raise UsageError(f"{path}: {what}; use {_CHOICES}")
    return _single(path, kind)


def _log_of_member(path: Path) -> Path:
    """The commit log of the DLedger member whose directory `path` is; any other path as it is.

    Raises:
        UsageError: DLedger's own index and bookkeeping, which are no files of a store.
    """
    *_, above, folder, name = ("", "", *Path(os.path.abspath(path)).parts)  # noqa: PTH100
    if name.startswith(_MEMBER) and (path / _MEMBER_LOG).is_dir():
        return path / _MEMBER_LOG
    own = name if folder.startswith(_MEMBER) else folder if above.startswith(_MEMBER) else _MEMBER_LOG
    if own != _MEMBER_LOG:
        raise UsageError(f"{path}: belongs to DLedger itself; the commit log is in {_MEMBER}*/{_MEMBER_LOG}/")
    return path


def find_files(
    path: Path | str,
    kind: str | None = None,
    *,
    kinds: Collection[str] = KINDS,
    commitlog: Sequence[Path | str] = (),
    on_skip: Callable[[str, str], None] = _skip_nothing,
    on_unreadable: Callable[[str, OSError], None] | None = None,
) -> list[StoreFile]:
    """The files at `path`: one file, a queue, topic, index or commit-log folder, or a whole store.

    The kind of a file is told by its place in a store, else by its bytes. Files come in a stable order: by
    kind, then index files by name, queue files by topic, queue number and offset, log files by offset. Files
    whose name is no number are left out, as 4.9.3 leaves out such index files (IDX-FILE-4).

    Args:
        path: a file or a directory; symbolic links are followed.
        kind: takes the file, or each file of a directory without a place, as this kind; of a store, only
            the files of this kind.
        kinds: of a whole store, only files of these kinds are looked for, and other directories are not opened.
        commitlog: directories of the store's commit log beside its own `commitlog`: those that the broker's settings
            `storePathCommitLog` and `readOnlyCommitLogStorePaths` name (STORE-17).
        on_skip: called with the name of each file left out, and the reason.
        on_unreadable: called with the name of each directory of a whole store that cannot be listed, and the error; by
            default the error is raised.

    Raises:
        UsageError: an unknown `kind`, a kind that cannot be told, or nothing found.
        OSError: a path that is missing, cannot be read, or is no regular file.
    """
    path = _log_of_member(Path(path))
    if kind is not None and kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}; use {_CHOICES}")
    folders = [_log_folder(Path(folder)) for folder in commitlog]
    mode = path.stat().st_mode
    if folders and not (stat.S_ISDIR(mode) and _is_store(path)):
        raise UsageError(f"{path}: not a store; commit-log directories belong to the directory of one")
    if not stat.S_ISDIR(mode):
        require_regular(path, mode)
        return [_from_file(path, kind)]
    skipped: list[tuple[str, str]] = []
    finder = _Finder(path, Path(os.path.abspath(path)), skipped, on_unreadable, folders)  # noqa: PTH100
    files = _in_directory(finder, kind, kinds if kind is None else (kind,))
    if not files:
        place = _place(path, is_file=False)
        none = "file of a store" if _is_store(path) else "store"
        what = none if kind is None and place is None else _NAMES[kind or cast("_Place", place).kind]
        others = f" among {len(skipped):,} files" if skipped else ""
        hint = "" if kind or place or _is_store(path) else f" (or use {_CHOICES})"
        raise UsageError(f"{path}: contains no {what}{others}{hint}")
    for name, reason in skipped:
        on_skip(name, reason)
    return files


def _log_folder(path: Path) -> Path:
    """A directory of a commit log; OSError if it is missing or none."""
    if not stat.S_ISDIR(path.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
    return path


def _in_directory(finder: _Finder, kind: Kind | None, kinds: Collection[str]) -> list[StoreFile]:
    """The files of a directory; the finder notes what is left out."""
    path = finder.path
    place = _place(path, is_file=False)
    if _is_store(path) and (place is None or place.topic is None):
        return list(finder.store(kinds))
    if place is not None and kind in (None, place.kind):
        finder.root = place.root
        return list(finder.placed(place))
    if kind == "checkpoint":
        raise UsageError(f"{path}: a directory; a checkpoint is one file")
    if kind is not None:
        return list(finder.files(path, kind))
    return sorted(finder.unplaced(), key=lambda file: KINDS.index(file.kind))


def read_at(file: StoreFile, at: int, length: int) -> bytes:
    """Bytes of a file from a place on, fewer where it has no more."""
    with file.open() as reader:
        return reader.read(at, max(min(length, reader.size - at), 0)).tobytes()
