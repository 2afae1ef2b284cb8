"""The folder of a repair: new files, the files that they replaced, and a journal by which every move can be taken back.

It is in the store, so that each move is a rename on one file system. A broker ignores it. What it has:

- `repair.json`, the journal: written before the first move, never changed after it.
- `new/`: the new files, until they are put in place. After all moves were taken back its name is `undone/`.
- `old/`: the files that they replaced, and those that do not belong in a store.
- `done`: an empty file; without it the repair, or its undoing, was interrupted.

Taking back only renames and removes: it needs no free space. The store is reached by a descriptor of its directory, and nothing below
it through a link, whoever swaps a folder meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import MalformedError, UsageError

from rocket_columnar.store import REPAIRS

JOURNAL_BYTES: Final = 16 << 20  # length of a journal at most: that of a repair of some 100,000 files

_DEPTH: Final = 3
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_BRACKET: Final = re.compile(rb"[][{}]")
_NUMBER: Final = {"type": "integer", "minimum": -(1 << 63), "maximum": (1 << 63) - 1}
_PART: Final = r"[^/\u0000]+"
_QUEUE_FILE: Final = rf"consumequeue/{_PART}/{_PART}/{_PART}"
_MADE: Final = rf"^(index/{_PART}|{_QUEUE_FILE}|config/(topics|consumerOffset)\.json)\Z"
_MOVED: Final = rf"^((index|commitlog|consumequeue(_ext)?(/{_PART}){{0,2}}|dledger-{_PART}/(data|index))/{_PART}|checkpoint|config/(topics|consumerOffset)\.json)\Z"
_NEW_FOLDER: Final = rf"^(index|config|consumequeue(/{_PART}){{0,2}})\Z"

SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "rocketspec_repair": {"const": 2},
        "away": {"type": "array", "items": {"type": "string", "pattern": _MOVED}},
        "into": {
            "type": "object",
            "propertyNames": {"pattern": _MADE},
            "additionalProperties": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
        },
        "made": {"type": "array", "items": {"type": "string", "pattern": _NEW_FOLDER}},
        "newest": _NUMBER,
    },
    "required": ["rocketspec_repair", "away", "into", "made", "newest"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Journal:
    """The moves of a repair; places are files relative to the store."""

    away: tuple[str, ...] = ()  # places whose files are moved into `old/` of the repair's folder
    # places that get files from `new/`, each with the size and the time of change (ns) of its new file
    into: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    made: tuple[str, ...] = ()  # folders of the store that the repair makes, each after the one that it is in
    newest: int = 0  # time (ns) of the last change of any file beside these places, before the moves

    def to_bytes(self) -> bytes:
        """As it is written."""
        return json.dumps({"rocketspec_repair": 2, **asdict(self)}, indent=0).encode() + b"\n"

    def folders(self) -> set[str]:
        """The folders of the places; that of a place in the store itself is empty."""
        return {place.rpartition("/")[0] for place in (*self.away, *self.into)}


def parse_journal(raw: bytes, file: str) -> Journal:
    """The journal of a file's bytes, at most one more than `JOURNAL_BYTES`; MalformedError if it is none: nothing of it may be carried out."""

    def refused(found: object) -> MalformedError:
        return MalformedError(file=file, found=found, expected="the journal of a repair")

    if len(raw) > JOURNAL_BYTES:
        raise refused(f"more than {JOURNAL_BYTES:,} bytes")
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", raw)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > _DEPTH:
            raise refused(f"more than {_DEPTH} brackets inside one another")
    try:
        row = json.loads(raw.decode(), parse_int=_integer, parse_float=_no_number, parse_constant=_no_number)
    except ValueError as error:  # of UnicodeDecodeError too
        raise refused(f"no JSON ({str(error)[:80]})") from None
    wrong = next(iter(_validator().iter_errors(row)), None)
    if wrong is not None:
        raise refused(f"{wrong.json_path:.80}: {wrong.message:.120}")
    away, into, made = dict.fromkeys(row["away"]), row["into"], dict.fromkeys(row["made"])
    for place in (*away, *into, *made):
        if not _is_plain(place):
            raise refused(f"the path {place[:120]!r}")
    seen = {name: (size, time) for name, (size, time) in into.items()}
    return Journal(tuple(away), seen, tuple(made), row["newest"])


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= 20 else _no_number(digits)


def _no_number(text: str) -> int:
    raise ValueError(f"the number {text[:24]}")


def can_move(place: str) -> bool:
    """Whether a journal may name a place whose file is moved away."""
    return re.search(_MOVED, place) is not None and _is_plain(place)


def _is_plain(place: str) -> bool:
    """Whether each part of a path is the name of a file."""
    try:
        os.fsencode(place)
    except UnicodeEncodeError:
        return False
    return not {"", ".", ".."} & set(place.split("/"))


