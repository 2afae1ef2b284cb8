"""S3-compatible stores through pyarrow.fs."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rocket_spec.errors import UsageError

from rocket_spark.files.storage import FileInfo, Settings, Storage

_BUFFER_BYTES = 8 << 20
NAMES = {
    "s3.accessKey": "access_key",
    "s3.secretKey": "secret_key",
    "s3.sessionToken": "session_token",
    "s3.region": "region",
    "s3.anonymous": "anonymous",
    "s3.endpoint": "endpoint_override",
}
_LOWERED = {name.lower(): argument for name, argument in NAMES.items()}


@lru_cache
def _file_system(settings: Settings) -> Any:
    """One connection pool a process and settings."""
    from pyarrow.fs import S3FileSystem

    given: dict[str, Any] = {}
    for name, value in settings:
        if name.startswith("s3."):
            if name not in _LOWERED:
                raise UsageError(f"option {name}: unknown; there are {', '.join(NAMES)}")
            given[_LOWERED[name]] = value
    if "anonymous" in given:
        given["anonymous"] = given["anonymous"].lower() == "true"
    endpoint = (
        given.get("endpoint_override")
        or os.environ.get("AWS_ENDPOINT_URL_S3")
        or os.environ.get("AWS_ENDPOINT_URL")
    )
    if endpoint:
        scheme, separator, host = endpoint.rstrip("/").rpartition("://")
        given["endpoint_override"] = host
        given["scheme"] = scheme if separator else "https"
        if not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
            given.setdefault("region", "us-east-1")  # else a round trip to Amazon asks for it
    return S3FileSystem(**given)


@dataclass(frozen=True)
class S3Storage(Storage):
    """Buckets: `s3://BUCKET/KEY`."""

    settings: Settings = ()

    def _arrow(self) -> Any:
        return _file_system(self.settings)

    def _path(self, uri: str) -> str:
        return uri.partition("://")[2].rstrip("/")

    def stat(self, uri: str) -> FileInfo:
        """As `Storage.stat`."""
        from pyarrow.fs import FileType

        info = self._asked(uri, self._path(uri))
        if info.type == FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
        return FileInfo(uri, info.size or 0, info.type == FileType.Directory)

    def list(self, uri: str) -> list[FileInfo]:
        """As `Storage.list`."""
        return sorted(self._listed(uri, recursive=False), key=lambda info: info.name)

    def walk(self, uri: str) -> Iterator[FileInfo]:
        """As `Storage.walk`, in one listing."""
        yield from sorted(self._listed(uri, recursive=True), key=lambda info: info.uri)

    def _listed(self, uri: str, *, recursive: bool) -> Iterator[FileInfo]:
        from pyarrow.fs import FileSelector, FileType

        path = self._path(uri)
        prefix = uri.rstrip("/")
        for info in self._asked(uri, FileSelector(path, recursive=recursive)):
            if info.type in (FileType.File, FileType.Directory):
                is_directory = info.type == FileType.Directory
                yield FileInfo(prefix + info.path[len(path) :], info.size or 0, is_directory)

    def _asked(self, uri: str, what: Any) -> Any:
        with _named(uri):
            return self._arrow().get_file_info(what)

    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """As `Storage.opened`."""
        with _named(uri):
            file = self._arrow().open_input_file(self._path(uri))

        def read(offset: int, length: int) -> bytes:
            with _named(uri):
                data: bytes = file.read_at(max(0, min(length, size - offset)), offset)
            return data

        return read

    def upload(self, path: Path, uri: str) -> None:
        """As `Storage.upload`: the file is there when all its bytes are."""
        with _named(uri), path.open("rb") as source:
            stream = self._arrow().open_output_stream(self._path(uri))
            while data := source.read(_BUFFER_BYTES):
                stream.write(data)
            stream.close()

    def move(self, uri: str, target: str) -> None:
        """As `Storage.move`."""
        with _named(uri):
            self._arrow().move(self._path(uri), self._path(target))

    def remove(self, uri: str) -> None:
        """As `Storage.remove`."""
        try:
            is_directory = self.stat(uri).is_directory
        except FileNotFoundError:
            return
        with _named(uri):
            (self._arrow().delete_dir if is_directory else self._arrow().delete_file)(self._path(uri))


@contextmanager
def _named(uri: str) -> Iterator[None]:
    """Errors carry the URI."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri) from None
    except OSError as error:
        raise OSError(error.errno or errno.EIO, _told(error), uri) from error
    except UsageError:
        raise
    except ValueError as error:  # a key that pyarrow does not take
        raise OSError(errno.EINVAL, _told(error), uri) from error


def _told(error: Exception) -> str:
    return " ".join(str(error).split())
