"""Values as Java computes them, and one commit-log record: checks of its lengths, and what a dispatch derives from its properties.

Compare with `CommitLog.checkMessageAndReturnSize` 302-432 and `MessageDecoder.string2messageProperties` of 4.9.3.
"""

import codecs
import socket
import struct
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from mmap import mmap
from typing import Any, Final, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rocket_spec.errors import UsageError
from rocket_spec.layout import (
    BLANK_MAGIC,
    ENTRY_BLANK_MAGIC,
    INDEX_ENTRY,
    LONG_TOPIC_MAGIC,
    MESSAGE_MAGIC,
    QUEUE_UNIT,
    RECORD_FIXED_V4,
    RECORD_MAGICS,
    Layout,
)

# Times as text.


_zone: tzinfo | None = UTC


def show_times_in(zone: tzinfo | None) -> None:
    """Has `iso` give times of this zone from now on; None is that of the system."""
    global _zone  # noqa: PLW0603 - one process, one reader
    _zone = zone


def iso(timestamp: int) -> str:
    """A time in ms as ISO 8601, by default in UTC, or as a number if it is outside the calendar."""
    try:
        moment = datetime.fromtimestamp(timestamp // 1000, UTC).astimezone(_zone)
    except (OverflowError, ValueError, OSError):
        return f"{timestamp} ms"
    moment = moment.replace(microsecond=timestamp % 1000 * 1000)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The range of a Java long (`Long.MIN_VALUE`, `Long.MAX_VALUE`).
LONG_MIN: Final = -(1 << 63)
LONG_MAX: Final = (1 << 63) - 1

_REPLACEMENT: Final = "\ufffd"
_UTF16: Final = "utf-16-le" if np.little_endian else "utf-16-be"
_PLAIN: Final = (
    20  # digits of which a number is parsed at once; any longer one is out of range or has leading zeros
)


def to_i32(value: int) -> int:
    """`value` wrapped to 32 bits, as a Java int."""
    return (value + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000


def to_i64(value: int) -> int:
    """`value` wrapped to 64 bits, as a Java long."""
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def string_hash(text: str) -> int:
    """`String.hashCode` of `text` as an i32: over UTF-16 code units, so a pair of surrogates counts twice."""
    if text.isascii():
        units: bytes | memoryview = text.encode("ascii")
    else:
        units = memoryview(text.encode(_UTF16, "surrogatepass")).cast("H")
    value = 0
    for unit in units:
        value = value * 31 + unit & 0xFFFF_FFFF
    return to_i32(value)


def _parse(text: str, bits: int) -> int | None:
    if len(text) <= _PLAIN and text.isascii() and text.isdigit():
        value = int(text)
        return value if value < 1 << bits - 1 else None
    sign = text[:1]
    digits = text[1:] if sign in ("+", "-") else text
    if not digits:
        return None
    value = 0
    for character in digits:
        # Java checks UTF-16 units one by one, so digits beyond the BMP are none.
        digit = unicodedata.decimal(character, -1) if character <= "\uffff" else -1
        if digit < 0:
            return None
        value = value * 10 + digit
    if sign == "-":
        value = -value
    return value if -(1 << bits - 1) <= value < 1 << bits - 1 else None


def parse_long(text: str) -> int | None:
    """`Long.parseLong(text)`, or None if it throws: signs and non-ASCII decimal digits are accepted."""
    return _parse(text, 64)


def parse_int(text: str) -> int | None:
    """`Integer.parseInt(text)`, or None if it throws."""
    return _parse(text, 32)


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for a whole encoded surrogate (ED A0..BF, and its third byte if there is one).

    Java replaces everything else as Python does: one mark for each maximal part of a sequence.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    if data[start] == 0xED and start + 1 < len(data) and 0xA0 <= data[start + 1] <= 0xBF:
        third = start + 2 < len(data) and 0x80 <= data[start + 2] <= 0xBF
        return _REPLACEMENT, start + 2 + third
    return _REPLACEMENT, error.end


codecs.register_error("rocket_columnar.java", _replace_as_java)


def decode_utf8(data: bytes) -> str:
    """`new String(data, UTF_8)`: malformed bytes become as many U+FFFD as in Java (UTF8-1)."""
    return data.decode("utf-8", "rocket_columnar.java")


# Key hashes: Java's `String.hashCode`, made non-negative as in an index file.
#
# One key goes through plain Python. A batch becomes one run of UTF-16 code units, which NumPy hashes as polynomials.


_Units = NDArray[np.uint16] | NDArray[np.uint8]

_UNITS_AT_ONCE = 1 << 22
_MASK = 0xFFFFFFFF
_INT_MAX = 0x7FFFFFFF


def index_key(topic: str, key: str) -> str:
    """The string that the index hashes for a key of a topic (`IndexService.buildKey`)."""
    return f"{topic}#{key}"


def tag_key(topic: str, tags: str) -> str:
    """The string that 5.4.0 and later also hash for a message with tags (`IndexService.buildKey`)."""
    return index_key(topic, f"T#{tags}")


def hash_key(key: str) -> int:
    """Key hash of one index key, 0 .. 2^31-1; the hash code without a positive counterpart, -2^31, becomes 0.

    Source: IDX-HASH-1, IDX-HASH-2; `IndexFile.indexKeyHashMethod` 164-170.
    """
    code = abs(string_hash(key))
    return code if code <= _INT_MAX else 0


def hash_keys(
    keys: Sequence[str] | Any,
    topic: str | None = None,
    *,
    after: NDArray[np.uint32] | None = None,
    of_strings: Callable[[Any, NDArray[np.uint32]], NDArray[np.int32]] | None = None,
) -> NDArray[np.int32]:
    """Key hashes of a list of index keys, or of a pyarrow string array or chunked array.

    With a `topic` the keys are those of its messages, and the hashes are those of `topic#key`, without making these strings.
    `after` has the `String.hashCode` of what precedes each key of a list instead. `of_strings` hashes an Arrow array of strings
    or binaries after such a code; by default NumPy does.

    Raises ValueError: an Arrow array that contains a null.
    Source: IDX-HASH-1, IDX-HASH-2.
    """
    codes = np.array([0 if topic is None else string_hash(index_key(topic, "")) & _MASK], np.uint32)
    if isinstance(keys, (list, tuple)):
        return _hash_units(*_units_of_list(keys), codes if after is None else after)
    chunks: list[Any] = getattr(keys, "chunks", [keys])
    hashes = [_hash_arrow(chunk, codes, of_strings or _hash_strings) for chunk in chunks]
    return np.concatenate(hashes) if hashes else np.empty(0, np.int32)


def _units_of_list(keys: Sequence[str]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Code units of all keys one after the other, and the bounds of each."""
    units = np.frombuffer("".join(keys).encode(_UTF16, "surrogatepass"), np.uint16)
    bounds = np.zeros(len(keys) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, keys), np.int64, len(keys)), out=bounds[1:])
    if bounds[-1] != len(units):  # characters beyond the BMP
        lengths = (len(key.encode(_UTF16, "surrogatepass")) // 2 for key in keys)
        np.cumsum(np.fromiter(lengths, np.int64, len(keys)), out=bounds[1:])
    return units, bounds


def _hash_arrow(
    array: Any, codes: NDArray[np.uint32], of_strings: Callable[[Any, NDArray[np.uint32]], NDArray[np.int32]]
) -> NDArray[np.int32]:
    import pyarrow as pa

    if array.null_count:
        raise ValueError("a null has no key hash")
    if pa.types.is_dictionary(array.type):
        hashes: NDArray[np.int32] = _hash_arrow(array.dictionary, codes, of_strings)[array.indices.to_numpy()]
        return hashes
    return of_strings(array, codes) if len(array) else np.empty(0, np.int32)


def _hash_strings(array: Any, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    import pyarrow as pa

    large = array.cast(pa.large_string())
    _, offsets_buffer, data_buffer = large.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[large.offset : large.offset + len(large) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    bounds = offsets - offsets[0]
    if not (data & 0x80).any():
        return _hash_units(data, bounds, codes)
    # a character takes one unit, counted at its lead byte, and two from U+10000 on (lead byte F0 and up)
    per_byte = ((data & 0xC0) != 0x80).astype(np.int64) + (data >= 0xF0)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(per_byte)])
    units = np.frombuffer(data.tobytes().decode("utf-8").encode(_UTF16), np.uint16)
    return _hash_units(units, before[bounds], codes)


def _hash_units(units: _Units, bounds: NDArray[np.int64], codes: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Hashes of the strings whose units are between neighbouring bounds, after one with the code in `codes`."""
    count = len(bounds) - 1
    hashes = np.zeros(count, np.int32)
    start = 0
    while start < count:
        stop = int(np.searchsorted(bounds, bounds[start] + _UNITS_AT_ONCE, side="right")) - 1
        stop = min(max(stop, start + 1), count)
        hashes[start:stop] = _polynomials(
            units, bounds[start : stop + 1], codes if len(codes) == 1 else codes[start:stop]
        )
        start = stop
    return hashes


def _polynomials(units: _Units, bounds: NDArray[np.int64], before: NDArray[np.uint32]) -> NDArray[np.int32]:
    lengths = np.diff(bounds)
    longest = int(lengths.max(initial=0))
    codes = before * _powers(longest + 1)[lengths]
    if longest:
        first, last = int(bounds[0]), int(bounds[-1])
        exponents = np.repeat(bounds[1:] - 1, lengths) - np.arange(first, last)
        terms = units[first:last].astype(np.uint32) * _powers(longest)[exponents]
        filled = lengths > 0
        codes[filled] += np.add.reduceat(terms, bounds[:-1][filled] - first)
    signed = codes.view(np.int32)
    hashes: NDArray[np.int32] = np.abs(signed)
    hashes[hashes < 0] = 0
    return hashes


def _powers(length: int) -> NDArray[np.uint32]:
    """At least `length` powers of 31, mod 2^32."""
    return _power_table(max(256, 1 << (length - 1).bit_length()))


@cache
def _power_table(length: int) -> NDArray[np.uint32]:
    powers = np.full(length, 31, np.uint32)
    powers[0] = 1
    return np.multiply.accumulate(powers, dtype=np.uint32)


# Parses the two IDs of a message: the client's unique key and the server's offset ID.
#
# Both are hexadecimal and have the same lengths, so the kind of an ID does not follow from its text.


_LENGTHS: Final = {32: 4, 56: 16}  # digits of an id: bytes of its address
_UNIQUE: Final = struct.Struct(">HIIH")
_OFFSET: Final = struct.Struct(">iq")
_STEP: Final = 900_000  # ms; a month begins at a whole quarter of an hour in every zone
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The content of the unique key (UNIQ_KEY, its "msgId") of a message."""

    client_ip: str
    pid: int  # its process id, modulo 65536
    loader_hash: int
    month_ms: int  # ms since the client's month began, by its clock and in its zone
    counter: int  # number of the id in its process, modulo 65536

    def time_near(self, born_timestamp: int) -> int:
        """The time at which it was made, in ms since the epoch, that fits the born timestamp of its message best.

        An ID contains neither month nor zone; months begin at whole quarters of an hour of UTC in every zone.
        """
        away = (born_timestamp - self.month_ms + _STEP // 2) % _STEP - _STEP // 2
        return born_timestamp - away

    def time_before(self, now: int, zone: tzinfo | None = None) -> int:
        """The time at which it was made, ms since the epoch, as 4.9.3 guesses at the time `now`: in this month or the one before.

        The zone is the client's; by default this machine's. Source: `MessageClientIDSetter.getNearlyTimeFromID` 72-97.
        """
        moment = (_EPOCH + timedelta(milliseconds=now)).astimezone(zone)
        begin = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0, fold=0)
        if _ms(begin, zone) + self.month_ms >= now:
            begin = (begin - timedelta(days=1)).replace(day=1)
        return _ms(begin, zone) + self.month_ms


@dataclass(frozen=True, slots=True)
class OffsetId:
    """The content of the offset ID of a message ("offsetMsgId"): the broker's address as the table commit_log shows it, and the physical offset."""

    store_host: str
    phy_offset: int


def _ms(moment: datetime, zone: tzinfo | None) -> int:
    """The ms since the epoch of a wall time; in this machine's zone if none is given."""
    whole = moment.replace(tzinfo=zone) if zone is not None else moment.replace(tzinfo=None).astimezone()
    return (whole - _EPOCH) // timedelta(milliseconds=1)


def _parts(text: str, what: str) -> tuple[IPv4Address | IPv6Address, bytes]:
    """The address at the front of an id, and the bytes after it."""
    try:
        data = bytes.fromhex(text) if len(text) in _LENGTHS and text.isalnum() else None
    except ValueError:
        data = None
    if data is None:
        raise UsageError(
            f"{text!r} is not {what}: expected 32 hexadecimal digits, or 56 with an IPv6 address"
        )
    length = _LENGTHS[len(text)]
    return ip_address(data[:length]), data[length:]


def parse_unique_key(text: str) -> UniqueKey:
    """Parses a unique key; UsageError for one that 4.9.3's client does not make (`MessageClientIDSetter` 36-49, 119-139)."""
    address, rest = _parts(text, "a unique key")
    return UniqueKey(str(address), *_UNIQUE.unpack(rest))


def parse_offset_id(text: str) -> OffsetId:
    """Parses an offset ID; UsageError for anything else (`MessageDecoder.decodeMessageId` 86-106)."""
    address, rest = _parts(text, "an offset id")
    port, phy_offset = _OFFSET.unpack(rest)
    return OffsetId(f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}", phy_offset)


def make_offset_id(store_host: str, phy_offset: int) -> str:
    """The offset id of a message, from the columns store_host and phy_offset (`MessageDecoder.createMessageId` 64-73)."""
    host, _, port = store_host.rpartition(":")
    return (ip_address(host.strip("[]")).packed + _OFFSET.pack(int(port), phy_offset)).hex().upper()


# The fixed layouts of index files and consume queues as NumPy dtypes, big-endian, from the layout tables.


LAST_ADDRESS: Final = -(1 << 31) - 1  # the greatest tags code of a unit that is the address of an ext unit


def dtype_of(layout: Layout) -> np.dtype[np.void]:
    """The type of a structure whose fields all have a fixed length."""
    return np.dtype([(field.name, f">i{field.size}") for field in layout.fields])


ENTRY_DTYPE: Final = dtype_of(INDEX_ENTRY)  # an index entry (IDX-ENT-1)

UNIT_DTYPE: Final = dtype_of(QUEUE_UNIT)  # a consume-queue unit (CQ-UNIT-1)


_HOST_FLAGS: Final = 16 | 32
_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">ii20xq")
_PAIR: Final = struct.Struct(">ii")
_FIXED: Final = {
    16 * born | 32 * store: struct.Struct(f">iiiiiqqiq{20 if born else 8}sq{20 if store else 8}siqi")
    for born in (0, 1)
    for store in (0, 1)
}

HEAD_SIZE: Final = max(layout.size for layout in _FIXED.values())
"""Bytes that hold all fields before a record's body, whatever its hosts."""

Buffer = bytes | mmap | memoryview

SCHEDULE_TOPIC: Final = b"SCHEDULE_TOPIC_XXXX"
"""The topic of delayed messages, whose tags codes are delivery times (`TopicValidator.RMQ_SYS_SCHEDULE_TOPIC`)."""

DELAYS: Final = tuple(
    1000 * seconds
    for seconds in (1, 5, 10, 30, *(60 * minutes for minutes in (*range(1, 11), 20, 30, 60, 120)))
)
"""ms of the default delay levels, 1s to 2h (`MessageStoreConfig.messageDelayLevel`)."""


class FixedFields(NamedTuple):
    """The fields before a record's body, in file order (LOG-REC-1)."""

    total_size: int
    magic: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    phy_offset: int
    sys_flag: int
    born_timestamp: int
    born_host: bytes
    store_timestamp: int
    store_host: bytes
    reconsume_times: int
    prepared_transaction_offset: int
    body_length: int


class Record(NamedTuple):
    """The fixed fields of a whole record, where its other parts are in its window, and how long, in bytes."""

    fixed: FixedFields
    body: int
    topic: int
    topic_length: int
    properties: int
    properties_length: int


class Bad(NamedTuple):
    """The reason that bytes are not a record: what was found and expected, in words."""

    found: str
    expected: str


def check_frame_head(head: Buffer, at: int, room: int, position: int) -> Bad | None:
    """The fault of the first bytes of a frame `at` an offset of `head`, `room` bytes before the file's end.

    `position` is the physical offset at which it is. Java itself does not compare it with the recorded one;
    a frame found elsewhere is a stale one, or bytes of a body that look like one.
    """
    total_size, magic, recorded = _HEAD.unpack_from(head, at)
    if magic in RECORD_MAGICS and RECORD_FIXED_V4 <= total_size <= room and recorded == position:
        return None
    if magic == BLANK_MAGIC:
        return Bad(f"a blank of {total_size:,} bytes", f"one of the {room:,} to the file's end")
    if magic not in RECORD_MAGICS:
        return Bad(f"magic {magic & 0xFFFFFFFF:08x}", f"{MESSAGE_MAGIC & 0xFFFFFFFF:08x}")
    if not RECORD_FIXED_V4 <= total_size <= room:
        return Bad(f"a record of {total_size:,} bytes", f"{RECORD_FIXED_V4} to the file's end, {room:,}")
    return Bad(f"a record of physical offset {recorded:,}", f"{position:,}, its position")


def is_blank(head: Buffer, at: int, room: int) -> bool:
    """Whether a blank begins `at` an offset of `head` that fills the `room` bytes to the file's end.

    It is a plain one (LOG-BLANK-1) or one of DLedger mode, whose fields have the other order (DLG-5).
    """
    return _PAIR.unpack_from(head, at) in ((room, BLANK_MAGIC), (ENTRY_BLANK_MAGIC, room))


def fixed_fields(head: Buffer) -> FixedFields:
    """The fields before the body of a record that begins with these `HEAD_SIZE` bytes."""
    return FixedFields._make(_FIXED[head[39] & _HOST_FLAGS].unpack_from(head))


def body_begin(sys_flag: int) -> int:
    """Bytes before the body of a record, by the flags that state how long its hosts are (LOG-REC-2)."""
    return _FIXED[sys_flag & _HOST_FLAGS].size


def body_end(head: Buffer) -> int:
    """End of the body of a record that begins with these `HEAD_SIZE` bytes, counted from its first."""
    return body_begin(head[39]) + max(fixed_fields(head).body_length, 0)


def topic_length_size(magic: int) -> int:
    """Bytes that the length of a topic takes in a record of this magic (LOG-REC-1)."""
    return 2 if magic == LONG_TOPIC_MAGIC else 1


def parse_record(window: Buffer, at: int) -> Record | Bad:
    """The record `at` an offset of a window that holds all its bytes, or why its lengths do not add up.

    Negative lengths of body and properties count as 0, as in Java; a negative topic length does not.
    """
    (total_size,) = _INT.unpack_from(window, at)
    end = at + total_size
    layout = _FIXED[window[at + 39] & _HOST_FLAGS]  # the last byte of sysFlag
    body = at + layout.size
    if body + 3 <= end:
        fixed = tuple.__new__(FixedFields, layout.unpack_from(window, at))  # `_make`, three times as fast
        size = topic_length_size(fixed.magic)
        topic = body + max(fixed.body_length, 0) + size
        if topic + 2 <= end:
            topic_length = int.from_bytes(window[topic - size : topic], signed=True)
            properties = topic + topic_length + 2
            if topic_length >= 0 and properties <= end:
                length = int.from_bytes(window[properties - 2 : properties], signed=True)
                if properties + max(length, 0) == end:
                    return Record(fixed, body, topic, topic_length, properties, max(length, 0))
    return Bad("lengths of body, topic and properties that do not add up", f"{total_size:,} bytes in all")


def body_matches(raw: bytes, record: Record) -> bool:
    """Whether the body of a record that begins a window has the checksum in it; true for no body (LOG-REC-4)."""
    body = raw[record.body :][: max(record.fixed.body_length, 0)]
    return not body or crc32(body) & 0x7FFFFFFF == record.fixed.body_crc


def parse_properties(data: bytes) -> dict[bytes, bytes]:
    """Names and values in UTF-8 (LOG-PROP-1), malformed bytes replaced as Java replaces them.

    Pairs without a name or a value are dropped; for a repeated name the last value counts.
    """
    pairs: dict[bytes, bytes] = {}
    for part in clean_utf8(data).split(b"\x02"):
        name, separator, value = part.partition(b"\x01")
        if name and separator and value:
            pairs[name] = value
    return pairs


def clean_utf8(data: bytes) -> bytes:
    """The bytes of the text that Java makes from `data`: unchanged if it is well formed (UTF8-1)."""
    return data if data.isascii() else decode_utf8(data).encode()


def tags_code(
    topic: bytes, pairs: dict[bytes, bytes], store_timestamp: int, delays: Sequence[int] = DELAYS
) -> int | None:
    """The tags code that a healthy dispatch puts into the consume queue (LOG-DSP-1).

    The delivery time in ms for a scheduled message, by the `delays` of the levels; else the hash of TAGS, 0 without; None if Java throws,
    since a delay level is not a number.
    """
    if topic == SCHEDULE_TOPIC and b"DELAY" in pairs:
        level = parse_int(pairs[b"DELAY"].decode())
        if level is None:
            return None
        if level > 0:
            return to_i64(store_timestamp + delays[min(level, len(delays)) - 1])
    tags = pairs.get(b"TAGS")
    return _tags_hash(tags) if tags else 0


@lru_cache(maxsize=1 << 16)
def _tags_hash(tags: bytes) -> int:
    return string_hash(tags.decode())


@lru_cache(maxsize=1 << 16)
def host_text(raw: bytes) -> str:
    """A host of 8 or 20 bytes as `1.2.3.4:port` or `[::1]:port`; the port is an i32."""
    port = int.from_bytes(raw[-4:], signed=True)
    if len(raw) == 8:
        return f"{socket.inet_ntop(socket.AF_INET, raw[:4])}:{port}"
    return f"[{socket.inet_ntop(socket.AF_INET6, raw[:16])}]:{port}"
