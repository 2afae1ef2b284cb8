"""The output of a rebuild: a staging directory, renamed when everything is complete, and a manifest, written last."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rocket_spec.errors import UsageError

from rocket_columnar.store import protected_directories

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has no locks on directories: nothing is swept there
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MANIFEST", "PARTS", "check_directory", "commit", "staged"]

PARTS: Final = ("index", "consumequeue", "consumequeue_ext")
"""The directories that a rebuild writes."""

MANIFEST: Final = "_manifest.json"
"""Written last: path and bytes of each file. A directory without it is not whole."""

_PREFIX: Final = ".rebuild-"
_PLACING: Final = "placing"
"""In a staging directory: its parts are being put in place."""


def check_directory(store: Path, directory: Path) -> None:
    """Refuses a directory inside the store, or with files of an earlier rebuild.

    Raises:
        UsageError: the directory cannot be used.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: a file; -o must be a directory")
    whole = directory.resolve()
    for kept in [store.resolve(), *protected_directories(store)]:
        if whole == kept or kept in whole.parents:
            raise UsageError(f"{directory}: inside the store; choose a directory outside any store")
    _sweep(directory)
    for part in (*PARTS, MANIFEST):
        if (directory / part).exists():
            raise UsageError(f"{directory / part}: already exists")


def _locked(directory: Path) -> int | None:
    """A descriptor that holds the lock of a directory; None if another process holds it, or the directory is gone."""
    if fcntl is None:
        return None
    descriptor = None
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), directory.stat()):
            return descriptor
    except OSError:
        pass
    if descriptor is not None:
        os.close(descriptor)
    return None


def _sweep(directory: Path) -> None:
    """Removes the leftovers of rebuilds that are no longer running, including parts without a manifest."""
    for stale in directory.glob(f"{_PREFIX}*"):
        lock = _locked(stale)
        if lock is None:
            continue
        try:
            if (stale / _PLACING).exists() and not (directory / MANIFEST).exists():
                for part in PARTS:
                    shutil.rmtree(directory / part, ignore_errors=True)
            shutil.rmtree(stale, ignore_errors=True)
        finally:
            os.close(lock)


@contextmanager
def staged(directory: Path) -> Iterator[Path]:
    """A temporary directory inside the final one; removed afterwards, and `directory` too if it is empty and new."""
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=directory))
    lock = _locked(staging)
    try:
        yield staging
    except OSError as error:
        if error.filename is None and error.errno is not None:  # a write does not name its file
            raise OSError(error.errno, error.strerror, os.fspath(directory)) from error
        raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if lock is not None:
            os.close(lock)
        if made and not any(directory.iterdir()):
            directory.rmdir()


def commit(staging: Path, directory: Path, facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Puts the parts of a staging directory in place, all or none, and writes the manifest.

    Args:
        staging: contains the parts.
        directory: where they go.
        facts: for the manifest, in addition to the files.

    Returns:
        Paths of the files, relative to `directory`, with `/`, sorted.

    Raises:
        OSError: a rename fails, or the disk is full.
    """
    parts = [part for part in PARTS if (staging / part).exists()]
    written = sorted(path for part in parts for path in (staging / part).rglob("*") if path.is_file())
    names = [path.relative_to(staging).as_posix() for path in written]
    files = [{"path": name, "bytes": path.stat().st_size} for name, path in zip(names, written, strict=True)]
    manifest = staging / MANIFEST
    manifest.write_text(
        json.dumps({"rocketspec_manifest": 1, **facts, "files": files}, indent=1) + "\n", "utf-8"
    )
    (staging / _PLACING).touch()
    placed: list[Path] = []
    try:
        for part in parts:
            (staging / part).rename(directory / part)
            placed.append(directory / part)
        manifest.rename(directory / MANIFEST)
    except BaseException:
        for path in placed:
            with suppress(OSError):
                shutil.rmtree(path)
        raise
    return tuple(names)
