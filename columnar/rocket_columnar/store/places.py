"""Places in a store: the kind, topic and queue that follow from a path, and which directories belong to a store."""

import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_spec.errors import UsageError

from rocket_columnar.formats import parse_int, parse_long
from rocket_columnar.store.reader import Source
from rocket_columnar.store.store_file import CONFIG_TABLES, MEMBER, MEMBER_LOG, Kind, StoreFile

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

_PARTS: Final = ("commitlog", "consumequeue")

_OWN: Final = ("index", "checkpoint", "currterm")
"""DLedger's own files in a member's directory."""


@dataclass(frozen=True, slots=True)
class Place:
    """Facts about a file that follow from its path alone.

    Attributes:
        kind: of the file, or of the files in the directory.
        root: directory of the store.
        topic: if the path is inside a topic's directory, else None.
        queue: name of the queue's directory if the path is inside one, else None.
    """

    kind: Kind
    root: Path
    topic: str | None = None
    queue: str | None = None


def place_of(path: Path, *, is_file: bool) -> Place | None:
    """The place of `path` in a store by its own and its parents' names, or None."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow the symbolic links that name the place)
    folder = whole.parent if is_file else whole
    parts = folder.parts
    for depth in (0, 1, 2):
        if len(parts) > depth and parts[-1 - depth] in _QUEUES and (not is_file or depth == 2):
            below = parts[len(parts) - depth :]
            root = Path(*parts[: len(parts) - depth - 1])
            return Place(_PLACES[parts[-1 - depth]], root, *below)
    if parts and parts[-1] in (MEMBER_LOG, *_OWN) and _is_member(folder.parent):
        return Place("log", folder.parent.parent) if parts[-1] == MEMBER_LOG else None
    if parts and parts[-1] in _FOLDERS:
        return Place(_PLACES[parts[-1]], folder.parent)
    if is_file and whole.name == "checkpoint":
        return Place("checkpoint", folder)
    if is_file and is_timer_wheel(whole.name):
        return Place("timer_wheel", folder)
    if parts and parts[-1] == "config" and (not is_file or whole.name.removesuffix(".bak") in CONFIG_TABLES):
        return Place("config", folder.parent)
    return None


def placed_file(name: str, *, source: Source | None = None, path: Path | None = None) -> StoreFile | None:
    """The file of a store that has this name in it, such as `consumequeue/T/0/00000000000000000000`.

    Args:
        name: relative to the store, with `/`.
        source: reads it; see `Source`.
        path: where it is, for a file without a source; by default the name itself.

    Returns:
        None for a name that no file of a store has; `find_files` would skip it.
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
    return None if queue_id is None else StoreFile(kind, path, name, parts[1], queue_id, number, source)


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
    return folder.name.startswith(MEMBER) and not any((folder / name).exists() for name in _PARTS)


def log_of_member(path: Path) -> Path:
    """The commit log of the DLedger member whose directory `path` is; any other path as it is.

    Raises:
        UsageError: DLedger's own index and bookkeeping, which are not files of a store.
    """
    whole = Path(os.path.abspath(path))  # noqa: PTH100
    if _is_member(whole) and (path / MEMBER_LOG).is_dir():
        return path / MEMBER_LOG
    for inside in (whole, whole.parent):
        if inside.name in _OWN and _is_member(inside.parent):
            raise UsageError(
                f"{path}: belongs to DLedger itself; the commit log is in {MEMBER}*/{MEMBER_LOG}/"
            )
    return path


def require_store(path: Path, parts: Sequence[str]) -> None:
    """Refuses what is not the directory of a store.

    Args:
        path: what was given.
        parts: names of which a store has at least one; the log of a DLedger member counts too.

    Raises:
        UsageError: a file, a directory of a DLedger member, or none that has such a part.
        OSError: it is missing, or cannot be read.
    """
    if not stat.S_ISDIR(path.stat().st_mode):
        raise UsageError(f"{path}: a file; expected the directory of a store")
    _refuse_member(path)
    if any((path / part).exists() for part in parts) or member_logs(path):
        return
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links, and change the name
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
    """Refuses a DLedger member's directory, and those in it: the store is the directory above.

    Raises:
        UsageError: `path` is such a directory.
    """
    if any((path / name).exists() for name in _PARTS) or member_logs(path):
        return
    whole = Path(os.path.abspath(path))  # noqa: PTH100
    for folder in (whole, whole.parent):
        if _is_member(folder) and (folder / MEMBER_LOG).is_dir():
            raise UsageError(f"{path}: belongs to a DLedger member; expected the store, {folder.parent}")


_SAFE: Final = re.compile(r"[%|a-zA-Z0-9_-]{1,255}", re.ASCII)


def is_safe(topic: str) -> bool:
    """Whether a topic can be a directory's name: what brokers take as one, at most 255 long."""
    return _SAFE.fullmatch(topic) is not None
