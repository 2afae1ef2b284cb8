"""The layout tables: every fixed field of every file, once, as data.

The schemas' tests, the byte explainer, the NumPy types of the engine and the tables in SPEC.md all
come from here. All integers are big-endian and signed. Standard library only.
"""

import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final, NamedTuple

from rocket_spec.errors import UsageError

MESSAGE_MAGIC: Final = 0xDAA320A7 - (1 << 32)
"""Magic of a commit-log record as the i32 it is: -626843481 (`CommitLog.MESSAGE_MAGIC_CODE`)."""

LONG_TOPIC_MAGIC: Final = 0xDAA320AB - (1 << 32)
"""Magic of a record whose topic has a length of two bytes, written since 5.1.0 for topics over 127 bytes, or with
`messageVersion=V2` (`MessageVersion.MESSAGE_VERSION_V2`)."""

RECORD_MAGICS: Final = (MESSAGE_MAGIC, LONG_TOPIC_MAGIC)
"""The magics of records."""

BLANK_MAGIC: Final = 0xCBD43194 - (1 << 32)
"""Magic of the blank that fills a commit-log file's end: -875286124 (`CommitLog.BLANK_MAGIC_CODE`)."""

ENTRY_MAGIC: Final = 1
"""Magic of a DLedger entry (`DLedgerMmapFileStore.CURRENT_MAGIC`)."""

ENTRY_BLANK_MAGIC: Final = -1
"""Magic of the blank that ends a DLedger data file (`MmapFileList.BLANK_MAGIC_CODE`)."""

ENTRY_INDEX_FILE_SIZE: Final = 32 * 5 * 1024 * 1024
"""Length in bytes of a file of DLedger's entry index (`DLedgerConfig.mappedFileSizeForEntryIndex`); 4.9.3 sets no other."""

PRE_BLANK_SIZE: Final = 0x7FFFFFFF
"""The size field of a pre-blank consume-queue unit (`ConsumeQueue.fillPreBlank`)."""

CHECKPOINT_SIZE: Final = 4096
"""Length in bytes of the checkpoint file (`MappedFile.OS_PAGE_SIZE`)."""

EXT_END_MARK: Final = -1
"""The i16 that ends a consume-queue ext file early: 2 bytes are written, 4 reserved (CQ-EXT-3)."""

