"""The index service: a list of index files; the last one takes the puts.

Read beside `org.apache.rocketmq.store.index.IndexService` of 4.9.3.

Theory of operation. A message asks for the last file, which is made when there is none or it is full,
before anything else is looked at. Its keys go in one by one, and a put that the file refuses rolls: a new
file, seeded with the end values of the full one, and the put again. The full file is flushed by a thread
of its own, and that moves the checkpoint's index time: the only thing that ever does.

That thread is a list here, `pending_flushes`; `settle` runs it. Until then the flush holds its file, as
it may in 4.9.3, and a delete in between finds it held.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_reference._cycle_watch import MOST_RESULTS
from rocket_reference.dispatch import DispatchRequest
from rocket_reference.errors import JavaError, UnspecifiedError
from rocket_reference.index_file import IndexFile, file_size
from rocket_reference.java import split_one_space
from rocket_reference.mapped_file import MappedFile, wall_clock
from rocket_reference.mapped_file_queue import IO_EXCEPTIONS, by_name
from rocket_reference.properties import TAGS
from rocket_reference.rules import RULES_4_9_3, Rules
from rocket_reference.store_checkpoint import StoreCheckpoint

MAX_MSGS_NUM_BATCH: Final = 64
"""The most offsets of a query, whatever it asks for (`MessageStoreConfig.maxMsgsNumBatch`)."""

TRANSACTION_TYPE: Final = 0x3 << 2
TRANSACTION_ROLLBACK: Final = 0x3 << 2


@dataclass(frozen=True, slots=True)
class OffsetResult:
    """The answer to a query: physical offsets, and how far the newest file goes (ms, bytes).

    Source: QueryOffsetResult 22-42.
    """

    offsets: list[int]
    last_update_timestamp: int
    last_update_phy_offset: int


@dataclass(frozen=True, slots=True)
class StoredIndexFile:
    """An index file, and its mapped file."""

    index: IndexFile
    mapped: MappedFile

    @property
    def end_phy_offset(self) -> int:
        """The header's end offset, bytes."""
        return self.index.header().end_phy_offset

    @property
    def end_timestamp(self) -> int:
        """The header's end time, ms."""
        return self.index.header().end_timestamp


def index_keys(request: DispatchRequest, rules: Rules = RULES_4_9_3) -> Iterator[str]:
    """The keys that a message is indexed under, in their order (IDX-SVC-2); an empty unique key is one (IDX-SVC-10).

    Source: IndexService.buildIndex 222-242, buildKey 197-199.
    """
    if request.uniq_key is not None:
        yield f"{request.topic}#{request.uniq_key}"
    for key in split_one_space(request.keys or ""):
        if key:
            yield f"{request.topic}#{key}"
    tags = (request.properties or {}).get(TAGS) if rules.has_tag_keys else None
    if tags:
        yield f"{request.topic}#T#{tags}"


