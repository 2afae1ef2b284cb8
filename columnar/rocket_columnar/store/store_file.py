"""One file of a store and its place, which directories belong to a store, and work on files that a broker may delete at any time."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from rocket_spec.errors import UsageError

from rocket_columnar.formats import parse_int, parse_long
from rocket_columnar.store.reader import Reader, Source, open_reader, raise_of_process, settled

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_T = TypeVar("_T")
Kind = Literal["index", "queue", "ext", "log", "checkpoint", "config", "batch", "timer_wheel", "timer_log"]

ALL_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The kinds of files, in the order in which `find_files` lists them."""

KINDS: Final = ALL_KINDS[:5]
"""Those of the store itself as 4.9.3 writes it, without the broker's configuration."""

LATER_KINDS: Final = ALL_KINDS[6:]  # those that 5.x adds: batch queues, the timer wheel and its log

CONFIG_TABLES: Final = {
    "consumerOffset.json": "consumer_offsets",
    "delayOffset.json": "delay_offsets",
    "topics.json": "topics",
    "subscriptionGroup.json": "subscription_groups",
    "consumerFilter.json": "consumer_filters",
}
"""Names of the files in `config/`, and their tables; beside each may be a `.bak` (CFG-1)."""

LIGHT: Final = "%LMQ%"  # prefix of the topics of light queues (CQ-LMQ-2)

MEMBER: Final = "dledger-"  # prefix of the directories of a DLedger group's members (DLG-1)

MEMBER_LOG: Final = "data"
"""The directory of a member that contains its commit log: `dledger-ID/data/` (DLG-1)."""

_TRIES: Final = 4  # of work that lists files and opens them


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One file of a store.

    Attributes:
        kind: which layout it has.
        path: where the file is, beginning with the path that the user gave.
        name: its path relative to the store (or to the given directory if no store is known), with `/`;
            the base name of a single file.
        topic: topic of a queue or ext file if the path contains it, else None.
        queue_id: queue number of a queue or ext file if the path contains it, else None.
        base_offset: of a queue, ext or log file the offset of its first byte in its queue or log, in bytes
            (its name, CQ-FILE-2, LOG-FILE-1); 0 for the other kinds.
        source: read instead of `path`: a file in memory, or one that is fetched.
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
        """The log, queue or ext queue that the file belongs to."""
        return self.log or self.path.parent, self.topic, self.queue_id

    @property
    def config_table(self) -> str | None:
        """The table of a file in `config/`; None of any other file."""
        return CONFIG_TABLES.get(self.path.name.removesuffix(".bak")) if self.kind == "config" else None

    @property
    def framed(self) -> bool:
        """Whether it is a file of DLedger mode, with a header before each record (DLG-2)."""
        folder = self.path.parent
        return self.kind == "log" and folder.name == MEMBER_LOG and folder.parent.name.startswith(MEMBER)

    @property
    def light(self) -> bool:
        """Whether it is a file of a light queue."""
        return self.topic is not None and self.topic.startswith(LIGHT)

    def named(self, offset: int) -> str:
        """The name of the file of this log or queue that begins at an offset."""
        folder, slash, _ = self.name.rpartition("/")
        return f"{folder}{slash}{offset_name(offset)}"

    def open(self) -> AbstractContextManager[Reader]:
        """Opens the file to read parts of it; OSError if that fails."""
        return open_reader(self.path, self.source)

    def size(self) -> int:
        """Size in bytes; OSError if the file no longer exists."""
        return self.path.stat().st_size if self.source is None else self.source.size

    def resized(self, size: int) -> StoreFile:
        """The file as it would be with another length: cut off, or with zeros at its end."""
        if size_of(self) == size:
            return self

        def read(offset: int, length: int) -> bytes:
            return read_at(self, offset, length).ljust(min(length, size - offset), b"\0")

        return replace(self, source=Source(str(self.path), size, read))


