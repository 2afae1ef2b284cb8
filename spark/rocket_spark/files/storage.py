"""One face for local disks, S3 and HDFS: stat, list, read a range, and write whole files."""

import errno
import os
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LISTERS: Final = 16
"""Directories that are listed at once: each is a round trip."""

Settings = tuple[tuple[str, str], ...]
"""The options of a storage, names in lower case, in order: a value that can be a key."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file or directory: `uri` as the user's path began, size in bytes (0 of a directory)."""

    uri: str
    size: int
    is_directory: bool

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.uri.rstrip("/").rpartition("/")[2]


class Storage(ABC):
    """What each kind of storage can do; values, so that tasks can take them along. Errors are OSErrors that carry the URI."""

    @abstractmethod
    def stat(self, uri: str) -> FileInfo:
        """What is at `uri`; FileNotFoundError where nothing does."""

    @abstractmethod
    def list(self, uri: str) -> list[FileInfo]:
        """What is in the directory `uri`, in name order; what is neither file nor directory is skipped."""

    @abstractmethod
    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """A file as a function of offset and length, which gives fewer bytes only after its end."""

    def walk(self, uri: str) -> Iterator[FileInfo]:
        """Everything below `uri`, directories before what they hold."""
        with ThreadPoolExecutor(_LISTERS) as pool:
            level = [uri]
            while level:
                found = [info for infos in pool.map(self.list, level) for info in infos]
                yield from found
                level = [info.uri for info in found if info.is_directory]

    def read(self, uri: str) -> bytes:
        """All bytes of a small file."""
        size = self.stat(uri).size
        return self.opened(uri, size)(0, size)

    @abstractmethod
    def upload(self, path: Path, uri: str) -> None:
        """Makes a file of the bytes of a local one."""

    @abstractmethod
    def move(self, uri: str, target: str) -> None:
        """Gives a file another name, if nothing has it, and makes its folders; FileNotFoundError if there is no such file."""

    @abstractmethod
    def remove(self, uri: str) -> None:
        """Removes a file, or a directory with all below it; nothing where nothing is."""


class LocalStorage(Storage):
    """The disks of this machine, or what is mounted there."""

    def stat(self, uri: str) -> FileInfo:
        """As `Storage.stat`."""
        status = Path(uri).stat()
        is_directory = stat.S_ISDIR(status.st_mode)
        return FileInfo(uri, 0 if is_directory else status.st_size, is_directory)

    def list(self, uri: str) -> list[FileInfo]:
        """As `Storage.list`."""
        found = []
        with os.scandir(uri) as entries:
            for entry in entries:
                try:
                    status = entry.stat()
                except OSError as error:
                    if error.errno not in (errno.ENOENT, errno.ELOOP):
                        raise
                    continue  # removed meanwhile, or a symbolic link to nothing
                is_directory = stat.S_ISDIR(status.st_mode)
                if is_directory or stat.S_ISREG(status.st_mode):
                    size = 0 if is_directory else status.st_size
                    found.append(FileInfo(join(uri, entry.name), size, is_directory))
        return sorted(found, key=lambda info: info.name)

    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """As `Storage.opened`."""
        del size

        def read(offset: int, length: int) -> bytes:
            with Path(uri).open("rb", buffering=0) as file:
                file.seek(offset)
                return file.read(length) or b""

        return read

    def upload(self, path: Path, uri: str) -> None:
        """As `Storage.upload`: moves the file."""
        self.move(str(path), uri)

    def move(self, uri: str, target: str) -> None:
        """As `Storage.move`; a file that has the name is replaced."""
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(uri).replace(target)

    def remove(self, uri: str) -> None:
        """As `Storage.remove`."""
        path = Path(uri)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def join(uri: str, name: str) -> str:
    """The URI of `name` in the directory `uri`."""
    return f"{uri.rstrip('/')}/{name}"


def scheme_of(uri: str) -> str:
    """The scheme of a URI in lower case; empty for a plain path."""
    scheme, separator, _ = uri.partition("://")
    return scheme.lower() if separator else "file" if uri.startswith("file:/") else ""


def is_remote(uri: str) -> bool:
    """Whether `uri` names something that the operating system cannot open."""
    return scheme_of(uri) not in ("", "file")


def stripped(uri: str) -> str:
    """`uri` without slashes at its end, those of a bare scheme aside."""
    short = uri.rstrip("/")
    return uri if short.endswith(":") else short
