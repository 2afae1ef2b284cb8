"""A commit log in several directories, whose files form one array of bytes.

Read beside `org.apache.rocketmq.store.MultiPathMappedFileQueue` of 4.9.3.

Theory of operation. The files of all directories are mapped in the order of their names, wherever they are. A new file's number,
its name divided by the length of a file, chooses among the writable directories in text order.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from rocket_reference.errors import JavaError
from rocket_reference.java import div, rem
from rocket_reference.mapped_file import wall_clock
from rocket_reference.mapped_file_queue import MappedFileQueue


class MultiPathMappedFileQueue(MappedFileQueue):
    """The files of several directories (STORE-17).

    Args:
        directories: those of `storePathCommitLog`.
        mapped_file_size: bytes of each file.
        read_only: those of `readOnlyCommitLogStorePaths`: read, and given no new file.
        clock: ms since the epoch.
    """

    def __init__(
        self,
        directories: Sequence[str | os.PathLike[str]],
        mapped_file_size: int,
        *,
        read_only: Sequence[str | os.PathLike[str]] = (),
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        super().__init__(directories[0], mapped_file_size, clock=clock)
        self._directories = {os.fspath(path) for path in directories}
        self._read_only = {os.fspath(path) for path in read_only}

    def _listed(self) -> list[Path]:
        """Source: load 61-75; two files of one name are both listed."""
        found = [Path(path) for path in sorted(self._directories | self._read_only)]
        return [file for directory in found if directory.is_dir() for file in directory.iterdir()]

    def _directory_for(self, offset: int) -> Path:
        """Source: tryCreateMappedFile 78-106.

        Raises:
            JavaError: ArithmeticException when every directory is read-only.
        """
        paths = sorted(self._directories - self._read_only)
        if not paths:
            raise JavaError("ArithmeticException", "/ by zero")
        return Path(paths[rem(div(offset, self.mapped_file_size), len(paths))])
