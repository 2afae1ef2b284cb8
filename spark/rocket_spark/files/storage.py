"""One face for local disks, object stores and HDFS: stat, list, read a range, and write whole files.

`pyarrow.fs` does the work: local files, S3, GCS and Azure by itself, HDFS (over WebHDFS) and any other scheme by fsspec.
Credentials are found as these libraries find them; for S3 and HDFS options may stand in place of the environment:

- `s3.endpoint` (`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`), `s3.region` (`AWS_REGION`, `AWS_DEFAULT_REGION`),
  `s3.accessKey`, `s3.secretKey`, `s3.sessionToken` (`AWS_ACCESS_KEY_ID`, ...), `s3.anonymous`
- `hdfs.webhdfs` (`ROCKETSPEC_WEBHDFS`): `HOST:PORT` of the name node's HTTP; `hdfs.user` (`HADOOP_USER_NAME`),
  `hdfs.kerberos`
"""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from rocket_columnar.store import Source, StoreFile
from rocket_spec.errors import MalformedError, UsageError

_LISTERS: Final = 16  # directories that are listed at once: each is a round trip

_BUFFER_BYTES: Final = 8 << 20
_HTTP_PORT: Final = 9870

_SECONDS: Final = 60  # timeout of a name node or data node; Spark retries after it

Settings = tuple[tuple[str, str], ...]
"""The options of a storage, names in lower case, in order: a value that can be a key."""

_S3: Final = {
    "s3.accessKey": "access_key",
    "s3.secretKey": "secret_key",
    "s3.sessionToken": "session_token",
    "s3.region": "region",
    "s3.anonymous": "anonymous",
    "s3.endpoint": "endpoint_override",
}
_HDFS: Final = ("hdfs.webhdfs", "hdfs.user", "hdfs.kerberos")

_BY_OPTIONS: Final = {"s3": "s3", "s3a": "s3", "s3n": "s3", "hdfs": "hdfs", "webhdfs": "hdfs"}
"""Schemes that have options, each with the prefix of their names."""

_OF_ARROW: Final = frozenset({"gs", "gcs", "abfs", "abfss"})


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


