"""Places in a store: the kind, topic and queue that follow from a path, and which directories belong to a store."""

import os
import re
import stat
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_spec import layout
from rocket_spec.errors import UsageError

from rocket_columnar.formats import parse_int, parse_long
from rocket_columnar.store.reader import Reader, Source, raise_of_process
from rocket_columnar.store.store_file import CONFIG_TABLES, MEMBER, MEMBER_LOG, Kind, StoreFile, shown_name

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


def detect(reader: Reader) -> str | None:
    """The kind of an open file ("index", "queue", "ext", "log" or "checkpoint"), or None if it is unclear."""
    head = reader.read(0, min(reader.size, layout.CHECKPOINT_SIZE)).tobytes()
    sample = head[:_SAMPLE]
    if _is_log(head, reader.size):
        return "log"
    if _is_checkpoint(head, reader.size):
        return "checkpoint"
    tests = (("index", _is_index), ("ext", _is_ext), ("queue", _is_queue))
    kinds = [kind for kind, test in tests if test(sample, reader.size)]
    return kinds[0] if len(kinds) == 1 else None
