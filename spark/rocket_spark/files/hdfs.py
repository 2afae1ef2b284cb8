"""HDFS over the name node's HTTP: WebHDFS, through fsspec."""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from rocket_spec.errors import UsageError

from rocket_spark.files.storage import FileInfo, Settings, Storage, join

NAMES: Final = ("hdfs.webhdfs", "hdfs.user", "hdfs.kerberos")
_HTTP_PORT: Final = 9870
_SECONDS: Final = 60
"""A name node or data node that says nothing for so long is an error, which Spark retries."""


def hdfs_storage(uri: str, settings: Settings) -> Storage:
    """The storage of an `hdfs:` or `webhdfs:` URI; UsageError for an option that cannot be."""
    given = {name: value for name, value in settings if name.startswith("hdfs.")}
    for name in given:
        if name not in NAMES:
            raise UsageError(f"option {name}: unknown; there are {', '.join(NAMES)}")
    parts = urlsplit(uri)
    user = given.get("hdfs.user") or os.environ.get("HADOOP_USER_NAME")
    address = given.get("hdfs.webhdfs") or os.environ.get("ROCKETSPEC_WEBHDFS")
    if parts.scheme.lower() == "webhdfs" and parts.hostname:
        address = address or parts.netloc
    host, _, port = (address or parts.hostname or "").rpartition("@")[2].partition(":")
    if not host:
        raise UsageError(f"{uri}: names no host; give option hdfs.webhdfs HOST:PORT")
    if port and not port.isdecimal():
        raise UsageError(f"option hdfs.webhdfs: {address!r} is not HOST:PORT")
    kerberos = given.get("hdfs.kerberos", "").lower() == "true"
    return WebHdfsStorage(host, int(port or _HTTP_PORT), None if kerberos else user, kerberos)


@lru_cache
def _web(host: str, port: int, user: str | None, kerberos: bool) -> Any:  # noqa: FBT001 - a key of the cache
    """One HTTP session a process and name node, which does not wait for ever."""
    try:
        from fsspec.implementations.webhdfs import WebHDFS
        from requests.adapters import HTTPAdapter
    except ImportError as error:
        raise UsageError("hdfs: needs fsspec and requests: pip install rocketspec[hdfs]") from error

    class _Patient(HTTPAdapter):
        def send(self, request: Any, **options: Any) -> Any:  # type: ignore[override]
            options["timeout"] = options.get("timeout") or _SECONDS
            return super().send(request, **options)

    files = WebHDFS(host, port, user=user, kerberos=kerberos, skip_instance_cache=True)
    for scheme in ("http://", "https://"):
        files.session.mount(scheme, _Patient(max_retries=3))
    return files


def _reason(error: BaseException) -> str:
    """The system's own word where there is one: those around it name each other."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.errno and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return " ".join(str(error).split())


def _found(uri: str, info: Any) -> FileInfo:
    return FileInfo(uri, info["size"], info["type"] == "directory")


@dataclass(frozen=True)
class WebHdfsStorage(Storage):
    """A name node, given by its HTTP address."""

    host: str
    port: int
    user: str | None
    kerberos: bool

    def _path(self, uri: str) -> str:
        return "/" + uri.partition("://")[2].partition("/")[2].rstrip("/")

    def _ask(self, uri: str, what: Callable[[Any], Any]) -> Any:
        try:
            return what(_web(self.host, self.port, self.user, self.kerberos))
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri) from None
        except PermissionError as error:
            raise PermissionError(errno.EACCES, str(error), uri) from error
        except (OSError, RuntimeError, ValueError) as error:  # requests' errors are OSErrors
            why = _reason(error)
            raise OSError(errno.EIO, f"WebHDFS at {self.host}:{self.port}: {why}", uri) from error

    def stat(self, uri: str) -> FileInfo:
        """As `Storage.stat`."""
        info = self._ask(uri, lambda files: files.info(self._path(uri)))
        return _found(uri, info)

    def list(self, uri: str) -> list[FileInfo]:
        """As `Storage.list`."""
        infos = self._ask(uri, lambda files: files.ls(self._path(uri), detail=True))
        found = [
            _found(join(uri, info["pathSuffix"]), info)
            for info in infos
            if info["pathSuffix"]  # a file lists itself
        ]
        return sorted(found, key=lambda info: info.name)

    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """As `Storage.opened`."""
        path = self._path(uri)
        file = self._ask(uri, lambda files: files.open(path, "rb", cache_type="none", size=size))

        def read(offset: int, length: int) -> bytes:
            length = max(0, min(length, size - offset))
            file.seek(min(offset, file.size))
            data: bytes = self._ask(uri, lambda _: file.read(length)) if length else b""
            if len(data) > length or (len(data) < length and offset + len(data) < file.size):
                # fsspec hands out the text of a data node's error as if it were data.
                raise OSError(errno.EIO, f"found {len(data):,} bytes at {offset:,}, expected {length:,}", uri)
            return data

        return read

    def upload(self, path: Path, uri: str) -> None:
        """As `Storage.upload`."""
        self._ask(uri, lambda files: files.put_file(str(path), self._path(uri)))

    def move(self, uri: str, target: str) -> None:
        """As `Storage.move`; the name node says no without an error."""
        self.stat(uri)
        parent = self._path(target).rpartition("/")[0]
        self._ask(target, lambda files: files.makedirs(parent, exist_ok=True))
        self._ask(uri, lambda files: files.mv(self._path(uri), self._path(target)))
        try:
            self.stat(uri)
        except FileNotFoundError:
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)

    def remove(self, uri: str) -> None:
        """As `Storage.remove`."""
        self._ask(uri, lambda files: files.rm(self._path(uri), recursive=True))
