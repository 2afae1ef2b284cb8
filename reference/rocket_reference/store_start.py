"""A store from start to end: what a broker's start reads, deletes and dispatches again.

Read beside `DefaultMessageStore` 190-353 of 4.9.3: load, start, shutdown.

Theory of operation. The order is the point:

    1. `abort` is there: the last exit was unclean.
    2. commit log and consume queues are mapped; a file of a wrong length ends the start here.
    3. The checkpoint is read; the index files are loaded, after an unclean exit but those that end past
       its index time, which are deleted.
    4. Every queue is recovered.
    5. The commit log is recovered: after a clean exit only its end is found, after an unclean one records
       are dispatched again, while the delay levels are not known yet. Then the queues are truncated where
       they reach to the log's end, which a healthy queue does, or deleted when there is no log.
    6. The queues' minimums are corrected, and the delay levels are read.
    7. The rest of the log is dispatched from the queues' greatest max_physic_offset on; then the minimums
       are corrected again.
    8. `abort` is made. A shutdown removes it, if nothing is left to dispatch.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rocket_reference.commit_log_store import CommitLogFiles
from rocket_reference.consume_queue import queue_file_size
from rocket_reference.dispatch import DispatchRequest
from rocket_reference.errors import JavaError, JavaFatalError, UnspecifiedError
from rocket_reference.index_service import IndexService
from rocket_reference.mapped_file import wall_clock
from rocket_reference.queue_table import QueueTable, RunningFlags
from rocket_reference.reput import Reput
from rocket_reference.store_checkpoint import StoreCheckpoint


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The settings of a broker on which the bytes depend; the defaults of 4.9.3."""

    commit_log_file_size: int = 1 << 30  # `mappedFileSizeCommitLog`, bytes
    queue_file_size: int = 300_000 * 20  # `mappedFileSizeConsumeQueue`, bytes, rounded up to whole units
    # `mappedFileSizeConsumeQueueExt`, bytes; None: `enableConsumeQueueExt` is false
    ext_file_size: int | None = None
    hash_slot_num: int = 5_000_000  # `maxHashSlotNum`
    index_num: int = 20_000_000  # `maxIndexNum`
    message_index_enable: bool = True  # whether messages are indexed
    message_index_safe: bool = False  # whether recovery goes back to the checkpoint's index time too
    check_crc_on_recover: bool = True  # whether recovery compares bodies with their checksums
    multi_dispatch: bool = False  # `enableMultiDispatch`
    lmq: bool = False  # `enableLmq`
    slave: bool = False  # `brokerRole` SLAVE with a `brokerId` above 0
    # `duplicationEnable`: dispatch only up to the confirm offset, which is -1 (STORE-18)
    duplication: bool = False
    # several directories of the commit log, below the root; none is `commitlog` alone (STORE-17)
    commit_log_paths: tuple[str, ...] = ()
    # further ones that get no new file; they count only beside several directories
    read_only_paths: tuple[str, ...] = ()


