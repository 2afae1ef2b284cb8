"""Where a job writes: a directory that driver and workers share, or S3 and HDFS."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_columnar.store import protected_directories
from rocket_spec.errors import UsageError

from rocket_spark.files import is_remote, storage_for, stripped
from rocket_spark.output.far_folder import (
    FarFolder,
    FarOutput,
    far_attempt,
    far_fetched,
    far_manifest,
    far_names,
    note_far,
)
from rocket_spark.output.journal import journalled
from rocket_spark.output.local_folder import Output, local_attempt, note_locally
from rocket_spark.output.manifest import COMING, MANIFEST, SUCCESS, TEMPORARY, parsed_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import AbstractContextManager

__all__ = [
    "WHOLE",
    "Folder",
    "attempt",
    "check_out",
    "earlier_manifest",
    "fetched",
    "journalled_in",
    "open_out",
]

Folder = str | FarFolder
"""Where tasks write their attempts; can be sent to them."""

WHOLE: Final = (0, 1 << 63)
"""All bytes of a file, for `fetched`."""

_OWN: Final = frozenset({MANIFEST, COMING, SUCCESS, TEMPORARY})


def check_out(
    out: str | Path,
    stores: Mapping[str, str],
    owned: Collection[str],
    storage: Mapping[str, str] | None,
    *,
    overwrite: bool,
    resume: bool = False,
    append: bool = False,
) -> str | Path:
    """Refuses a folder that contains anything, or is inside a store that is read.

    Args:
        out: the folder: a path, or a URI of S3 or HDFS.
        stores: what is read, by name.
        owned: names that this kind of job writes into a folder.
        storage: options of S3 and HDFS.
        overwrite: accepts a folder that contains only what such a job wrote; on S3 and HDFS, only without `_SUCCESS`.
        resume: accepts a folder that contains only the unfinished work of such a job.
        append: accepts a folder that contains only what such a job wrote.

    Returns:
        The folder as an absolute path, or as a URI.

    Raises:
        UsageError: the folder cannot be used.
        OSError: it cannot be listed.
    """
    place: str | Path
    names: set[str]
    if is_remote(str(out)):
        place = stripped(str(out))
        inside = any(_far_place(place).startswith(_far_place(store)) for store in stores.values())
        names = far_names(place, storage)
    else:
        place = Path(storage_for(str(out))[1]).absolute()
        near = [store for store in stores.values() if not is_remote(store)]
        real = Path(os.path.realpath(place))
        inside = any(real.is_relative_to(folder) for store in near for folder in _protected(Path(store)))
        names = (
            {path.name for path in place.iterdir()} if place.is_dir() else {""} if place.exists() else set()
        )
    if inside:
        raise UsageError(f"{out}: is inside a store that is read; choose another directory")
    foreign = sorted(names - _OWN - set(owned))
    unfinished = TEMPORARY in names and SUCCESS not in names
    if not names or (resume and unfinished and not foreign):
        return place
    if not (overwrite or append):
        killed = " (a job is writing there, or was killed)" if TEMPORARY in names else ""
        raise UsageError(f"{out}: exists and is not an empty directory{killed}; choose a new one")
    if SUCCESS in names and not append and is_remote(str(out)):
        raise UsageError(
            f"{out}: contains a finished job's output, which is not replaced on S3 and HDFS; remove it first"
        )
    if foreign:
        raise UsageError(
            f"{out}: contains {foreign[0]!r}, which was not written by rocketspec; refusing to overwrite"
        )
    return place


def _far_place(uri: str) -> str:
    """Where a URI points to, whatever its scheme is called and however many slashes are in it."""
    return "/".join(part for part in uri.partition("://")[2].split("/") if part) + "/"


def _protected(store: Path) -> list[Path]:
    """Where nothing may be written; of a store that cannot be listed, which the job reports, its directory."""
    try:
        return list(protected_directories(store))
    except OSError:
        return [store]


def open_out(
    out: str | Path,
    storage: Mapping[str, str] | None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    append: bool = False,
) -> Output | FarOutput:
    """The folder of one job, to be used in a `with` block.

    Args:
        out: the folder.
        storage: options of S3 and HDFS.
        overwrite: replaces its content.
        resume: keeps and uses the work of a job that was killed or failed.
        append: adds to its content.
    """
    if is_remote(str(out)):
        return FarOutput(str(out), storage, overwrite=overwrite, resume=resume, append=append)
    return Output(Path(out), overwrite=overwrite, resume=resume)


def earlier_manifest(out: str | Path, storage: Mapping[str, str] | None) -> dict[str, Any] | None:
    """The manifest of an output folder, also of one that a killed `add` left; None if there is none.

    Raises:
        UsageError: it is damaged, or of another version.
        OSError: it cannot be read.
    """
    try:
        if is_remote(str(out)):
            return far_manifest(str(out), storage)
        return parsed_manifest((Path(out) / MANIFEST).read_bytes(), str(out))
    except FileNotFoundError:
        return None


def journalled_in(folder: Folder, work: Callable[..., Any], options: Any = None) -> Callable[..., Any]:
    """`work`, for tasks, with an entry in `folder` for each that finishes; see `journal`."""
    note: Any = note_far if isinstance(folder, FarFolder) else note_locally
    return journalled(work, partial(note, folder), options)


def attempt(folder: Folder, name: str, *, synced: bool = True) -> AbstractContextManager[Path]:
    """In a task: a path of its own for one run to write a file or a tree to, stored when the block ends.

    What was written is removed when the block fails. The path's own name is what the driver commits. Without `synced` a
    local file need not outlive a crash of the machine: for what only this job reads.

    Raises:
        OSError: it cannot be written, or the job is over and its folder gone.
    """
    if isinstance(folder, FarFolder):
        return far_attempt(folder, name)
    return local_attempt(folder, name, synced=synced)


def fetched(folder: Folder, ranges: Mapping[str, tuple[int, int]]) -> AbstractContextManager[Path]:
    """In a task: a directory to read from what earlier tasks wrote, under the same names.

    Args:
        folder: where tasks write.
        ranges: by name, the first byte that is needed and the one after the last; other bytes may be absent.

    Raises:
        OSError: a file cannot be read, or its copy not be written.
    """
    return far_fetched(folder, ranges) if isinstance(folder, FarFolder) else nullcontext(Path(folder))
