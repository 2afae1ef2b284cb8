"""Lists the files of a store: by their place in it, otherwise by their content.

A path may be one file, a directory of one kind, or the whole store. Only files without a place are opened.
"""

import errno
import os
import stat
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from rocket_spec import layout
from rocket_spec.errors import UsageError
from rocket_spec.printable import counted

from rocket_columnar.formats import parse_int, parse_long
from rocket_columnar.store.reader import open_reader, raise_of_process, require_regular
from rocket_columnar.store.store_file import (
    ALL_KINDS,
    CONFIG_TABLES,
    KINDS,
    LATER_KINDS,
    Kind,
    PathFacts,
    StoreFile,
    Unreadable,
    entries_of,
    is_store,
    is_timer_wheel,
    log_of_member,
    member_logs,
    place_of,
    reason_left_out,
    refuse_parent,
    shown_name,
)

NO_NUMBER: Final = "its name is not a number"
"""The reason for a file that `find_files` skips because no file of a store has its name."""

OTHER_QUEUE: Final = "a broker does not read it: the folder of a queue is its number in plain decimal"
"""The reason for a folder such as `007`, which `find_files` skips (STORE-4)."""

DIRECTORY: Final = "a directory"
"""The reason for a directory that `find_files` skips because it has the name of a file."""

NO_TARGET: Final = "a symbolic link to nothing"
"""The reason for a link that `find_files` skips because what it leads to is not there."""

TWICE: Final = "another folder of the log has a file of this name"
"""The reason for a log file that `find_files` skips beside the one of its name that holds more (STORE-17)."""

NO_ENTRY: Final = "no entry of DLedger in it, and the store has another log"
"""The reason for the log of a DLedger member, which `find_files` skips."""

MODE_OFF: Final = "DLedger mode is off in the broker's configuration"
"""The reason for the log of a DLedger member that a broker in plain mode does not read."""

OwnLog = Literal["commitlog", "dledger"]
"""A log in the directory of a store: plain, or that of a DLedger member."""

_CHOICES: Final = "--kind " + "|".join((*KINDS, *LATER_KINDS))
_NAMES: Final = {
    "index": "index file",
    "queue": "consume-queue file",
    "ext": "consume-queue ext file",
    "log": "commit-log file",
    "checkpoint": "checkpoint",
    "config": "configuration file",
    "batch": "batch consume-queue file",
    "timer_wheel": "timer wheel",
    "timer_log": "timer-log file",
}


def _skip_nothing(name: str, reason: str) -> None:
    """The default of `on_skip`."""


def _irregular(entry: os.DirEntry[str]) -> str | None:
    """The reason why a directory's entry cannot be read as a file; "" if it no longer exists, None if it can be read."""
    if entry.is_file(follow_symlinks=False):  # which takes no system call
        return None
    try:
        mode = entry.stat().st_mode
    except FileNotFoundError:
        return NO_TARGET if entry.is_symlink() else ""
    if stat.S_ISDIR(mode):
        return DIRECTORY
    return None if stat.S_ISREG(mode) else "not a regular file"


def unopened(path: Path) -> Unreadable | None:
    """The reason why a broker cannot open a file, nor make it; None if it can."""
    if path.is_dir():
        return Unreadable("a directory")
    return Unreadable(NO_TARGET) if path.is_symlink() and not path.resolve().parent.is_dir() else None