class MessageStore:
    """A store in its directory: load, start, shutdown, in this order.

    Args:
        root: `storePathRootDir`.
        config: of the broker.
        new_index_name: gives the name of an index file that is about to be made.
        on_dispatch: called with each request before it is dispatched.
        bit_map: gives the filter's bytes of a request, for its ext unit.
        sleep: waits a number of ms.
        clock: ms since the epoch.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        config: StoreConfig,
        *,
        new_index_name: Callable[[], str],
        on_dispatch: Callable[[DispatchRequest], None] = lambda _request: None,
        bit_map: Callable[[DispatchRequest], bytes] = lambda _request: b"",
        sleep: Callable[[int], None] = lambda milliseconds: time.sleep(milliseconds / 1000),
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self.root = Path(root)
        self.config = config
        self.flags = RunningFlags()  # what stops the store from writing
        self.checkpoint = StoreCheckpoint()  # the checkpoint; in memory alone before a load opens it
        paths = config.commit_log_paths or ("commitlog",)
        if len(paths) > 1:
            paths += config.read_only_paths
        self.log = CommitLogFiles(
            [self.root / path for path in paths], config.commit_log_file_size, clock=clock
        )
        self.queues = QueueTable(
            self.root / "consumequeue",
            queue_file_size(config.queue_file_size),
            ext_file_size=config.ext_file_size,
            multi_dispatch=config.multi_dispatch,
            lmq=config.lmq,
            slave=config.slave,
            flags=self.flags,
            sleep=sleep,
            clock=clock,
        )
        self.index = IndexService(
            self.root / "index", config.hash_slot_num, config.index_num, new_name=new_index_name, clock=clock
        )
        self.reput = Reput(
            self.log,
            self.dispatch,
            master=not config.slave,
            confirm_offset=-1 if config.duplication else None,
        )
        self._on_dispatch = on_dispatch
        self._bit_map = bit_map
        for directory in (*(config.commit_log_paths or ("commitlog",)), "consumequeue"):
            if not (self.root / directory).exists():
                (self.root / directory).mkdir(parents=True)
        (self.root / "lock").touch()

    def dispatch(self, request: DispatchRequest) -> None:
        """Gives a request to the queues, then to the index.

        Raises JavaError: what leaves either; after the first the index does not get it.
        Source: doDispatch 1534-1538, CommitLogDispatcherBuildIndex 1657-1665. Clause LOG-DSP-12.
        """
        self._on_dispatch(request)
        self.queues.dispatch(request, self.checkpoint, bit_map=self._bit_map(request))
        if self.config.message_index_enable:
            self.index.build(request)

    def load(self) -> bool:
        """Steps 1 to 6; False when the broker would not start. An exception ends it there, and is only logged.

        Raises JavaFatalError: OutOfMemoryError, where a record's size is longer than any array (STORE-16).
        Source: load 190-227, recover 1457-1467. Clauses STORE-1, STORE-3, STORE-5.
        """
        try:
            return self._load(last_exit_ok=not (self.root / "abort").exists())
        except JavaError:
            return False

    def _load(self, *, last_exit_ok: bool) -> bool:
        if not (self.log.load() and self.queues.load()):
            return False
        self.checkpoint = self.index.checkpoint = StoreCheckpoint(self.root / "checkpoint")
        self.index.load(last_exit_ok=last_exit_ok)  # whatever it returns (STORE-5)
        greatest = self.queues.recover()
        if not self.log.files.mapped_files:
            self.queues.destroy()  # STORE-10
        else:
            process_offset = self._recover_log(last_exit_ok=last_exit_ok)
            if greatest >= process_offset:  # STORE-9: equal too, so every clean start does
                self.queues.truncate(process_offset)
        self.queues.correct_min(self.log.min_offset())  # STORE-13
        return True

    def _recover_log(self, *, last_exit_ok: bool) -> int:
        """The log's end after its recovery; the delay levels are not known yet."""
        config = self.config
        if last_exit_ok:
            return self.log.recover_normally(check_crc=config.check_crc_on_recover, delay_levels=())
        times = self.checkpoint.times()
        safe = config.message_index_enable and config.message_index_safe
        return self.log.recover_abnormally(
            self._dispatch_confirmed,
            safe_timestamp=times.min_timestamp_index if safe else times.min_timestamp,
            check_crc=config.check_crc_on_recover,
            delay_levels=(),
        )

    def _dispatch_confirmed(self, request: DispatchRequest) -> None:
        limit = self.reput.confirm_offset
        if limit is None or request.commit_log_offset < limit:  # STORE-18
            self.dispatch(request)

    def start(self) -> None:
        """Steps 7 and 8.

        Raises UnspecifiedError where the start never ends, as the rest of the log cannot be dispatched: a record
        whose dispatch throws each time or is too long for an array, anything that is not confirmed, and, on a slave,
        bytes that are not a record.
        Source: start 232-305. Clauses STORE-2, STORE-14.
        """
        (self.root / "lock").write_bytes(b"lock")
        greatest = max((queue.max_physic_offset for queue in self.queues), default=-1)
        self.reput.reput_from_offset = max(0, greatest, self.log.min_offset())
        while self.reput.behind() > 0:
            self._reput_once()
        self.queues.correct_min(self.log.min_offset())
        (self.root / "abort").touch()

    def _reput_once(self) -> None:
        before, why = self.reput.reput_from_offset, "bytes that are not a record, or are not confirmed"
        try:
            self.reput.reput()
        except JavaError as error:
            why = str(error)
        except JavaFatalError as error:  # the thread has ended
            raise UnspecifiedError(f"dispatch ends at {before} for good: {error}") from error
        if self.reput.reput_from_offset == before:
            raise UnspecifiedError(f"dispatch stays at {before} for ever: {why}")

    def shutdown(self) -> bool:
        """Flushes the checkpoint, and removes `abort` if all is well; whether that was done.

        Index files are not flushed; what was put is in their bytes all the same.

        Source: shutdown 307-353. Clause STORE-2.
        """
        clean = self.flags.writeable and self.reput.behind() == 0
        self.index.settle()
        self.checkpoint.flush()
        if clean:
            (self.root / "abort").unlink(missing_ok=True)
        self.close()
        return clean

    def close(self) -> None:
        """Unmaps every file, as the end of the process does, and leaves `abort`."""
        self.log.close()
        self.queues.close()
        self.index.close()