def offset_name(offset: int) -> str:
    """The name of a file that begins at an offset of its log or queue (`UtilAll.offset2FileName`)."""
    return f"{'-' * (offset < 0)}{abs(offset):020}"


def is_gone(file: StoreFile) -> bool:
    """Whether a file that was found no longer exists."""
    return file.source is None and not os.path.lexists(file.path)


def while_there(files: Sequence[StoreFile], work: Callable[[Sequence[StoreFile]], _T]) -> _T:
    """The result of `work` for the files without those that a broker has deleted since they were listed; OSError if none is left."""
    while True:
        try:
            return work(files)
        except FileNotFoundError:
            left = [file for file in files if not is_gone(file)]
            if len(left) in (0, len(files)):
                raise
            files = left


def while_listed(work: Callable[[], _T]) -> _T:
    """The result of `work`, which lists files and opens them; called again, several times at most, if one was deleted in between."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except FileNotFoundError:
            continue
    return work()


def shown_name(name: str) -> str:
    r"""A file's name, or part of one, as text that can be written anywhere: bytes that are not UTF-8 as `\xff`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read_at(file: StoreFile, at: int, length: int) -> bytes:
    """`length` bytes of a file from position `at` on, fewer at its end."""
    with file.open() as reader:
        return reader.read(at, max(min(length, reader.size - at), 0)).tobytes()


def usual_size(sizes: Sequence[int], *, unit: int = 1) -> int:
    """The length that most files have, 0 without files; of several equally frequent ones a whole number of units, then the larger."""
    counts = Counter(sizes)
    return max(counts, key=lambda size: (counts[size], size % unit == 0, size), default=0)


def log_length(files: Sequence[StoreFile], sizes: Sequence[int]) -> int:
    """The length that log files should have: that of most, or the least distance of their names where all lengths differ."""
    if len(files) > 1 and len(set(sizes)) == len(sizes):
        step = min(after.base_offset - before.base_offset for before, after in pairwise(files))
        return step or usual_size(sizes)
    return usual_size(sizes)


def file_at(files: Sequence[StoreFile], offset: int) -> StoreFile | None:
    """The last of some files, in the order of their offsets, that begins at an offset of their log or queue, or before it."""
    number = bisect_right(files, offset, key=lambda file: file.base_offset)
    return files[number - 1] if number else None


def by_queue(files: Iterable[StoreFile]) -> dict[tuple[str, int], list[StoreFile]]:
    """The files of each queue, by its topic and number, in their order."""
    queues: dict[tuple[str, int], list[StoreFile]] = {}
    for file in files:
        queues.setdefault((file.topic or "", file.queue_id or 0), []).append(file)
    return queues


def sized(files: Iterable[StoreFile]) -> list[tuple[StoreFile, int]]:
    """The files with their lengths in bytes, without those that no longer exist."""
    sizes = ((file, size_of(file)) for file in files)
    return [(file, size) for file, size in sizes if size is not None]


def of_usual_size(sizes: Sequence[tuple[StoreFile, int]]) -> list[StoreFile]:
    """The files that have the length of most."""
    usual = usual_size([size for _, size in sizes])
    return [file for file, size in sizes if size == usual]


def size_of(file: StoreFile) -> int | None:
    """Length of a file in bytes; None if it no longer exists."""
    if file.source is not None:
        return file.source.size
    try:
        return settled(file.path.stat).st_size
    except FileNotFoundError:
        return None


# Places in a store: the kind, topic and queue that follow from a path, and which directories belong to a store.


_PLACES: Final[dict[str, Kind]] = {
    "index": "index",
    "consumequeue": "queue",
    "consumequeue_ext": "ext",
    "commitlog": "log",
    "checkpoint": "checkpoint",
    "batchconsumequeue": "batch",
    "timerwheel": "timer_wheel",
    "timerlog": "timer_log",
}
_QUEUES: Final = ("consumequeue", "consumequeue_ext", "batchconsumequeue")
_FOLDERS: Final = ("index", "commitlog", "timerlog")

