"""The directories of cases: in memory where there is room, private, and swept when their owner is gone."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from rocket_spec.errors import UsageError
from rocket_spec.temporary_folders import owned_folder

IN_MEMORY: Final = "/dev/shm"  # noqa: S108 - Linux's own; only inside a fresh folder, and only where it exists

_ROOM: Final = 2 << 30
"""Bytes that must be free there: a few files of the default geometry, written out in full."""

_CHOSEN_BY_USER: Final = ("TMPDIR", "TEMP", "TMP")
_PREFIX: Final = "rocketspec-run-"


def scratch_root(given: Path | None = None) -> Path:
    """The folder to make temporary folders in.

    It is the given one; else the system's, if the environment names one (TMPDIR); else a memory-backed one with
    2 GiB of room; else the system's.

    Raises:
        UsageError: when the given one is not a folder.
    """
    if given is not None:
        if not given.is_dir():
            raise UsageError(f"{given} is not a folder")
        return given
    system = Path(tempfile.gettempdir())
    if any(name in os.environ for name in _CHOSEN_BY_USER):
        return system
    in_memory = Path(IN_MEMORY)
    try:
        if (
            in_memory.is_dir()
            and os.access(in_memory, os.W_OK)
            and shutil.disk_usage(in_memory).free >= _ROOM
        ):
            return in_memory
    except OSError:
        pass
    return system


def scratch(given: Path | None = None) -> contextlib.AbstractContextManager[Path]:
    """A private temporary folder, removed at the end; those of killed runs are removed first.

    Raises:
        UsageError: as `scratch_root`.
    """
    return owned_folder(scratch_root(given), prefix=_PREFIX)