@cache
def _validator() -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(SCHEMA)


_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_JOURNAL: Final = "repair.json"
_DONE: Final = "done"
_PARTS: Final = ("new", "old")


@dataclass(frozen=True, slots=True)
class Root:
    """A store that is open. Names are relative to it, with `/`; each folder on the way is opened without following links."""

    path: Path
    descriptor: int

    @contextmanager
    def inside(self, name: str) -> Iterator[tuple[int, str]]:
        """Descriptor of the folder that has `name`, and the last part of the name; an OSError names the whole."""
        *folders, last = name.split("/")
        descriptor = os.dup(self.descriptor)
        try:
            for part in folders:
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor, last
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(self.path / name)) from error
        finally:
            os.close(descriptor)

    def status(self, name: str) -> os.stat_result | None:
        """The status of a file, folder or link; None if it or a folder on the way is missing."""
        with suppress(FileNotFoundError, NotADirectoryError), self.inside(name) as (folder, last):
            return os.stat(last, dir_fd=folder, follow_symlinks=False)
        return None

    def entries(self, name: str) -> list[str]:
        """Names in a folder; none if it is missing, or not a folder."""
        missing = suppress(FileNotFoundError, NotADirectoryError)
        with missing, self.inside(f"{name}/.") as (folder, _), os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries)
        return []

    def read(self, name: str, limit: int) -> bytes | None:
        """At most `limit` bytes of a regular file; None for anything else, which is neither followed nor waited for."""
        with self.inside(name) as (folder, last):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            with open(os.open(last, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123 - by its descriptor
                return file.read(limit) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None

    def write(self, name: str, content: bytes) -> None:
        """Writes a file whole, or leaves what was there; it is on the disk, and so is its name."""
        with self.inside(name) as (folder, last):
            part = f".{last}.part"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
                with open(os.open(part, flags, 0o644, dir_fd=folder), "wb") as file:  # noqa: PTH123
                    self._give(folder, part)
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.rename(part, last, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)
                raise
            os.fsync(folder)

    def move(self, source: str, place: str) -> None:
        """Renames a file, a folder, or a link itself."""
        with self.inside(source) as (one, old), self.inside(place) as (other, new):
            os.rename(old, new, src_dir_fd=one, dst_dir_fd=other)

    def make_folder(self, name: str) -> None:
        """Makes one folder."""
        with self.inside(name) as (folder, last):
            os.mkdir(last, dir_fd=folder)
            self._give(folder, last)

    def give_all(self, name: str) -> None:
        """Has everything in a folder belong to the owner of the store, if this user may."""
        for entry in self.entries(name):
            with self.inside(f"{name}/{entry}") as (folder, last):
                self._give(folder, last)
            self.give_all(f"{name}/{entry}")

    def _give(self, folder: int, name: str) -> None:
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            owner = os.fstat(self.descriptor)
            os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)

    def remove_all(self, name: str) -> None:
        """Removes a file, or a folder with everything in it, if it is there."""
        with suppress(FileNotFoundError), self.inside(name) as (folder, last):
            try:
                shutil.rmtree(last, dir_fd=folder)
            except NotADirectoryError:
                os.unlink(last, dir_fd=folder)
            except RecursionError:
                raise OSError(errno.ELOOP, "too many folders inside one another") from None

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        with suppress(FileNotFoundError), self.inside(name) as (folder, last):
            os.unlink(last, dir_fd=folder)

    def remove_folder(self, name: str) -> None:
        """Removes a folder that is empty, if it is there; an OSError if it has anything in it."""
        with suppress(FileNotFoundError), self.inside(name) as (folder, last):
            os.rmdir(last, dir_fd=folder)

    def sync(self, name: str) -> os.stat_result:
        """Has a file's content on the disk; returns its status."""
        with self.inside(name) as (folder, last):
            descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
            try:
                os.fsync(descriptor)
                return os.fstat(descriptor)
            finally:
                os.close(descriptor)

    def sync_folder(self, name: str) -> None:
        """Has a folder's names on the disk."""
        with self.inside(f"{name}/.") as (folder, _):
            os.fsync(folder)


@dataclass(frozen=True, slots=True)
class RepairFolder:
    """One repair's folder in the store."""

    root: Root
    name: str

    @classmethod
    def make(cls, root: Root) -> RepairFolder:
        """A new folder with an empty journal, the newest also if the clock went back; an OSError if it cannot be made."""
        name, earlier = f"{REPAIRS}{datetime.now(UTC):%Y%m%d-%H%M%S-%f}", cls.every(root)
        folder = cls(root, max([name, *(f"{one.name}-again" for one in earlier[-1:])]))
        root.make_folder(folder.name)
        try:
            for part in _PARTS:
                root.make_folder(folder._at(part))
            folder.write(Journal())
        except BaseException:
            root.remove(folder._at(_JOURNAL))
            folder.remove_empty()
            raise
        return folder

    @classmethod
    def every(cls, root: Root) -> list[RepairFolder]:
        """Those of the repairs that were not undone, the newest last, finished or not; what a kill left of others too."""
        names = [name for name in root.entries(".") if name.startswith(REPAIRS)]
        return [
            cls(root, name)
            for name in names
            if (status := root.status(name)) and stat.S_ISDIR(status.st_mode)
        ]

    @classmethod
    def newest(cls, root: Root) -> RepairFolder | None:
        """The folder of the last repair that was not undone, finished or not."""
        return next((folder for folder in reversed(cls.every(root)) if folder.has_journal), None)

    @property
    def path(self) -> Path:
        """For messages."""
        return self.root.path / self.name

    @property
    def has_journal(self) -> bool:
        """Whether a repair got as far as to write one."""
        return self.root.status(self._at(_JOURNAL)) is not None

    @property
    def done(self) -> bool:
        """Whether the repair was finished, and its undoing not begun."""
        return self.root.status(self._at(_DONE)) is not None

    def _at(self, part: str) -> str:
        return f"{self.name}/{part}"

    def read(self) -> Journal:
        """The journal; a MalformedError if it is none."""
        file = os.fspath(self.path / _JOURNAL)
        raw = self.root.read(self._at(_JOURNAL), JOURNAL_BYTES + 1)
        if raw is None:
            raise MalformedError(file=file, found="no regular file", expected="the journal of a repair")
        return parse_journal(raw, file)

    def write(self, journal: Journal) -> None:
        """Writes the journal, so that it is on the disk; an OSError leaves the earlier one."""
        content = journal.to_bytes()
        if len(content) > JOURNAL_BYTES:
            raise UsageError(f"{self.root.path}: more files to replace than the journal of a repair can name")
        self.root.write(self._at(_JOURNAL), content)
        self.root.sync_folder(self.name)
        self.root.sync_folder(".")

    @contextmanager
    def building(self) -> Iterator[Path]:
        """The place where new files are built: this folder, whatever somebody puts under its name meanwhile (on Linux)."""
        with self.root.inside(self._at("new")) as (folder, _):
            descriptor = os.dup(folder)
        held = Path(f"/proc/self/fd/{descriptor}")
        try:
            yield (held if held.exists() else self.path) / "new"
        except OSError as error:
            if not isinstance(error.filename, str) or not error.filename.startswith(f"{held}/"):
                raise
            shown = os.fspath(self.path / Path(error.filename).relative_to(held))
            raise OSError(error.errno, error.strerror, shown) from error
        finally:
            os.close(descriptor)

    def remove_empty(self) -> None:
        """Removes a folder without a journal; not if it contains anything, such as what somebody else has put there."""
        with suppress(OSError):
            for part in (*_PARTS, "undone"):
                self.root.remove_folder(self._at(part))
            for name in (_JOURNAL, _DONE):
                self.root.remove(self._at(f".{name}.part"))
            self.root.remove_folder(self.name)

    def planned(self, away: tuple[str, ...], into: tuple[str, ...]) -> Journal:
        """The journal of moves whose new files are all in `new/`, and on the disk."""
        seen: dict[str, tuple[int, int]] = {}
        made: dict[str, None] = {}
        for place in into:
            seen[place] = _seen(self.root.sync(self._at(f"new/{place}")))
            made |= dict.fromkeys(folder for folder in _above(place) if self.root.status(folder) is None)
        for folder in {self._at(f"new/{above}") for place in into for above in _above(place)}:
            self.root.sync_folder(folder)
        self.root.give_all(self._at("new"))
        journal = Journal(away, seen, tuple(made))
        times = [status.st_mtime_ns for _, status in self._beside(journal)]
        return replace(journal, newest=max([*times, *(time for _, time in seen.values())], default=0))

    def _beside(self, journal: Journal) -> Iterator[tuple[str, os.stat_result]]:
        """The index and queue files in the folders that a repair changes."""
        for folder in sorted(
            name for name in journal.folders() if name.startswith(("index", "consumequeue"))
        ):
            for name in self.root.entries(folder):
                status = self.root.status(f"{folder}/{name}")
                if status is not None and not stat.S_ISDIR(status.st_mode):
                    yield f"{folder}/{name}", status

    def place(self, journal: Journal) -> None:
        """Writes the journal and makes the moves; an OSError ends that."""
        self.write(journal)
        for folder in dict.fromkeys(
            above for place in journal.away for above in _above(self._at(f"old/{place}"))
        ):
            if self.root.status(folder) is None:
                self.root.make_folder(folder)
        for folder in journal.made:
            self.root.make_folder(folder)
        for place in journal.away:
            self.root.move(place, self._at(f"old/{place}"))
        for place in journal.into:
            self.root.move(self._at(f"new/{place}"), place)
        self._sync_places(journal)

    def finish(self) -> None:
        """Marks the repair as done."""
        self.root.write(self._at(_DONE), b"")

    def take_back(self) -> None:
        """Takes back the moves that were made, the last first, and removes the folder; may be repeated after a kill.

        MalformedError if the journal is none; UsageError, with nothing done, if somebody has written to what would be moved, or beside it.
        """
        journal, root = self.read(), self.root
        if root.status(self._at("undone")) is None:
            self._refuse_changed(journal)
            root.remove(self._at(_DONE))
            for place in reversed([*journal.into]):
                if not self._waits(place):
                    root.move(place, self._at(f"new/{place}"))
            for place in reversed(journal.away):
                if self._keeps(place):
                    root.move(self._at(f"old/{place}"), place)
            for folder in reversed(journal.made):
                with suppress(OSError):  # something else is in it
                    root.remove_folder(folder)
            self._sync_places(journal)
            if root.status(self._at("new")) is not None:
                root.move(self._at("new"), self._at("undone"))
        self._remove(journal)

    def _waits(self, place: str) -> bool:
        """Whether the new file is not in its place, or no longer."""
        return self.root.status(self._at(f"new/{place}")) is not None

    def _keeps(self, place: str) -> bool:
        """Whether the file that was in a place is kept here."""
        return self.root.status(self._at(f"old/{place}")) is not None

    def _refuse_changed(self, journal: Journal) -> None:
        unnamed = self._unnamed(journal)
        if unnamed is not None:
            file = os.fspath(self.root.path / unnamed)
            raise MalformedError(file=file, found="a file that the journal does not name", expected="none")
        if all(map(self._waits, journal.into)) and not any(map(self._keeps, journal.away)):
            return  # nothing was moved
        changed = self._changed(journal)
        if changed is not None:
            raise UsageError(
                f"{self.root.path / changed}: has been written since the repair, which can no longer be undone; "
                f"{self.path} keeps the files that were replaced"
            )
        gone = self._gone(journal)
        if gone is not None:
            raise UsageError(f"{self.root.path / gone}: is gone; the repair cannot be undone")

    def _unnamed(self, journal: Journal) -> str | None:
        """The first file in `old/` that is neither in the journal nor leads to what is."""
        named = {f"old/{place}" for place in journal.away}
        folders, above = ["old"], {f"old/{folder}" for place in journal.away for folder in _above(place)}
        for folder in folders:
            for entry in self.root.entries(self._at(folder)):
                name = f"{folder}/{entry}"
                if name in above:
                    folders.append(name)
                elif name not in named:
                    return self._at(name)
        return None

    def _gone(self, journal: Journal) -> str | None:
        """The first file or folder that is missing, without which the repair cannot be taken back; None if none is."""
        back = [self._at(f"new/{place}") for place in journal.into if not self._waits(place)]
        for place in (*back, *filter(self._keeps, journal.away)):
            folder = place.rpartition("/")[0]
            if folder and self.root.status(folder) is None:
                return folder
        for place in journal.away:
            found = self.root.status(place) is not None and (place not in journal.into or self._waits(place))
            if not found and not self._keeps(place):
                return place
        return None

    def _changed(self, journal: Journal) -> str | None:
        """The first file that somebody has written since, in a place or beside it; None if there is none."""
        own = {place for place in journal.into if not self._waits(place)}
        for place in own:
            status = self.root.status(place)
            if status is None or _seen(status) != journal.into[place]:
                return place
        for place in journal.away:
            if place not in own and self._keeps(place) and self.root.status(place) is not None:
                return place
        beside = (name for name, status in self._beside(journal) if status.st_mtime_ns > journal.newest)
        return next(beside, None)

    def _sync_places(self, journal: Journal) -> None:
        for folder in journal.folders():
            with suppress(FileNotFoundError, NotADirectoryError):
                self.root.sync_folder(folder or ".")

    def _remove(self, journal: Journal) -> None:
        """Removes what is left after all moves were taken back; files in `old/` that the journal does not name are kept."""
        kept = {above for place in journal.away for above in _above(self._at(f"old/{place}"))}
        for folder in sorted({*kept, self._at("old")}, key=len, reverse=True):
            if folder != self.name:
                self.root.remove_folder(folder)
        for part in ("scratch", *(f"undone/{name}" for name in self.root.entries(self._at("undone")))):
            self.root.remove_all(self._at(part))
        self.root.remove(self._at(_JOURNAL))
        self.remove_empty()


def _seen(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _above(place: str) -> Iterator[str]:
    """The folders that a name is in, the outermost first."""
    parts = place.split("/")[:-1]
    return ("/".join(parts[: number + 1]) for number in range(len(parts)))