_PLACES_PARTS: Final = ("commitlog", "consumequeue")

_OWN: Final = ("index", "checkpoint", "currterm")  # DLedger's own files in a member's directory


@dataclass(frozen=True, slots=True)
class PathFacts:
    """Facts about a file that follow from its path alone."""

    kind: Kind  # of the file, or of the files in the directory
    root: Path
    topic: str | None = None  # if the path is inside a topic's directory, else None
    queue: str | None = None  # name of the queue's directory if the path is inside one, else None


def place_of(path: Path, *, is_file: bool) -> PathFacts | None:
    """The place of `path` in a store by its own and its parents' names, or None."""
    whole = Path(os.path.abspath(path))
    folder = whole.parent if is_file else whole
    parts = folder.parts
    for depth in (0, 1, 2):
        if len(parts) > depth and parts[-1 - depth] in _QUEUES and (not is_file or depth == 2):
            below = parts[len(parts) - depth :]
            root = Path(*parts[: len(parts) - depth - 1])
            return PathFacts(_PLACES[parts[-1 - depth]], root, *below)
    if parts and parts[-1] in (MEMBER_LOG, *_OWN) and _is_member(folder.parent):
        return PathFacts("log", folder.parent.parent) if parts[-1] == MEMBER_LOG else None
    if parts and parts[-1] in _FOLDERS:
        return PathFacts(_PLACES[parts[-1]], folder.parent)
    if is_file and whole.name == "checkpoint":
        return PathFacts("checkpoint", folder)
    if is_file and is_timer_wheel(whole.name):
        return PathFacts("timer_wheel", folder)
    if parts and parts[-1] == "config" and (not is_file or whole.name.removesuffix(".bak") in CONFIG_TABLES):
        return PathFacts("config", folder.parent)
    return None


def placed_file(name: str, *, source: Source | None = None, path: Path | None = None) -> StoreFile | None:
    """The file of a store that has this name in it, such as `consumequeue/T/0/00000000000000000000`; None where no file of a store has it.

    `source` reads it; a file without one is at `path`, by default the name itself.
    """
    parts = name.split("/")
    if parts[0] == "config":
        known = len(parts) == 2 and parts[1].removesuffix(".bak") in CONFIG_TABLES
        return (
            StoreFile("config", Path(name) if path is None else path, name, source=source) if known else None
        )
    if parts[0].startswith(MEMBER):
        parts = ["commitlog", *parts[2:]] if parts[1:2] == [MEMBER_LOG] else [""]
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
    own = parts[2] == str(queue_id)  # of a folder such as `007` a broker reads nothing (STORE-4)
    return StoreFile(kind, path, name, parts[1], queue_id, number, source) if own else None


def protected_directories(path: Path) -> list[Path]:
    """The directories, symbolic links resolved, that nothing may be written into while `path` is read.

    They are `path` itself, or its folder if the path shows that the file is in a store; the folders of
    that store; and the whole store if at least two of its parts exist.
    """
    is_file = not path.is_dir()
    place = place_of(path, is_file=is_file)
    kept = [] if is_file else [path]
    root = path if place is None else place.root
    parts = [root / name for name in _PLACES if (root / name).exists()]
    parts += [folder.parent for folder in member_logs(root)]
    if place is not None or not is_file:
        kept += [part for part in parts if part.is_dir()]
    if place is not None and len(parts) > 1:
        kept.append(root)
    return [directory.resolve() for directory in kept]


def is_store(path: Path) -> bool:
    """Whether a directory contains a part of a store."""
    return any((path / name).exists() for name in _PLACES) or bool(member_logs(path))


def member_logs(root: Path) -> list[Path]:
    """The commit-log directories of members of a DLedger group in a store."""
    members = [entry.name for entry in entries_of(root) if entry.name.startswith(MEMBER)]
    return [folder for name in members if (folder := root / name / MEMBER_LOG).is_dir()]


