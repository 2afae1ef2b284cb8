"""Opens what is packed: stores, tar files in zstd whose zeros become holes on disk, and what Java found, the truth of a store and the vectors."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from rocket_golden._manifest import ROOT, Packed, entry, manifest
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


# --- what Java found ----------------------------------------------------------------------------------


def truth(name: str) -> Iterator[dict[str, Any]]:
    """The values that Java read in a store, line by line; `golden/README.md` lists the types and their fields.

    UnknownStoreError if there is no store of that name; DamagedError if the file isn't the one that the manifest describes.
    """
    data = packed_bytes(entry(name).truth)
    with zstd.open(io.BytesIO(data), "rt", encoding="ascii") as lines:
        for line in lines:
            yield json.loads(line)


def vectors(*, store: bool = False) -> Iterator[dict[str, Any]]:
    """The vectors, in the order of file name and place in the file: cases in the shape of adapter protocol 1.

    Those of index files, or with `store` of index service, consume queues, commit log and checkpoint. OSError for a file that can't be read,
    DamagedError for one that isn't the one that the manifest describes.
    """
    for packed in manifest().vectors or ():
        if packed.file.startswith("vectors/store/") != store:
            continue
        data = packed_bytes(packed)
        if packed.file.endswith(".zst"):
            data = zstd.decompress(data)
        yield from json.loads(data)


def vector_files(*, store: bool = False) -> list[Path]:
    """The files of vectors, sorted by name: lists of cases in JSON, packed or not; `store` as for `vectors`."""
    folder = ROOT / "vectors" / ("store" if store else ".")
    names = (path for path in folder.glob("*") if path.name.endswith((".json", ".json.zst")))
    return sorted(path for path in names if path.name != "manifest.json" and ".schema." not in path.name)
