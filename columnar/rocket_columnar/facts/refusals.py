"""Causes that keep a broker from starting, beside the lengths and content of its files: permissions, a timer wheel, and a timer log."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rocket_spec.errors import UsageError
from rocket_spec.later_layouts import TIMER_SLOT

from rocket_columnar.formats import parse_long
from rocket_columnar.store import CONFIG_TABLES, StoreFile, shown_name

_WHEEL: Final = 2 * 604_800 * TIMER_SLOT.size
"""Bytes of a broker's timer wheel (TIM-2)."""

_OWN: Final = ("checkpoint", "lock", "abort")
_NO_START: Final = "the broker does not start"


class Refusal(NamedTuple):
    """A file or directory that keeps a broker from starting, and why."""

    file: str
    reason: str
    cure: str


class _User(NamedTuple):
    """A user of this machine."""

    name: str
    number: int
    groups: frozenset[int]

    def may(self, path: Path, needed: str) -> bool:
        """Whether the user has all permissions that are `needed` (r, w, x) of a file or directory."""
        status = path.stat()
        shift = 6 if status.st_uid == self.number else 3 if status.st_gid in self.groups else 0
        return all(status.st_mode >> shift & 1 << "xwr".index(one) for one in needed)


def denied(store: Path, files: Iterable[StoreFile], user: str | None) -> Refusal | None:
    """The first file or directory that the broker's user lacks permissions of; None if there is none.

    A broker opens each file of log, queues and index to read and to write it (`MappedFile.init` 153-177): one that it may not
    open ends the load. A directory that it may not list is empty for it (`MappedFileQueue.load` 145-178).

    Args:
        store: the directory of the store.
        files: of the store.
        user: who starts the broker; by default the owner of the store's directory.

    Raises:
        UsageError: there is no such user on this machine.
        OSError: a file cannot be looked at.
    """
    try:
        known = _user(store, user)
    except ImportError:  # Windows
        return None
    if known.number == 0:
        return None
    found = [file.path for file in files]
    found += [path for name in _OWN if (path := store / name).exists()]
    folders = dict.fromkeys(folder for path in found for folder in _above(path, store))
    for path, needed, what in (
        (store, "rwx", f"list and write it: {_NO_START}"),
        *((folder, "rx", "list it: for the broker it is empty") for folder in folders),
        *((path, "rw", f"read and write it: {_NO_START}") for path in found),
        *((path, "r", f"read it, nor its .bak: {_NO_START}") for path in _configs(store, known)),
    ):
        if not known.may(path, needed):
            shown = path.relative_to(store) if path.is_relative_to(store) else path
            status = path.stat()
            text = f"owner {_name_of(status.st_uid)}, mode {stat.S_IMODE(status.st_mode):04o}: user {known.name} may not {what}"
            cure = f"give the store's files to the user while the broker is down: chown -R {known.name}"
            return Refusal(shown_name(shown.as_posix()), text, cure)
    return None


def _configs(store: Path, user: _User) -> Iterator[Path]:
    """Files of the configuration beside which there is no .bak that the user may read."""
    for name in CONFIG_TABLES:
        path, backup = (store / "config" / f"{name}{end}" for end in ("", ".bak"))
        if path.exists() and not (backup.exists() and user.may(backup, "r")):
            yield path


def _above(path: Path, store: Path) -> Iterator[Path]:
    """The directories of a store that contain a file, or the one of a file elsewhere."""
    yield path.parent
    if path.is_relative_to(store):
        yield from (folder for folder in path.parent.parents if folder.is_relative_to(store))


def _user(store: Path, name: str | None) -> _User:
    import pwd

    if name is not None:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise UsageError(f"--user {name}: this machine has no such user") from None
    else:
        status = store.stat()
        try:
            entry = pwd.getpwuid(status.st_uid)
        except KeyError:
            return _User(str(status.st_uid), status.st_uid, frozenset({status.st_gid}))
    groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
    return _User(entry.pw_name, entry.pw_uid, frozenset(groups))


def _name_of(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def unfit_wheel(store: Path) -> Refusal | None:
    """The timer wheel that a broker of 5.x would not open, by its length; one without bytes it extends.

    It opens the copy of the greatest position, if there is any (TIM-2). Source: `TimerWheel.TimerWheel` 63-81 (5.5.0).
    """
    copies = {parse_long(path.suffix[1:]): path for path in store.glob("timerwheel.*")}
    path = copies[max(known)] if (known := [at for at in copies if at is not None]) else store / "timerwheel"
    size = path.stat().st_size if path.is_file() else 0
    if size in (0, _WHEEL):
        return None
    text = f"found a timer wheel of {size:,} bytes, expected {_WHEEL:,}: a broker of 5.x does not start"
    return Refusal(path.name, text, "restore the file from a backup or a slave while the broker is down")


def stray_timer_file(store: Path) -> Refusal | None:
    """The first file of `timerlog/` that has no number for a name, with which a broker of 5.x does not start (TIM-4).

    It removes the last file if that is empty, and passes over folders. Source: `MappedFileQueue.doLoad` (5.5.0).
    """
    paths = sorted((store / "timerlog").glob("*"))
    for path in paths:
        passed_over = path.is_dir() or (path == paths[-1] and not path.stat().st_size)
        if parse_long(path.name) is None and not passed_over:
            text = "found a file whose name is no number in the timer log: a broker of 5.x does not start"
            cure = "move the file out of the store while the broker is down"
            return Refusal(f"timerlog/{shown_name(path.name)}", text, cure)
    return None
