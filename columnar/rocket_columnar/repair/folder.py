"""The folder of a repair: new files, the files that they replaced, and a journal by which every move can be taken back.

It is in the store, so that each move is a rename on one file system. A broker ignores it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rocket_spec.errors import UsageError
from rocket_spec.outputs import write_whole

_NAME: Final = "rocketspec-repair-"
_JOURNAL: Final = "repair.json"


@dataclass(frozen=True, slots=True)
class RepairFolder:
    """One repair's folder.

    Attributes:
        store: the directory of the store.
        path: of the folder.
    """

    store: Path
    path: Path

    @classmethod
    def make(cls, store: Path) -> RepairFolder:
        """A new folder with an empty journal; an OSError if it cannot be made."""
        folder = cls(store, store / f"{_NAME}{datetime.now(UTC):%Y%m%d-%H%M%S-%f}")
        folder.path.mkdir()
        try:
            folder.write([], done=False)
        except BaseException:
            folder.path.rmdir()
            raise
        return folder

    @classmethod
    def newest(cls, store: Path) -> RepairFolder | None:
        """That of the last repair that was not undone, finished or not."""
        paths = sorted(path.parent for path in store.glob(f"{_NAME}*/{_JOURNAL}"))
        return cls(store, paths[-1]) if paths else None

    @property
    def name(self) -> str:
        """Relative to the store."""
        return self.path.name

    def read(self) -> dict[str, Any]:
        """The journal: moves, whether all were made, size and time of the new files, and folders that were missing."""
        return dict(json.loads((self.path / _JOURNAL).read_text("utf-8")))

    def write(self, moves: Sequence[tuple[str, str]], *, done: bool) -> None:
        """Writes the journal; an OSError leaves the earlier one."""
        made = self.read()["made"] if (self.path / _JOURNAL).exists() else self._missing()
        seen = {place: _stat(self.store / place) for _, place in moves} if done else {}
        row = {"rocketspec_repair": 1, "done": done, "moves": moves, "seen": seen, "made": made}
        write_whole(self.path / _JOURNAL, json.dumps(row, indent=1) + "\n")

    def move(self, moves: Sequence[tuple[str, str]]) -> None:
        """Makes all moves, each from one place in the store to another; an OSError ends that."""
        for source, place in moves:
            (self.store / place).parent.mkdir(parents=True, exist_ok=True)
            (self.store / source).rename(self.store / place)

    def changed(self) -> str | None:
        """The first new file that has been written since, or None."""
        seen = self.read()["seen"]
        return next((name for name in seen if _stat(self.store / name) != seen[name]), None)

    def take_back(self) -> None:
        """Takes back the moves that were made, the last first, and removes the folder; may be repeated after a kill.

        Raises:
            UsageError: the files that were replaced are gone.
            OSError: a file cannot be moved.
        """
        journal = self.read()
        moves = journal["moves"]
        for source, place in moves:
            old = not source.startswith(self.name)
            if old and not (self.store / source).exists() and not (self.store / place).exists():
                raise UsageError(f"{self.store / place}: is gone; the repair cannot be undone")
        for source, place in reversed(moves):
            if (self.store / place).exists() and not (self.store / source).exists():
                (self.store / source).parent.mkdir(parents=True, exist_ok=True)
                (self.store / place).rename(self.store / source)
        for _, place in moves:
            self._remove_empty((self.store / place).parent, journal["made"])
        for path in self.path.iterdir():
            if path.name != _JOURNAL:  # it goes last
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(self.path)

    def _missing(self) -> list[str]:
        """The folders that a repair makes and the store lacks."""
        return [name for name in ("index", "consumequeue") if not (self.store / name).exists()]

    def _remove_empty(self, folder: Path, made: Sequence[str]) -> None:
        """Removes empty folders of queues, and those that the repair `made`."""
        kept = {self.store / name for name in ("index", "consumequeue", "commitlog", "") if name not in made}
        while folder not in kept and folder.is_relative_to(self.store):
            if folder.exists():
                if any(folder.iterdir()):
                    return
                folder.rmdir()
            folder = folder.parent


def _stat(path: Path) -> list[int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return [stat.st_size, stat.st_mtime_ns]
