"""The directory of a store, reached by a descriptor: nothing below it is reached through a link, whoever swaps a folder meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Root:
    """A store that is open. Names are relative to it, with `/`; each folder on the way is opened without following links.

    Attributes:
        path: as the user gave it, for messages.
        descriptor: of the directory.
    """

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
        """Of a file, folder or link; None if it or a folder on the way is missing."""
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
