"""Where a job writes: a directory that driver and workers share, or S3 and HDFS."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_columnar.store import protected_directories
from rocket_spec.errors import UsageError

from rocket_spark.files import is_remote, storage_for, stripped
from rocket_spark.output.far_folder import FarFolder, FarOutput, far_attempt, far_fetched, far_names
from rocket_spark.output.local_folder import Output, local_attempt
from rocket_spark.output.manifest import MANIFEST, SUCCESS, TEMPORARY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from contextlib import AbstractContextManager

__all__ = ["WHOLE", "Folder", "attempt", "check_out", "fetched", "open_out"]

Folder = str | FarFolder
"""Where tasks write their attempts; can be sent to them."""

WHOLE: Final = (0, 1 << 63)
"""All bytes of a file, for `fetched`."""

_OWN: Final = frozenset({MANIFEST, SUCCESS, TEMPORARY})


def check_out(
    out: str | Path,
    stores: Mapping[str, str],
    owned: Collection[str],
    storage: Mapping[str, str] | None,
    *,
    overwrite: bool,
) -> str | Path:
    """Refuses a folder that contains anything, or is inside a store that is read.

    Args:
        out: the folder: a path, or a URI of S3 or HDFS.
        stores: what is read, by name.
        owned: names that this kind of job writes into a folder.
        storage: options of S3 and HDFS.
        overwrite: accepts a folder that contains only what such a job wrote; on S3 and HDFS, only without `_SUCCESS`.

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
        inside = any(f"{place}/".startswith(f"{store}/") for store in stores.values())
        names = far_names(place, storage)
    else:
        place = Path(storage_for(str(out))[1]).absolute()
        near = [store for store in stores.values() if not is_remote(store)]
        kept = (folder for store in near for folder in protected_directories(Path(store)))
        inside = any(place.resolve().is_relative_to(folder) for folder in kept)
        names = (
            {path.name for path in place.iterdir()} if place.is_dir() else {""} if place.exists() else set()
        )
    if inside:
        raise UsageError(f"{out}: is inside a store that is read; choose another directory")
    if not names:
        return place
    if not overwrite:
        killed = " (a job is writing there, or was killed)" if TEMPORARY in names else ""
        raise UsageError(f"{out}: exists and is not an empty directory{killed}; choose a new one")
    if SUCCESS in names and is_remote(str(out)):
        raise UsageError(
            f"{out}: contains a finished job's output, which is not replaced on S3 and HDFS; remove it first"
        )
    foreign = sorted(names - _OWN - set(owned))
    if foreign:
        raise UsageError(
            f"{out}: contains {foreign[0]!r}, which was not written by rocketspec; refusing to overwrite"
        )
    return place


def open_out(out: str | Path, storage: Mapping[str, str] | None, *, overwrite: bool) -> Output | FarOutput:
    """The folder of one job, to be used in a `with` block."""
    if is_remote(str(out)):
        return FarOutput(str(out), storage, overwrite=overwrite)
    return Output(Path(out), overwrite=overwrite)


def attempt(folder: Folder, name: str) -> AbstractContextManager[Path]:
    """In a task: a path of its own for one run to write a file or a tree to, stored when the block ends.

    What was written is removed when the block fails. The path's own name is what the driver commits.

    Raises:
        OSError: it cannot be written, or the job is over and its folder gone.
    """
    return far_attempt(folder, name) if isinstance(folder, FarFolder) else local_attempt(folder, name)


def fetched(folder: Folder, ranges: Mapping[str, tuple[int, int]]) -> AbstractContextManager[Path]:
    """In a task: a directory to read from what earlier tasks wrote, under the same names.

    Args:
        folder: where tasks write.
        ranges: by name, the first byte that is needed and the one after the last; other bytes may be absent.

    Raises:
        OSError: a file cannot be read, or its copy not be written.
    """
    return far_fetched(folder, ranges) if isinstance(folder, FarFolder) else nullcontext(Path(folder))
