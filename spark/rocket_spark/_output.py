"""Where a job writes: a directory that driver and workers share (`_commit`), or S3 and HDFS (`_far_output`)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rocket_spark import _commit
from rocket_spark._commit import Output, check_out
from rocket_spark._far_output import FarFolder, FarOutput, check_far_out, far_attempt, far_fetched
from rocket_spark._stores import local_paths
from rocket_spark.files import storage_for
from rocket_spark.files._storage import is_remote, stripped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from contextlib import AbstractContextManager

__all__ = ["WHOLE", "Folder", "attempt", "checked_out", "fetched", "opened_out"]

Folder = str | FarFolder
"""Where tasks write their attempts; can be sent to them."""

WHOLE: Final = (0, 1 << 63)
"""All bytes of a file, for `fetched`."""


def checked_out(
    out: str | Path,
    stores: Mapping[str, str],
    owned: Collection[str],
    storage: Mapping[str, str] | None,
    *,
    overwrite: bool,
) -> str | Path:
    """The folder as an absolute path, or a URI; arguments and errors as of `_commit.check_out`."""
    if is_remote(str(out)):
        uri = stripped(str(out))
        check_far_out(uri, stores.values(), owned, storage, overwrite=overwrite)
        return uri
    path = Path(storage_for(str(out))[1]).absolute()
    check_out(path, local_paths(stores), owned, overwrite=overwrite)
    return path


def opened_out(out: str | Path, storage: Mapping[str, str] | None, *, overwrite: bool) -> Output | FarOutput:
    """The folder of one job, to be used in a `with` block."""
    if is_remote(str(out)):
        return FarOutput(str(out), storage, overwrite=overwrite)
    return Output(Path(out), overwrite=overwrite)


def attempt(folder: Folder, name: str) -> AbstractContextManager[Path]:
    """In a task: a path of its own for one run to write to; see `_commit.attempt`."""
    return far_attempt(folder, name) if isinstance(folder, FarFolder) else _commit.attempt(folder, name)


def fetched(folder: Folder, ranges: Mapping[str, tuple[int, int]]) -> AbstractContextManager[Path]:
    """In a task: a directory to read from what earlier tasks wrote, under the same names.

    Only what is asked for needs to be there: `ranges` has the first byte and the one behind the last, by name.
    """
    return far_fetched(folder, ranges) if isinstance(folder, FarFolder) else nullcontext(Path(folder))
