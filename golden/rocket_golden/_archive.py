"""Opens packed stores: a tar file in zstd, whose zeros become holes on disk."""

import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from rocket_golden._manifest import ROOT, Packed, entry
from rocket_golden._zstd import zstd
from rocket_golden.errors import DamagedError

_BUFFER: Final = 1 << 16
_ZEROS: Final = bytes(_BUFFER)


def packed_bytes(packed: Packed) -> bytes:
    """The bytes of a packed file; DamagedError if size or SHA-256 are not those of the manifest, OSError if it can't be read."""
    data = (ROOT / packed.file).read_bytes()
    if len(data) != packed.size:
        raise DamagedError(packed.file, f"{len(data)} bytes", f"{packed.size}")
    digest = hashlib.sha256(data).hexdigest()
    if digest != packed.sha256:
        raise DamagedError(packed.file, f"SHA-256 {digest}", packed.sha256)
    return data


def members(packed: Packed) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content, to be read before the next is asked for, of each file in a packed store; DamagedError for one that leads out of it."""
    with (
        zstd.open(io.BytesIO(packed_bytes(packed))) as stream,
        tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 20) as tar,
    ):
        for member in tar:
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or not _is_safe(member.name):
                raise DamagedError(packed.file, f"member {member.name!r}", "files below the store only")
            yield member.name, content


def _is_safe(name: str) -> bool:
    """Whether a name leads to a place below the folder that it is joined to, on any system."""
    path = PurePosixPath(name)
    return (
        bool(path.parts)
        and not path.is_absolute()
        and ".." not in path.parts
        and not set(name) & set("\\:\0")
    )


def open_store(name: str, directory: str | os.PathLike[str]) -> Path:
    """Unpacks a golden store into `directory`/`name`, one of `stores()`, and returns that path; the directory is made when missing.

    Runs of 64 KiB of zeros become holes, so that a default index file of 420 MB takes little space and time.

    Raises:
        UnknownStoreError: there is no store of that name.
        DamagedError: the archive isn't the one that the manifest describes.
        FileExistsError: `directory`/`name` already exists.
        OSError: reading or writing failed.
    """
    store = entry(name)
    target = Path(directory) / name
    target.mkdir(parents=True)
    for file, content in members(store.archive):
        path = target.joinpath(*PurePosixPath(file).parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            _copy_sparse(content, out)
    return target


def _copy_sparse(content: IO[bytes], out: IO[bytes]) -> None:
    size = 0
    while buffer := content.read(_BUFFER):
        if buffer == _ZEROS[: len(buffer)]:
            out.seek(len(buffer), 1)
        else:
            out.write(buffer)
        size += len(buffer)
    out.truncate(size)
