"""A directory of mapped files of equal length that make one long array of bytes.

Read beside `org.apache.rocketmq.store.MappedFileQueue` of 4.9.3.

Theory of operation. Each file is named by the offset of its first byte, and the next one is always the
last one's name plus the length, whatever it was asked for; only the first file of an empty queue goes
where the caller says. Nothing checks that files that were loaded are adjacent. A loaded file counts as
written to its end, so that every load must be followed by a recover that finds the true end.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rocket_reference.consume_queue import file_name
from rocket_reference.errors import JavaError
from rocket_reference.java import div, rem, to_i32, to_i64
from rocket_reference.mapped_file import MappedFile, wall_clock
from rocket_reference.rules import RULES_4_9_3, Rules

IO_EXCEPTIONS = frozenset({"IOException", "FileNotFoundException"})
"""Names of the errors that `catch (IOException e)` catches."""


def by_name(path: Path) -> bytes:
    """Sort key of `Comparator.comparing(File::getName)`: UTF-16 units, not code points."""
    return path.name.encode("utf-16-be", "surrogatepass")


def queue_directory(root: str | os.PathLike[str], topic: str, queue_id: int) -> Path:
    """`root/TOPIC/QUEUE_ID` (CQ-FILE-3), joined as text: a topic with a slash in front stays below `root`."""
    return Path(f"{os.fspath(root)}/{topic}/{queue_id}")


class MappedFileQueue:
    """The files of a directory, which is made with the first of them.

    Source: MappedFileQueue 54-59; MultiPathMappedFileQueue.load 61-75.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        mapped_file_size: int,
        *,
        others: Sequence[str | os.PathLike[str]] = (),
        clock: Callable[[], int] = wall_clock,
        rules: Rules = RULES_4_9_3,
    ) -> None:
        # where they are; `others` have files of the same array of bytes (STORE-17), and get no new ones here
        self.directory = Path(directory)
        self._others = tuple(map(Path, others))
        self._rules = rules
        self.mapped_file_size = mapped_file_size  # bytes of each
        self.mapped_files: list[MappedFile] = []  # in their order: as loaded, then as made
        self._clock = clock

    def load(self) -> bool:
        """Maps the files of the directory, by name; False at the first file of another length.

        Those before it stay loaded. Every file counts as full.

        Raises JavaError: NumberFormatException for a file of the right length whose name is no number.
        Source: load 148-155, doLoad 157-183.
        """
        listed = sorted(self._listed(), key=by_name)
        for path in listed:
            if self._rules.deletes_empty_last_file and path == listed[-1] and path.stat().st_size == 0:
                path.unlink()
                continue
            if not path.exists() or path.stat().st_size != self.mapped_file_size:
                return self._rules.odd_file_ends_load
            try:
                mapped_file = MappedFile(path, self.mapped_file_size, clock=self._clock, rules=self._rules)
            except JavaError as error:
                if error.name in IO_EXCEPTIONS:
                    return False
                raise
            mapped_file.wrote_position = self.mapped_file_size
            self.mapped_files.append(mapped_file)
        return True

    def _listed(self) -> list[Path]:
        folders = sorted({self.directory, *self._others})
        return [path for folder in folders if folder.is_dir() for path in folder.iterdir()]

    def first(self) -> MappedFile | None:
        """The first file. Source: getFirstMappedFile 503-517."""
        return self.mapped_files[0] if self.mapped_files else None

    def last(self) -> MappedFile | None:
        """The last file. Source: getLastMappedFile 255-271."""
        return self.mapped_files[-1] if self.mapped_files else None

    def last_for_write(self, start_offset: int) -> MappedFile | None:
        """The last file if it has room, else a new one; None when that cannot be made.

        The first file of an empty queue is the one that holds `start_offset`; division truncates toward
        zero, so a negative offset asks for the file above it. Any other is adjacent to the last.

        Raises JavaError: ArithmeticException for files of length 0; IllegalArgumentException for a negative length,
        the file made empty.
        Source: getLastMappedFile 200-253, tryCreateMappedFile, doCreateMappedFile.
        """
        last = self.last()
        create_offset = -1
        if last is None:
            create_offset = start_offset - rem(start_offset, self.mapped_file_size)
        elif last.full:
            create_offset = to_i64(last.file_from_offset + self.mapped_file_size)
        if create_offset == -1:  # also when that is where the new file would begin
            return last
        return self._create(create_offset)

    def _create(self, offset: int) -> MappedFile | None:
        path = self.directory / file_name(offset)
        try:
            mapped_file = MappedFile(path, self.mapped_file_size, clock=self._clock, rules=self._rules)
        except JavaError as error:
            if error.name in IO_EXCEPTIONS:
                return None
            raise
        mapped_file.first_create_in_queue = not self.mapped_files
        self.mapped_files.append(mapped_file)
        return mapped_file

    def find(self, offset: int, *, first_on_not_found: bool = False) -> MappedFile | None:
        """The file that holds a byte offset, by position in the list, else by looking at each.

        Source: findMappedFileByOffset 454-501.
        """
        first, last = self.first(), self.last()
        if first is None or last is None:
            return None
        if self._rules.finds_by_number:
            return self._numbered(offset, first) or (first if first_on_not_found else None)
        if first.file_from_offset <= offset < to_i64(last.file_from_offset + self.mapped_file_size):
            if self.mapped_file_size == 0:
                return None  # ArithmeticException, caught
            found = self._holder(offset, first)
            if found is not None:
                return found
        return first if first_on_not_found else None

    def _numbered(self, offset: int, first: MappedFile) -> MappedFile | None:
        """The file at the place in the list that an offset has if no file is missing."""
        size = self.mapped_file_size
        index = to_i32(div(offset, size) - div(first.file_from_offset, size)) if size else -1
        return next(iter(self.mapped_files[index : index + 1]), None) if index >= 0 else None

    def _holder(self, offset: int, first: MappedFile) -> MappedFile | None:
        size = self.mapped_file_size
        numbered = self._numbered(offset, first)
        guessed = [] if numbered is None else [numbered]
        for mapped_file in (*guessed, *self.mapped_files):
            begin = mapped_file.file_from_offset
            if begin <= offset < to_i64(begin + size):
                return mapped_file
        return None

    def min_offset(self) -> int:
        """Offset of the first byte of the first file; -1 without files. Source: getMinOffset 304-316."""
        return self.mapped_files[0].file_from_offset if self.mapped_files else -1

    def max_offset(self) -> int:
        """Offset after the last byte written; 0 without files. Source: getMaxOffset 318-324."""
        last = self.last()
        return to_i64(last.file_from_offset + last.wrote_position) if last else 0

    def truncate_dirty_files(self, offset: int) -> None:
        """Deletes the files that begin after `offset`, and sets the write position of the one that contains it.

        No byte is cleared. A file that ends at or before `offset` keeps its write position. For a negative
        offset the position becomes negative: the remainder has its sign.

        Source: truncateDirtyFiles 103-121.
        """
        size = self.mapped_file_size
        removed: list[MappedFile] = []
        for mapped_file in self.mapped_files:
            if to_i64(mapped_file.file_from_offset + size) > offset:
                if offset >= mapped_file.file_from_offset:
                    mapped_file.wrote_position = to_i32(rem(offset, size))
                else:
                    mapped_file.destroy(1000)
                    removed.append(mapped_file)
        self._remove(removed)

    def delete_last(self) -> None:
        """Deletes the last file. Source: deleteLastMappedFile 346-354."""
        last = self.last()
        if last is not None:
            last.destroy(1000)
            self.mapped_files.pop()

    def delete_expired_by_offset(self, offset: int, unit_size: int) -> int:
        """Deletes files from the first on, while the last unit of each has a smaller offset.

        Never the last file, and none after one that is kept, or that is not full.

        Returns:
            how many were deleted.

        Source: deleteExpiredFileByOffset 405-447.
        """
        removed: list[MappedFile] = []
        for mapped_file in self.mapped_files[:-1]:
            data = mapped_file.select(to_i32(self.mapped_file_size - unit_size), unit_size)
            if data is None:
                if mapped_file.available:
                    break  # "this being not executed forever"
            elif int.from_bytes(data[:8], "big", signed=True) >= offset:
                break
            if not mapped_file.destroy(60_000):
                break
            removed.append(mapped_file)
        self._remove(removed)
        return len(removed)

    def destroy(self) -> None:
        """Deletes every file, and the directory if that leaves it empty. Source: destroy 564-577."""
        for mapped_file in self.mapped_files:
            mapped_file.destroy(3000)
        self.mapped_files.clear()
        with suppress(OSError):  # File.delete() returns false, which is ignored
            self.directory.rmdir()

    def close(self) -> None:
        """Unmaps every file, as the end of the process does."""
        for mapped_file in self.mapped_files:
            mapped_file.close()
        self.mapped_files.clear()

    def _remove(self, removed: list[MappedFile]) -> None:
        """Takes files off the list. Source: deleteExpiredFile 123-145."""
        gone = {id(mapped_file) for mapped_file in removed}
        self.mapped_files = [file for file in self.mapped_files if id(file) not in gone]
