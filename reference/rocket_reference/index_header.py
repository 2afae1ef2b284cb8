"""The header of an index file: six values in memory that go before the bytes.

Read beside `org.apache.rocketmq.store.index.IndexHeader` of 4.9.3.

Theory of operation. Nothing reads the header's bytes but a load. Each setter writes one field through, a
flush all six. So a file that was only created holds 40 zero bytes, although the count in memory is 1.
"""

from dataclasses import dataclass
from typing import Final

from rocket_reference._mapping import MappedBuffer
from rocket_reference.java import to_i32

HEADER_SIZE: Final = 40


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """The six header fields: times in ms since the epoch, offsets in bytes (IDX-HDR-1)."""

    begin_timestamp: int
    end_timestamp: int
    begin_phy_offset: int
    end_phy_offset: int
    hash_slot_count: int
    index_count: int


class InMemoryHeader:
    """`IndexHeader` of 4.9.3: six values in memory; each setter sets the value, then writes it through."""

    __slots__ = (
        "_bytes",
        "begin_phy_offset",
        "begin_timestamp",
        "end_phy_offset",
        "end_timestamp",
        "hash_slot_count",
        "index_count",
    )

    def __init__(self, buffer: MappedBuffer) -> None:
        self._bytes = buffer
        self.begin_timestamp = 0
        self.end_timestamp = 0
        self.begin_phy_offset = 0
        self.end_phy_offset = 0
        self.hash_slot_count = 0
        self.index_count = 1  # IDX-HDR-5: the number of the next entry

    def load(self) -> None:
        """Takes the six values from the bytes. Source: 44-56."""
        self.begin_timestamp = self._bytes.get_long(0)  # IDX-LOAD-1
        self.end_timestamp = self._bytes.get_long(8)
        self.begin_phy_offset = self._bytes.get_long(16)
        self.end_phy_offset = self._bytes.get_long(24)
        self.hash_slot_count = self._bytes.get_int(32)
        self.index_count = self._bytes.get_int(36)
        if self.index_count <= 0:
            self.index_count = 1  # IDX-LOAD-2

    def update_bytes(self) -> None:
        """Writes the six values to the bytes. Source: updateByteBuffer 58-65."""
        self._bytes.put_long(0, self.begin_timestamp)  # IDX-FLUSH-1
        self._bytes.put_long(8, self.end_timestamp)
        self._bytes.put_long(16, self.begin_phy_offset)
        self._bytes.put_long(24, self.end_phy_offset)
        self._bytes.put_int(32, self.hash_slot_count)
        self._bytes.put_int(36, self.index_count)

    def set_begin_timestamp(self, value: int) -> None:
        """SetBeginTimestamp 71-74."""
        self.begin_timestamp = value
        self._bytes.put_long(0, value)

    def set_end_timestamp(self, value: int) -> None:
        """SetEndTimestamp 80-83."""
        self.end_timestamp = value
        self._bytes.put_long(8, value)

    def set_begin_phy_offset(self, value: int) -> None:
        """SetBeginPhyOffset 89-92."""
        self.begin_phy_offset = value
        self._bytes.put_long(16, value)

    def set_end_phy_offset(self, value: int) -> None:
        """SetEndPhyOffset 98-101."""
        self.end_phy_offset = value
        self._bytes.put_long(24, value)

    def increment_hash_slot_count(self) -> None:
        """IncHashSlotCount 107-110; a loaded count can be the greatest int, and wraps."""
        self.hash_slot_count = to_i32(self.hash_slot_count + 1)
        self._bytes.put_int(32, self.hash_slot_count)

    def increment_index_count(self) -> None:
        """IncIndexCount 116-119; only below index_num, so it cannot wrap."""
        self.index_count += 1
        self._bytes.put_int(36, self.index_count)

    def snapshot(self) -> IndexHeader:
        """The six values as they are now."""
        return IndexHeader(
            self.begin_timestamp,
            self.end_timestamp,
            self.begin_phy_offset,
            self.end_phy_offset,
            self.hash_slot_count,
            self.index_count,
        )
