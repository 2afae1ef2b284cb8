"""Files that are far away, as the engine's `Source`s and as copies on a local disk."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from rocket_columnar.store import Source, StoreFile
from rocket_spec.errors import MalformedError

from rocket_spark.files.storage import FileInfo, Storage

_BUFFER_BYTES: Final = 8 << 20
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

    The copy is under the file's name in the store and has its size; pages of zeros are left as holes, and so
    is all that is not asked for. Memory stays below 8 MB.

    Args:
        file: as `find_files` gives it.
        directory: where the copy goes; it is the caller's to remove.
        ranges: (begin, end) in bytes of the file; all of it when None.

    Raises:
        OSError: the file cannot be read, or the copy not written.
        MalformedError: the file has become shorter.
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
