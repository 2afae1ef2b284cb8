"""The output folder of a job, complete or absent: attempts of tasks, and their commit.

A task writes under a name that no other run of it has, and returns that name to the driver. Spark gives the driver one
outcome for each task: of a task that was retried or ran twice, one copy is named. The driver moves these into place, then
writes the manifest, and `_SUCCESS` last; the rest is removed. Until then everything stays in `_temporary`, which readers of
such folders ignore.

On disks, earlier content is moved to `_temporary` meanwhile, and comes back after an error or a kill. S3 and HDFS have no
rename of a folder, and S3 none of an object: there unfinished content is removed, and finished output is not replaced.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from rocket_spark.files import FileInfo, storage_for, sync
from rocket_spark.output.attempts import MOVES, Folder, journalled_in, note
from rocket_spark.output.manifest import (
    COMING,
    ENTRY,
    MANIFEST,
    OWNER,
    SUCCESS,
    TEMPORARY,
    job_id,
    manifest_text,
    task_id,
)
from rocket_spark.tasks import JobError


class Output:
    """The folder of one job while it runs; use it in a `with` block. `folder` is where tasks write."""

    def __init__(
        self,
        out: str | Path,
        storage: Mapping[str, str] | None = None,
        *,
        overwrite: bool = False,
        resume: bool = False,
        append: bool = False,
    ) -> None:
        """Takes the folder and the options of its storage.

        Args:
            out: the folder.
            storage: options of S3 and HDFS.
            overwrite: replaces its content.
            resume: keeps and uses the work of a job that was killed or failed.
            append: adds to its content.
        """
        self.storage, uri = storage_for(str(out), storage)
        self.out = uri.rstrip("/")
        self._overwrite = overwrite
        self._resume = resume
        self._append = append
        self._temporary = Folder(self.storage, f"{self.out}/{TEMPORARY}")
        self.folder = Folder(self.storage, f"{self._temporary.uri}/{'attempts' if resume else uuid4().hex}")
        self._made: list[Path] = []
        self._token = uuid4().hex

    def __enter__(self) -> Self:
        """Makes the folder. On disks finished output stays until the commit; unfinished work only stays with `resume`.

        Raises:
            JobError: something appeared on S3 or HDFS since the folder was checked.
        """
        if self.folder.is_near:
            out = Path(self.out)
            self._made = [path for path in (out, *out.parents) if not path.exists()]
        names = self._names()
        if not self.folder.is_near and not self._append and names and not self._replaces(names):
            raise JobError(f"{self.out}/{min(names)}: appeared meanwhile; nothing is replaced")
        if self._resume:
            self._claim()  # first: an earlier job that still runs ends here
        if COMING in names and MANIFEST not in names:
            self.storage.move(f"{self.out}/{COMING}", f"{self.out}/{MANIFEST}")
        self.undo_commit()
        if not self._resume:
            self.storage.remove(self._temporary.uri)
            self._claim()
        return self

    def _names(self) -> set[str]:
        try:
            return {info.name for info in self.storage.list(self.out)}
        except FileNotFoundError:
            return set()

    def _replaces(self, names: set[str]) -> bool:
        """Whether these are unfinished output that may go."""
        return SUCCESS not in names and (self._overwrite or (self._resume and TEMPORARY in names))

    def _claim(self) -> None:
        if self.folder.is_near:
            Path(self.folder.uri).mkdir(parents=True, exist_ok=True)
        note(self._temporary, OWNER, self._token)

    def _taken(self) -> bool:
        """Whether a later job uses the folder."""
        try:
            return self.storage.read(f"{self._temporary.uri}/{OWNER}").decode() != self._token
        except FileNotFoundError:
            return False

    def _require_own(self) -> None:
        if self._taken():
            raise JobError(f"{self.out}: another job has begun to write there; this one ends")

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Removes what was not committed, and the folder if it did not exist before; with `resume`, only after success.

        An error in this does not hide the job's own.
        """
        with suppress(OSError):
            if kind is not None and (self._resume or self._taken()):
                return
            if self.folder.is_near:
                # The slower copy of a task that ran twice may still write, and would keep what is removed from going.
                with suppress(FileNotFoundError):
                    Path(self.folder.uri).rename(f"{self._temporary.uri}/{uuid4().hex}")
            self.storage.remove(self._temporary.uri)
            for path in self._made if kind is not None else ():
                path.rmdir()

    def run(
        self,
        run: Callable[[Callable[..., Any], list[Any]], list[Any]],
        work: Callable[..., Any],
        tasks: Sequence[Any],
        names: Callable[[Any], Iterable[str]],
        *,
        options: Any = None,
    ) -> list[Any]:
        """The outcomes of tasks; with `resume`, those that an earlier run finished are not run again.

        Args:
            run: runs some of the tasks.
            work: what each does.
            tasks: all of them.
            names: what an outcome says was written: if any of it is missing since, the task is run again.
            options: what decides an outcome beside its task.
        """
        if not self._resume:
            return run(work, list(tasks))
        job = job_id(options)
        ids = [task_id(task, job) for task in tasks]
        done = {
            known: self._finished[known]
            for known in ids
            if known in self._finished and all(map(self._holds, names(self._finished[known])))
        }
        rest = [task for known, task in zip(ids, tasks, strict=True) if known not in done]
        outcomes = iter(run(journalled_in(self.folder, work, job), rest))
        return [done[known] if known in done else next(outcomes) for known in ids]

    @cached_property
    def _finished(self) -> dict[str, Any]:
        """What tasks of an earlier run returned, by `task_id`."""
        entries = [info for info in self._there.values() if info.name.startswith(ENTRY)]
        with ThreadPoolExecutor(MOVES) as pool:
            texts = list(pool.map(lambda info: self.storage.read(info.uri), entries))
        found: dict[str, Any] = {}
        for info, text in zip(entries, texts, strict=True):
            with suppress(ValueError, KeyError, TypeError):  # cut off by a kill
                found[info.name.removeprefix(ENTRY)] = json.loads(text)["outcome"]
        return found

    @cached_property
    def _there(self) -> dict[str, FileInfo]:
        """What was in the folder before the first task ran, in one listing."""
        try:
            return {info.uri: info for info in self.storage.walk(self.folder.uri)}
        except FileNotFoundError:
            return {}

    def _holds(self, name: str) -> bool:
        return f"{self.folder.uri}/{name}" in self._there

    def size(self, name: str) -> int:
        """Bytes of an attempt; JobError if it is missing."""
        uri = f"{self.folder.uri}/{name}"
        try:
            return self.storage.stat(uri).size
        except FileNotFoundError as error:
            raise JobError(f"{uri}: written by a task and missing since") from error

    def commit(self, parts: Mapping[str, str], facts: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Moves attempts into place, all or none; path and bytes of each file.

        Args:
            parts: by their path in the folder, with `/`, the names of the attempts.
            facts: for the manifest, beside `files`: path and bytes of each file.

        Raises:
            JobError: an attempt is missing, or something else was put into the folder meanwhile.
            OSError: a file cannot be moved into place.
        """
        self._require_own()
        before = sorted(self._names() - {TEMPORARY}, key=lambda name: name != SUCCESS)
        if before and not (self._overwrite and self.folder.is_near):
            raise JobError(f"{self.out}/{before[0]}: appeared while the job ran; nothing is replaced")
        files = self._sizes(parts)
        try:
            if self.folder.is_near:
                self._make_room(before)
            self._put(parts)
            self._write(MANIFEST, manifest_text(facts, files))
            self._require_own()
            self._write(SUCCESS, "")
        except BaseException:
            if not self._taken():
                self.undo_commit()
            raise
        return files

    def _make_room(self, before: Iterable[str]) -> None:
        """Moves earlier content away. Of a folder `leaving` nothing new has come yet; an `old` one has left as a whole."""
        leaving = Path(self._temporary.uri) / "leaving"
        leaving.mkdir()
        for name in before:
            (Path(self.out) / name).rename(leaving / name)
        leaving.rename(leaving.with_name("old"))

    def undo_commit(self) -> None:
        """Takes back what a kill or an error left of a commit, or of this; what was committed stays."""
        names = self._names()
        if not self.folder.is_near:
            if SUCCESS not in names and not self._append:
                for name in names - {TEMPORARY}:
                    self.storage.remove(f"{self.out}/{name}")
            return
        leaving, old = (Path(self._temporary.uri) / name for name in ("leaving", "old"))
        if old.is_dir() and SUCCESS in names:
            self.storage.remove(str(old))
        elif old.is_dir():
            for name in names - {TEMPORARY}:
                self.storage.remove(f"{self.out}/{name}")
            old.rename(leaving)
        if leaving.is_dir():
            for path in sorted(leaving.iterdir(), key=lambda path: path.name == SUCCESS):
                path.rename(Path(self.out) / path.name)
            leaving.rmdir()

    def _sizes(self, parts: Mapping[str, str]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(MOVES) as pool:
            sizes = pool.map(self.size, parts.values())
            return sorted(
                ({"path": place, "bytes": size} for place, size in zip(parts, sizes, strict=True)),
                key=lambda file: str(file["path"]),
            )

    def _put(self, parts: Mapping[str, str]) -> None:
        """Moves attempts to their places."""

        def put(place: str, name: str) -> None:
            if self._append:
                self.storage.remove(f"{self.out}/{place}")
            self.storage.move(f"{self.folder.uri}/{name}", f"{self.out}/{place}")

        with ThreadPoolExecutor(1 if self.folder.is_near else MOVES) as pool:
            list(pool.map(put, parts.keys(), parts.values()))
        folders = {folder for place in parts for folder in (Path(self.out) / place).parents}
        for folder in folders - {*Path(self.out).parents} if self.folder.is_near else ():
            sync(folder, below=False)

    def add(
        self, parts: Mapping[str, str], facts: Mapping[str, Any], kept: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """Moves attempts into place beside the files of earlier runs. `_SUCCESS` is absent meanwhile.

        A kill leaves files that the manifest does not list; `clean` removes them.

        Args:
            parts: as of `commit`.
            facts: as of `commit`.
            kept: path and bytes of the files that stay; others are removed once the manifest is written.

        Raises:
            JobError: an attempt is missing.
            OSError: a file cannot be moved into place.
        """
        self._require_own()
        self.storage.remove(f"{self.out}/{SUCCESS}")
        files = sorted([*kept, *self._sizes(parts)], key=lambda file: str(file["path"]))
        self._put(parts)
        # One of the two manifests is whole at any time: without it, rows of files that expired would be lost.
        self._write(COMING, manifest_text(facts, files))
        self.storage.remove(f"{self.out}/{MANIFEST}")
        self.storage.move(f"{self.out}/{COMING}", f"{self.out}/{MANIFEST}")
        self.clean(str(file["path"]) for file in files)
        self._write(SUCCESS, "")
        return files

    def clean(self, listed: Iterable[str]) -> None:
        """Removes the files of tables that are not `listed` by their paths: a killed run left them, or they expired."""
        wanted = {f"{self.out}/{place}" for place in listed}
        for info in list(self.storage.walk(self.out)):
            own = not info.uri[len(self.out) + 1 :].startswith("_")
            if own and not info.is_directory and info.name.startswith("part-") and info.uri not in wanted:
                self.storage.remove(info.uri)

    def _write(self, name: str, text: str) -> None:
        note(Folder(self.storage, self.out), name, text, beside=self._temporary.uri)
        if self.folder.is_near:
            sync(Path(self.out), below=False)
