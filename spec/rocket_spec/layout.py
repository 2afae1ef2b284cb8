"""The layout tables: every fixed field of every file, once, as data (`layout.txt`).

The schemas' tests, the byte explainer, the NumPy types of the engine and the tables in SPEC.md all
come from here. All integers are big-endian and signed. Standard library only.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from rocket_spec.errors import UsageError

MESSAGE_MAGIC: Final = 0xDAA320A7 - (1 << 32)
"""Magic of a commit-log record as the i32 it is: -626843481 (`CommitLog.MESSAGE_MAGIC_CODE`)."""

LONG_TOPIC_MAGIC: Final = 0xDAA320AB - (1 << 32)
"""Magic of a record whose topic has a length of two bytes, written since 5.1.0 for topics over 127 bytes, or with
`messageVersion=V2` (`MessageVersion.MESSAGE_VERSION_V2`)."""

RECORD_MAGICS: Final = (MESSAGE_MAGIC, LONG_TOPIC_MAGIC)  # the magics of records

BLANK_MAGIC: Final = 0xCBD43194 - (1 << 32)
"""Magic of the blank that fills a commit-log file's end: -875286124 (`CommitLog.BLANK_MAGIC_CODE`)."""

ENTRY_MAGIC: Final = 1  # magic of a DLedger entry (`DLedgerMmapFileStore.CURRENT_MAGIC`)

ENTRY_BLANK_MAGIC: Final = -1
"""Magic of the blank that ends a DLedger data file (`MmapFileList.BLANK_MAGIC_CODE`)."""

ENTRY_INDEX_FILE_SIZE: Final = 32 * 5 * 1024 * 1024
"""Length in bytes of a file of DLedger's entry index (`DLedgerConfig.mappedFileSizeForEntryIndex`); 4.9.3 sets no other."""

PRE_BLANK_SIZE: Final = 0x7FFFFFFF
"""The size field of a pre-blank consume-queue unit (`ConsumeQueue.fillPreBlank`)."""

CHECKPOINT_SIZE: Final = 4096  # length in bytes of the checkpoint file (`MappedFile.OS_PAGE_SIZE`)

EXT_END_MARK: Final = -1
"""The i16 that ends a consume-queue ext file early: 2 bytes are written, 4 reserved (CQ-EXT-3)."""

_SIZES: Final = {"i8": 1, "i16": 2, "i32": 4, "i64": 8}
_CODES: Final = {"i8": "b", "i16": "h", "i32": "i", "i64": "q"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a layout."""

    name: str  # our name, snake case, as in the tables and the .ksy files
    type: str  # "i8", "i16", "i32", "i64", or "bytes" where the length varies
    offset: int | None  # byte offset from the start of the structure; None after a field of varying length
    java: str  # the name that 4.9.3's source uses
    clause: str
    doc: str  # what it holds, with its unit

    @property
    def size(self) -> int | None:
        """Length in bytes, or None where it varies."""
        return _SIZES.get(self.type)


@dataclass(frozen=True, slots=True)
class Layout:
    """A structure: its fields in file order."""

    name: str
    fields: tuple[Field, ...]
    # the leading fields whose offset and length are fixed
    fixed: tuple[Field, ...] = field(init=False, repr=False, compare=False)
    # total length in bytes; of the leading fixed part where later fields vary in length
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


def layout_of(name: str, clause: str, rows: Iterable[Sequence[str]]) -> Layout:
    """Rows of name, type, name in Java and doc to a layout, with the offsets added up."""
    fields: list[Field] = []
    offset: int | None = 0
    for field_name, kind, java, doc in rows:
        fields.append(Field(field_name, kind, offset, java, clause, doc))
        size = _SIZES.get(kind)
        offset = None if offset is None or size is None else offset + size
    return Layout(name, tuple(fields))


def read_layouts(path: Path) -> dict[str, Layout]:
    """The layouts of a text file, by name."""
    found: dict[str, Layout] = {}
    for part in path.read_text("utf-8").split("\n\n")[1:]:
        heading, *rows = part.rstrip("\n").split("\n")
        name, clause = heading.split(" | ")
        found[name] = layout_of(name, clause, (row.split(maxsplit=3) for row in rows))
    return found


LAYOUTS: Final = read_layouts(Path(__file__).with_suffix(".txt"))  # the structures of 4.9.3, by name
INDEX_HEADER: Final = LAYOUTS["index header"]
INDEX_SLOT: Final = LAYOUTS["index slot"]
INDEX_ENTRY: Final = LAYOUTS["index entry"]
QUEUE_UNIT: Final = LAYOUTS["consume-queue unit"]
EXT_UNIT: Final = LAYOUTS["consume-queue ext unit"]
RECORD: Final = LAYOUTS["commit-log record"]
BLANK: Final = LAYOUTS["commit-log blank"]
ENTRY: Final = LAYOUTS["DLedger entry"]
ENTRY_BLANK: Final = LAYOUTS["DLedger blank"]
ENTRY_INDEX_UNIT: Final = LAYOUTS["DLedger index unit"]
CHECKPOINT: Final = LAYOUTS["checkpoint"]

RECORD_FIXED_V4: Final = 91
"""Bytes of a record with IPv4 hosts, an empty body, topic and properties (`CommitLog.calMsgLength`)."""

DEFAULT_GEOMETRY: Final = Geometry(5_000_000, 20_000_000)
"""4.9.3's own defaults (`MessageStoreConfig.maxHashSlotNum`, `maxIndexNum`): 420,000,040 bytes."""
