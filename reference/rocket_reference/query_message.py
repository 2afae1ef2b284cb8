"""The query by key: what the store sends for the offsets that the index finds.

Read beside `DefaultMessageStore.queryMessage` 973-1036 and `QueryMessageProcessor.queryMessage` 71-124 of 4.9.3.

Theory of operation. The broker asks the index up to three times, while a round yields nothing to send. The
next round is to end at the store time of the lowest hit; but where that one decodes it is sent, and there
is no next round. What is sent is not checked against the key: an equal hash is enough. The client
(`MQAdminImpl.queryMessage` 270-430) throws out what has another key or topic.
"""

from dataclasses import dataclass
from struct import Struct
from typing import Final

from rocket_reference._cursor import Cursor
from rocket_reference.commit_log_store import CommitLogFiles
from rocket_reference.errors import JavaError
from rocket_reference.index_service import IndexService
from rocket_reference.java import I32_MAX
from rocket_reference.record_bytes import read_fields

DEFAULT_QUERY_MAX_NUM: Final = 32
"""What a query by unique key is forced to ask for (`MessageStoreConfig.defaultQueryMaxNum`)."""

_INT: Final = Struct(">i")
_ROUNDS: Final = 3
_MAX_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message as it is sent: its offset in the index, and its bytes, of the length in its first int."""

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class MessageResult:
    """The answer to a query by key. The last-update values are 0 when the index found nothing (ms, bytes).

    Source: QueryMessageResult 24-79.
    """

    messages: list[SentMessage]
    last_update_timestamp: int
    last_update_phy_offset: int


def query_message(
    index: IndexService, log: CommitLogFiles, topic: str, key: str, max_num: int, begin: int, end: int
) -> MessageResult:
    """The messages that the index finds under a key, by ascending offset, repeats kept.

    Args:
        index: where to look.
        log: where the messages are.
        topic: the messages' topic.
        key: one of their keys, or their unique key.
        max_num: how many offsets at most; 64 in any case. `DEFAULT_QUERY_MAX_NUM` for a unique key.
        begin: start of the window, ms since the epoch, inclusive.
        end: end of the window, inclusive.

    Raises:
        JavaError: IllegalArgumentException for a negative max_num.
        UnspecifiedError: as `IndexService.query`.

    Source: DefaultMessageStore.queryMessage 973-1036. Clauses QRY-1 .. QRY-4.
    """
    messages: list[SentMessage] = []
    last_update_timestamp = last_update_phy_offset = 0
    last_time = end
    for _ in range(_ROUNDS):
        found = index.query(topic, key, max_num, begin, last_time)
        if not found.offsets:
            break
        last_update_timestamp = found.last_update_timestamp
        last_update_phy_offset = found.last_update_phy_offset
        for place, offset in enumerate(sorted(found.offsets)):
            try:
                stored = _look(log, offset)
                if place == 0:
                    if stored is None:
                        continue  # a NullPointerException, caught too
                    last_time = stored
                data = _sent(log, offset)
            except JavaError:
                continue  # caught and logged: this one is left out
            if data is not None:
                messages.append(SentMessage(offset, data))
        if any(message.data for message in messages) or last_time < begin:
            break
    return MessageResult(messages, last_update_timestamp, last_update_phy_offset)


def _look(log: CommitLogFiles, offset: int) -> int | None:
    """Store time of the message at an offset, ms; None if its bytes make none.

    Unlike dispatch, this looks neither at the magic nor at whether the lengths add up. A part that the bytes do not hold, or a
    port that is none, makes no message.

    Source: DefaultMessageStore.lookMessageByOffset 786-799, 1227-1238; MessageDecoder.decode 319-436.
    """
    data = log.message_at(offset)
    if data is None:
        return None
    cursor = Cursor(data)
    try:
        cursor.get_int()  # the total size, which is not looked at
        fields = read_fields(cursor, I32_MAX, cursor.get_int())
    except JavaError:
        return None
    ports = (int.from_bytes(host[-4:], signed=True) for host in (fields.born_host, fields.store_host))
    return fields.store_timestamp if all(0 <= port <= _MAX_PORT for port in ports) else None


def _sent(log: CommitLogFiles, offset: int) -> bytes | None:
    """The bytes to send for an offset: from there the length in the first int, up to the file's end.

    Not up to what is written: a buffer's limit can be moved up to its capacity.

    Raises JavaError: IndexOutOfBoundsException for less than an int written; IllegalArgumentException for a length
    below 0 or beyond the file.
    Source: DefaultMessageStore.queryMessage 1011-1017.
    """
    found = log.find(offset, first_on_not_found=False)
    if found is None:
        return None
    mapped_file, position = found
    head = mapped_file.select(position, _INT.size)
    if head is None:
        return None
    if len(head) < _INT.size:
        raise JavaError("IndexOutOfBoundsException", f"{len(head)} bytes")
    size: int = _INT.unpack(head)[0]
    if not 0 <= size <= mapped_file.file_size - position:
        raise JavaError("IllegalArgumentException", f"limit {size}")
    return bytes(mapped_file.view[position : position + size])
