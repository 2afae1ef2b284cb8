"""All consume queues of a store, and the dispatcher that fills them.

Read beside `DefaultMessageStore.CommitLogDispatcherBuildConsumeQueue` 1640-1655, `putMessagePositionInfo`
1545-1567, `findConsumeQueue` 1240-1272 and `ConsumeQueue.putMessagePositionInfoWrapper` 382-479 of 4.9.3.

Theory of operation. A dispatch request of type NOT or COMMIT goes to the queue of its topic, which is made
when it is first asked for. With ext enabled its ext unit is written first, before the queue checks whether the
request is a repeat. With multi-dispatch a request can go to further queues, named in its properties.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rocket_reference.consume_queue_ext import is_ext_address
from rocket_reference.consume_queue_ext_store import ConsumeQueueExt
from rocket_reference.consume_queue_store import ConsumeQueue
from rocket_reference.dispatch import SCHEDULE_TOPIC, DispatchRequest
from rocket_reference.errors import JavaError
from rocket_reference.java import is_blank, parse_int, parse_long, split
from rocket_reference.mapped_file import wall_clock
from rocket_reference.store_checkpoint import StoreCheckpoint

LMQ_PREFIX: Final = "%LMQ%"
MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"

_KEPT_TOPICS: Final = (SCHEDULE_TOPIC, "RMQ_SYS_TRANS_OP_HALF_TOPIC")
_TRIES: Final = 30
_TRANSACTION_TYPE: Final = 0x3 << 2
_TRANSACTION_NOT: Final = 0
_TRANSACTION_COMMIT: Final = 0x2 << 2


def is_lmq(topic: str) -> bool:
    """Whether a topic is a light message queue. Source: MixAll.isLmq 449-451."""
    return topic.startswith(LMQ_PREFIX)


@dataclass(slots=True)
class RunningFlags:
    """The flags that stop a store from writing. Source: RunningFlags 21-127."""

    not_writeable: bool = False
    logics_queue_error: bool = False
    index_file_error: bool = False
    disk_full: bool = False

    @property
    def writeable(self) -> bool:
        """Whether messages are taken. Source: isWriteable 72-78."""
        return self.queue_writeable and not self.disk_full

    @property
    def queue_writeable(self) -> bool:
        """Whether consume queues are written: a full disk does not stop them. Source: isCQWriteable 81-87."""
        return not (self.not_writeable or self.logics_queue_error or self.index_file_error)


class QueueTable:
    """The queues of a store, by topic and queue id.

    Args:
        root: the directory of the queues, `consumequeue`; that of ext queues is beside it.
        mapped_file_size: length of a queue's files, bytes, whole units.
        ext_file_size: length of an ext queue's files, bytes; None: ext is not enabled.
        multi_dispatch: whether properties can name further queues (`enableMultiDispatch`).
        lmq: whether light message queues always have the queue id 0 (`enableLmq`).
        slave: whether a put moves the checkpoint's physic time too.
        flags: shared with the rest of the store.
        sleep: waits a number of ms between two tries.
        clock: ms since the epoch.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        mapped_file_size: int,
        *,
        ext_file_size: int | None = None,
        multi_dispatch: bool = False,
        lmq: bool = False,
        slave: bool = False,
        flags: RunningFlags | None = None,
        sleep: Callable[[int], None] = lambda milliseconds: time.sleep(milliseconds / 1000),
        clock: Callable[[], int] = wall_clock,
    ) -> None:
        self.root = Path(root)
        self.mapped_file_size = mapped_file_size
        self.ext_file_size = ext_file_size
        self.multi_dispatch = multi_dispatch
        self.lmq = lmq
        self.slave = slave
        self.flags = flags or RunningFlags()
        self._queues: dict[tuple[str, int], ConsumeQueue] = {}
        self._sleep = sleep
        self._clock = clock

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter(self._queues.values())

    def find(self, topic: str, queue_id: int) -> ConsumeQueue:
        """The queue of a topic, made in memory when it is not there; its files come with the first put.

        Source: findConsumeQueue 1240-1272.
        """
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            queue = self._queues[topic, queue_id] = self._new(topic, queue_id)
        return queue

    def _new(self, topic: str, queue_id: int) -> ConsumeQueue:
        ext = None
        if self.ext_file_size is not None:
            ext_root = self.root.with_name("consumequeue_ext")
            ext = ConsumeQueueExt(ext_root, topic, queue_id, self.ext_file_size, clock=self._clock)
        return ConsumeQueue(self.root, topic, queue_id, self.mapped_file_size, ext=ext, clock=self._clock)

    # --- dispatch -------------------------------------------------------------------------------------

    def dispatch(
        self, request: DispatchRequest, checkpoint: StoreCheckpoint, *, bit_map: bytes = b""
    ) -> None:
        """Puts a request into its queue, if its transaction type is NOT or COMMIT.

        Args:
            request: what to put.
            checkpoint: its logics time becomes the request's store time, even if that is earlier.
            bit_map: the filter's bytes, for the ext unit.

        Raises:
            JavaError: NullPointerException for a record without properties while multi-dispatch is enabled
                (a `&&` where `||` was meant); NumberFormatException for an offset in its properties that is
                no number. Either leaves doReput, which meets the same record for ever (CQ-LMQ-5, LOG-DSP-14).

        Clauses LOG-DSP-7, CQ-PUT-9, CQ-PUT-11.
        """
        if request.sys_flag & _TRANSACTION_TYPE not in (_TRANSACTION_NOT, _TRANSACTION_COMMIT):
            return
        queue = self.find(request.topic, request.queue_id)
        further = self._names_further_queues(request)
        if not self.flags.queue_writeable or not self._put(queue, request, bit_map):
            self.flags.logics_queue_error = True
            return
        if self.slave:
            checkpoint.physic_msg_timestamp = request.store_timestamp
        checkpoint.logics_msg_timestamp = request.store_timestamp
        if further:
            self._put_further(request)

    def _put(self, queue: ConsumeQueue, request: DispatchRequest, bit_map: bytes) -> bool:
        """Up to 30 tries, 1 s apart; each writes an ext unit of its own.

        Source: ConsumeQueue.putMessagePositionInfoWrapper 382-430. Clauses CQ-PUT-10, CQ-EXT-7.
        """
        for _ in range(_TRIES):
            tags_code = request.tags_code
            if queue.ext is not None:
                address = queue.ext.put(request.tags_code, request.store_timestamp, bit_map)
                tags_code = address if is_ext_address(address) else tags_code
            offset, size = request.commit_log_offset, request.msg_size
            if queue.put(offset, size, tags_code, request.consume_queue_offset):
                return True
            self._sleep(1000)
        return False

    def _names_further_queues(self, request: DispatchRequest) -> bool:
        """Whether a request goes to more than its own queue. Source: checkMultiDispatchQueue 1550-1567 (CQ-LMQ-1)."""
        if not self.multi_dispatch:
            return False
        if request.properties is None:
            raise JavaError("NullPointerException", "a record without properties")
        properties = request.properties
        return not is_blank(properties.get(MULTI_DISPATCH)) and not is_blank(
            properties.get(MULTI_QUEUE_OFFSET)
        )

    def _put_further(self, request: DispatchRequest) -> None:
        """Puts a request into the queues that its properties name; never with an ext unit.

        Source: ConsumeQueue.multiDispatchLmqQueue 432-453, doDispatchLmqQueue 455-479.
        Clauses CQ-LMQ-1, CQ-LMQ-2, CQ-LMQ-3.
        """
        properties = request.properties or {}
        names = split(properties[MULTI_DISPATCH], ",")
        offsets = split(properties[MULTI_QUEUE_OFFSET], ",")
        if len(names) != len(offsets):
            return
        for name, text in zip(names, offsets, strict=True):
            queue_offset = parse_long(text)
            queue = self.find(name, 0 if self.lmq and is_lmq(name) else request.queue_id)
            for _ in range(_TRIES if self.flags.queue_writeable else 0):
                offset, size = request.commit_log_offset, request.msg_size
                if queue.put(offset, size, request.tags_code, queue_offset):
                    break
                self._sleep(1000)

    # --- start ----------------------------------------------------------------------------------------

    def load(self) -> bool:
        """Maps the files of every queue; False at the first that cannot be loaded, which stops the start.

        Each entry whose name is an int registers a queue of that number, whose files are those in the directory with the
        number in plain decimal; other entries are skipped.

        Source: loadConsumeQueue 1420-1455. Clauses STORE-3, STORE-4.
        """
        for topic in _directories(self.root):
            for directory in _directories(topic):
                try:
                    queue_id = parse_int(directory.name)
                except JavaError:
                    continue
                queue = self._queues[topic.name, queue_id] = self._new(topic.name, queue_id)
                if not queue.load():
                    return False
        return True

    def recover(self) -> int:
        """Recovers every queue, and returns the greatest max_physic_offset; -1 without queues.

        Source: recoverConsumeQueue 1492-1504.
        """
        greatest = -1
        for queue in self:
            queue.recover()
            greatest = max(greatest, queue.max_physic_offset)
        return greatest

    def truncate(self, phy_offset: int) -> None:
        """Truncates every queue. Source: truncateDirtyLogicFiles 177-185."""
        for queue in self:
            queue.truncate(phy_offset)

    def correct_min(self, phy_min_offset: int) -> None:
        """Corrects every queue's minimum. Source: recoverTopicQueueTable 1506-1519 (STORE-13)."""
        for queue in self:
            queue.correct_min(phy_min_offset)

    def clean_expired(self, min_offset: int) -> None:
        """Deletes every queue whose last offset is before the start of the log, except the schedule's (STORE-19).

        Raises JavaError: BufferUnderflowException of `ConsumeQueue.last_offset`; the queues before stay deleted.
        Source: DefaultMessageStore.cleanExpiredConsumerQueue 1086-1128.
        """
        for place, queue in list(self._queues.items()):
            last_offset = queue.last_offset() if queue.topic != SCHEDULE_TOPIC else -1
            if last_offset != -1 and last_offset < min_offset:
                self._queues.pop(place).destroy()

    def clean_unused(self, topics: Collection[str]) -> None:
        """Deletes the queues of every topic that is not among these, except some of the system's (STORE-20).

        Source: DefaultMessageStore.cleanUnusedTopic 1054-1084.
        """
        for place, queue in list(self._queues.items()):
            if queue.topic not in topics and queue.topic not in _KEPT_TOPICS and not is_lmq(queue.topic):
                self._queues.pop(place).destroy()

    def destroy(self) -> None:
        """Deletes every queue's files; the queues stay, empty. Source: destroyLogics 363-369 (STORE-10)."""
        for queue in self:
            queue.destroy()

    def close(self) -> None:
        """Unmaps every file, as the end of the process does."""
        for queue in self:
            queue.close()


def _directories(path: Path) -> list[Path]:
    """`listFiles()`, nothing for a file that is not a directory; sorted, though 4.9.3 takes them as they come."""
    return sorted(path.iterdir()) if path.is_dir() else []
