"""An output folder on shared disks that is complete or absent: attempts of tasks, and their commit.

A task writes under a name that no other run of it has, syncs to disk what outlives the job, and returns that name to
the driver. Spark gives the driver one outcome for each task: of a task that was retried or ran twice, one copy is
named. The driver moves these into place by renames, then writes the manifest, and `_SUCCESS` last; the rest is removed.
Until then everything stays in `_temporary`, which readers of such folders ignore.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from rocket_spark.output.journal import ENTRY, read_entries
from rocket_spark.output.manifest import MANIFEST, OWNER, SUCCESS, TEMPORARY, manifest_text
from rocket_spark.tasks import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Output", "local_attempt", "note_locally"]


@contextmanager
def local_attempt(directory: str | Path, name: str, *, synced: bool = True) -> Iterator[Path]:
    """As `rocket_spark.output.attempt`."""
    path = Path(directory) / f"{name}.{uuid4().hex}"
    try:
        yield path
        if synced:
            _sync(path)
    except BaseException:
        _remove(path)
        raise


def note_locally(directory: str | Path, name: str, text: str) -> None:
    """In a task: writes a small file as a whole."""
    path = Path(directory) / f"{uuid4().hex}.tmp"
    path.write_text(text, "utf-8")
    _sync(path)
    path.replace(Path(directory) / name)


class Output:
    """The folder of one job while it runs; use it in a `with` block. `folder` is where tasks write."""

    def __init__(self, out: Path, *, overwrite: bool = False, resume: bool = False) -> None:
        """Takes the folder, whether its content may be replaced, and whether unfinished work is kept and used."""
        self.out = out
        self._overwrite = overwrite
        self._resume = resume
        self._temporary = out / TEMPORARY
        self.attempts = self._temporary / "attempts"
        self.folder = str(self.attempts)
        self._made: list[Path] = []
        self._token = uuid4().hex

    def __enter__(self) -> Self:
        """Makes the folder. Finished output stays until the commit; unfinished output only stays with `resume`."""
        self._made = [path for path in (self.out, *self.out.parents) if not path.exists()]
        if self._resume:
            self._claim()  # first: an earlier job that still runs ends here
        self.undo_replace()
        if not self._resume:
            _remove(self._temporary)
            self._claim()
        return self

    def _claim(self) -> None:
        self.attempts.mkdir(parents=True, exist_ok=True)
        (self.attempts / OWNER).write_text(self._token)

    def _taken(self) -> bool:
        """Whether a later job uses the folder."""
        try:
            return (self.attempts / OWNER).read_text() != self._token
        except FileNotFoundError:
            return False

    def _require_own(self) -> None:
        if self._taken():
            raise JobError(f"{self.out}: another job has begun to write there; this one ends")

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Removes what was not committed, and the folder if it did not exist before; with `resume`, only after success."""
        if kind is not None and (self._resume or self._taken()):
            return
        # The slower copy of a task that ran twice may still write, and would keep what is being removed from going.
        with suppress(FileNotFoundError):
            self.attempts.rename(self._temporary / uuid4().hex)
        _remove(self._temporary)
        if kind is not None:
            for path in self._made:
                if any(path.iterdir()):
                    break
                path.rmdir()

    def finished(self) -> dict[str, Any]:
        """What tasks of an earlier run returned, by `task_id`; with `resume` only."""
        paths = self.attempts.glob(f"{ENTRY}*") if self._resume else ()
        return read_entries({path.name: path.read_text("utf-8", "replace") for path in paths})

    def holds(self, name: str) -> bool:
        """Whether the attempt is still there."""
        return (self.attempts / name).exists()

    def size(self, name: str) -> int:
        """Bytes of an attempt; JobError if it is missing."""
        try:
            return (self.attempts / name).stat().st_size
        except FileNotFoundError as error:
            raise JobError(f"{self.attempts / name}: written by a task and missing since") from error

    def commit(self, parts: Mapping[str, str], facts: Mapping[str, Any]) -> None:
        """Moves attempts into place, all or none.

        Args:
            parts: by their path in the folder, with `/`, the names of the attempts.
            facts: for the manifest, beside `files`: path and bytes of each file.

        Raises:
            JobError: an attempt is missing, or something else was put into the folder meanwhile.
            OSError: a rename fails.
        """
        self._require_own()
        ready = self._temporary / "ready"
        ready.mkdir()
        for place, name in parts.items():
            target = ready / place
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                (self.attempts / name).rename(target)
            except FileNotFoundError as error:
                raise JobError(f"{self.attempts / name}: written by a task and missing since") from error
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

    def add(
        self, parts: Mapping[str, str], facts: Mapping[str, Any], kept: Sequence[Mapping[str, Any]]
    ) -> None:
        """Moves attempts into place beside the files of earlier runs. `_SUCCESS` is absent meanwhile.

        A kill leaves files that the manifest does not list; `clean` removes them.

        Args:
            parts: as of `commit`.
            facts: as of `commit`.
            kept: path and bytes of the files that stay; others are removed once the manifest is written.

        Raises:
            JobError: an attempt is missing.
            OSError: a rename fails.
        """
        self._require_own()
        (self.out / SUCCESS).unlink(missing_ok=True)
        _sync_directory(self.out)
        added = []
        for place, name in parts.items():
            size = self.size(name)
            target = self.out / place
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.attempts / name).replace(target)
            _sync_directory(target.parent)
            added.append({"path": place, "bytes": size})
        files = sorted([*kept, *added], key=lambda file: str(file["path"]))
        note_locally(self._temporary, MANIFEST, manifest_text(facts, files))
        (self._temporary / MANIFEST).replace(self.out / MANIFEST)
        _sync_directory(self.out)
        self.clean(str(file["path"]) for file in files)
        (self.out / SUCCESS).touch()
        _sync_directory(self.out)

    def clean(self, listed: Iterable[str]) -> None:
        """Removes the files of tables that are not `listed` by their paths: a killed run left them, or they expired."""
        wanted = set(listed)
        for path in sorted(self.out.rglob("part-*")):
            place = path.relative_to(self.out).as_posix()
            if not place.startswith("_") and place not in wanted and path.is_file():
                path.unlink()

    def undo_replace(self) -> None:
        """Takes back what a kill or an error left of `_replace`, or of this; what was committed stays.

        All earlier content leaves the folder before the manifest comes. `restored` is `old` once nothing new is left.
        """
        ready, old, restored = (self._temporary / name for name in ("ready", "old", "restored"))
        came = old.is_dir() and not (ready / MANIFEST).exists()
        if came and (self.out / SUCCESS).exists():
            _remove(old)
        elif old.is_dir():
            for path in self.out.iterdir() if came else ():
                if path != self._temporary:
                    _remove(path)
            old.rename(restored)
        if restored.is_dir():
            for path in sorted(restored.iterdir(), key=lambda path: path.name == SUCCESS):
                path.rename(self.out / path.name)
            restored.rmdir()
        _remove(ready)

    def _replace(self, ready: Path) -> None:
        """Replaces the folder's content by what is ready; after a kill in here, `_SUCCESS` is missing."""
        old = self._temporary / "old"
        old.mkdir()
        before = [path for path in self.out.iterdir() if path != self._temporary]
        if before and not self._overwrite:
            raise JobError(f"{before[0]}: appeared while the job ran; nothing is replaced")
        try:
            for path in sorted(before, key=lambda path: path.name != SUCCESS):
                path.rename(old / path.name)
            for path in sorted(ready.iterdir(), key=lambda path: path.name != MANIFEST):
                path.rename(self.out / path.name)
            _sync_directory(self.out)
            self._require_own()
            (self.out / SUCCESS).touch()
            _sync_directory(self.out)
        except BaseException:
            if self._taken():
                raise
            if not (ready / MANIFEST).exists():  # else this is of the earlier content
                (self.out / SUCCESS).unlink(missing_ok=True)
            self.undo_replace()
            raise


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Syncs a file, or all files and folders of a tree, to disk."""
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
