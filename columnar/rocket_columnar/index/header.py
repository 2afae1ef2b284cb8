"""The header of an index file as a value."""

import struct
from dataclasses import dataclass
from typing import Final

from rocket_spec.layout import INDEX_HEADER

from rocket_columnar.store import Reader

_STRUCT: Final = struct.Struct(INDEX_HEADER.struct_format)


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """The six fields (IDX-HDR-1): times in ms since the epoch, offsets in bytes, `index_count` = entries + 1."""

    begin_timestamp: int = 0
    end_timestamp: int = 0
    begin_phy_offset: int = 0
    end_phy_offset: int = 0
    hash_slot_count: int = 0
    index_count: int = 1


def read_header(reader: Reader) -> IndexHeader:
    """The header as it is in the file; MalformedError if the file is shorter than 40 bytes."""
    return IndexHeader(*_STRUCT.unpack(reader.read(0, _STRUCT.size).tobytes()))
