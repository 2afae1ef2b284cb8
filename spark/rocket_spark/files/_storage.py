"""One face for local disks, S3 and HDFS: stat, list, and read a range. Values only, so that tasks can take them along.

Options, each of which may stand in the environment instead:

- `s3.endpoint` (`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`), `s3.region` (`AWS_REGION`, `AWS_DEFAULT_REGION`),
  `s3.accessKey`, `s3.secretKey`, `s3.sessionToken` (`AWS_ACCESS_KEY_ID`, ...), `s3.anonymous`
- `hdfs.webhdfs` (`ROCKETSPEC_WEBHDFS`): `HOST:PORT` of the name node's HTTP; `hdfs.user` (`HADOOP_USER_NAME`),
  `hdfs.kerberos`, `hdfs.libhdfs`
"""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from rocket_spec.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "FarStorage",
    "FileInfo",
    "LocalStorage",
    "Settings",
    "Storage",
    "check_settings",
    "is_remote",
    "join",
    "scheme_of",
    "storage_for",
    "stripped",
]

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
    """What each kind of storage can do. Errors are OSErrors that carry the URI."""

    @abstractmethod
    def stat(self, uri: str) -> FileInfo:
        """What lies at `uri`; FileNotFoundError where nothing does."""

    @abstractmethod
    def list(self, uri: str) -> list[FileInfo]:
        """What lies in the directory `uri`, in name order; what is neither file nor directory is left out."""

    @abstractmethod
    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """A file as a function of offset and length, which gives fewer bytes only behind its end."""

    def walk(self, uri: str) -> Iterator[FileInfo]:
        """Everything below `uri`, directories before what they hold."""
        with ThreadPoolExecutor(_LISTERS) as pool:
            level = [uri]
            while level:
                found = [info for infos in pool.map(self.list, level) for info in infos]
                yield from found
                level = [info.uri for info in found if info.is_directory]


class FarStorage(Storage):
    """A storage that is not a path of this machine, and can be written to."""

    @abstractmethod
    def upload(self, path: Path, uri: str) -> None:
        """Makes a file of the bytes of a local one."""

    @abstractmethod
    def move(self, uri: str, target: str) -> None:
        """Gives a file another name, where none is; FileNotFoundError where there is no such file."""

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
                except FileNotFoundError:  # removed meanwhile, or a symbolic link to nothing
                    continue
                if stat.S_ISDIR(status.st_mode):
                    found.append(FileInfo(join(uri, entry.name), 0, True))
                elif stat.S_ISREG(status.st_mode):
                    found.append(FileInfo(join(uri, entry.name), status.st_size, False))
        return sorted(found, key=lambda info: info.name)

    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """As `Storage.opened`."""
        del size

        def read(offset: int, length: int) -> bytes:
            with Path(uri).open("rb", buffering=0) as file:
                file.seek(offset)
                return file.read(length) or b""

        return read


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


def check_settings(options: Mapping[str, str]) -> None:
    """Raises UsageError for a name that is no storage's."""
    from rocket_spark.files import _hdfs, _s3

    names = [*_s3.NAMES, *_hdfs.NAMES]
    known = {name.lower() for name in names}
    for name in options:
        if name.lower() not in known:
            raise UsageError(f"storage option {name}: unknown; there are {', '.join(names)}")


def settings_of(options: Mapping[str, str]) -> Settings:
    """Those of `options` that are a storage's."""
    lowered = {name.lower(): value for name, value in options.items()}
    return tuple(sorted((n, v) for n, v in lowered.items() if n.startswith(("s3.", "hdfs."))))


def storage_for(uri: str, options: Mapping[str, str] | None = None) -> tuple[Storage, str]:
    """The storage that holds `uri`, and the URI as that storage takes it.

    Args:
        uri: a path, `file:`, `s3:` (also `s3a:`, `s3n:`), `hdfs:` or `webhdfs:` URI.
        options: see the module; other names are passed over, case does not count.

    Raises:
        UsageError: another scheme, or an option with a value that it cannot have.
    """
    scheme = scheme_of(uri)
    settings = settings_of(options or {})
    if not scheme:
        return LocalStorage(), uri
    if scheme == "file":
        return LocalStorage(), unquote(urlsplit(uri).path)
    if not urlsplit(uri).netloc and scheme in ("s3", "s3a", "s3n"):
        raise UsageError(f"{uri}: names no bucket")
    if scheme in ("s3", "s3a", "s3n"):
        from rocket_spark.files._s3 import S3Storage

        return S3Storage(settings), uri
    if scheme in ("hdfs", "webhdfs"):
        from rocket_spark.files._hdfs import hdfs_storage

        return hdfs_storage(uri, settings), uri
    raise UsageError(f"{uri}: scheme {scheme} is not read; there are s3, hdfs, webhdfs and file")