def is_timer_wheel(name: str) -> bool:
    """Whether a file of a store's directory is its timer wheel, or a snapshot of it (TIM-2)."""
    return re.fullmatch(r"timerwheel(\.[0-9]+)?", name) is not None


def entries_of(directory: Path, *, must_exist: bool = False) -> list[os.DirEntry[str]]:
    """The directory's entries in name order; none if it no longer exists or is a file."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        if must_exist:
            raise
        return []


def _is_member(folder: Path) -> bool:
    """Whether a directory is that of a DLedger member; a store can have such a name too."""
    return folder.name.startswith(MEMBER) and not any((folder / name).exists() for name in _PLACES_PARTS)


def log_of_member(path: Path) -> Path:
    """The commit log of the DLedger member whose directory `path` is; any other path as it is. UsageError for DLedger's own bookkeeping."""
    whole = Path(os.path.abspath(path))
    if _is_member(whole) and (path / MEMBER_LOG).is_dir():
        return path / MEMBER_LOG
    for inside in (whole, whole.parent):
        if inside.name in _OWN and _is_member(inside.parent):
            raise UsageError(
                f"{path}: belongs to DLedger itself; the commit log is in {MEMBER}*/{MEMBER_LOG}/"
            )
    return path


def require_store(path: Path, parts: Sequence[str]) -> None:
    """Refuses what is not the directory of a store, which has at least one of `parts`, or the log of a DLedger member.

    UsageError for a file, a directory of a DLedger member, or one without such a part.
    """
    if not stat.S_ISDIR(path.stat().st_mode):
        raise UsageError(f"{path}: a file; expected the directory of a store")
    _refuse_member(path)
    if any((path / part).exists() for part in parts) or member_logs(path):
        return
    whole = Path(os.path.abspath(path))
    if whole.name in parts:
        raise UsageError(f"{path}: the {whole.name} folder of a store; expected the store, {path.parent}")
    refuse_parent(path)
    raise UsageError(f"{path}: not a store: contains no {', '.join(parts[:-1])} or {parts[-1]}")


def refuse_parent(path: Path) -> None:
    """Refuses a directory that is no store but has one in it; UsageError names that."""
    inner = [] if is_store(path) else [child for child in sorted(path.iterdir()) if is_store(child)]
    if inner:
        more = f" (or another of {len(inner)})" if len(inner) > 1 else ""
        raise UsageError(f"{path}: not a store; expected the store in it, {inner[0]}{more}")


def _refuse_member(path: Path) -> None:
    """Raises a UsageError for a DLedger member's directory, and those in it: the store is the directory above."""
    if any((path / name).exists() for name in _PLACES_PARTS) or member_logs(path):
        return
    whole = Path(os.path.abspath(path))
    for folder in (whole, whole.parent):
        if _is_member(folder) and (folder / MEMBER_LOG).is_dir():
            raise UsageError(f"{path}: belongs to a DLedger member; expected the store, {folder.parent}")


_SAFE: Final = re.compile(r"[%|a-zA-Z0-9_-]{1,255}", re.ASCII)


def is_safe(topic: str) -> bool:
    """Whether a topic can be a directory's name: what brokers take as one, at most 255 long."""
    return _SAFE.fullmatch(topic) is not None


# Symbolic links at the places of a store: what reads follows them, what writes refuses them.


REPAIRS: Final = "rocketspec-repair-"  # prefix of the folders that repairs leave in a store

_DEPTH: Final = 6
"""Folders inside one another at most: `rocketspec-repair-TIME/new/consumequeue/TOPIC/QUEUE/FILE`."""
_PARTS: Final = frozenset(
    ("abort", "batchconsumequeue", "checkpoint", "commitlog", "config", "consumequeue", "consumequeue_ext", "index", "lock",
     "timerlog", "timerwheel")
)  # fmt: skip


