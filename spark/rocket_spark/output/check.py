"""Which folders a job may write to, before it begins."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from rocket_columnar.store import protected_directories
from rocket_spec.errors import UsageError

from rocket_spark.files import is_remote, storage_for, stripped
from rocket_spark.output.manifest import COMING, MANIFEST, SUCCESS, TEMPORARY

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
    files, path = storage_for(str(out), storage)
    place: str | Path
    if is_remote(str(out)):
        place = stripped(path)
        inside = any(_far_place(place).startswith(_far_place(store)) for store in stores.values())
    else:
        place = Path(path).absolute()
        near = [store for store in stores.values() if not is_remote(store)]
        real = Path(os.path.realpath(place))
        inside = any(real.is_relative_to(folder) for store in near for folder in _protected(Path(store)))
    try:
        names = {info.name for info in files.list(str(place))}
    except FileNotFoundError:
        names = set()
    except NotADirectoryError:
        names = {""}
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