class _Finder:
    """One search: the user's path, the root that names are relative to, and where skipped names go."""

    def __init__(
        self,
        path: Path,
        root: Path,
        skipped: list[tuple[str, str]],
        commitlog: Sequence[Path] = (),
        *,
        left_out: Collection[OwnLog] = (),
    ) -> None:
        self.path = path
        self.commitlog = commitlog
        self.left_out = left_out
        self.root = root
        self.skipped = skipped
        self._whole = Path(os.path.abspath(path))

    def name(self, path: Path) -> str:
        whole = self._whole / path.relative_to(self.path) if path.is_relative_to(self.path) else path
        if whole.is_relative_to(self.root):
            whole = whole.relative_to(self.root)
        return shown_name(whole.as_posix())

    def entries(self, directory: Path) -> list[os.DirEntry[str]]:
        """The entries of a directory, without those that cannot be read."""
        unreadable = None if directory == self.path else reason_left_out(directory)
        if unreadable is not None:
            self.skipped.append((self.name(directory), unreadable))
            return []
        kept = []
        for entry in entries_of(directory, must_exist=directory == self.path):
            reason = reason_left_out(entry.path)
            if reason is None:
                kept.append(entry)
            else:
                self.skipped.append((self.name(directory / entry.name), reason))
        return kept

    def files(
        self,
        directory: Path,
        kind: Kind,
        topic: str | None = None,
        queue_id: int | None = None,
        folder: str | None = None,
    ) -> Iterator[StoreFile]:
        """The files of one folder whose names are numbers; 4.9.3 skips or refuses any other (IDX-FILE-4).

        `folder` is the name of the directory relative to the root, if it is known.
        """
        found: list[tuple[int, StoreFile]] = []
        folder = self.name(directory) if folder is None else folder
        for entry in self.entries(directory):
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
        for entry in self.entries(directory):
            queue_id = parse_int(entry.name)
            if queue_id is None or not self.is_folder(entry):
                continue
            if entry.name == str(queue_id):
                queues.append((queue_id, entry.name))
            else:
                self.skipped.append((self.name(directory / entry.name), OTHER_QUEUE))
        folder = self.name(directory)
        above = "" if folder == "." else f"{folder}/"
        for queue_id, name in sorted(queues):
            yield from self.files(directory / name, kind, topic, queue_id, above + shown_name(name))

    def topics(self, directory: Path, kind: Kind) -> Iterator[StoreFile]:
        """The files of all topics."""
        for entry in self.entries(directory):
            if self.is_folder(entry):
                yield from self.topic(directory / entry.name, kind, shown_name(entry.name))

    def is_folder(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry is a folder; a link to nothing in the place of one is skipped."""
        if entry.is_symlink() and not Path(entry.path).exists():
            self.skipped.append((self.name(Path(entry.path)), NO_TARGET))
        return entry.is_dir()

    def store(self, kinds: Collection[str]) -> Iterator[StoreFile]:
        """The files of these kinds in the whole store; other directories are not opened."""
        parts: dict[Kind, Callable[[], Iterable[StoreFile]]] = {
            "index": lambda: self.files(self.path / "index", "index"),
            "queue": lambda: self.topics(self.path / "consumequeue", "queue"),
            "ext": lambda: self.topics(self.path / "consumequeue_ext", "ext"),
            "log": self.log,
            "checkpoint": self.checkpoint,
            "config": lambda: self.config(self.path / "config"),
            "batch": lambda: self.topics(self.path / "batchconsumequeue", "batch"),
            "timer_wheel": lambda: self.named(self.path, "timer_wheel", is_timer_wheel),
            "timer_log": lambda: self.files(self.path / "timerlog", "timer_log"),
        }
        for kind, listed in parts.items():
            if kind in kinds:
                yield from listed()

    def checkpoint(self) -> Iterator[StoreFile]:
        """The checkpoint, if there is one."""
        for entry in entries_of(self.path):
            if entry.name == "checkpoint":
                reason = reason_left_out(entry.path) or _irregular(entry)
                if reason is None:
                    yield StoreFile("checkpoint", self.path / entry.name, entry.name)
                elif reason:
                    self.skipped.append((entry.name, reason))

    def named(self, directory: Path, kind: Kind, accepts: Callable[[str], bool]) -> Iterator[StoreFile]:
        """The files of a folder whose names are accepted."""
        for entry in entries_of(directory):
            if accepts(entry.name) and _irregular(entry) is None:
                yield StoreFile(kind, directory / entry.name, self.name(directory / entry.name))

    def config(self, directory: Path) -> Iterator[StoreFile]:
        """The files of a broker's configuration that have tables, each with the `.bak` beside it (CFG-1)."""
        return self.named(directory, "config", lambda name: name.removesuffix(".bak") in CONFIG_TABLES)

    def log(self) -> list[StoreFile]:
        """The files of the commit log, from all its directories.

        They are plain files, files of DLedger mode, or plain ones followed by those of DLedger mode (DLG-14).
        """
        own = () if "commitlog" in self.left_out else (self.path / "commitlog",)
        folders = dict.fromkeys((*own, *self.commitlog))
        files = [file for folder in folders for file in self.files(folder, "log")]
        members = [folder for folder in member_logs(self.path) if self._is_used(folder, alone=not files)]
        if len(members) > 1:
            names = ", ".join(shown_name(folder.parent.name) for folder in members)
            raise UsageError(
                f"{self.path}: contains the logs of several DLedger members: {names}; expected one"
            )
        files += [file for folder in members for file in self.files(folder, "log") if folder not in folders]
        files = self._once(files)
        several = len({file.path.parent for file in files}) > 1
        return [replace(file, log=self.path) for file in files] if several else files

    def _once(self, files: Iterable[StoreFile]) -> list[StoreFile]:
        """The log files in their order; of two of one name in different folders the one that holds more."""
        kept: list[StoreFile] = []
        for file in sorted(files, key=lambda file: file.base_offset):
            before = kept[-1] if kept else None
            if before is None or before.base_offset != file.base_offset:
                kept.append(file)
                continue
            if file.path.name != before.path.name or file.framed or before.framed:
                raise UsageError(
                    f"{before.path} and {file.path}: two commit-log files of one name; expected one",
                    hint="or --broker-conf, which says whether DLedger mode is on",
                )
            more, less = (file, before) if _held(file) > _held(before) else (before, file)
            kept[-1] = more
            self.skipped.append((less.name, TWICE))
        return kept

    def _is_used(self, member: Path, *, alone: bool) -> bool:
        """Whether the log of a DLedger member is one of the store: there is no other log, or it has an entry and the mode is not off."""
        if alone:
            return True
        off = "dledger" in self.left_out
        if not off and any(_has_entry(Path(entry.path)) for entry in entries_of(member) if entry.is_file()):
            return True
        self.skipped.append((self.name(member), MODE_OFF if off else NO_ENTRY))
        return False

    def placed(self, place: PathFacts) -> Iterator[StoreFile]:
        """The files of a folder whose place in a store is known."""
        if place.kind == "config":
            yield from self.config(self.path)
        elif place.kind in ("index", "log", "timer_log"):
            yield from self.files(self.path, place.kind)
        elif place.topic is None:
            yield from self.topics(self.path, place.kind)
        elif place.queue is None:
            yield from self.topic(self.path, place.kind, shown_name(place.topic))
        else:
            topic = shown_name(place.topic)
            yield from self.files(self.path, place.kind, topic, parse_int(place.queue))

    def unplaced(self) -> Iterator[StoreFile]:
        """The files of a folder without a place, each of the kind inferred from its content."""
        for entry in entries_of(self.path, must_exist=True):
            if _irregular(entry) is not None:
                continue
            path = self.path / entry.name
            kind = "checkpoint" if entry.name == "checkpoint" else _detect(path)
            if kind is None:
                self.skipped.append((self.name(path), f"of no known kind (use {_CHOICES})"))
            else:
                yield _single(path, kind)


# The kind of a file, inferred from its bytes alone.
#
# No file but the commit log has a magic, so the rest follow from what a reader could rely on in each: lengths
# that add up, offsets that are in a range that exists, zeros where nothing was written.


_SAMPLE: Final = 4000  # bytes checked: a multiple of a queue unit
_OFFSET_LIMIT: Final = 1 << 56  # a store of 64 PiB; any text read as an offset is above
_TIMES: Final = range(1_262_304_000_000, 4_102_444_800_000)  # 2010 to 2100, in ms
_HEADER: Final = struct.Struct(layout.INDEX_HEADER.struct_format)
_UNIT: Final = struct.Struct(layout.QUEUE_UNIT.struct_format)
_EXT: Final = struct.Struct(layout.EXT_UNIT.struct_format)
_ENTRY: Final = struct.Struct(layout.ENTRY.struct_format)


def _is_log(head: bytes, size: int) -> bool:
    if size < 8:
        return False
    length, magic = struct.unpack_from(">ii", head)
    if magic in (*layout.RECORD_MAGICS, layout.BLANK_MAGIC):
        return bool(8 <= length <= size)
    return entry_position(head) is not None and bool(magic <= size)


def entry_position(head: bytes) -> int | None:
    """Position in the log of the DLedger entry at whose header some bytes begin (DLG-2), None without one."""
    if len(head) < _ENTRY.size + 8:
        return None
    magic, length, _, _, position, _, _, _, body = _ENTRY.unpack_from(head)
    total, record = struct.unpack_from(">ii", head, _ENTRY.size)
    framed = magic == layout.ENTRY_MAGIC and length == _ENTRY.size + body and position >= 0
    return position if framed and record in layout.RECORD_MAGICS and total == body else None


def _is_checkpoint(head: bytes, size: int) -> bool:
    # Later versions keep three more longs, at 24, 32 and 40.
    if size < layout.CHECKPOINT_SIZE or any(head[48 : layout.CHECKPOINT_SIZE]):
        return False
    times = struct.unpack_from(">qqq", head)
    return any(times) and all(time == 0 or time in _TIMES for time in times)


def _is_ext(head: bytes, size: int) -> bool:
    position = 0
    while position + _EXT.size <= min(len(head), size):
        length, _, _, bit_map = _EXT.unpack_from(head, position)
        if length < 1:
            return position > 0 and length in (0, -1)
        if length != _EXT.size + bit_map or position + length > size:
            return False
        position += length
    return position > 0


def _is_queue(head: bytes, size: int) -> bool:
    if size < _UNIT.size or size % _UNIT.size:
        return False
    ended = False
    for index, (offset, length, tags_code) in enumerate(
        _UNIT.iter_unpack(head[: len(head) // _UNIT.size * _UNIT.size])
    ):
        written = 0 <= offset < _OFFSET_LIMIT and length > 0
        if not written and (index == 0 or (offset, length, tags_code) != (0, 0, 0)):
            return False
        if written and ended:
            return False
        ended = not written
    return True


def _is_index(head: bytes, size: int) -> bool:
    room = size - layout.INDEX_HEADER.size - layout.INDEX_SLOT.size
    if room < layout.INDEX_ENTRY.size or size % layout.INDEX_SLOT.size:
        return False
    begin, end, begin_offset, end_offset, used_slots, count = _HEADER.unpack_from(head)
    if count < 2:
        return False
    times = all(time == 0 or time in _TIMES for time in (begin, end))
    offsets = 0 <= begin_offset < _OFFSET_LIMIT and 0 <= end_offset < _OFFSET_LIMIT
    return times and offsets and 1 <= used_slots < count <= room // layout.INDEX_ENTRY.size


def _detect(path: Path) -> Kind | None:
    """The kind of a file by its bytes, or None if it is unclear, or the file no longer exists."""
    try:
        with open_reader(path) as reader:
            size, head = reader.size, reader.read(0, min(reader.size, layout.CHECKPOINT_SIZE)).tobytes()
    except FileNotFoundError:
        return None
    if _is_log(head, size):
        return "log"
    if _is_checkpoint(head, size):
        return "checkpoint"
    tests: dict[Kind, Callable[[bytes, int], bool]] = {"index": _is_index, "ext": _is_ext, "queue": _is_queue}
    kinds: list[Kind] = [kind for kind, test in tests.items() if test(head[:_SAMPLE], size)]
    return kinds[0] if len(kinds) == 1 else None


def _held(file: StoreFile) -> int:
    """Byte of a file after which only zeros follow, -1 if it holds nothing else."""
    with file.open() as reader:
        last = reader.last_nonzero(0, reader.size)
    return -1 if last is None else last


def _has_entry(path: Path) -> bool:
    """Whether a file begins with an entry of DLedger."""
    try:
        with open_reader(path) as reader:
            return entry_position(reader.read(0, min(reader.size, _ENTRY.size + 8)).tobytes()) is not None
    except OSError as error:
        raise_of_process(error)
        return True  # it is in use as far as anyone knows


def _first_offset(path: Path) -> int:
    """The physical offset in the first record of a log file whose name is not a number, else 0."""
    with open_reader(path) as reader:
        if reader.size < 36:
            return 0
        head = reader.read(0, min(reader.size, _ENTRY.size + 8)).tobytes()
    position = entry_position(head)
    if position is not None:
        return position
    (magic,) = struct.unpack_from(">i", head, 4)
    (offset,) = struct.unpack_from(">q", head, 28)
    return int(offset) if magic in layout.RECORD_MAGICS else 0


def _single(path: Path, kind: Kind) -> StoreFile:
    """A single file: its base name, and what follows from its path."""
    place = place_of(path, is_file=True)
    topic = queue_id = None
    if place is not None and place.kind == kind and place.queue is not None:
        topic, queue_id = shown_name(place.topic or ""), parse_int(place.queue)
    base = 0
    if kind in ("queue", "ext", "log", "batch", "timer_log"):
        number = parse_long(path.name)
        base = number if number is not None else _first_offset(path) if kind == "log" else 0
    return StoreFile(kind, path, shown_name(path.name), topic, queue_id, base)


def _from_file(path: Path, kind: Kind | None, kinds: Collection[str]) -> StoreFile:
    place = place_of(path, is_file=True)
    if kind is None and place is not None:
        kind = place.kind
    if kind is None:
        kind = _detect(path)
    if kind is None:
        what = (
            "an empty file" if path.stat().st_size == 0 else "neither its path nor its content identifies it"
        )
        raise UsageError(f"{path}: {what}; use {_CHOICES}")
    if kind in LATER_KINDS and kind not in kinds:
        raise UsageError(f"{path}: a {_NAMES[kind]}, which only `decode` reads")
    return _single(path, kind)


def find_files(
    path: Path | str,
    kind: str | None = None,
    *,
    kinds: Collection[str] = KINDS,
    commitlog: Sequence[Path | str] = (),
    left_out: Collection[OwnLog] = (),
    on_skip: Callable[[str, str], None] = _skip_nothing,
) -> list[StoreFile]:
    """The files at `path`: one file, a queue, topic, index or commit-log folder, or a whole store.

    The kind of a file follows from its place in a store, otherwise from its content. The order of files is stable: by
    kind, then index files by name, queue files by topic, queue number and offset, log files by offset. Files
    whose name is not a number are skipped, as 4.9.3 skips such index files (IDX-FILE-4).

    Args:
        path: a file or a directory; symbolic links are followed.
        kind: takes the file, or each file of a directory without a place, as this kind; of a store, only
            the files of this kind.
        kinds: of a whole store, only search for files of these kinds; other directories are not opened.
        commitlog: directories of the store's commit log in addition to its own `commitlog`: those in the broker's
            settings `storePathCommitLog` and `readOnlyCommitLogStorePaths` (STORE-17).
        left_out: the logs in its own directory that its broker does not read; that of a DLedger member is read all the same
            if there is no other.
        on_skip: called with the name of each file skipped, and the reason.

    Raises:
        UsageError: an unknown `kind`, a kind that cannot be inferred, or nothing found.
        OSError: a path that is missing, cannot be read, or is not a regular file.
    """
    path = log_of_member(Path(path))
    if kind is not None and kind not in ALL_KINDS:
        raise UsageError(f"unknown kind {kind!r}; use {_CHOICES}")
    folders = [_log_folder(Path(folder)) for folder in commitlog]
    mode = path.stat().st_mode
    if folders and not (stat.S_ISDIR(mode) and is_store(path)):
        raise UsageError(f"{path}: not a store; commit-log directories belong to the directory of one")
    if not stat.S_ISDIR(mode):
        require_regular(path, mode)
        return [_from_file(path, kind, kinds)]
    skipped: list[tuple[str, str]] = []
    finder = _Finder(path, Path(os.path.abspath(path)), skipped, folders, left_out=left_out)
    files = _in_directory(finder, kind, kinds if kind is None else (kind,))
    if not files:
        place = place_of(path, is_file=False)
        if place is None:
            refuse_parent(path)
        sought = kind or (None if place is None else place.kind)
        none = "file of a store" if is_store(path) else "store"
        what = none if sought is None else _NAMES[sought]
        others = f" among {counted(len(skipped), 'file')}" if skipped else ""
        hint = "" if kind or place or is_store(path) else f"or use {_CHOICES}"
        raise UsageError(f"{path}: contains no {what}{others}", hint=hint)
    for name, reason in skipped:
        on_skip(name, reason)
    return files


def _log_folder(path: Path) -> Path:
    """`path`, which must be a directory of a commit log; OSError if it is missing or not a directory."""
    if not stat.S_ISDIR(path.stat().st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fspath(path))
    return path


def _in_directory(finder: _Finder, kind: Kind | None, kinds: Collection[str]) -> list[StoreFile]:
    """The files of a directory; the finder notes which are skipped."""
    path = finder.path
    place = place_of(path, is_file=False)
    if is_store(path) and (place is None or place.topic is None):
        return list(finder.store(kinds))
    if place is not None and kind in (None, place.kind):
        finder.root = place.root
        return list(finder.placed(place))
    if kind == "checkpoint":
        raise UsageError(f"{path}: a directory; a checkpoint is one file")
    if kind is not None:
        return list(finder.files(path, kind))
    return sorted(finder.unplaced(), key=lambda file: ALL_KINDS.index(file.kind))
