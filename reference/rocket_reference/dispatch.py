"""From a record to the dispatch request that consume queues and index are built from.

Read beside `CommitLog.checkMessageAndReturnSize` 287-431 of 4.9.3.

Theory of operation. One method distinguishes everything that can be at a place of the commit log, and
answers with a request in each case:

    | there is                                                | size       | success |
    |---------------------------------------------------------|------------|---------|
    | a record                                                | total_size | true    |
    | a blank, whatever its own size is                       | 0          | true    |
    | a record whose lengths do not add up                    | total_size | false   |
    | a wrong magic or checksum, or anything that throws      | -1         | false   |

What throws: an end of the data inside the record, a length that leads outside it, and a delay level that
is no number. The position in the log is not looked at: the request carries the *recorded* one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rocket_spec.layout import BLANK_MAGIC

from rocket_reference._cursor import Cursor
from rocket_reference._mapping import ReadableBuffer
from rocket_reference.consume_queue import tags_code
from rocket_reference.errors import JavaError, JavaFatalError
from rocket_reference.java import I32_MAX, decode_utf8, parse_int, to_i32, to_i64
from rocket_reference.properties import DELAY, KEYS, TAGS, UNIQ_KEY, parse_properties
from rocket_reference.record_bytes import RecordFields, body_checksum, length_of, read_fields
from rocket_reference.rules import RULES_4_9_3, Rules

SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"  # TopicValidator.RMQ_SYS_SCHEDULE_TOPIC

_LONGEST_ARRAY: Final = I32_MAX - 2
"""Bytes that the longest array of a HotSpot JVM can have, whatever its heap."""

_LONGEST_KEPT: Final = 1 << 20  # MessageStoreConfig.maxCheckMessageReuseBufferSize of 5.5.1

_SECOND, _MINUTE, _HOUR = 1000, 60_000, 3_600_000

DELAY_LEVELS: Final = (
    *(seconds * _SECOND for seconds in (1, 5, 10, 30)),
    *(minutes * _MINUTE for minutes in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30)),
    *(hours * _HOUR for hours in (1, 2)),
)
"""Delay of the levels 1 .. 18 in ms (`MessageStoreConfig.messageDelayLevel` 135)."""


@dataclass(frozen=True, slots=True)
class DispatchRequest:
    """A request to the builders of consume queue and index, made from a record (LOG-DSP-1).

    One without success, and that of a blank, has the values that are defaults here. `keys` is "" for a
    record without properties and None where the properties lack it (LOG-DSP-2).

    Source: DispatchRequest 22-100.
    """

    topic: str = ""
    queue_id: int = 0
    commit_log_offset: int = 0
    msg_size: int = 0
    tags_code: int = 0
    store_timestamp: int = 0
    consume_queue_offset: int = 0
    keys: str | None = ""
    uniq_key: str | None = None
    sys_flag: int = 0
    prepared_transaction_offset: int = 0
    properties: Mapping[str, str] | None = None
    success: bool = False


def dispatch_request(
    data: ReadableBuffer,
    position: int = 0,
    *,
    check_crc: bool = False,
    read_body: bool = True,
    delay_levels: Sequence[int] = DELAY_LEVELS,
    rules: Rules = RULES_4_9_3,
) -> DispatchRequest:
    """The request at a position of commit-log bytes, failing and blank ones included, as `checkMessageAndReturnSize(buffer, check_crc)` answers.

    A total size of more than 16 MiB is beyond the clauses, as 4.9.3 may run out of memory over it, except for one that
    no array can have (LOG-DSP-16).

    Args:
        data: commit-log bytes; their end is the buffer's limit.
        position: where the record begins.
        check_crc: compare the body with its checksum (LOG-REC-4).
        read_body: False steps over the body; the checksum is then not looked at.
        delay_levels: ms of the levels from 1 on; empty is the state during recovery, when the table has
            not been read yet.
        rules: of the release.

    Raises:
        JavaFatalError: OutOfMemoryError for a total size that is longer than any array.
    """
    cursor = Cursor(data, position)
    return next_request(
        cursor, check_crc=check_crc, read_body=read_body, delay_levels=delay_levels, rules=rules
    )


def next_request(
    cursor: Cursor,
    *,
    check_crc: bool = False,
    read_body: bool = True,
    delay_levels: Sequence[int] = DELAY_LEVELS,
    rules: Rules = RULES_4_9_3,
    room: int = 0,
) -> DispatchRequest:
    """`dispatch_request` at the position of a buffer, which moves to the end of what could be read.

    That is the length of the record's parts, even if its total size differs. A part has at least `room` bytes to be copied to.
    """
    try:
        total_size = cursor.get_int()
        if rules.refuses_negative and total_size < 0:
            return DispatchRequest(msg_size=-1)
        if rules.checks_room and cursor.limit - cursor.position < to_i32(total_size - 4):
            return DispatchRequest(msg_size=-1)
        magic = cursor.get_int()
        if magic == BLANK_MAGIC:  # LOG-BLANK-2
            return DispatchRequest(success=True)
        if magic not in rules.magics:
            return DispatchRequest(msg_size=-1)
        if total_size > _LONGEST_ARRAY:
            raise JavaFatalError("OutOfMemoryError", f"{total_size} bytes")  # LOG-DSP-16
        fields = read_fields(
            cursor, total_size, magic, read_body=read_body, room=max(room, total_size), rules=rules
        )
        if check_crc and fields.body and body_checksum(fields.body) != fields.body_crc:  # LOG-REC-4
            return DispatchRequest(msg_size=-1)
        return _request(fields, delay_levels, rules)
    except JavaError:  # LOG-DSP-6
        return DispatchRequest(msg_size=-1)


def _request(fields: RecordFields, delay_levels: Sequence[int], rules: Rules) -> DispatchRequest:
    """The request of a record that could be read. Source: 360-426."""
    topic = decode_utf8(fields.topic)  # UTF8-1
    keys: str | None = ""
    uniq_key: str | None = None
    code = 0
    properties: dict[str, str] | None = None
    if fields.properties_length > 0:
        properties = parse_properties(decode_utf8(fields.properties), rules)
        keys = properties.get(KEYS)  # LOG-DSP-2
        uniq_key = properties.get(UNIQ_KEY)  # LOG-DSP-3
        code = dispatch_tags_code(topic, properties, fields.store_timestamp, delay_levels)
    length = length_of(fields, rules)
    if fields.total_size != length:  # LOG-DSP-6, only after all that throws
        return DispatchRequest(msg_size=fields.total_size)
    return DispatchRequest(  # LOG-DSP-1
        topic=topic,
        queue_id=fields.queue_id,
        commit_log_offset=fields.phy_offset,
        msg_size=fields.total_size,
        tags_code=code,
        store_timestamp=fields.store_timestamp,
        consume_queue_offset=fields.queue_offset,
        keys=keys,
        uniq_key=uniq_key,
        sys_flag=fields.sys_flag,
        prepared_transaction_offset=fields.prepared_transaction_offset,
        properties=properties,
        success=True,
    )


def dispatch_tags_code(
    topic: str,
    properties: Mapping[str, str],
    store_timestamp: int,
    delay_levels: Sequence[int] = DELAY_LEVELS,
) -> int:
    """The tags code of a record: hash of TAGS, or the delivery time of a delayed message, ms.

    Only under SCHEDULE_TOPIC_XXXX a delay level counts. One above the highest is the highest; one below 1
    leaves the hash, as every one does while the table is empty (LOG-DSP-4, LOG-DSP-5).

    Raises JavaError: NumberFormatException for a delay level that is not a Java int.
    Source: CommitLog.checkMessageAndReturnSize 377-397; ScheduleMessageService.computeDeliverTimestamp 119-126.
    """
    code = tags_code(properties.get(TAGS))
    delay = properties.get(DELAY)
    if topic == SCHEDULE_TOPIC and delay is not None:
        level = min(parse_int(delay), len(delay_levels))
        if level > 0:
            code = to_i64(delay_levels[level - 1] + store_timestamp)
    return code


def dispatch_requests(
    data: ReadableBuffer,
    *,
    check_crc: bool = False,
    read_body: bool = True,
    delay_levels: Sequence[int] = DELAY_LEVELS,
    rules: Rules = RULES_4_9_3,
) -> Iterator[DispatchRequest]:
    """The requests of a commit-log file, record by record, until the first failure, blank, or the end.

    The failing or blank one comes last. 1 to 7 bytes after the last record are a failing request.
    """
    position = room = 0
    while position < len(data):
        request = next_request(
            Cursor(data, position),
            check_crc=check_crc,
            read_body=read_body,
            delay_levels=delay_levels,
            rules=rules,
            room=room,
        )
        yield request
        if rules.keeps_buffer and request.msg_size <= _LONGEST_KEPT:
            room = max(room, request.msg_size)
        if not request.success or request.msg_size == 0:
            return
        position += request.msg_size