_SIZES: Final = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}
_CODES: Final = {"i8": "b", "i16": "h", "i32": "i", "i64": "q"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout.

    Attributes:
        name: our name, snake case, as in the tables and the .ksy files.
        type: "i8", "i16", "i32", "i64", or "bytes" where the length varies.
        offset: byte offset from the start of the structure; None after a field of varying length.
        java: the name that 4.9.3's source uses.
        clause: the clause that defines the field.
        doc: what it holds, with its unit.
    """

    name: str
    type: str
    offset: int | None
    java: str
    clause: str
    doc: str

    @property
    def size(self) -> int | None:
        """Length in bytes, or None where it varies."""
        return _SIZES.get(self.type)


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure: its fields in file order.

    Attributes:
        name: what it is.
        fields: all fields, in file order.
        fixed: the leading fields whose offset and length are fixed.
        size: total length in bytes; of the leading fixed part where later fields vary in length.
    """

    name: str
    fields: tuple[Field, ...]
    fixed: tuple[Field, ...] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Derives the fixed part once; readers ask for its size for each file."""
        fixed = tuple(takewhile(lambda one: one.offset is not None and one.size is not None, self.fields))
        object.__setattr__(self, "fixed", fixed)
        object.__setattr__(self, "size", sum(_SIZES[one.type] for one in fixed))

    @property
    def struct_format(self) -> str:
        """The fixed part in the notation of the `struct` module."""
        return ">" + "".join(_CODES[field.type] for field in self.fixed)

    def offset_of(self, name: str) -> int:
        """Byte offset of the field `name`; KeyError when there is none with a fixed offset."""
        for one in self.fixed:
            if one.name == name and one.offset is not None:
                return one.offset
        raise KeyError(name)


class Geometry(NamedTuple):
    """The two numbers that an index file does not record: maxHashSlotNum and maxIndexNum."""

    hash_slot_num: int
    index_num: int

    @property
    def file_size(self) -> int:
        """Length in bytes of a file of this geometry, without Java's int overflow (IDX-FILE-1)."""
        return INDEX_HEADER.size + INDEX_SLOT.size * self.hash_slot_num + INDEX_ENTRY.size * self.index_num

    @property
    def entries_offset(self) -> int:
        """Byte offset of entry 0, which is never written; entry n is 20 * n bytes further (IDX-ENT-1)."""
        return INDEX_HEADER.size + INDEX_SLOT.size * self.hash_slot_num


def parse_geometry(text: str) -> Geometry:
    """The geometry that `text` names as "SLOTS,ENTRIES", both of 32 bits as in Java; UsageError for anything else."""
    found = re.fullmatch(r" *([0-9]{1,10}) *, *([0-9]{1,10}) *", text)
    slots, entries = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (0 < slots < 1 << 31 and 0 < entries < 1 << 31):
        raise UsageError(
            f"geometry {text[:80]!r}: expected two positive numbers of 32 bits, SLOTS,ENTRIES, such as 5000000,20000000"
        )
    return Geometry(slots, entries)


def layout_of(name: str, clause: str, *rows: tuple[str, str, str, str]) -> Layout:
    """Rows of (name, type, java, doc) to a layout, with the offsets added up."""
    fields: list[Field] = []
    offset: int | None = 0
    for field_name, kind, java, doc in rows:
        fields.append(Field(field_name, kind, offset, java, clause, doc))
        size = _SIZES.get(kind)
        offset = None if offset is None or size is None else offset + size
    return Layout(name, tuple(fields))


INDEX_HEADER: Final = layout_of(
    "index header",
    "IDX-HDR-1",
    ("begin_timestamp", "i64", "beginTimestamp", "store timestamp of the first put, ms since the epoch"),
    ("end_timestamp", "i64", "endTimestamp", "store timestamp of the last put, ms since the epoch"),
    ("begin_phy_offset", "i64", "beginPhyOffset", "physical offset of the first put, bytes"),
    ("end_phy_offset", "i64", "endPhyOffset", "physical offset of the last put, bytes"),
    ("hash_slot_count", "i32", "hashSlotCount", "number of puts that found their slot empty"),
    ("index_count", "i32", "indexCount", "number of the next entry: entries + 1"),
)

INDEX_SLOT: Final = layout_of(
    "index slot",
    "IDX-SLOT-1",
    ("entry", "i32", "slotValue", "number of the newest entry of the chain; 0 when empty"),
)

INDEX_ENTRY: Final = layout_of(
    "index entry",
    "IDX-ENT-1",
    ("key_hash", "i32", "keyHash", "key hash of topic#key, 0 .. 2^31-1"),
    ("phy_offset", "i64", "phyOffset", "physical offset of the record, bytes"),
    ("time_diff", "i32", "timeDiff", "whole seconds from the header's begin timestamp at the put"),
    ("prev_entry", "i32", "slotValue", "number of the previous entry of the same slot; 0 ends the chain"),
)

QUEUE_UNIT: Final = layout_of(
    "consume-queue unit",
    "CQ-UNIT-1",
    ("phy_offset", "i64", "offset", "physical offset of the record, bytes"),
    ("size", "i32", "size", "length of the record, bytes"),
    ("tags_code", "i64", "tagsCode", "hash of TAGS, delivery time in ms, or an ext address"),
)

EXT_UNIT: Final = layout_of(
    "consume-queue ext unit",
    "CQ-EXT-1",
    ("size", "i16", "size", "length of the unit, bytes: 20 + bit_map_size"),
    ("tags_code", "i64", "tagsCode", "hash of TAGS or delivery time in ms"),
    ("store_timestamp", "i64", "msgStoreTime", "store timestamp of the record, ms since the epoch"),
    ("bit_map_size", "i16", "bitMapSize", "length of the bit map, bytes"),
    ("bit_map", "bytes", "filterBitMap", "Bloom filter of the SQL92 subscriptions that match"),
)

RECORD_FIXED_V4: Final = 91
"""Bytes of a record with IPv4 hosts, an empty body, topic and properties (`CommitLog.calMsgLength`)."""

RECORD: Final = layout_of(
    "commit-log record",
    "LOG-REC-1",
    ("total_size", "i32", "totalSize", "length of the record, bytes"),
    ("magic", "i32", "magicCode", "0xDAA320A7"),
    ("body_crc", "i32", "bodyCRC", "CRC-32 of the body & 0x7FFFFFFF; 0 without a body"),
    ("queue_id", "i32", "queueId", "queue number"),
    ("flag", "i32", "flag", "flag of the application"),
    ("queue_offset", "i64", "queueOffset", "logical offset in the queue"),
    ("phy_offset", "i64", "physicOffset", "physical offset of this record, bytes"),
    ("sys_flag", "i32", "sysFlag", "1 compressed, 2 multi-tags, 4/8/12 transaction type, 16/32 IPv6 hosts"),
    ("born_timestamp", "i64", "bornTimeStamp", "client's clock at the send, ms since the epoch"),
    ("born_host", "bytes", "bornHost", "address (4 or 16 bytes) and i32 port of the client"),
    ("store_timestamp", "i64", "storeTimestamp", "broker's clock at the append, ms since the epoch"),
    ("store_host", "bytes", "storeHost", "address (4 or 16 bytes) and i32 port of the broker"),
    ("reconsume_times", "i32", "reconsumeTimes", "times a consumer has sent the message back"),
    (
        "prepared_transaction_offset",
        "i64",
        "preparedTransactionOffset",
        "physical offset of the half message",
    ),
    ("body_length", "i32", "bodyLen", "length of the body, bytes"),
    ("body", "bytes", "body", "the stored bytes"),
    ("topic_length", "i8", "topicLen", "length of the topic, bytes"),
    ("topic", "bytes", "topic", "UTF-8"),
    ("properties_length", "i16", "propertiesLength", "length of the properties, bytes"),
    ("properties", "bytes", "properties", "UTF-8: name, byte 1, value, byte 2, and so on"),
)

BLANK: Final = layout_of(
    "commit-log blank",
    "LOG-BLANK-1",
    ("total_size", "i32", "totalSize", "bytes from here to the end of the file"),
    ("magic", "i32", "magicCode", "0xCBD43194"),
)

ENTRY: Final = layout_of(
    "DLedger entry",
    "DLG-2",
    ("magic", "i32", "magic", "1"),
    ("size", "i32", "size", "length of the entry, bytes: 48 + body_size"),
    ("index", "i64", "index", "number of the entry, from 0"),
    ("term", "i64", "term", "term of the leader that appended it"),
    ("pos", "i64", "pos", "position of this entry in the log, bytes"),
    ("channel", "i32", "channel", "0; reserved"),
    ("chain_crc", "i32", "chainCrc", "0; never computed"),
    ("body_crc", "i32", "bodyCrc", "0; never computed"),
    ("body_size", "i32", "bodySize", "length of the body, bytes"),
    ("body", "bytes", "body", "a commit-log record"),
)

ENTRY_BLANK: Final = layout_of(
    "DLedger blank",
    "DLG-5",
    ("magic", "i32", "magic", "-1"),
    ("size", "i32", "size", "bytes from here to the end of the file"),
)

ENTRY_INDEX_UNIT: Final = layout_of(
    "DLedger index unit",
    "DLG-6",
    ("magic", "i32", "magic", "that of the entry: 1"),
    ("pos", "i64", "pos", "position of the entry in the log, bytes"),
    ("size", "i32", "size", "length of the entry, bytes"),
    ("index", "i64", "index", "number of the entry"),
    ("term", "i64", "term", "term of the entry"),
)

CHECKPOINT: Final = layout_of(
    "checkpoint",
    "CKP-1",
    ("physic_msg_timestamp", "i64", "physicMsgTimestamp", "store timestamp of the last flushed record, ms"),
    ("logics_msg_timestamp", "i64", "logicsMsgTimestamp", "store timestamp of the last queued record, ms"),
    (
        "index_msg_timestamp",
        "i64",
        "indexMsgTimestamp",
        "end timestamp of the last index file flushed full, ms",
    ),
)

LAYOUTS: Final = {
    layout.name: layout
    for layout in (
        INDEX_HEADER,
        INDEX_SLOT,
        INDEX_ENTRY,
        QUEUE_UNIT,
        EXT_UNIT,
        RECORD,
        BLANK,
        ENTRY,
        ENTRY_BLANK,
        ENTRY_INDEX_UNIT,
        CHECKPOINT,
    )
}

DEFAULT_GEOMETRY: Final = Geometry(5_000_000, 20_000_000)
"""4.9.3's own defaults (`MessageStoreConfig.maxHashSlotNum`, `maxIndexNum`): 420,000,040 bytes."""
