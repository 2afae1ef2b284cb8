"""The output of a rebuild: a staging directory, renamed when everything is complete, and a manifest, renamed last.

What an earlier rebuild wrote stays in place until the new files are complete. Then it moves into the staging directory,
and the new files take its place. If that is interrupted, even by a kill, the next rebuild into the directory moves the
earlier files back.
"""

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.outputs import output_folder

from rocket_columnar.store import protected_directories

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows has no locks on directories: nothing is swept there
    fcntl = None


FOLDERS: Final = ("index", "consumequeue", "consumequeue_ext")
"""The directories that a rebuild writes."""

MANIFEST: Final = "_manifest.json"
"""Written last: path and bytes of each file. A directory without it is not whole."""

_PREFIX: Final = ".rebuild-"

_STATE: Final = "rocketspec-rebuild.json"
"""In a staging directory: device and inode of each directory that is being put in place."""

_EARLIER: Final = "earlier"
"""In a staging directory: what an earlier rebuild wrote."""

_OF_A_STORE: Final = ("commitlog", "checkpoint", "abort")
"""Names that show a store."""

_BESIDE: Final = ("lock", "config")
"""Names that show a store only beside index files or queues, because other programs use them too."""


def prepare(stores: Sequence[Path], directory: Path, *, force: bool) -> None:
    """Refuses a directory that a rebuild must not write to; settles an earlier rebuild into it that was killed.

    Args:
        stores: the directories that are read.
        directory: for the output.
        force: whether it may contain the output of an earlier rebuild.

    Raises:
        UsageError: the directory cannot be used. Nothing in it has been changed if it is, contains, or is inside a store.
        OSError: what an interrupted rebuild moved cannot be moved back.
    """
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory}: a file; -o must be a directory")
    for store in stores:
        _refuse_own(store, directory)
    _refuse_other_stores(directory)
    _sweep(directory)
    present = [name for name in (*FOLDERS, MANIFEST) if (directory / name).exists()]
    if present and not force:
        raise UsageError(f"{directory / present[0]}: already exists")
    if present and MANIFEST not in present:
        raise UsageError(
            f"{directory}: contains {present[0]} but no {MANIFEST}, so it was not written by a rebuild; refusing to "
            "replace it"
        )


def _refuse_own(store: Path, directory: Path) -> None:
    """Refuses a directory that is, contains, or is inside a directory of the store that is read."""
    whole = Path(os.path.realpath(directory))
    for kept in [store.resolve(), *protected_directories(store)]:
        if whole == kept or kept in whole.parents:
            raise UsageError(f"{directory}: inside the store; choose a directory outside any store")
        if whole in kept.parents:
            raise UsageError(f"{directory}: contains the store; choose a directory outside any store")


def _refuse_other_stores(directory: Path) -> None:
    """Refuses a directory that is, contains, or is inside any other store, by the names in it, above, and one below."""
    whole = Path(os.path.realpath(directory))
    beside = any((whole / name).exists() for name in FOLDERS)
    for name in (*_OF_A_STORE, *(_BESIDE if beside else ())):
        if (whole / name).exists():
            raise UsageError(
                f"{directory}: contains {name}, which is part of a store; choose another directory"
            )
    for above in whole.parents:
        if _has_log(above):
            raise UsageError(f"{directory}: inside the store {above}; choose a directory outside any store")
    for inside in [whole, *whole.iterdir()] if whole.exists() else ():
        if inside.name not in FOLDERS and _has_log(inside):
            raise UsageError(
                f"{directory}: contains the store {inside}; choose a directory outside any store"
            )


def _has_log(directory: Path) -> bool:
    """Whether a directory has the commit log of a store."""
    try:
        return (directory / "commitlog").is_dir() or any(directory.glob("dledger-*/data"))
    except PermissionError:
        return False


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
    """Settles the rebuilds that left a staging directory and are no longer running."""
    for stale in directory.glob(f"{_PREFIX}*"):
        if (
            stale.is_symlink()
            or not stale.is_dir()
            or (any(stale.iterdir()) and not (stale / _STATE).is_file())
        ):
            continue  # somebody else's
        lock = _locked(stale)
        if lock is not None:
            try:
                _settle(stale, directory)
            finally:
                os.close(lock)


def _settle(staging: Path, directory: Path) -> None:
    """Ends a rebuild: moves earlier files back unless the new ones are all in place; removes the staging directory."""
    if (staging / MANIFEST).exists():  # it is moved last
        for part, identity in _state(staging).items():
            place = directory / part
            if not (staging / part).exists() and place.exists() and _identity(place) == identity:
                place.rename(staging / part)
        if (staging / _EARLIER).exists():
            for path in (staging / _EARLIER).iterdir():
                path.rename(directory / path.name)
    for path in staging.iterdir():
        if path.name != _STATE:  # it goes last: `_sweep` knows staging directories by it
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(staging)


def _state(staging: Path) -> dict[str, Any]:
    try:
        state = json.loads((staging / _STATE).read_text("utf-8"))
    except ValueError:  # interrupted before anything was moved
        return {}
    return {part: identity for part, identity in state.items() if part in FOLDERS}


def _identity(path: Path) -> list[int]:
    stat = path.stat()
    return [stat.st_dev, stat.st_ino]


@contextmanager
def staged(directory: Path) -> Iterator[Path]:
    """A temporary directory inside the final one; removed afterwards, and `directory` too if it is empty and new."""
    staging, lock = directory / f"{_PREFIX}{secrets.token_hex(8)}", None
    with output_folder(directory):
        try:
            staging.mkdir(mode=0o700)
            lock = _locked(staging)
            (staging / _STATE).write_text("{}", "utf-8")
            yield staging
        finally:
            try:
                if staging.exists():
                    _settle(staging, directory)
            finally:
                if lock is not None:
                    os.close(lock)


def commit(staging: Path, directory: Path, facts: Mapping[str, Any], *, force: bool) -> tuple[str, ...]:
    """Puts the parts of a staging directory in place, all or none, and the manifest last.

    Args:
        staging: contains the parts.
        directory: where they go.
        facts: for the manifest, in addition to the files.
        force: whether they replace earlier ones.

    Returns:
        Paths of the files, relative to `directory`, with `/`, sorted.

    Raises:
        UsageError: there are earlier ones, from another rebuild in the meantime.
        OSError: a rename fails, or the disk is full; `staged` then moves everything back.
    """
    present = [name for name in (MANIFEST, *FOLDERS) if (directory / name).exists()]
    if present and not force:
        raise UsageError(f"{directory / present[0]}: already exists")
    parts = [part for part in FOLDERS if (staging / part).exists()]
    written = sorted(path for part in parts for path in (staging / part).rglob("*") if path.is_file())
    names = [path.relative_to(staging).as_posix() for path in written]
    files = [{"path": name, "bytes": path.stat().st_size} for name, path in zip(names, written, strict=True)]
    (staging / MANIFEST).write_text(
        json.dumps({"rocketspec_manifest": 1, **facts, "files": files}, indent=1) + "\n", "utf-8"
    )
    (staging / _STATE).write_text(json.dumps({part: _identity(staging / part) for part in parts}), "utf-8")
    (staging / _EARLIER).mkdir()
    for name in present:
        (directory / name).rename(staging / _EARLIER / name)
    for name in (*parts, MANIFEST):
        (staging / name).rename(directory / name)
    return tuple(names)