class IndexService:
    """The index files of a directory, which is made with the first of them.

    Args:
        directory: where they are.
        hash_slot_num: S of each file.
        index_num: N of each file.
        new_name: gives the name of a file that is about to be made: 4.9.3 takes the local wall time,
            `yyyyMMddHHmmssSSS`, so that the same name can come twice.
        checkpoint: whose index time decides at a load, and moves at a roll.
        clock: ms since the epoch; only for how long a held file resists its deletion.
        rules: of the release.

    Source: IndexService 44-60.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        hash_slot_num: int,
        index_num: int,
        *,
        new_name: Callable[[], str],
        checkpoint: StoreCheckpoint | None = None,
        clock: Callable[[], int] = wall_clock,
        rules: Rules = RULES_4_9_3,
    ) -> None:
        self.directory = Path(directory)
        self.hash_slot_num = hash_slot_num
        self.index_num = index_num
        self.checkpoint = checkpoint or StoreCheckpoint()
        self.files: list[StoredIndexFile] = []  # as loaded, by name, then as made; the last takes the puts
        self.pending_flushes: list[StoredIndexFile] = []
        self._new_name = new_name
        self._clock = clock
        self._rules = rules

    def _open(self, path: Path, end_phy_offset: int, end_timestamp: int) -> StoredIndexFile:
        """`new IndexFile(...)`. Source: IndexFile 42-64."""
        mapped = MappedFile(path, file_size(self.hash_slot_num, self.index_num), clock=self._clock)
        try:
            index = IndexFile(
                mapped.view,
                self.hash_slot_num,
                self.index_num,
                end_phy_offset=end_phy_offset,
                end_timestamp=end_timestamp,
                rules=self._rules,
            )
        except JavaError:
            mapped.close()
            raise
        return StoredIndexFile(index, mapped)

    # --- load -----------------------------------------------------------------------------------------

    def load(self, *, last_exit_ok: bool) -> bool:
        """Maps the files of the directory, by name; False at the first that cannot be opened.

        Files whose name is no number are skipped. After an unclean exit each file with an end time past
        the checkpoint's index time is deleted. A shorter file grows by zeros. False does not stop a
        broker: it goes on with the files loaded so far.

        Raises JavaError: IllegalArgumentException, IndexOutOfBoundsException for a geometry that wraps.
        Source: load 62-92. Clauses IDX-SVC-5, IDX-SVC-6.
        """
        if not self.directory.is_dir():
            return True
        for path in sorted(self.directory.iterdir(), key=by_name):
            try:
                file = self._load_one(path)
            except JavaError as error:
                if error.name in IO_EXCEPTIONS:
                    return False
                if error.name == "NumberFormatException":
                    continue
                raise
            if not last_exit_ok and file.end_timestamp > self.checkpoint.index_msg_timestamp:
                file.mapped.destroy(0)
                continue
            self.files.append(file)
        return True

    def _load_one(self, path: Path) -> StoredIndexFile:
        file = self._open(path, 0, 0)
        try:
            file.index.load()
        except JavaError:
            file.mapped.close()
            raise
        return file

    # --- build ----------------------------------------------------------------------------------------

    def build(self, request: DispatchRequest) -> None:
        """Indexes a message under its unique key and its keys.

        The file is found, made or rolled first, for a message without keys too. Then a message before the
        file's end offset is skipped, not one at it; and so is a rolled-back one, of the transaction types
        that alone.

        Raises JavaError: IllegalMonitorStateException when a file cannot be made; ArithmeticException without slots.
        Raises UnspecifiedError where 4.9.3 never ends: a new file that takes no put.
        Source: buildIndex 201-246. Clauses IDX-SVC-7 .. IDX-SVC-10, IDX-SVC-20.
        """
        file = self._last_file()  # IDX-SVC-7
        if request.commit_log_offset < file.end_phy_offset:  # IDX-SVC-8
            return
        if request.sys_flag & TRANSACTION_TYPE == TRANSACTION_ROLLBACK:  # IDX-SVC-9
            return
        for key in index_keys(request, self._rules):
            file = self._put(file, key, request)

    def _put(self, file: StoredIndexFile, key: str, request: DispatchRequest) -> StoredIndexFile:
        """Puts a key, in the next file if this one is full, and returns the file. Source: putKey 248-261.

        Clauses IDX-SVC-3, IDX-SVC-20.
        """
        offset, timestamp = request.commit_log_offset, request.store_timestamp
        if file.index.put(key, offset, timestamp):
            return file
        file = self._last_file()
        if not file.index.put(key, offset, timestamp):
            raise UnspecifiedError("a file that has room refuses the put, and 4.9.3 tries for ever")
        return file

    def _last_file(self) -> StoredIndexFile:
        """The last file if it has room, else a new one, seeded with the last one's end values.

        Where the new file's constructor throws, `finally` unlocks a lock that was not taken, and *that*
        exception leaves. So the three tries of retryGetAndCreateIndexFile are never made, and its error
        flag is never set.

        Source: getAndCreateLastIndexFile 301-345, retryGetAndCreateIndexFile 268-299.
        Clauses IDX-SVC-3, IDX-SVC-4, IDX-SVC-19.
        """
        last = self.files[-1] if self.files else None
        if last is not None and not last.index.full():
            return last
        try:
            file = self._open(
                self.directory / self._new_name(),
                last.end_phy_offset if last else 0,
                last.end_timestamp if last else 0,
            )
        except JavaError as error:
            raise JavaError("IllegalMonitorStateException", str(error)) from error
        self.files.append(file)
        if last is not None and last.mapped.hold():
            self.pending_flushes.append(last)
        return file

    def settle(self) -> int:
        """Lets the flushes end that rolls have started, and returns the checkpoint's index time, ms.

        The time becomes the end time of the file that was full, if that is above 0, even when it is less
        than it was.

        Source: flush 347-366; IndexFile.flush 73-82. Clause IDX-SVC-18.
        """
        pending, self.pending_flushes = self.pending_flushes, []
        for file in pending:
            file.index.flush()
            file.mapped.release()
            timestamp = file.end_timestamp if file.index.full() else 0
            if timestamp > 0:
                self.checkpoint.index_msg_timestamp = timestamp
                self.checkpoint.flush()
        return self.checkpoint.index_msg_timestamp

    # --- query ----------------------------------------------------------------------------------------

    def query(self, topic: str, key: str, max_num: int, begin: int, end: int) -> OffsetResult:
        """The physical offsets of messages with a key, newest file first; at most 64.

        Files whose times do not meet the window are passed over; one that begins before the window is the
        last. An exception ends the query with what was found; without slots it leaves the file held.

        Args:
            topic: the messages' topic.
            key: one of their keys.
            max_num: how many at most.
            begin: start of the window, ms since the epoch, inclusive.
            end: end of the window, inclusive.

        Raises:
            JavaError: IllegalArgumentException for a negative max_num.
            UnspecifiedError: for a max_num that may fill the memory; for a chain that cycles.

        Source: queryOffset 157-195. Clauses IDX-SVC-11 .. IDX-SVC-16.
        """
        if max_num < 0:
            raise JavaError("IllegalArgumentException", f"Illegal Capacity: {max_num}")
        if max_num > MOST_RESULTS:
            raise UnspecifiedError(f"a list for {max_num} offsets may fill the memory")
        most = min(max_num, MAX_MSGS_NUM_BATCH)
        offsets: list[int] = []
        for file in reversed(self.files):
            if file.index.time_matched(begin, end) and file.mapped.hold():
                try:
                    offsets = file.index.select(f"{topic}#{key}", most, begin, end, offsets)
                except JavaError:
                    break  # caught by queryOffset, beyond selectPhyOffset and its release
                file.mapped.release()
            if file.index.header().begin_timestamp < begin or len(offsets) >= most:
                break
        newest = self.files[-1] if self.files else None
        return OffsetResult(
            offsets,
            newest.end_timestamp if newest else 0,
            newest.end_phy_offset if newest else 0,
        )

    # --- delete ---------------------------------------------------------------------------------------

    def delete_expired(self, offset: int) -> None:
        """Deletes files from the oldest on whose end offset is below `offset`; never the last one.

        One that is held stays in the list, and ends it; a later call finds it already given up.

        Source: deleteExpiredFile 94-143. Clause IDX-SVC-17.
        """
        expired: list[StoredIndexFile] = []
        for file in self.files[:-1]:
            if file.end_phy_offset >= offset:
                break
            expired.append(file)
        for file in expired:
            if not file.mapped.destroy(3000):
                break
            self.files.remove(file)

    def close(self) -> None:
        """Unmaps the files, as the end of the process does; nothing is flushed (4.9.3's shutdown is empty)."""
        self.pending_flushes.clear()
        for file in self.files:
            file.mapped.close()
        self.files.clear()
