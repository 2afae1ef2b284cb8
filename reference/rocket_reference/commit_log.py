"""Commit-log records as rows: every field, decoded as far as 4.9.3 ever decodes it.

Where `dispatch` answers as 4.9.3 does, with a size of -1 and no reason, here bytes that are wrong are an
error with its position and reason. The columns are those of the table `commit_log`.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from rocket_spec.errors import InvalidError, MalformedError
from rocket_spec.layout import BLANK, BLANK_MAGIC, MESSAGE_MAGIC

from rocket_reference._cursor import Cursor
from rocket_reference._mapping import ReadableBuffer
from rocket_reference.dispatch import dispatch_tags_code
from rocket_reference.errors import JavaError
from rocket_reference.java import decode_utf8
from rocket_reference.properties import KEYS, TAGS, UNIQ_KEY, parse_properties
from rocket_reference.record_bytes import RecordFields, body_checksum, host_text, length_of, read_fields
from rocket_reference.rules import RULES_4_9_3, Rules


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the table `commit_log`: offsets and sizes in bytes, times in ms since the epoch."""

    phy_offset: int  # the recorded physical offset, which need not be where the record is
    size: int  # total size of the record
    topic: str
    queue_id: int
    queue_offset: int
    sys_flag: int
    flag: int
    born_timestamp: int
    born_host: str  # '1.2.3.4:port' or '[::1]:port'; store_host likewise
    store_timestamp: int
    store_host: str
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes  # the stored bytes, compressed if sys_flag has the bit for it
    body_crc: int  # the stored checksum as an unsigned number, 0 .. 2^32-1
    crc_ok: bool  # whether the body has that checksum; an empty body always does, as 4.9.3 does not look
    keys: str | None  # the property KEYS, None when there is none; tags and uniq_key likewise
    uniq_key: str | None
    tags: str | None
    # what a healthy dispatch gives: the hash of the tags, or the delivery time under SCHEDULE_TOPIC_XXXX; None where the delay
    # level there is no number, which 4.9.3 refuses
    tags_code: int | None
    properties: Mapping[str, str]


def record(data: ReadableBuffer, position: int = 0, rules: Rules = RULES_4_9_3) -> Record:
    """The record at a position of commit-log bytes, by the rules of a release.

    Raises MalformedError when it is cut off, or a length in it leads outside it.
    Raises InvalidError when there is no record's magic, or its lengths do not add up to its total size.
    """
    cursor = Cursor(data, position)
    try:
        total_size = cursor.get_int()
        magic = cursor.get_int()
        if magic not in rules.magics:
            raise InvalidError(
                found=f"magic {magic & 0xFFFFFFFF:#010x}",
                expected=f"{MESSAGE_MAGIC & 0xFFFFFFFF:#010x}",
                offset=position + 4,
                clause="LOG-REC-1",
            )
        fields = read_fields(cursor, total_size, magic, rules=rules)
    except JavaError as error:
        raise MalformedError(
            found=f"a record that cannot be read ({error})",
            expected="a whole record whose parts are inside it",
            offset=position,
            clause="LOG-REC-1",
        ) from error
    length = length_of(fields, rules)
    if total_size != length:
        raise InvalidError(
            found=f"total size {total_size}",
            expected=f"{length}, the sum of the parts",
            offset=position,
            clause="LOG-REC-3",
        )
    return _row(fields, rules)


def _row(fields: RecordFields, rules: Rules) -> Record:
    topic = decode_utf8(fields.topic)
    properties = parse_properties(decode_utf8(fields.properties), rules)
    code: int | None = None
    with suppress(JavaError):  # LOG-DSP-5
        code = dispatch_tags_code(topic, properties, fields.store_timestamp)
    return Record(
        phy_offset=fields.phy_offset,
        size=fields.total_size,
        topic=topic,
        queue_id=fields.queue_id,
        queue_offset=fields.queue_offset,
        sys_flag=fields.sys_flag,
        flag=fields.flag,
        born_timestamp=fields.born_timestamp,
        born_host=host_text(fields.born_host),
        store_timestamp=fields.store_timestamp,
        store_host=host_text(fields.store_host),
        reconsume_times=fields.reconsume_times,
        prepared_transaction_offset=fields.prepared_transaction_offset,
        body=fields.body,
        body_crc=fields.body_crc & 0xFFFFFFFF,
        crc_ok=not fields.body or body_checksum(fields.body) == fields.body_crc,
        keys=properties.get(KEYS),
        uniq_key=properties.get(UNIQ_KEY),
        tags=properties.get(TAGS),
        tags_code=code,
        properties=properties,
    )


def records(data: ReadableBuffer, rules: Rules = RULES_4_9_3) -> Iterator[tuple[int, Record]]:
    """The records of a commit-log file, each with its position in the data, by the rules of a release.

    They end at a blank, at the end of the data, or at a size and magic of zeros: bytes not yet written
    (LOG-FILE-2).

    Raises MalformedError, InvalidError for the first record that is wrong.
    """
    position = 0
    while position < len(data):
        head = bytes(data[position : position + BLANK.size])
        if not any(head) or int.from_bytes(head[4:8], "big") == BLANK_MAGIC & 0xFFFFFFFF:
            return
        row = record(data, position, rules)
        yield position, row
        position += row.size