@dataclass(frozen=True)
class Storage:
    """A file system; a value, so that tasks can take it along. Errors are OSErrors that carry the URI.

    `root` is scheme and authority of a URI, empty for a path.
    """

    root: str = ""
    settings: Settings = ()

    @property
    def is_near(self) -> bool:
        """Whether it is the disks of this machine, or what is mounted there."""
        return not self.root

    def _arrow(self) -> Any:
        return _file_system(self.root, self.settings)

    def _path(self, uri: str) -> str:
        if self.is_near:
            return uri
        authority, _, path = uri.partition("://")[2].partition("/")
        whole = f"/{path}" if _BY_OPTIONS.get(scheme_of(self.root)) == "hdfs" else f"{authority}/{path}"
        return whole.rstrip("/")

    def stat(self, uri: str) -> FileInfo:
        """The file or directory at `uri`; FileNotFoundError if there is none."""
        from pyarrow.fs import FileType

        with _named(uri):
            info = self._arrow().get_file_info(self._path(uri))
        if info.type == FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri)
        return FileInfo(uri, info.size or 0, info.type == FileType.Directory)

    def list(self, uri: str, *, recursive: bool = False) -> list[FileInfo]:
        """The content of the directory `uri`, or with `recursive` below it, in order; only files and directories."""
        if self.is_near:  # pyarrow refuses names that are not UTF-8
            return sorted(_near(uri), key=lambda info: info.uri)
        from pyarrow.fs import FileSelector, FileType

        path, prefix = self._path(uri), uri.rstrip("/")
        with _named(uri):
            infos = self._arrow().get_file_info(FileSelector(path, recursive=recursive))
        found = [
            FileInfo(
                f"{prefix}{info.path[len(path) :]}" if recursive else f"{prefix}/{info.base_name}",
                info.size or 0,
                info.type == FileType.Directory,
            )
            for info in infos
            if info.type in (FileType.File, FileType.Directory)
        ]
        return sorted(found, key=lambda info: info.uri)

    def walk(self, uri: str) -> Iterator[FileInfo]:
        """Everything below `uri`: in one listing of S3, else directory by directory."""
        if _BY_OPTIONS.get(scheme_of(self.root)) == "s3":
            yield from self.list(uri, recursive=True)
            return
        with ThreadPoolExecutor(_LISTERS) as pool:
            level = [uri]
            while level:
                found = [info for infos in pool.map(self.list, level) for info in infos]
                yield from found
                level = [info.uri for info in found if info.is_directory]

    def opened(self, uri: str, size: int) -> Callable[[int, int], bytes]:
        """A file as a function of offset and length, which gives fewer bytes only after its end."""
        with _named(uri):
            file = self._arrow().open_input_file(self._path(uri))

        def read(offset: int, length: int) -> bytes:
            length = max(0, min(length, size - offset))
            with _named(uri):
                data: bytes = file.read_at(length, offset) if length else b""
            if len(data) > length or (len(data) < length and self.stat(uri).size >= offset + length):
                # fsspec hands out the text of a data node's error as if it were data.
                raise OSError(errno.EIO, f"found {len(data):,} bytes at {offset:,}, expected {length:,}", uri)
            return data

        return read

    def read(self, uri: str) -> bytes:
        """All bytes of a small file."""
        size = self.stat(uri).size
        return self.opened(uri, size)(0, size)

    def upload(self, path: Path, uri: str) -> None:
        """Makes a file of the bytes of a local one; it is there when all its bytes are."""
        with _named(uri), path.open("rb") as source:
            self._make_folder(uri)
            with self._arrow().open_output_stream(self._path(uri)) as stream:
                shutil.copyfileobj(source, stream, _BUFFER_BYTES)

    def _make_folder(self, uri: str) -> None:
        """Makes the folder of a file; object stores have none."""
        if self.is_near or _BY_OPTIONS.get(scheme_of(self.root)) == "hdfs":
            self._arrow().create_dir(self._path(uri).rpartition("/")[0], recursive=True)

    def move(self, uri: str, target: str) -> None:
        """Gives a file another name, and makes its folders; FileNotFoundError if there is no such file."""
        self.stat(uri)
        with _named(target):
            self._make_folder(target)
            self._arrow().move(self._path(uri), self._path(target))
        self.stat(target)  # a name node says no without an error

    def remove(self, uri: str) -> None:
        """Removes a file, or a directory with all below it; nothing where nothing is."""
        if self.is_near:
            path = Path(uri)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            return
        try:
            is_directory = self.stat(uri).is_directory
        except FileNotFoundError:
            return
        with _named(uri):
            (self._arrow().delete_dir if is_directory else self._arrow().delete_file)(self._path(uri))


def _near(directory: str) -> Iterator[FileInfo]:
    for name in os.listdir(directory):  # noqa: PTH208 - the names alone
        uri = f"{directory.rstrip('/')}/{name}"
        with suppress(OSError):  # a link to nothing, or removed meanwhile
            status = os.stat(uri)  # noqa: PTH116 - the path is a text
            if stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode):
                yield FileInfo(uri, status.st_size, stat.S_ISDIR(status.st_mode))


def check_settings(options: Mapping[str, str]) -> None:
    """Raises UsageError for a name that is no storage's."""
    names = [*_S3, *_HDFS]
    known = {name.lower() for name in names}
    for name in options:
        if name.lower() not in known:
            raise UsageError(f"storage option {name}: unknown; there are {', '.join(names)}")


