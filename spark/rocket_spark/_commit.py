"""An output folder that is whole or not there: attempts of tasks, and the commit of those that count.

A task writes under a name that no other run of it has, makes it durable, and tells the driver that name in its
outcome. Spark gives the driver one outcome for each task, so of a task that was retried or ran twice one copy is named;
the driver puts these in place by renames, writes a manifest of them and `_SUCCESS` at the very last, and removes
the rest. Until then everything lies in `_temporary`, which readers of such folders pass over.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from rocket_columnar.store import protected_directories
from rocket_spec.errors import UsageError

from rocket_spark.jobs import JobError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = [
    "MANIFEST",
    "SUCCESS",
    "TEMPORARY",
    "Output",
    "attempt",
    "check_out",
    "manifest_text",
    "read_manifest",
]

MANIFEST: Final = "_manifest.json"
"""Says what a job wrote: see `Output.commit`."""

SUCCESS: Final = "_SUCCESS"
"""The empty file that is written last."""

TEMPORARY: Final = "_temporary"
"""Where attempts lie until they are put in place."""

_OWN: Final = frozenset({MANIFEST, SUCCESS, TEMPORARY})


def check_out(out: Path, stores: Sequence[Path], owned: Collection[str], *, overwrite: bool) -> None:
    """Refuses a folder that holds anything, or lies in a store that is read.

    Args:
        out: the folder.
        stores: what is read.
        owned: names that this kind of job puts into a folder.
        overwrite: lets pass a folder that holds what such a job wrote, and nothing else.

    Raises:
        UsageError: the folder will not do.
    """
    for store in stores:
        for kept in protected_directories(store):
            if out.resolve().is_relative_to(kept):
                raise UsageError(f"{out}: lies in the store that is read, {kept}; choose another directory")
    if not out.exists():
        return
    names = {path.name for path in out.iterdir()} if out.is_dir() else {""}
    if not names:
        return
    if not overwrite:
        killed = " (a job is writing there, or was killed)" if TEMPORARY in names else ""
        raise UsageError(f"{out}: exists and is not an empty directory{killed}; name a new one to write to")
    foreign = sorted(names - _OWN - set(owned))
    if foreign:
        raise UsageError(f"{out}: holds {foreign[0]!r}, which no such job wrote; it is not overwritten")


def manifest_text(facts: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> str:
    """The manifest of a job: what it tells of itself, and path and bytes of each file."""
    return json.dumps({"rocketspec_manifest": 1, **facts, "files": files}, indent=1) + "\n"


def read_manifest(out: Path) -> dict[str, Any]:
    """The manifest of a folder whose job was committed.

    Raises:
        OSError: there is none.
    """
    (out / SUCCESS).stat()
    found: dict[str, Any] = json.loads((out / MANIFEST).read_bytes())
    return found


@contextmanager
def attempt(directory: str | Path, name: str) -> Iterator[Path]:
    """In a task: a path of its own for one run to write a file or a tree to, durable when the block ends.

    What was written is removed when the block fails. The path's own name is what the driver commits.

    Raises:
        OSError: it cannot be written, or the job is over and its folder gone.
    """
    path = Path(directory) / f"{name}.{uuid4().hex}"
    try:
        yield path
        _sync(path)
    except BaseException:
        _remove(path)
        raise


class Output:
    """The folder of one job while it runs; use it in a `with` block. `folder` is where tasks write."""

    def __init__(self, out: Path, *, overwrite: bool = False) -> None:
        """Takes the folder, and whether what is in it may be replaced."""
        self.out = out
        self._overwrite = overwrite
        self._temporary = out / TEMPORARY
        self.attempts = self._temporary / "attempts"
        self.folder = str(self.attempts)
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        """Makes the folder; what an earlier job left unfinished in it goes, what it finished stays until the commit."""
        self._made = [path for path in (self.out, *self.out.parents) if not path.exists()]
        _remove(self._temporary)
        self.attempts.mkdir(parents=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Removes what was not committed, and the folder where it was not there before."""
        _remove(self._temporary)
        if kind is not None:
            for path in self._made:
                if any(path.iterdir()):
                    break
                path.rmdir()

    def size(self, name: str) -> int:
        """Bytes of an attempt; JobError where it is gone."""
        try:
            return (self.attempts / name).stat().st_size
        except FileNotFoundError as error:
            raise JobError(f"{self.attempts / name}: written by a task, and gone") from error

    def commit(self, parts: Mapping[str, str], facts: Mapping[str, Any]) -> None:
        """Puts attempts in place, all or none, and says so.

        Args:
            parts: where each goes, relative to the folder with `/`, and the name of the attempt.
            facts: for the manifest, beside `files`: path and bytes of each file.

        Raises:
            JobError: an attempt is gone, or something else came into the folder meanwhile.
            OSError: a rename fails.
        """
        ready = self._temporary / "ready"
        ready.mkdir()
        for place, name in parts.items():
            target = ready / place
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                (self.attempts / name).rename(target)
            except FileNotFoundError as error:
                raise JobError(f"{self.attempts / name}: written by a task, and gone") from error
        files = [
            {"path": path.relative_to(ready).as_posix(), "bytes": path.stat().st_size}
            for path in sorted(ready.rglob("*"))
            if path.is_file()
        ]
        (ready / MANIFEST).write_text(manifest_text(facts, files), "utf-8")
        _sync(ready / MANIFEST)
        for folder, _, _ in os.walk(ready):
            _sync_directory(Path(folder))
        self._replace(ready)

    def _replace(self, ready: Path) -> None:
        """What is ready for what was there; a folder without `_SUCCESS` is one where this was cut off."""
        old = self._temporary / "old"
        old.mkdir()
        before = [path for path in self.out.iterdir() if path != self._temporary]
        if before and not self._overwrite:
            raise JobError(f"{before[0]}: came there while the job ran; nothing is replaced")
        for path in sorted(before, key=lambda path: path.name != SUCCESS):
            path.rename(old / path.name)
        moved: list[Path] = []
        try:
            for path in sorted(ready.iterdir()):
                path.rename(self.out / path.name)
                moved.append(self.out / path.name)
            _sync_directory(self.out)
            moved.append(self.out / SUCCESS)
            (self.out / SUCCESS).touch()
            _sync_directory(self.out)
        except BaseException:
            for path in moved:
                _remove(path)
            for path in old.iterdir():
                path.rename(self.out / path.name)
            raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Makes a file, or all files and folders of a tree, durable."""
    if not path.is_dir():
        with path.open("rb+") as opened:
            os.fsync(opened.fileno())
        return
    for below in sorted(path.iterdir()):
        _sync(below)
    _sync_directory(path)


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