def links_in(store: Path) -> Iterator[str]:
    """Names, relative to the store, of the links among its files and folders; none of them is followed."""
    for entry in _entries(store):
        if entry.name in _PARTS or entry.name.startswith((MEMBER, REPAIRS)):
            yield from _links_at(entry, shown_name(entry.name), _DEPTH)


def _links_at(entry: os.DirEntry[str], name: str, depth: int) -> Iterator[str]:
    if entry.is_symlink():
        yield name
    elif depth and entry.is_dir(follow_symlinks=False):
        for below in _entries(Path(entry.path)):
            yield from _links_at(below, f"{name}/{shown_name(below.name)}", depth - 1)


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        return entries_of(directory)
    except OSError as error:
        raise_of_process(error)
        return []  # reported where it is read


# Files and directories of a store that cannot be read: they are left out, and the rest is done.


@dataclass
class _Attempts:
    """Outcomes of the attempts at one piece of work: why a path is left out, and the paths that a listing can leave out."""

    failed: dict[str, str] = field(default_factory=dict[str, str])
    listed: set[str] = field(default_factory=set[str])


_attempts: Final[ContextVar[_Attempts | None]] = ContextVar("attempts", default=None)


class Unreadable(str):
    """The reason why a part of a store cannot be read; a listing reports any other reason as plain text."""

    __slots__ = ()


def reason_left_out(path: os.PathLike[str] | str) -> Unreadable | None:
    """The reason why a file or directory is left out of a listing, or None."""
    attempts = _attempts.get()
    if attempts is None:
        return None
    name = os.fspath(path)
    attempts.listed.add(name)
    if not attempts.failed:
        return None
    if name in attempts.failed:
        return Unreadable(attempts.failed[name])
    if os.access(name, os.R_OK) or not os.path.lexists(name):
        return None
    try:
        os.stat(name)  # noqa: PTH116 - the path may be a text
    except OSError as error:  # a loop of links
        return Unreadable((error.strerror or str(error)).lower())
    return Unreadable("permission denied")


def despite_unreadable(work: Callable[[], _T]) -> _T:
    """The result of `work`, which lists files and reads them; called again without those that cannot be read.

    The listing reports them with an `Unreadable` reason. Each path causes at most one further call.

    Raises OSError of a path that the listing did not offer, such as one of the output; of the process, which has too
    many files open; of a path without which nothing is left.
    """
    attempts = _Attempts()
    last: OSError | None = None
    before = _attempts.set(attempts)
    try:
        while True:
            try:
                return work()
            except FileNotFoundError:
                raise
            except UsageError:
                if last is None:
                    raise
                raise last from None
            except OSError as error:
                raise_of_process(error)
                last, name = error, error.filename
                if name not in attempts.listed - attempts.failed.keys() or not error.strerror:
                    raise
                attempts.failed[name] = error.strerror.lower()
    finally:
        _attempts.reset(before)


# Long work: shared out to threads in order, and how far it is, reported to whoever shows it.


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[_Item], _Result], items: Iterable[_Item], most: int
) -> Iterator[_Result]:
    """The result for each item, in their order; the pool works on `most` items ahead."""
    ahead: deque[Future[_Result]] = deque()
    try:
        for item in items:
            ahead.append(pool.submit(work, item))
            if len(ahead) > most:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()


class WorkDone:
    """Adds up work, in bytes or files, and calls `report` with the work that is done and all work that is known."""

    def __init__(self, report: Callable[[int, int], None] | None, total: int = 0) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def expect(self, more: int) -> None:
        """Adds to the work that is known."""
        self._total += more

    def add(self, size: int) -> None:
        """Counts work that is done."""
        self.reach(self._done + size)

    def reach(self, done: int) -> None:
        """Sets the amount of work that is done; it never falls, nor passes the total."""
        self._done = max(self._done, min(done, self._total))
        if self._report is not None:
            self._report(self._done, self._total)