def storage_for(uri: str, options: Mapping[str, str] | None = None) -> tuple[Storage, str]:
    """The storage that holds `uri`, a path or a URI of any scheme that pyarrow or fsspec knows, and the URI as that storage takes it.

    `options` are described in the module; other names are ignored, as is case. UsageError for another scheme, or an option with a wrong value.
    """
    scheme = scheme_of(uri)
    if not scheme:
        return Storage(), uri
    if scheme == "file":
        place = uri.partition(":")[2]
        # Hadoop writes a path behind one slash, and Spark's catalog hands it on: nothing in it is escaped.
        if not place.startswith("//"):
            return Storage(), place
        return Storage(), "/" + unquote(place[2:].partition("/")[2])
    kind = _BY_OPTIONS.get(scheme)
    lowered = {name.lower(): value for name, value in (options or {}).items()}
    settings = tuple(sorted((n, v) for n, v in lowered.items() if kind and n.startswith(f"{kind}.")))
    known = _S3 if kind == "s3" else _HDFS
    for name, _ in settings:
        if name not in map(str.lower, known):
            raise UsageError(f"option {name}: unknown; there are {', '.join(known)}")
    parts = urlsplit(uri)
    named, at, _ = parts.netloc.rpartition("@")
    if ":" in named or (at and kind == "s3"):  # a message would print them
        raise UsageError(
            f"{scheme}: a URI with credentials is refused; use the options s3.accessKey and s3.secretKey"
        )
    if kind == "s3" and not parts.netloc:
        raise UsageError(f"{uri}: names no bucket")
    storage = Storage(f"{scheme}://{parts.netloc}", settings)
    _file_system(storage.root, storage.settings)  # names an option or scheme that cannot be
    return storage, uri


@lru_cache
def _file_system(root: str, settings: Settings) -> Any:
    """One connection pool a process, authority and settings."""
    from pyarrow.fs import FileSystem, FSSpecHandler, LocalFileSystem, PyFileSystem

    scheme = scheme_of(root)
    if not scheme:
        return LocalFileSystem()
    kind = _BY_OPTIONS.get(scheme)
    if kind == "s3":
        return _s3(settings)
    if scheme in _OF_ARROW:
        return FileSystem.from_uri(f"{root}/")[0]
    try:
        from fsspec.core import url_to_fs

        files = _web_hdfs(root, settings) if kind == "hdfs" else url_to_fs(f"{root}/")[0]
    except UsageError:
        raise
    except (ImportError, ValueError) as error:
        cure = (
            "needs fsspec and requests: pip install rocketspec[hdfs]"
            if kind == "hdfs"
            else f"is not read: {error}"
        )
        raise UsageError(f"{root}: scheme {scheme} {cure}") from error
    return PyFileSystem(FSSpecHandler(files))  # type: ignore[abstract]  # the stubs lack its methods


def _s3(settings: Settings) -> Any:
    from pyarrow.fs import S3FileSystem

    lowered = {name.lower(): argument for name, argument in _S3.items()}
    given: dict[str, Any] = {}
    for name, value in settings:
        given[lowered[name]] = value
    if "anonymous" in given:
        given["anonymous"] = given["anonymous"].lower() == "true"
    environment = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    endpoint = given.get("endpoint_override") or environment
    if endpoint:
        scheme, separator, host = endpoint.rstrip("/").rpartition("://")
        given["endpoint_override"] = host
        given["scheme"] = scheme if separator else "https"
        if not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
            given.setdefault("region", "us-east-1")  # else a round trip to Amazon asks for it
    return S3FileSystem(**given)


def _web_hdfs(root: str, settings: Settings) -> Any:
    from fsspec.implementations.webhdfs import WebHDFS
    from requests.adapters import HTTPAdapter

    given = dict(settings)
    parts = urlsplit(root)
    user = given.get("hdfs.user") or os.environ.get("HADOOP_USER_NAME")
    address = given.get("hdfs.webhdfs") or os.environ.get("ROCKETSPEC_WEBHDFS")
    if parts.scheme.lower() == "webhdfs" and parts.hostname:
        address = address or parts.netloc
    host, _, port = (address or parts.hostname or "").rpartition("@")[2].partition(":")
    if not host:
        raise UsageError(f"{root}: names no host; give option hdfs.webhdfs HOST:PORT")
    if port and not port.isdecimal():
        raise UsageError(f"option hdfs.webhdfs: {address!r} is not HOST:PORT")
    kerberos = given.get("hdfs.kerberos", "").lower() == "true"

    class _Patient(HTTPAdapter):
        def send(self, request: Any, **options: Any) -> Any:  # type: ignore[override]
            options["timeout"] = options.get("timeout") or _SECONDS
            return super().send(request, **options)

    files = WebHDFS(
        host,
        int(port or _HTTP_PORT),
        user=None if kerberos else user,
        kerberos=kerberos,
        skip_instance_cache=True,
        use_listings_cache=False,
    )
    for scheme in ("http://", "https://"):
        files.session.mount(scheme, _Patient(max_retries=3))
    return files


@contextmanager
def _named(uri: str) -> Iterator[None]:
    """Turns errors into OSErrors with the URI and the innermost OSError's text, if there is one."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), uri) from None
    except NotADirectoryError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), uri) from None
    except UsageError:
        raise
    except (OSError, RuntimeError, ValueError) as error:  # pyarrow's and requests' own are among these
        inner: BaseException | None = error
        while inner is not None and not (isinstance(inner, OSError) and inner.errno and inner.strerror):
            inner = inner.__cause__ or inner.__context__
        told = inner.strerror if isinstance(inner, OSError) else None
        number = inner.errno if isinstance(inner, OSError) else None
        raise OSError(number or errno.EIO, told or " ".join(str(error).split()), uri) from error


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


_PAGE: Final = 1 << 16


@dataclass
class RangeRead:
    """Reads ranges of one file; can be sent to a task, where it opens the file anew."""

    storage: Storage
    uri: str
    size: int
    _opened: Callable[[int, int], bytes] | None = field(default=None, repr=False)

    def __call__(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on, fewer than `length` only at the file's end."""
        if self._opened is None:
            self._opened = self.storage.opened(self.uri, self.size)
        return self._opened(offset, length)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_opened": None}


def range_source(storage: Storage, info: FileInfo) -> Source:
    """The file as what the engine reads in place of a path."""
    return Source(info.uri, info.size, RangeRead(storage, info.uri, info.size))


def disk_bytes(file: StoreFile) -> int:
    """Bytes of the file on disk, without holes; its size if it is far away, 0 if it is missing."""
    if file.source is not None:
        return file.source.size
    try:
        status = file.path.stat()
    except FileNotFoundError:
        return 0
    return min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)


def local_copy(
    file: StoreFile, directory: Path, ranges: Iterable[tuple[int, int]] | None = None
) -> StoreFile:
    """`file` with its bytes on a local disk, for work that wants a path; itself where it is local already.

    The copy is under the file's name in the store, below `directory`, and has its size; pages of zeros are left as holes, and so is all that is
    not in `ranges`, (begin, end) in bytes. Memory stays below 8 MB. MalformedError if the file has become shorter.
    """
    if file.source is None:
        return file
    origin = file.source
    path = directory / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as copy:
        copy.truncate(origin.size)
        for begin, end in [(0, origin.size)] if ranges is None else ranges:
            position, limit = max(0, begin), min(end, origin.size)
            while position < limit:
                data = bytes(origin.read(position, min(_BUFFER_BYTES, limit - position)))
                if not data:
                    raise MalformedError(
                        file=origin.name,
                        offset=position,
                        found="the end of the file",
                        expected=f"{limit - position:,} more bytes",
                    )
                for at in range(0, len(data), _PAGE):
                    page = data[at : at + _PAGE]
                    if page.count(0) != len(page):
                        copy.seek(position + at)
                        copy.write(page)
                position += len(data)
    return replace(file, path=path, source=None)
